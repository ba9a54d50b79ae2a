from __future__ import annotations

import pytest
from msgspec import structs

from rtstone import units
from rtstone.documents.run import Clock, Result, Run, Slope, Target, Value
from rtstone.report.parts import typeset, words
from tests.documents.test_case_name import BENCH


def result(load: str = "none", series: str = "", **params: Value) -> Result:
    return Result(
        case=0, bench=BENCH.id, params=params, load=load, series=series, status="ok", n=1
    )  # fmt: skip


def run_of(*results: Result, slopes: tuple[Slope, ...] = (), **conditions: Value) -> Run:
    return Run(
        run_id="r", created="c", status="complete", target=Target(name="local"), benches=[BENCH],
        results=[*results], slopes=[*slopes], conditions=conditions,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "unknown"),
        (0, "0 ns"),
        (-0.5, "-0.500 ns"),
        (0.0076, "0.00760 ns"),
        (0.123456, "0.123 ns"),
        (1, "1.00 ns"),
        (12.34, "12.3 ns"),
        (999.4, "999 ns"),
        (999.6, "1.00 µs"),
        (-3.846, "-3.85 ns"),
        (-45_600, "-45.6 µs"),
        (8_012_345, "8.01 ms"),
        (61e9, "61.0 s"),
        (4.5e12, "4500 s"),
    ],
)
def test_three_digits_and_the_unit_that_suits(value: float | None, text: str) -> None:
    assert units.quantity(value, "ns") == text
    fine = typeset.quantity(value, "ns")
    assert fine.replace("\u202f", " ").replace("\N{MINUS SIGN}", "-") == text
    assert " " not in fine


@pytest.mark.parametrize(
    ("value", "text"),
    [(4, "4.00 instr"), (1234, "1.23 k instr"), (2.5e6, "2.50 M instr"), (0, "0 instr")],
)
def test_instructions_are_scaled(value: float, text: str) -> None:
    assert units.quantity(value, "instructions") == text
    assert " " not in typeset.quantity(value, "instructions")


@pytest.mark.parametrize(
    ("value", "text"), [(3.14159, "3.14"), (77_012.0, "77 000"), (999.7, "1 000"), (150, "150")]
)
def test_ratios_are_written_out(value: float, text: str) -> None:
    assert units.rounded(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.2, "200 ms"), (1, "1.00 s"), (119, "119 s"), (3723, "1 h 2 min 3 s")]
)
def test_spans(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_slopes() -> None:
    def slope(rate: float, constant: bool = False) -> Slope:
        return Slope(
            bench=BENCH.id, load="none", over="size", params={"touch": False, "samples": 5},
            points=[(1, 1.0)] * 3, slope=rate, ci95=(rate - 0.5, rate + 0.5), unit="ns per B",
            constant=constant,
        )  # fmt: skip

    up, down, flat = words.growths(run_of(slopes=(slope(2), slope(-12345), slope(0.1, True))))
    assert up.name == "mem.memset touch=off"
    assert (up.rate, up.interval, up.verdict) == (
        "+2.05 µs per KiB", "95%: 1.54 µs to 2.56 µs, 3 points", "grows"
    )  # fmt: skip
    assert (down.rate, down.verdict) == ("-12.6 ms per KiB", "falls")
    assert flat.verdict == "no growth of the mean seen"
    same = structs.replace(
        slope(0.0, constant=True), points=[(1, 1141.7), (11, 1141.7), (21, 1141.7)],
        ci95=(0.0, 0.0), statistic="min",
    )  # fmt: skip
    clock = Clock(source="c", hz=10**9, resolution_ns=1.0, overhead_ns=20.0)
    (level,) = words.growths(structs.replace(run_of(slopes=(same,)), clock=clock))
    assert (level.interval, level.verdict) == (
        "95%: 0 ns to 0 ns, 3 points",
        "no growth of the minimum above 51.2 ns per KiB, a step of the clock",
    )
    steps = structs.replace(
        slope(0.1), over="tasks", growth="logarithmic", doubling=12.5, doubling_ci95=(12.0, 13.0)
    )
    (curved,) = words.growths(run_of(slopes=(steps,)))
    assert (curved.rate, curved.interval, curved.verdict) == (
        "+12.5 ns per doubling of tasks", "95%: 12 ns to 13 ns, 3 points",
        "grows with the logarithm",
    )  # fmt: skip


def test_phrases_are_set_with_care() -> None:
    assert typeset.typeset("95%: -1.50 ns to 12 000 ns, 5 points") == (
        "95%: \N{MINUS SIGN}1.50\u202fns to 12\u202f000\u202fns, 5 points"
    )


def test_only_rights_that_were_wanted_are_lacking() -> None:
    def timesharing(policy: str, *flags: str) -> Result:
        evidence: dict[str, Value] = {"sched": "other", "locked": True}
        return structs.replace(result(policy=policy), evidence=evidence, flags=list(flags))

    unprivileged, refused = timesharing("other"), timesharing("fifo", "no_rt")
    assert not words.lacking_rights(run_of(unprivileged))
    assert words.lacking_rights(run_of(unprivileged, refused)) == {"real-time scheduling": 1}


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (0.012345, "0.0123"), (1.25, "1.25"), (9.999, "10"), (99.95, "100"),
        (999.4, "999"), (-999.4, "-999"), (999.5, "1 000"), (-999.5, "-1 000"), (1004, "1 000"),
        (1006, "1 010"), (77_049, "77 000"), (1_234_567, "1 230 000"),
    ],
)  # fmt: skip
def test_three_digits_are_written_out(value: float, text: str) -> None:
    assert units.rounded(value) == text
