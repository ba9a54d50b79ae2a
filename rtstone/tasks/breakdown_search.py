"""Search for a breakdown: make the tests that the design asks for, and say what they show."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from math import ceil
from typing import NamedTuple

from rtstone import __version__
from rtstone.documents.breakdown_curve import (
    AnalysedBreakdown,
    BreakdownCurve,
    BreakPoint,
    Breakpoint,
    BreakTest,
    Counted,
)
from rtstone.stats.breakdown_curve import Bound, Design, Point, Trial, bounds, crossing, following

Test = Callable[[int, int], BreakTest]  # of a level, with a seed
Tests = Mapping[int, Sequence[BreakTest]]  # by level


class Subject(NamedTuple):
    """What is searched; ``parts``: levels of a factor of 1.  The rest as in the document."""

    file: str
    title: str
    target: str
    load: str
    scale: str
    counted: Counted
    duration_ns: int
    parts: int
    analysed: AnalysedBreakdown | None = None


def search(subject: Subject, design: Design, test: Test) -> Iterator[BreakdownCurve]:
    """Yield what is known after each level; the seeds of tests are 1, 2, 3 and so on."""
    tests: dict[int, list[BreakTest]] = {}
    seed = 0
    while step := following(design, _points(tests)):
        for _ in range(step.tests):
            seed += 1
            tests.setdefault(step.level, []).append(test(step.level, seed))
        yield document(subject, design, tests)


def document(subject: Subject, design: Design, tests: Tests) -> BreakdownCurve:
    """Return what tests of at least one level show."""
    curve = bounds(design, _points(tests))
    end = crossing(design, curve)
    number = sum(map(len, tests.values()))
    highest = max(tests) if end.high is None else end.high
    steps = ceil((highest - design.low) / design.resolution)

    def place(level: float | None) -> Breakpoint | None:
        if level is None or level <= design.low:
            return None
        return Breakpoint(factor=level / subject.parts, utilisation=_utilisation(tests, level))

    first = tests[end.high] if end.high is not None else []
    return BreakdownCurve(
        version=__version__, file=subject.file, title=subject.title, target=subject.target,
        load=subject.load, scale=subject.scale, counted=subject.counted, limit=design.limit,
        exact=design.exact, duration_ns=subject.duration_ns,
        resolution=design.resolution / subject.parts,
        at=place(end.level), low=place(end.low), high=place(end.high),
        first=list(dict.fromkeys(chain.from_iterable(test.names for test in first))),
        points=[_point(bound, subject, tests[bound.level]) for bound in curve],
        tests=number, linear_tests=round(steps * number / len(tests)), analysed=subject.analysed,
    )  # fmt: skip


def _points(tests: Tests) -> list[Point]:
    return [
        Point(level, [Trial(test.missed, test.due) for test in of_level])
        for level, of_level in tests.items()
    ]


def _point(bound: Bound, subject: Subject, tests: Sequence[BreakTest]) -> BreakPoint:
    return BreakPoint(
        factor=bound.level / subject.parts, utilisation=_mean(tests), share=bound.share,
        low=bound.low, high=bound.high, tests=list(tests),
    )  # fmt: skip


def _mean(tests: Sequence[BreakTest]) -> float:
    return sum(test.utilisation for test in tests) / len(tests)


def _utilisation(tests: Tests, level: float) -> float:
    """Return what is demanded at a level, straight between the levels that were tested."""
    pairs = sorted((each, _mean(of_level)) for each, of_level in tests.items())
    if len(pairs) == 1:
        pairs.insert(0, (0, 0.0))
    above = next((i for i, (each, _) in enumerate(pairs) if each >= level), len(pairs) - 1)
    (low, least), (high, most) = pairs[max(0, above - 1)], pairs[max(1, above)]
    return least + (most - least) * (level - low) / (high - low)
