"""Find the results of a run that stand out, by one rule for each kind of finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rtstone.documents.run import Result, Run, Slope

# Units of parameters that are an amount of work: it is no finding that time grows with them.
WORK = {"B", "KiB", "MiB", "byte"}
GRANULES = 10  # below this many steps of the clock a ratio is about the clock, not the system
LEAST_RATIO = 3  # of p99.9 to the median that is worth reporting
# Periodic, but its values are periods, not lateness.
INTERVALS = {"dk.latencytest"}
MISSING = ("failed", "incomplete", "unsupported")  # statuses, gravest first


class Excess(NamedTuple):
    """The index of a result, and by how much it stands out."""

    place: int
    value: float


class Standouts(NamedTuple):
    """What stands out in a run; results and slopes by index, in the order of the run."""

    periodic: list[int]  # woken by a timer, so that they can miss activations
    wakeups: list[int]  # those of them whose values are the lateness of wake-ups
    missed: int | None  # missed most activations
    worst_wakeup: int | None
    delays: list[Excess]  # per unit, the sample furthest above its median
    spread: Excess | None  # the largest ratio of p99.9 to the median
    fitted: list[int]  # slopes over a number of tasks, not an amount of work
    growing: list[int]  # those of them that rise, steepest first
    missing: dict[str, list[int]]  # by status

    @property
    def places(self) -> set[int]:
        """The indices of all results that are evidence of a finding."""
        late = self.missed if self.missed is not None else next(iter(self.periodic), None)
        found = [late, self.worst_wakeup, *(delay.place for delay in self.delays)]
        found += [self.spread and self.spread.place, *(part[0] for part in self.missing.values())]
        return {place for place in found if place is not None}


def standouts(run: Run) -> Standouts:
    """Return what stands out in a run."""
    results = list(enumerate(run.results))
    periodic = [place for place, r in results if r.missed is not None and r.n]
    wakeups = [place for place in periodic if run.results[place].bench not in INTERVALS]
    missed = largest(run, periodic, lambda r: r.missed)
    late = missed.place if missed and missed.value else None
    worst = largest(run, wakeups, lambda r: r.max)
    fitted, growing = _growth(run.slopes)
    there = [(place, r) for place, r in results if not r.not_begun]
    missing = {status: [place for place, r in there if r.status == status] for status in MISSING}
    return Standouts(
        periodic=periodic,
        wakeups=wakeups,
        missed=late,
        worst_wakeup=worst.place if worst and worst.place != late else None,
        delays=_delays(run),
        spread=_spread(run),
        fitted=fitted,
        growing=growing,
        missing={status: found for status, found in missing.items() if found},
    )


def largest(
    run: Run, places: Iterable[int], value: Callable[[Result], float | None]
) -> Excess | None:
    """Return the first result with the largest value, None if none has a value."""
    known = [(v, -place) for place in places if (v := value(run.results[place])) is not None]
    return Excess(-max(known)[1], max(known)[0]) if known else None


def _delays(run: Run) -> list[Excess]:
    def delay(r: Result) -> float | None:
        known = r.missed is None and r.max is not None and r.p50 is not None
        return r.max - r.p50 if known else None  # type: ignore[operator]

    found = []
    for unit in dict.fromkeys(r.unit for r in run.results):
        places = [place for place, r in enumerate(run.results) if r.unit == unit]
        most = largest(run, places, delay)
        found += [most] if most and most.value else []
    return found


def _spread(run: Run) -> Excess | None:
    """Return the largest ratio of p99.9 to the median, among medians that the clock resolves."""
    granule = run.clock.resolution_ns if run.clock else 0.0

    def ratio(r: Result) -> float | None:
        resolved = r.p50 is not None and r.p50 > 0 and r.p50 * r.batch >= GRANULES * granule
        return r.p999 / r.p50 if resolved and r.p999 is not None else None  # type: ignore[operator]

    found = largest(run, range(len(run.results)), ratio)
    return found if found and found.value >= LEAST_RATIO else None


def _growth(slopes: Sequence[Slope]) -> tuple[list[int], list[int]]:
    """Return the slopes over a number of tasks, and those that rise, steepest first."""
    fitted = [place for place, s in enumerate(slopes) if s.points and _per(s) not in WORK]
    growing = [p for p in fitted if not slopes[p].constant and slopes[p].slope > 0]
    return fitted, sorted(growing, key=lambda place: -_relative(slopes[place]))


def _per(slope: Slope) -> str:
    return slope.unit.partition(" per ")[2] or slope.over


def _relative(slope: Slope) -> float:
    """Return the growth over the parameter's range, relative to the smallest mean."""
    least = min(y for _, y in slope.points)
    reach = max(x for x, _ in slope.points) - min(x for x, _ in slope.points)
    return slope.slope * reach / max(abs(least), 1e-9)
