"""Search for the breakdown of a Hartstone experiment: its tests, and no others, by number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil

from rtstone.documents.breakdown_curve import BreakdownCurve, BreakTest
from rtstone.documents.hartstone import task_tests
from rtstone.documents.run import Result
from rtstone.errors import Inconclusive, Unfit
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.request import Request
from rtstone.measure.start import start
from rtstone.stats.breakdown_curve import Design
from rtstone.tasks.breakdown import LIMITS
from rtstone.tasks.breakdown_search import Subject, search
from rtstone.tasks.scaling import HEAVIEST
from rtstone.units import NS_PER_S

MOST_TESTS = 200  # of the agent
START = "500ms"  # before the tasks of a test are released together


def break_down(
    bench: str,
    *,
    target: str,
    load: str,
    exact: bool,
    interrupt: Interrupt,
    listener: Listener,
    command: Sequence[str] = (),
) -> Iterator[BreakdownCurve]:
    """Yield what is known of the breakdown after each test number; each test is a stored run.

    ``bench``: hart.SERIES.NUMBER.  ``exact``: tests on the target have no noise.  The first test
    measures the raw speed for all, and is not part of the search.
    """

    def run(number: int, speed: int) -> tuple[Result, str]:
        params = {"first": number, "samples": 1, "start": START, "speed": speed}
        request = Request(names=(bench,), target=target, loads=(load,), params=params,
                          command=command)  # fmt: skip
        finished = start(request, interrupt=interrupt, listener=listener)
        if finished.error is not None:
            raise finished.error
        result = finished.run.results[-1]
        if result.status != "ok":
            kind = Unfit if result.status == "unsupported" else Inconclusive
            raise kind(f"{bench}, test {number}: {result.reason}")
        return result, finished.run.run_id

    first, _ = run(1, 0)
    speed = max(1, round(_figure(first, "raw speed")))
    base, step = (_figure(first, name) / 100 for name in ("baseline", "step"))
    number = 1 + ceil((HEAVIEST - base) / step) if step > 0 else MOST_TESTS
    high = min(MOST_TESTS, number) + 1
    design = Design(0, high, 1, 0.0 if exact else LIMITS["jobs"], exact)

    def test(level: int, seed: int) -> BreakTest:
        return _test(*run(level, speed), seed)

    subject = Subject(
        file=bench, title=bench, target=target, load=load, scale="", counted="jobs",
        duration_ns=round(_figure(first, "duration of a test") * NS_PER_S), parts=1,
    )  # fmt: skip
    yield from search(subject, design, test)


def _test(result: Result, run: str, seed: int) -> BreakTest:
    rows = task_tests(result)
    if not rows:
        raise Inconclusive(f"{result.bench}: the test did not end, in run {run}")
    missed = sum(row.missed + row.skipped for row in rows)
    return BreakTest(
        seed=seed, missed=missed, due=missed + sum(row.met for row in rows),
        utilisation=rows[0].utilisation / 100, run=run,
        names=[f"task {row.task}" for row in rows if row.missed + row.skipped],
    )  # fmt: skip


def _figure(result: Result, name: str) -> float:
    figure = result.figures.get(name)
    if figure is None or figure.value is None:
        raise Inconclusive(f"{result.bench}: no figure '{name}' in its first test")
    return figure.value
