"""The first lines of a comparison: what decides, its numbers, and the chart beside it."""

from __future__ import annotations

from rtstone.documents.comparison import Comparison
from rtstone.documents.run import Run
from rtstone.report.comparison.charts import charted
from rtstone.report.comparison.page import compared
from rtstone.report.parts.model import Answer
from rtstone.stats.comparison.compare import compare, compare_with_results
from tests.report.test_verdicts import shown
from tests.stats.lab import lab, result
from tests.stats.lossy import lossy, quiet
from tests.stats.test_main_case import RT, STOCK, system, woken


def first(comparison: Comparison) -> Answer:
    return compared(comparison).answers[0]


def test_what_decides_stands_before_all_counts() -> None:
    comparison = compare([system("stock", STOCK), system("rt", RT)])
    answers = compared(comparison).answers
    head, axes, balance = answers
    assert (head.text, head.grade) == (
        "The worst wake-ups of rt are better than those of stock, for seed 1: missed none of its "
        "activations against 1.96% (load syscalls). But it is worse in the maximum (2 of 3 cases).",
        "info",
    )  # fmt: skip
    assert head.notes == [
        "Also: max 18.2 k instr (load heavy) against 88.9 k instr (load syscalls), 4.88 times "
        "fewer.",
        "stock, dk.periodic, load syscalls: n 100, max 88 900, missed 2 (1.96%)",
        "stock, dk.periodic, load heavy: n 100, max 12 000, missed 0",
        "rt, dk.periodic, load syscalls: n 100, max 15 000, missed 0",
        "rt, dk.periodic, load heavy: n 100, max 18 200, missed 0",
    ]
    assert "cases" in axes.text and not axes.grade
    assert balance.text == (
        "rt is worse than stock in 2 of 10 effects: the maximum (2 of 3 cases); and better in 2: "
        "the maximum (1 of 3 cases), missed activations (1 of 1); 3 no difference, 3 inconclusive."
    )
    assert not balance.grade
    lines = shown(comparison, 80, everything=False).splitlines()
    assert lines[0].startswith("The worst wake-ups of rt are better")
    assert "  stock, dk.periodic, load syscalls: n 100, max 88 900, missed 2 (1.96%)" in lines


def test_under_one_load_it_is_named_once() -> None:
    heavy = {"heavy": STOCK["heavy"]}
    head = first(compare([system("stock", heavy), system("rt", {"heavy": RT["heavy"]})]))
    assert head.text == (
        "The worst wake-ups of rt are worse than those of stock, load heavy, for seed 1: max 18.2 "
        "k instr against 12.0 k instr, +52%."
    )
    assert head.notes[0] == "Also: none missed on either."
    assert head.grade == "bad"


def test_of_what_was_lost_nothing_is_claimed() -> None:
    head = first(compare([system("stock", STOCK), system("rt", RT, without=["heavy"])]))
    assert head.text.startswith(
        "The worst wake-ups of rt are not certainly different from those of stock, load syscalls: "
    )
    assert head.text.endswith(
        " rt lost dk.periodic, load heavy (failed: panic): its worst is not known."
    )
    assert head.grade == "info"
    null = result("null", [5.0] * 30)
    nothing = first(compare([system("a", STOCK, null), system("b", STOCK, null, without=[*STOCK])]))
    assert nothing.text == (
        "The worst wake-ups of b are not certainly different from those of a. b lost dk.periodic, "
        "load none (failed: panic), and 2 more: its worst is not known."
    )


def test_what_only_one_ran_is_named() -> None:
    fewer = {load: v for load, v in STOCK.items() if load != "syscalls"}
    head = first(compare([system("stock", STOCK), system("rtos", fewer)]))
    assert "Not considered, as rtos did not run it: dk.periodic, load syscalls." in head.notes


def test_what_a_third_ran_too_is_no_matter_of_one_alone() -> None:
    fewer = {load: v for load, v in STOCK.items() if load != "syscalls"}
    runs = [system("stock", STOCK), system("rt", RT), system("rtos", fewer)]
    notes = [note for answer in compared(compare(runs)).answers for note in answer.notes]
    assert "Not considered, as rtos did not run it: dk.periodic, load syscalls." in notes
    assert not any("only" in note for note in notes)


def test_the_first_line_of_several_names_the_best() -> None:
    third = dict.fromkeys(STOCK, (50e3, 0))
    runs = [system("stock", STOCK), system("rt", RT), system("third", third)]
    answers = compared(compare(runs)).answers
    assert [(a.text, a.grade) for a in answers[:1]] == [
        ("Best of 3: rt, certainly better than third, the second, for seed 1 (n 100 each).", "good")
    ]
    assert answers[1].text.startswith(
        "The worst wake-ups of third are worse than those of rt, for seed 1"
    )
    quick = system("quick", {"none": (1e3, 0)})
    text = compared(compare([*runs[:2], quick])).answers[0].text
    assert (
        text
        == "Best of 3: quick, certainly better than rt in what both ran, for seed 1 (n 100 each)."
    )
    same = [lab(name, [woken("none", 9e3, n=20_000)]) for name in ("a", "b", "c")]
    assert compared(compare(same)).answers[0].text == "Best of 3: a and b, with no difference."
    unsure = compared(compare([quiet(number) for number in range(3)])).answers[0]
    assert unsure.text.startswith("Best of 3, as far as seen: local (")
    assert ", not certainly better than local (" in unsure.text and unsure.grade == "info"


def test_worst_under_different_loads_are_shown_under_the_same_load_first() -> None:
    a = system("a", {"none": (9e3, 0), "heavy": (80e3, 0)})
    b = system("b", {"none": (20e3, 0), "heavy": (15e3, 0)})
    head = first(compare([a, b]))
    assert head.text == (
        "The worst wake-ups of b are better than those of a, for seed 1: max 15.0 k instr against "
        "80.0 k instr, 5.33 times fewer (load heavy). But it is worse in the maximum (1 of 2 "
        "cases)."
    )
    assert head.notes[0].startswith(
        "Also: max 20.0 k instr (without load) against 80.0 k instr (load heavy), 4 times fewer"
    )


def test_of_several_cpus_the_worst_of_each_system_stand_first() -> None:
    """A CPU on which one of them is 20 times better hides another on which it is as bad."""

    def cpus(name: str, *missed: int) -> Run:
        return lab(name, [
            woken("heavy", 9e3, number, n=1000, series=f"cpu{cpu}")
            for cpu, number in enumerate(missed)
        ])  # fmt: skip

    head = first(compare([cpus("before", 63, 50), cpus("after", 3, 43)]))
    assert head.text == (
        "The worst wake-ups of after are better than those of before, for seed 1: missed 4.12% "
        "(dk.periodic cpu1, load heavy) of its activations against 5.93% (dk.periodic cpu0, load "
        "heavy)."
    )


def test_nothing_is_said_of_a_correction_of_no_effects() -> None:
    lines = shown(compare([system("a", STOCK), system("b", STOCK)]), 200, everything=False)
    assert "Verdicts: noise floor none, as counts repeat exactly" in lines
    assert "Bonferroni" not in lines


def test_where_single_runs_leave_it_open_the_estimate_says_what_would_settle_it() -> None:
    runs = [quiet(number) for number in range(10)]
    head = first(compare([runs[8], runs[9]], floor=runs[:8]))
    assert head.text == (
        "The worst wake-ups of local (9) are not certainly different from those of local (8), "
        "without load: 6.2% slower at p99.9; between 5.4% faster and 19% slower is possible; about "
        "5 pairs of runs taken in turn would settle it."
    )
    assert head.notes[1] == (
        "local (8), dk.periodic, load none: n 10 000 in 10.0 s, p99 10.0 µs, p99.9 12.4 µs, "
        "max 15.9 µs, missed 0"
    )
    bare = first(compare(runs[:2])).text
    assert "; how far runs of one system differ is not known." in bare


def test_a_loss_that_is_not_certain_is_named_as_such() -> None:
    head = first(compare([quiet(0), lossy(0)]))
    assert "missed 24% of its activations against none (not certain: noise floor unk" in head.text
    assert "are not certainly different from" in head.text


def test_flags_that_void_a_result_stand_beside_its_numbers() -> None:
    beside = lab("rt", [woken("none", 9e3, flags=["other_run"])])
    *_, note = first(compare([lab("stock", [woken("none", 8e3)]), beside])).notes
    assert note.endswith(", measured beside another run of rtstone")


def test_where_there_is_no_difference_it_says_what_is_excluded() -> None:
    def constant(name: str, seed: int) -> object:
        return lab(name, [result("null", [5.0] * 3000)], seed=seed)

    runs = [constant(name, seed) for name in "ab" for seed in range(6)]
    assert first(compare(runs)).text == "b shows no difference from a."  # type: ignore[arg-type]


def test_the_chart_is_the_case_that_differs_most() -> None:
    """Of loads that the best system ran, not one that it did not."""
    for worst, caption in ((60e3, "dk.periodic, load syscalls"), (1e3, "dk.periodic")):
        third = system("third", {"none": (worst, 0)})
        comparison, behind = compare_with_results([system("stock", STOCK), system("rt", RT), third])
        assert comparison.main[0].final == ("rt" if worst > 18e3 else "third")
        page = charted(comparison, behind)
        assert page.first
        assert page.first.caption == caption
    same = [system(name, STOCK, result("null", [v] * 400)) for name, v in (("a", 5.0), ("b", 9.0))]
    page = charted(*compare_with_results(same))
    assert page.first
    assert page.first.caption == "dk.periodic, load syscalls"  # where it is worst
