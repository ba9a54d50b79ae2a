from __future__ import annotations

import io
import itertools
import re
from pathlib import Path

import msgspec
import pytest
from rich.console import Console
from rich.text import Text

from rtstone.cli.run_display import Display, Lines
from rtstone.documents import case_name
from rtstone.documents.plan import Case, Plan
from rtstone.documents.run import Distribution, Figure, Result, Run, Target
from rtstone.report.parts.console import console, figure, folded, sentences
from rtstone.report.run import results_table
from rtstone.report.run.answer import answer, grants
from rtstone.report.run.brief import brief, verdict
from rtstone.report.run.terminal import followed, stored, summary
from rtstone.results.flags import BY_NAME
from rtstone.stats.evaluate import evaluate_run
from rtstone.store.layout import run_name, runs
from rtstone.summary import COLUMNS
from rtstone.wire.records import Progress, Rate, TextTable
from tests.report import synthetic


def test_the_unknown_is_a_dash() -> None:
    assert figure(None) == "-"


def run_of(*results: Result) -> Run:
    return Run(
        run_id="r", created="c", status="complete", target=Target(name="local"), results=[*results]
    )


def shown(run: Run, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(*summary(evaluate_run(run), width), sep="\n")
    return stream.getvalue()


PERIODIC = Result(
    case=1, bench="mem.malloc.large", params={"order": "some-long-word"}, load="none", status="ok",
    n=110_544_903, min=-123.4, p50=123.4, p99=234.5, p999=345.6, max=456.7, missed=12,
    evidence={"section_ns": 10**9}, flags=["page_faults", "preempted", "steal"],
    corrected=Distribution(
        n=110_544_915, min=-123.4, mean=1, sd=1, p50=124.4, p90=1, p99=250.5, p999=777e3, p9999=1,
        max=999e3, histogram=[(1.0, 1)],
    ),
)  # fmt: skip
FIGURES = ("110 544 903", "-123 ns", "123 ns", "234 ns", "346 ns", "457 ns")
CORRECTED = ("corrected", "110 544 915", "124 ns", "250 ns", "777 µs", "999 µs")


@pytest.mark.parametrize("width", [30, 40, 59, 60, 70, 80, 100, 119, 120, 124, 150, 200])
@pytest.mark.parametrize("unit", ["ns", "instructions"])
def test_no_number_is_cut_and_no_word_broken_in_a_narrow_terminal(width: int, unit: str) -> None:
    other = msgspec.structs.replace(PERIODIC, unit=unit, params={"order": "fifo"})
    text = shown(run_of(msgspec.structs.replace(PERIODIC, unit=unit), other), width)
    lines = text.splitlines()
    assert all(len(line) <= width for line in lines)
    left_out = next((line for line in lines if line.startswith("no room for")), "")
    for name, part in zip(("n", "min", "p50", "p99", "p99.9", "max"), FIGURES, strict=True):
        value = part if unit == "ns" else part.replace("ns", "instr")
        assert value in text or name in left_out
    assert "mem.malloc.large" in text
    assert {"order=some-long-word", "order=fifo"} <= set(text.split())
    if "flags" not in left_out:
        assert {"page_faults", "preempted", "steal"} <= set(text.split())
    for name in ("p50", "max", "n") if width >= 60 else ():
        assert name not in left_out.replace(",", "").split()[:-5]


@pytest.mark.parametrize("width", range(70, 150, 7))
def test_long_parameters_leave_room_for_flags(width: int) -> None:
    params = {"variant": "priority-inheritance", "lock": "mutex", "samples_of_each": 123456}
    long = msgspec.structs.replace(PERIODIC, params=params, flags=["cut_short", "coarse"])
    other = msgspec.structs.replace(PERIODIC, params=dict.fromkeys(params, "other"))
    text = shown(run_of(long, other), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "no room" in text or {"cut_short", "coarse", "page_faults"} <= set(text.split())
    assert {f"{name}={value}" for name, value in params.items()} <= set(text.split())


def test_columns_are_dropped_in_a_fixed_order() -> None:
    def dropped(width: int) -> list[str]:
        text = shown(run_of(PERIODIC), width)
        match = re.search(r"no room for (.*);", text)
        return match[1].split(", ") if match else []

    drops = [dropped(width) for width in range(140, 60, -1)]
    assert drops[0] == []
    for fewer, longer in itertools.pairwise(drops):
        assert longer[: len(fewer)] == fewer
    assert drops[-1][:2] == ["min", "p99"]
    assert {*COLUMNS.values()} - {*results_table._DROPPED} == {"p50", "max"}


def test_many_results_of_a_bench_that_say_the_same_are_one_row() -> None:
    results = [
        Result(case=k, bench="b.c", params={"depth": k, "kind": "x"}, load="none", status="ok",
               n=1000, p50=450.0, max=450.0 + (k == 4))
        for k in range(6)
    ]  # fmt: skip
    rows = [line for line in shown(run_of(*results), 100).splitlines() if "450 ns" in line]
    assert len(rows) == 4  # verdict and worst result, five alike, and the one that differs
    assert "5 alike, by depth" in rows[2]
    assert "depth=4" in rows[3]
    loaded = [msgspec.structs.replace(r, load=load) for r in results[:3] for load in ("none", "io")]
    assert "6 alike, by depth load" in shown(run_of(*loaded), 100)


def test_a_narrow_terminal_shows_the_same_names() -> None:
    first = Result(case=1, bench="null", params={}, load="none", status="ok", n=1000, p50=450.0)
    text = shown(run_of(first, msgspec.structs.replace(first, load="io")), 20)
    assert "null, load io" in text.splitlines()


def test_equal_reasons_are_told_once_with_the_names() -> None:
    results = [
        Result(case=k, bench=f"x.b{k}", params={}, load="none", status="unsupported",
               reason=f"this target has no bench x.b{k}")
        for k in range(9)
    ]  # fmt: skip
    text = " ".join(shown(run_of(*results), 100).split())
    assert (
        "9 results unsupported: this target has no bench: x.b0, x.b1, x.b2, x.b3, x.b4, x.b5 and 3 "
        "more" in text
    )
    assert text.count("has no bench") == 2  # in the verdict, and with the names
    assert text.startswith(
        "No verdict: nothing was measured, this target has no bench x.b0. local; no result."
    )


def test_numbers_and_units_stay_on_one_line() -> None:
    text = Text("takes 110 544 903 samples in 12.5 ms, or 1.20 M instr")
    for width in range(12, 60):
        lines = [line.plain for line in sentences(text, width)]
        assert " ".join(lines) == text.plain
        for whole in ("110 544 903", "12.5 ms", "1.20 M instr"):
            assert any(whole in line for line in lines)


def test_a_percentile_that_there_are_too_few_samples_for_says_how_many_it_needs() -> None:
    few = Result(case=0, bench="x.y", params={}, load="none", status="ok", n=500, p50=9.0, max=20.0)
    trial = msgspec.structs.replace(synthetic.run(), results=[few], slopes=[])
    text = " ".join(str(line) for line in brief(evaluate_run(trial), 200))
    assert "p99 - (needs n 1 000)" in text and "p99.9 - (needs n 10 000)" in text


def test_the_answer_takes_ten_lines_at_most() -> None:
    stream = io.StringIO()
    out = console(stream)
    out.print(*brief(evaluate_run(synthetic.run()), out.width), sep="\n")
    lines = stream.getvalue().splitlines()
    assert lines[0].startswith("Not fit for")
    assert len(lines) <= 9  # and one where to go on
    assert [line[:2] for line in lines[-3:]] == ["1.", "2.", "3."]
    assert any("p99.9" in line and "missed" in line for line in lines)


@pytest.mark.parametrize("most", [12, 13, 14, 15, 40])
def test_the_verdict_stays_in_sight_on_a_small_terminal(most: int) -> None:
    """Findings for which there is no room are counted."""
    evaluated = evaluate_run(synthetic.run())
    whole, lines = (
        [str(line) for line in brief(evaluated, 80, "utf-8", room)] for room in (None, most)
    )
    assert lines[0].startswith("Not fit for")
    if len(whole) <= most:
        assert lines == whole
        return
    assert len(lines) <= most < len(whole)
    shown = [line for line in whole if line[:2] in ("1.", "2.", "3.") and line in lines]
    left = 3 - len(shown)
    assert lines[-1] == f"{left} more finding{'s' * (left > 1)} in all results"
    assert lines[:-1] == whole[: len(lines) - 1]


def test_hartstone_is_a_table_that_tells_what_never_broke_down() -> None:
    broke = hartstone_run(3).results[0]
    held = Result(
        case=2, bench="hart.SA.1", params={}, load="none", status="ok", flags=["cut_short"],
        figures={"no breakdown up to": Figure(value=14.6, unit="%")},
    )  # fmt: skip
    lines = shown(run_of(broke, held), 100).splitlines()
    assert lines[0].startswith("Deadlines held up to 94.0 % of raw speed: the least of 1 breakdown")
    assert "hart.SA.1 (up to 14.6 %)" in " ".join(lines[:2])
    rows = {line.split()[0]: line for line in lines if line.startswith("hart.")}
    assert "94.0 %" in rows["hart.PH.1"]
    assert "96.0 %" in rows["hart.PH.1"]
    assert "> 14.6 %" in rows["hart.SA.1"]
    assert "cut_short" in rows["hart.SA.1"]
    assert max(map(len, lines)) <= 100


def test_without_a_bound_one_line_says_how_long_to_measure() -> None:
    text = " ".join(shown(synthetic.run(), 100).split())
    assert "inconclusive" not in text
    assert text.count("no bound of a worst case: it takes at least ") == 1
    assert re.search(r"rtstone run dk.periodic --time \d+\)", text)


def test_the_corrected_distribution_has_a_row_of_its_own() -> None:
    lines = shown(run_of(PERIODIC), 150).splitlines()
    row = next(i for i, line in enumerate(lines) if line.startswith("mem.malloc.large  "))
    assert all(part in lines[row + 1] for part in CORRECTED)
    on_time = msgspec.structs.replace(PERIODIC, missed=0, corrected=None)
    assert "corrected" not in shown(run_of(on_time), 150)


@pytest.mark.parametrize("width", [40, 150])
def test_the_column_of_the_time_has_one_name(width: int) -> None:
    text = shown(run_of(PERIODIC), width)
    assert re.search(r"max +time|time 1.00 s", text)
    assert not re.search(r"max +over", text)


def test_a_load_that_missed_its_rate_comes_with_what_to_do() -> None:
    why = "load heavy: cpu missed its rate by more than 20%: 35.01 of 100 ms per second"
    short = msgspec.structs.replace(PERIODIC, load="heavy", status="incomplete", reason=why)
    run = msgspec.structs.replace(
        run_of(PERIODIC, short), status="incomplete", reason="1 of 2 results is incomplete"
    )
    own = answer(evaluate_run(run))
    advice = "; repeat while the machine does less, or with --load heavy/reduced"
    said = "INCOMPLETE: 1 of 2 results is incomplete"
    assert list(verdict(run, own))[1].plain == f"{said}, {short.bench}: {why}{advice}"
    decided = own._replace(verdict=f"No verdict: dk.periodic, under load heavy, incomplete: {why}.")
    assert list(verdict(run, decided))[1].plain == f"{said}{advice}"  # once is enough
    lost = msgspec.structs.replace(short, reason="wire: record 8 damaged")
    other = msgspec.structs.replace(run, results=[PERIODIC, lost])
    assert "repeat" not in list(verdict(other, answer(evaluate_run(other))))[1].plain


def test_a_lack_of_rights_is_told_where_nothing_could_run() -> None:
    result = Result(case=1, bench="b", params={}, load="none", status="unsupported", reason="no")
    run = run_of(result)
    assert "WITHOUT" not in shown(run, 100)
    refused = msgspec.structs.replace(run, conditions={"rights.realtime": False})
    assert "WITHOUT real-time scheduling" in shown(refused, 100).splitlines()[0]


def test_no_line_ends_within_a_command() -> None:
    sentence = (
        "no bound of a worst case: it takes at least 60.0 s (rtstone run dk.periodic --time 60)"
    )
    sentence += "; `rtstone doctor --problems` names suspects"
    rows = [line.plain for line in sentences(Text(sentence), 80)]
    assert [" ".join(rows)] == [sentence]
    assert sum("(rtstone run dk.periodic --time 60)" in row for row in rows) == 1
    assert sum("`rtstone doctor --problems`" in row for row in rows) == 1
    run_id = "20261122-222718.272-quick-8514"
    narrow, wide = ([line.plain for line in followed(run_id, width)] for width in (80, 150))
    assert narrow == [f"all results: rtstone show {run_id}", f"a page: rtstone report {run_id}"]
    (line,) = followed("before", 80)
    assert line.plain == "all results: rtstone show before; a page: rtstone report before"
    assert wide == ["; ".join(narrow)]


def test_nothing_follows_a_command_that_grants_rights() -> None:
    """It is at the end of the verdict, to be copied; what was lacking is told before."""
    refused = {"rights.realtime": False, "rights.memlock": False}
    late = msgspec.structs.replace(PERIODIC, flags=["no_rt"])
    run = msgspec.structs.replace(run_of(late), conditions=refused, target=Target(name="local"))
    (line,) = verdict(run, answer(evaluate_run(run)))
    assert grants(run)
    assert re.search(r"WITHOUT real-time scheduling( and locked memory)?\. This", line.plain)
    assert line.plain.endswith(grants(run))
    assert line.plain.count("This grants them") == 1


def test_what_is_no_terminal_gets_whole_lines_without_padding() -> None:
    stream = io.StringIO()
    out = console(stream)
    other = Result(case=2, bench="b", params={}, load="none", status="ok", flags=["no_rt"], n=1)
    notes = ["word " * 100 + "end"]
    run = msgspec.structs.replace(run_of(PERIODIC, other), notes=notes)
    out.print(*summary(evaluate_run(run), out.width), sep="\n")
    lines = stream.getvalue().splitlines()
    assert not [line for line in lines if line != line.rstrip()]
    assert any(line.startswith("note:") and line.endswith("end") for line in lines)
    flag = BY_NAME["no_rt"]
    assert f"no_rt: {flag.cause}; {flag.advice}" in lines


def test_a_closed_pipe_is_the_callers_business() -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        console(Closed()).print("x")


def test_the_page_of_a_run_that_is_kept_elsewhere(tmp_path: Path) -> None:
    def stored_text(place: Path) -> str:
        stream = io.StringIO()
        console(stream).print(*stored(place, run_name(place, None), 1000), sep="\n")
        return stream.getvalue()

    assert "rtstone report r\n" in stored_text(runs() / "r")
    assert f"rtstone report '{tmp_path}/a b'\n" in stored_text(tmp_path / "a b")
    assert f"rtstone report {tmp_path}/r\n" in stored_text(tmp_path / "r")


def test_zero_counts_are_left_to_the_document() -> None:
    figures = {"bad": Figure(value=0, unit="samples"), "good": Figure(value=2.5, unit="ns")}
    result = Result(case=1, bench="b", params={}, load="none", status="ok", figures=figures)
    text = shown(run_of(result), 100)
    assert "good 2.50 ns" in text
    assert "bad" not in text


def test_reasons_are_told() -> None:
    result = Result(
        case=1, bench="b", params={}, load="none", status="unsupported", reason="no [heap] here"
    )
    assert "unsupported b: no [heap] here" in shown(run_of(result), 100)


def test_the_live_display(plan: Plan) -> None:
    stream = io.StringIO()
    display = Display(Console(file=stream, force_terminal=True, width=100, color_system=None))
    case: Case = plan.cases[1]
    display.started(plan)
    display.case_started(case)
    display.progress(
        case, Progress(2, 500, 10**9, 120, 130, 140, 1020, overhead=20, done=500), "ns"
    )
    result = Result(case=2, bench="ctx.ballast", params={}, load="none", status="ok", n=7)
    display.case_ended(case, [result])
    display.ended()
    text = stream.getvalue()
    for part in (
        "2/3", "ballast=20", "n 500", "p50 110 ns", "p99 -  ", "max 1.00 µs", "50%", "s left",
    ):  # fmt: skip
        assert part in text


def test_the_time_left_of_an_emulated_run_is_known_from_its_own_rate(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second of virtual time takes as long as it takes; the plan's times are virtual."""
    now = [100.0]
    monkeypatch.setattr("rtstone.cli.run_display.time.monotonic", lambda: now[0])
    place = msgspec.structs.replace(plan.target, detail={"icount": True})
    emulated = msgspec.structs.replace(plan, target=place)
    stream = io.StringIO()
    display = Display(Console(file=stream, force_terminal=True, width=100, color_system=None))
    display.started(emulated)
    display.case_started(emulated.cases[0])
    assert "0%" in stream.getvalue() and "left" not in stream.getvalue()
    now[0] += 600.0
    display.case_ended(emulated.cases[0], [
        Result(case=1, bench="ctx.ballast", params={}, load="none", status="ok", n=7)
    ])  # fmt: skip
    display.ended()
    share, left = re.findall(r"(\d+)%, about (\d+) min left", stream.getvalue())[-1]
    assert int(left) == pytest.approx(10 * (100 / int(share) - 1), rel=0.2)


def test_the_live_display_has_a_percentile_once_a_result_would(plan: Plan) -> None:
    stream = io.StringIO()
    display = Display(Console(file=stream, force_terminal=True, width=100, color_system=None))
    display.started(plan)
    for n in (19, 20, 999, 1000):
        display.progress(plan.cases[1], Progress(2, n, 10**9, 120, 130, 140, 1020), "ns")
    display.ended()
    shown = re.findall(r"n ([\d ]+)  min \S+ ns  p50 (\S+).*?p99 (\S+)", stream.getvalue())
    assert list(dict.fromkeys(shown)) == [  # the last one stays when it has ended
        ("19", "-", "-"), ("20", "130", "-"), ("999", "130", "-"), ("1 000", "130", "140"),
    ]  # fmt: skip


def test_tables_and_what_the_load_did_are_told() -> None:
    facts = TextTable("options", ["option", "value"], [["[bold]A", "1"], ["B", "-"]])
    rates = [
        Rate(component="disk", unit="ms", wanted=100.0, achieved=done, window_s=1.0)
        for done in (90.0, 110.5)
    ]
    results = [
        Result(case=1, bench="posix.options", params={}, load="none", status="ok", tables=[facts]),
        *(
            Result(case=k, bench="b", params={}, load="heavy", status="ok", load_rates=[rate])
            for k, rate in enumerate(rates, 2)
        ),
    ]
    text = shown(run_of(*results), 100)
    assert "load heavy: disk 90 to 110 of 100 ms/s" in text
    assert "posix.options: options" in text
    lines = [line.split() for line in text.splitlines()]
    at = lines.index(["[bold]A", "1"])
    assert lines[at + 1] == ["B", "-"]


def hartstone_run(rows: int) -> Run:
    facts = TextTable("tests", ["test", "met"], [[str(k), "10"] for k in range(rows)])
    result = Result(
        case=1, bench="hart.PH.1", params={}, load="none", status="ok", tables=[facts],
        figures={"breakdown utilisation": Figure(value=94.0, unit="%"),
                 "first miss at": Figure(value=96.0, unit="%"),
                 "tests": Figure(value=9.0, unit="")},
    )  # fmt: skip
    return run_of(result)


def test_a_table_too_long_for_a_terminal_is_left_to_the_report() -> None:
    assert "tables in the report" not in shown(hartstone_run(100), 160)
    assert "tables in the report and --json: hart.PH.1 (101 rows)" in shown(hartstone_run(101), 160)


def test_a_reason_is_told_once(plan: Plan) -> None:
    out = io.StringIO()
    lines = Lines(out)
    lines.started(plan)
    reason = "needs smp: one CPU"
    for case in plan.cases[:2]:
        result = Result(case=case.id, bench=case.bench, params={}, load="none",
                        status="unsupported", reason=reason)  # fmt: skip
        lines.case_ended(case, [result])
    first, second = out.getvalue().splitlines()
    assert first == f"1/3 ctx.ballast ballast=10: unsupported: {reason}"
    assert second.endswith(": unsupported, like case 1")


def test_progress_calls_a_case_as_its_results_will_be_called(plan: Plan) -> None:
    (bench,) = plan.benches.values()
    default = next(param.default for param in bench.params if param.name == "ballast")
    cases = [
        msgspec.structs.replace(plan.cases[0], params={"samples": 5}, load="io"),
        msgspec.structs.replace(plan.cases[1], params={"ballast": 20, "samples": 5}),
    ]
    out = io.StringIO()
    lines = Lines(out)
    lines.started(msgspec.structs.replace(plan, cases=cases))
    for case in cases:
        result = Result(case=case.id, bench=case.bench, params={}, load=case.load, status="ok")
        lines.case_ended(case, [result])
    assert [line.partition(": ")[0] for line in out.getvalue().splitlines()] == [
        f"1/2 ctx.ballast ballast={default}, load io", "2/2 ctx.ballast ballast=20",
    ]  # fmt: skip


def test_what_a_case_without_samples_says_of_itself_is_shown(plan: Plan) -> None:
    out = io.StringIO()
    display = Display(Console(file=out, force_terminal=True, width=100, color_system=None))
    display.started(plan)
    display.case_started(plan.cases[0])
    display.progress(plan.cases[0], Progress(1, done=100, text="test 2 at 30%"), "ns")
    display.ended()
    assert "test 2 at 30%" in out.getvalue()


def test_the_line_of_a_case_without_samples_holds_what_it_is_run_for(plan: Plan) -> None:
    out = io.StringIO()
    lines = Lines(out)
    lines.started(plan)
    lines.case_ended(plan.cases[0], hartstone_run(3).results)
    assert out.getvalue().strip().endswith("ok breakdown utilisation 94.0 %, first miss at 96.0 %")


def test_the_width_of_labels_takes_few_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial folds all labels, and a list among the parameters can be of any length."""
    name = case_name.CaseName("null", "clock=" + ", ".join("0" * 5000), "", "none", usual=True)
    line = results_table.Row("null", name.label, name, {})
    trials: list[int] = []

    def counting(text: str, width: int) -> list[str]:
        trials.append(width)
        return folded(text, width)

    monkeypatch.setattr(results_table, "folded", counting)
    width = results_table._label_width([line], 2)
    assert len(trials) <= 20
    assert [len(folded(line.label, w)) for w in (width - 1, width)] == [3, 2]


def test_a_count_has_no_fraction() -> None:
    assert figure(19.0, "options") == "19 options"
    assert figure(2.0, "options per s") == "2.00 options per s"
    assert figure(2.0, "per s") == "2.00 per s"
    assert (figure(19.0, "ns"), figure(19.0, "%")) == ("19.0 ns", "19.0 %")
