from __future__ import annotations

import io

import pytest
from rich.console import Console

from rtstone.model.documents import Figure, Result, Run, Target
from rtstone.model.plan import Case, Plan
from rtstone.report.terminal import Display, figure, summary
from rtstone.wire.records import Progress


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 ns"),
        (0.123456, "0.123 ns"),
        (1, "1.00 ns"),
        (12.34, "12.3 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 µs"),
        (-3.846, "-3.85 ns"),
        (-45_600, "-45.6 µs"),
        (8.001e6, "8.00 ms"),
        (3.2e9, "3.20 s"),
        (4.5e12, "4500 s"),
    ],
)
def test_three_digits_and_the_unit_that_suits(value: float | None, text: str) -> None:
    assert figure(value) == text


def test_other_units_stay() -> None:
    assert figure(1234, "instructions") == "1230 instructions"


def run_of(*results: Result) -> Run:
    return Run(
        run_id="r", created="c", status="complete", target=Target(name="local"), results=[*results]
    )


def shown(run: Run, width: int) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(*summary(run, width), sep="\n")
    return stream.getvalue()


@pytest.mark.parametrize("width", [80, 100, 150])
def test_no_number_is_cut_short_in_a_narrow_terminal(width: int) -> None:
    result = Result(
        case=1, bench="mem.malloc.large", params={}, load="none", status="ok", n=110_544_903,
        min=-123.4, p50=123.4, p99=234.5, p999=345.6, max=456.7, missed=12,
        evidence={"section_ns": 10**9}, flags=["page_faults", "preempted", "steal"],
    )  # fmt: skip
    text = shown(run_of(result), width)
    for part in ("110 544 903", "-123 ns", "123 ns", "234 ns", "346 ns", "457 ns", "1.00 s", "12"):
        assert part in text


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
    for part in ("2/3", "ballast=20", "n 500", "p50 110 ns", "max 1.00 µs", "50%", "s left"):
        assert part in text
