from __future__ import annotations

import shlex
import subprocess

import msgspec
import numpy as np
import pytest
from rich.console import Console

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import Comparison, Effect, Row
from rtstone.documents.run import Run
from rtstone.report.comparison.answers import advice, cause, repeating
from rtstone.report.comparison.page import compared, comparison_lines
from rtstone.report.comparison.words import Judged, judged, row_names
from rtstone.report.parts.console import copied
from rtstone.results.estimates import TOO_FEW
from rtstone.stats.comparison.compare import compare
from rtstone.units import count, rounded
from tests.stats.lab import lab, result
from tests.stats.lossy import lossy, quiet
from tests.stats.runs import session
from tests.stats.test_verdicts import latencies, shifted


def shown(comparison: Comparison, width: int, everything: bool = True) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*comparison_lines(comparison, width, everything), sep="\n")
    return captured.get()


def effect(**members: object) -> Judged:
    base: dict[str, object] = {
        "part": "median", "statistic": "p50", "column": "b", "verdict": "worse",
    }  # fmt: skip
    row = Row(bench="null", params={}, load="none", unit="ns", cells=[])
    entry = Effect(**(base | members))  # type: ignore[arg-type]
    return Judged(CaseName("null", "", "", "none", usual=True), entry, row, 0)


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"ratio": 1.123, "ci95": (1.08, 1.164)}, "- worse +12% [+8.0%, +16%]"),
        ({"ratio": 0.97, "ci95": (0.9, 1.2), "verdict": "better"}, "+ better -3.0% [-10%, +20%]"),
        ({"ratio": 6.1, "ci95": (5.0, 7.0)}, "- worse 6.1 times longer [5, 7]"),
        ({"ratio": 0.0572, "ci95": (0.05, 1.5)}, "- worse 17.5 times shorter [0.667, 20]"),
        ({"ratio": 0.0802, "ci95": (1e-9, 0.1)}, "- worse 12.5 times shorter [10, -]"),
        ({"ratio": 1.09, "ci95": (1e-12, 4.24e12)}, "- worse +9.0% [-, -]"),
        ({"ratio": 1.4, "ci95": (0.2, 20.0)}, "- worse +40% [-80%, +1 900%]"),
        (
            {"difference": 3.0, "difference_ci95": (-1.0, 7.0)},
            "- worse +3.00 ns [-1.00 ns, +7.00 ns]",
        ),
        ({"ratio": 1.0, "verdict": "no difference"}, "= no difference +0.0%"),
        ({"ratio": 1.00003, "verdict": "no difference"}, "= no difference +0.003%"),
        ({"ratio": 0.999998, "verdict": "better"}, "+ better -0.0002%"),
        ({"verdict": "inconclusive"}, "? inconclusive"),
    ],
)  # fmt: skip
def test_an_effect_in_words(members: dict[str, object], text: str) -> None:
    entry = effect(**members)
    parts = (entry.verdict, entry.change, entry.interval)
    assert " ".join(filter(None, parts)) == text


def test_missed_activations_stand_before_any_ratio_the_most_first() -> None:
    lost = [effect(part="missed", statistic="missed", difference=points) for points in (0.1, -30.0)]
    ratios = [effect(ratio=1e9), effect(ratio=1e-9), effect()]
    ordered = sorted([*ratios, *lost], key=lambda entry: -entry.weight)
    assert ordered[:2] == lost[::-1]
    largest = lost[1]
    assert (largest.statistic, largest.change) == ("missed", "-30 points")


def test_what_is_missing_is_told_with_two_digits() -> None:
    entry = effect(missing=12345, reason="about 3 more pairs")
    assert entry.reason == "about 3 more pairs: 12 000 more samples"


@pytest.fixture(scope="module")
def slower() -> Comparison:
    rng = np.random.default_rng(1)
    return compare(session(shifted(latencies(rng, 20, 3), 1.1)))


def test_the_answer_stands_first_with_the_largest_effects(slower: Comparison) -> None:
    text = shown(slower, 160)
    head, axes, _, first, second, *rest = text.splitlines()  # both effects are of one row
    assert head.startswith("local (B) differs most from local (A) in case.0: p99 +11% [+")
    assert axes.startswith("local (B) is slower than local (A) in 1 of 3 cases")
    assert first.startswith(
        "local (B) is slower than local (A) in 2 of 6 effects: the median (1 of 3 cases), the tail "
        "(1 of 3); 4 "
    )
    assert second.startswith("  - worse  case.0  p")
    assert any(line.startswith("local (A): ") for line in rest[:2])  # after the sentence
    assert "[+" in second
    assert "hold together with 95% (Bonferroni, 6 tests)" in text.replace("\n", " ")
    assert "Noise floor from 10 pairs of runs taken in turn." in text.replace("\n", " ")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_every_verdict_is_told_whole_at_any_width(slower: Comparison, width: int) -> None:
    text = shown(slower, width)
    assert all(len(line) <= width for line in text.splitlines())
    table = text.partition("\nVerdicts\n")[2]
    for entry in judged(slower, row_names(slower)):
        for part in (entry.verdict, entry.change, entry.interval):
            assert part in table


def test_three_columns_are_told_apart() -> None:
    runs = [
        lab(name, [result("null", [v] * 50)]) for name, v in (("a", 9.0), ("b", 8.0), ("c", 10.0))
    ]
    text = shown(compare(runs), 100)
    parts = " in 2 of 3 effects: the median (1 of 1 case), the maximum (1 of 1); "
    assert f"b is faster than a{parts}" in text.replace("\n", " ")
    assert f"c is slower than a{parts}" in text.replace("\n", " ")
    table = text.partition("\nVerdicts\n")[2]
    assert any(line.split()[:4] == ["null", "b", "p50", "+"] for line in table.splitlines())


@pytest.mark.parametrize(
    ("load", "reason", "advice_"),
    [
        ("heavy", "load heavy: cpu missed its rate by more than 20%: 29 of 100 ms per second",
         " while the machine does less, or with --load heavy/reduced."),
        ("exit", "load exit: exit missed its rate by more than 20%: 1 of 9 rounds per second",
         " while the machine does less, or under a lighter load."),
        ("heavy", "interrupted", "."),
    ],
)  # fmt: skip
def test_of_runs_without_a_complete_case_it_says_that_and_what_to_repeat(
    load: str, reason: str, advice_: str
) -> None:
    def text(*columns: str) -> str:
        timed = []
        for name in "ab":
            lost = {"status": "incomplete", "reason": reason} if name in columns else {}
            results = [
                result("null", [v] * 50, case=place, unit="ns", load=load, **lost)
                for place, v in enumerate((9.0, 11.0), 1)
            ]
            timed.append(lab(name, results[: 1 if columns else 2], unit="ns"))
        return shown(compare(timed), 300)

    first, second, *_ = text("a", "b").splitlines()
    assert first == "Nothing could be compared: no case is complete on both a and b."
    assert second == f"To compare them, repeat both{advice_}"
    assert "incomplete on a and incomplete on b" in text("a", "b")
    assert text("b").splitlines()[1] == f"To compare them, repeat b{advice_}"
    assert not text().startswith("Nothing")


def test_what_another_tool_does_not_count_is_named_with_the_answer() -> None:
    def imported(name: str, missed: int | None, **evidence: int) -> Run:
        return lab(
            name, [result("cyclictest", [9.0] * 50, unit="ns", missed=missed, evidence=evidence,
                          flags=["imported"] if missed is not None else ["imported", "omission"])],
            unit="ns", imported="cyclictest 2.4",
        )  # fmt: skip

    for evidence, number in (({"missed_most": 1200}, "up to 1 200"), ({}, "it is not known how ")):
        text = shown(compare([imported("a", 0), imported("b", None, **evidence)]), 300)
        head, _, table = text.partition("\na: ")
        care = "with care: b: activations that late wake-ups hid are not counted by cyclictest 2.4"
        assert f"{care}, {number}" in head and table
        assert "with care: a" not in head
    assert "hid" not in shown(compare([imported("a", 0), imported("b", 0)]), 300)


def test_reasons_of_too_few_samples_are_one_where_they_are_counted() -> None:
    numbers = [f"{TOO_FEW}: 9 523 are worth about {n}, as they are correlated" for n in (12, 31)]
    effects = [effect(verdict="inconclusive", reason=why).effect for why in (*numbers, "other")]
    assert [cause(e) for e in effects] == [TOO_FEW, TOO_FEW, "other"]


def test_without_a_floor_it_says_what_to_do() -> None:
    sides = {"a": [9.0, 10.0] * 50, "b": [11.0, 12.0] * 50}
    timed = [lab(n, [result("null", v, unit="ns")], unit="ns") for n, v in sides.items()]
    text = shown(compare(timed), 100).replace("\n", " ")
    assert "unknown how far runs of one system differ" in text
    assert "rtstone compare --run" in text
    assert "? inconclusive" in text


def test_in_the_lab_the_advice_is_more_seeds() -> None:
    runs = [
        lab(name, [result("null", [v, v + 3 * seed, v + 9] * 20)], seed=seed)
        for name, v in (("a", 90.0), ("b", 91.0))
        for seed in (1, 2)
    ]
    text = shown(compare(runs), 100).replace("\n", " ")
    assert "? inconclusive" in text
    assert "Seeds are repetitions here" in text
    assert "unknown how far" not in text


def test_columns_that_are_not_compared_with_the_first_say_with_which() -> None:
    first, second = result("null", [5.0] * 30), result("proc.create", [9.0] * 30)
    text = shown(
        compare([lab("a", [first]), lab("b", [first, second]), lab("c", [first, second])]), 160
    )
    assert "c shows no certain difference from b (in what a lacks) in any of 3 effects" in text


def test_where_nothing_is_in_doubt_there_is_no_difference() -> None:
    runs = [lab(name, [result("null", [5.0] * 3000)], seed=s) for name in "ab" for s in range(6)]
    text = shown(compare(runs), 100)
    assert "b shows no difference from a in any of 3 effects." in text
    assert "certain difference" not in text


def test_only_the_largest_differences_are_shown_unasked() -> None:
    rows = {f"x.b{k:02}": 100.0 * (1 + k) for k in range(20)}
    runs = [
        lab(name, [result(bench, [value if name == "b" else 50.0] * 30)
                   for bench, value in rows.items()])
        for name in "ab"
    ]  # fmt: skip
    compared = compare(runs)
    lines = shown(compared, 120, everything=False).splitlines()
    differences = [line for line in lines if line.startswith("  - worse")]
    assert len(differences) == 10
    assert differences[0].split()[2:] == [
        "x.b19", "p50", "40", "times", "more", "50.0", "instr", "->", "2.00", "k", "instr",
    ]  # fmt: skip
    assert "20 rows in all, shown by --all" in " ".join(lines[-4:])
    assert len(lines) <= 23  # of a terminal, beside the prompt
    every = shown(compared, 120).splitlines()
    assert sum(line.startswith("x.b") for line in every) == 40  # values, and verdicts


def test_the_command_that_tells_the_noise_can_be_copied() -> None:
    def compared(targets: str) -> Comparison:
        return compare([
            lab(name, [result("null", [9.0 + k, 10.0 + k] * 50, unit="ns")], unit="ns")
            for k, name in enumerate(targets)
        ])  # fmt: skip

    columns = compared("ab").columns
    assert repeating(compared("ab")) == (
        f"rtstone compare --run {columns[0].target} {columns[1].target} null"
    )
    same = msgspec.structs.replace(
        compared("ab"), columns=[msgspec.structs.replace(c, target="local") for c in columns]
    )
    assert repeating(same) == (
        "for i in 1 2 3; do rtstone run null; done; rtstone compare "
        f"{columns[0].runs[0]} {columns[1].runs[0]} --floor last~2,last~1,last"
    )
    words = ["rtstone", "run", "null", "--time", "2", "--load", "it's", "--name", "a", "--json"]
    first, other = same.columns
    named = [msgspec.structs.replace(first, command=words), other]
    assert repeating(msgspec.structs.replace(same, columns=named)).startswith(
        "for i in 1 2 3; do rtstone run null --time 2 --load 'it'\"'\"'s'; done; rtstone compare "
    )
    words = ["rtstone", "run", "quick", "--limit", "100us", "--wait", "-p", "a=1", "--time", "2"]
    first, other = compared("ab").columns
    named = [msgspec.structs.replace(first, command=words), other]
    assert repeating(msgspec.structs.replace(compared("ab"), columns=named)) == (
        f"rtstone compare --run {first.target} {other.target} quick -p a=1 --time 2"
    )
    ids = ["20261122-222718.272-quick-8514", "20261122-223100.001-quick-0a0b"]
    assert _compared_again(same, [ids[0]], [ids[1]]) == "20261122-222718.272 20261122-223100.001"
    twins = ids[0], f"{ids[0][:-1]}5"  # the start says which no more
    assert _compared_again(same, [twins[0]], [twins[1]]) == " ".join(twins)
    names = {ids[0]: "it's before"}
    command = _compared_again(same, ids, [], names=names)
    assert shlex.split(command) == ["it's before,20261122-223100.001"]


def test_where_the_floor_is_known_there_is_a_next_step() -> None:
    runs = [quiet(number) for number in range(10)]
    comparison = compare([runs[8], runs[9]], floor=runs[:8])
    assert advice(comparison) == (
        "To settle it, take about 5 pairs of runs in turn (run one, then the other), and join "
        "those of each by commas.", "",
    )  # fmt: skip
    first, other = comparison.columns
    apart = [first, msgspec.structs.replace(other, target="ssh:b")]
    assert advice(msgspec.structs.replace(comparison, columns=apart)) == (
        "To settle it, take about 5 pairs of runs in turn:",
        "rtstone compare --run local ssh:b dk.periodic --pairs 5",
    )


def test_where_more_runs_settle_nothing_it_names_floor_and_steal() -> None:
    runs = [quiet(number) for number in range(10)]
    comparison = compare([runs[8], runs[9]], floor=runs[:8])
    (case,) = comparison.main
    effects = [
        msgspec.structs.replace(
            e, effect=msgspec.structs.replace(e.effect, pairs=None, verdict="inconclusive")
        )
        for e in case.effects
    ]
    hopeless = msgspec.structs.replace(
        comparison, main=[msgspec.structs.replace(case, effects=effects)]
    )
    floor = max(e.effect.floor or 0 for e in effects)
    text, command = advice(hopeless)
    assert command == ""
    assert text == (
        f"More runs of this machine will not decide it: noise floor {rounded(100 * floor)}%."
    )
    columns = [msgspec.structs.replace(c, stolen=0.048) for c in comparison.columns]
    text, _ = advice(msgspec.structs.replace(hopeless, columns=columns))
    assert text.endswith(
        "%, and steal time grew between 4.8% of its readings. Its hypervisor is the likely reason; "
        "measure on a machine of its own."
    )


def test_of_runs_too_short_for_a_floor_it_asks_for_longer_ones() -> None:
    comparison = compare([lossy(0), lossy(1)], floor=[lossy(number) for number in (2, 3, 4)])
    assert comparison.main[0].verdict == "inconclusive"
    text, command = advice(comparison)
    assert text.startswith("Runs of 10.0 s are too short to decide it; about ")
    assert text.endswith(" each would do, several on each side:")
    words = shlex.split(command)
    assert words[:4] == ["rtstone", "run", "dk.periodic", "--time"] and int(words[4]) > 1000
    (column, other) = comparison.columns
    timed = ["rtstone", "run", "wakeup", "--load", "heavy", "--time=20"]
    columns = [msgspec.structs.replace(column, command=timed), other]
    assert advice(msgspec.structs.replace(comparison, columns=columns))[1] == (
        f"rtstone run wakeup --load heavy --time {words[4]}"
    )
    apart = [column, msgspec.structs.replace(other, target="ssh:b")]
    text, command = advice(msgspec.structs.replace(comparison, columns=apart))
    assert text.endswith(" each would do:")
    assert command == (f"rtstone compare --run local ssh:b dk.periodic --pairs 2 --time {words[4]}")


def test_of_runs_too_short_without_a_floor_it_asks_for_longer_ones_at_once() -> None:
    """Not for as short ones first, of which it then says that they settle nothing."""
    text, command = advice(compare([lossy(0), lossy(1)]))
    assert text.startswith("Runs of 10.0 s are too short to decide it; about ")
    assert "--floor" not in command and "--time" in command


def test_of_one_case_that_is_open_it_says_so_once() -> None:
    comparison = compare([lossy(0), lossy(1)])
    (answer,) = compared(comparison).answers
    assert "not certainly different" in answer.text
    lines = shown(comparison, 80).splitlines()
    verdicts = lines.index(next(line for line in lines if line.startswith("Verdicts")))
    assert not any(line.startswith("equal: ") for line in lines[:verdicts])


def test_n_is_that_of_what_the_percentiles_are_of() -> None:
    comparison = compare([quiet(0), lossy(0)])
    cell = comparison.rows[0].cells[1]
    assert cell and cell.corrected
    n = f"{count(cell.n)} of 10 000"
    wide = shown(comparison, 160)
    assert f"10 000/{n}" in wide
    assert f"n {n}" in shown(comparison, 60).replace("\n", " ")


def _compared_again(
    comparison: Comparison, *runs: list[str], names: dict[str, str] | None = None
) -> str:
    """Return the runs that the command for the noise floor names."""
    columns = [
        msgspec.structs.replace(column, runs=ids, names=names or {})
        for column, ids in zip(comparison.columns, runs, strict=True)
        if ids
    ]
    command = repeating(msgspec.structs.replace(comparison, columns=columns))
    assert command
    return command.partition("rtstone compare ")[2].removesuffix(" --floor last~2,last~1,last")


@pytest.mark.parametrize("width", [30, 80, 1000])
def test_a_command_in_several_lines_is_one_to_a_shell(width: int) -> None:
    runs = shlex.quote("it's \\ before"), shlex.quote("my run"), "20261122-222718.272"
    command = f"for i in 1 2; do :; done; printf '%s|' {' '.join(runs)} --floor last~2,last~1"
    lines = copied(command, width)
    assert all(len(line) <= width for line in lines)
    assert (len(lines) > 1) == (width < 100)
    said = subprocess.run(
        ["sh", "-c", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    assert said.stdout == "it's \\ before|my run|20261122-222718.272|--floor|last~2,last~1|"
