"""Speed against determinism in a reproduction: today's systems, and the printed numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

from rtstone.documents.comparison import Effect
from rtstone.documents.reproduction import Contrast, ContrastCase
from rtstone.documents.run import Batches, Result, Run, Target
from rtstone.stats.comparison.direction import SMALLER
from rtstone.stats.comparison.verdicts import beside_constant
from rtstone.stats.reproduce import reproduce
from rtstone.wire.records import Bench
from tests.conftest import Cli
from tests.stats.runs import AGENT, CLOCK
from tests.stats.test_reproduce import _measure

N = 1000


def result(usual: float, late: float, bench: str = "proc.create", **members: Any) -> Result:
    """Return samples of which the last 20 are late; they are independent of one another."""
    mean = (usual * (N - 20) + late * 20) / N
    size = N // 20
    whole: dict[str, Any] = {
        "case": 1, "bench": bench, "params": {"kind": "thread"}, "load": "none", "status": "ok",
        "n": N, "min": usual, "mean": mean, "sd": abs(late - usual) / 7, "p50": usual, "p90": usual,
        "p99": late, "max": late, "histogram": [(usual, N - 20), (late, 20)],
        "batches": Batches(
            n=[size] * 20, mean=[mean] * 20,
            above={"p50": [size] * 20, "p90": [size] * 20, "p99": [1] * 20},
        ),
    }  # fmt: skip
    return Result(**(whole | members))


def run(name: str, *results: Result, number: int = 0) -> Run:
    return Run(
        run_id=f"{name}-{number}", created=f"2026-11-21T00:00:{number:02}+00:00",
        status="complete", target=Target(name=name), agent=AGENT, clock=CLOCK,
        results=list(results), benches=[Bench("proc.create", "Create"), Bench("null", "Nothing")],
    )  # fmt: skip


def of_today(*runs: Run, past: Any = None) -> Contrast:
    (contrast,) = [
        c for c in reproduce("sjoblom", runs, past).document.contrasts if c.printed is None
    ]
    return contrast


def printed(*runs: Run) -> Contrast:
    (contrast,) = [c for c in reproduce("sjoblom", runs).document.contrasts if c.printed]
    return contrast


def only(contrast: Contrast) -> ContrastCase:
    (case,) = contrast.cases
    return case


# ---- systems of today ---------------------------------------------------------------------------


def test_each_two_columns_are_compared_once_in_what_the_tables_show() -> None:
    runs = [run(name, result(1000, 1500), result(5, 9, "null")) for name in "abc"]
    contrasts = reproduce("sjoblom", runs).document.contrasts
    pairs = [(c.column, c.against) for c in contrasts if c.printed is None]
    assert pairs == [(1, 0), (2, 0), (2, 1)]
    document = reproduce("sjoblom", runs).document
    for contrast in contrasts[:3]:
        case = only(contrast)  # that of null is in no table
        assert case.label.startswith("proc.create")
        assert "create" in document.tables[case.table].title


def test_single_runs_differ_in_speed_from_a_factor_of_four_and_never_in_determinism() -> None:
    for factor, verdict in ((3.0, "inconclusive"), (6.0, "worse")):
        other = run("b", result(1000 * factor, 1000 * factor + 9000))
        case = only(of_today(run("a", result(1000, 1500)), other))
        assert (case.speed.verdict, case.spread.verdict) == (verdict, "inconclusive")
        assert case.speed.ratio == pytest.approx(factor)
        assert case.spread.ratio == pytest.approx(18)


def test_stored_runs_show_how_far_single_runs_scatter() -> None:
    past = [
        run("a", result(1000 + n, 1500 + 9 * n), number=n) for n in range(12)
    ]  # fmt: skip
    first = run("a", result(1000, 1500), number=20)
    other = run("b", result(1500, 4000), number=21)

    def before(single: Run) -> list[Run]:
        return past[::-1] if single.target.name == "a" else []

    case = only(of_today(first, other, past=before))
    assert (case.speed.verdict, case.spread.verdict) == ("worse", "worse")
    assert only(of_today(first, other)).spread.verdict == "inconclusive"


def test_instructions_stand_beside_no_time() -> None:
    counted = run("b", result(1000, 1500, unit="instructions"))
    contrasts = reproduce("sjoblom", [run("a", result(1000, 1500)), counted]).document.contrasts
    assert [(c.column, c.printed) for c in contrasts] == [(0, "OSE 5.3")]


# ---- beside what is printed ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usual", "verdict"),
    [(43_000, "inconclusive"), (50_000, "worse"), (3000, "inconclusive"), (2000, "better")],
)
def test_beside_a_printed_number_only_a_factor_of_four_is_certain(
    usual: float, verdict: str
) -> None:
    """OSE 5.3 is printed with 11 us, typically, and 47 us at most."""
    case = only(printed(run("a", result(usual, usual + 9000))))
    assert case.speed.verdict == verdict
    assert case.speed.ratio == pytest.approx(usual / 11_000)
    assert case.spread.ratio == pytest.approx(9000 / 36_000)
    assert case.spread.verdict == "inconclusive"
    assert "single sample" in str(case.spread.reason)


def test_the_interval_of_a_printed_number_is_what_rounds_to_it() -> None:
    case = only(printed(run("a", result(11_000, 12_000))))
    assert case.speed.ci95
    low, high = case.speed.ci95
    assert low == pytest.approx(11 / 11.5)
    assert high == pytest.approx(11 / 10.5)


def test_all_cases_beside_a_published_system_are_judged_together() -> None:
    effect = Effect(part="median", statistic="mean", column="a", verdict="inconclusive")
    levels: list[float] = []

    def estimated(level: float) -> None:
        levels.append(level)

    beside_constant(effect, (1.0, 0.9, 1.1), (2.0, estimated), SMALLER, 4)
    assert levels == [pytest.approx(1 - 0.8 * 0.05 / 4)]


def test_a_maximum_that_says_nothing_gives_no_ratio() -> None:
    equal = only(printed(run("a", result(5000, 5000))))
    assert (equal.spread.ratio, equal.spread.reason) == (
        None, "a maximum that does not exceed the mean",
    )  # fmt: skip
    batched = only(printed(run("a", result(5000, 6000, max=None, batch=8))))
    assert batched.spread.ratio is None
    assert "several are timed together" in str(batched.spread.reason)


def test_a_model_stands_where_its_own_printed_numbers_do(cli: Cli) -> None:
    """It is derived from them: all ratios are 1, and none is certain."""
    measured = _measure(
        cli, "sim:lynxos-3.0.1", "ctx.sync", "mq.latency", "-p", "entity=thread,process",
        "-p", "config=1cpu",
    )  # fmt: skip
    contrasts = reproduce("obenland", [measured]).document.contrasts
    own = next(c for c in contrasts if c.printed == "Lynx")
    assert len(own.cases) == 4
    for case in own.cases:
        assert case.speed.ratio == pytest.approx(1, abs=0.01)
        assert case.spread.ratio == pytest.approx(1, abs=0.02)
    assert own.speed.different == own.determinism.different == 0
    rest = [c for c in contrasts if c.printed not in (None, "Lynx")]
    assert rest
    assert any(abs(math.log(case.speed.ratio or 1)) > 0.2 for c in rest for case in c.cases)
