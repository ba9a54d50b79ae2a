"""Find the results of a run that stand out, by one rule for each kind of finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from rtstone.documents.case_key import family
from rtstone.documents.plan import INTERVALS
from rtstone.documents.run import Result, Run, Slope
from rtstone.results.flags import spoilt, unfit

# Units of parameters that are an amount of work: that time grows with them is not notable.
WORK = {"B", "KiB", "MiB", "byte"}
GRANULES = 10  # below this many steps of the clock a ratio is about the clock, not the system
LEAST_RATIO = 3  # of p99.9 to the median that is worth reporting
FAR = 10  # times the usual excess of a maximum over the median that is worth reporting
PEERS = 5  # results from which it is known how far maxima usually are above medians here
LEAST_EXCESS = {"ns": 10e3, "instructions": 1e3}  # never called far, by unit: an interrupt
USUAL_EXCESS = {"ns": 100e3}  # where there are fewer peers: an interrupt and what it wakes
PERIODIC = "dk.periodic"  # the wake-up that is looked at first
# Families whose values are about the measuring, or the speed of the processor.
INSTRUMENT = {"null", "clk", "hart"}
# A deadline is not said to be met, but to have been met so far, by fewer activations, or in less
# time.
ENOUGH_N, ENOUGH_S = 10_000, 10.0
MISSING = ("failed", "incomplete", "unsupported")  # statuses, gravest first


class Excess(NamedTuple):
    """The index of a result, by how much it stands out, and how many times the usual that is.

    ``usual``: the median over the other results, None where these are too few to say what is
    usual, or where it is not looked at.
    """

    place: int
    value: float
    times: float
    usual: float | None = None


class Standouts(NamedTuple):
    """What stands out in a run; results and slopes by index, in the order of the run."""

    periodic: list[int]  # woken by a timer, so that they can miss activations
    wakeups: list[int]  # those of them whose values are the lateness of wake-ups
    unfit: int | None  # the wake-up that shows most clearly that the system is not fit
    worst_wakeup: int | None  # has the largest maximum of them
    delays: list[Excess]  # maxima far above medians, by their distance; farthest first
    spreads: list[Excess]  # large ratios of p99.9 to the median, largest first
    fitted: list[int]  # slopes over a number of tasks, not an amount of work
    growing: list[Excess]  # those of them that rise, by the ratio of their ends; steepest first
    missing: dict[str, list[int]]  # by status

    @property
    def places(self) -> set[int]:
        """The indices of the results that are evidence of the foremost findings of each kind."""
        places = [self.unfit, self.worst_wakeup]
        places += [excesses[0].place for excesses in (self.delays, self.spreads) if excesses]
        return {place for place in places if place is not None}


def standouts(run: Run) -> Standouts:
    """Return what stands out in a run."""
    results = list(enumerate(run.results))
    periodic = [place for place, r in results if r.missed is not None and r.n]
    wakeups = [place for place in periodic if run.results[place].bench not in INTERVALS]
    fitted, growing = _growth(run.slopes)
    begun = [(place, r) for place, r in results if not r.not_begun]
    missing = {status: [place for place, r in begun if r.status == status] for status in MISSING}
    # One that was measured as it should be comes first, but bad conditions void only what is good.
    proofs = [p for p in wakeups if unfit((r := run.results[p]).flags, r.n, r.missed)]
    sound = [
        place for place in proofs
        if run.results[place].status == "ok" and not spoilt(run.results[place].flags)
    ]  # fmt: skip
    return Standouts(
        periodic=periodic,
        wakeups=wakeups,
        unfit=largest(run, sound or proofs, lambda r: r.missed),
        worst_wakeup=largest(run, wakeups, lambda r: r.max),
        delays=_delays(run),
        spreads=_spreads(run),
        fitted=fitted,
        growing=growing,
        missing={status: places_ for status, places_ in missing.items() if places_},
    )


def observed_s(result: Result) -> float | None:
    """Return for how long a result was measured, in s, None if it is not known or not a time."""
    if result.unit != "ns" or result.section_s is not None:
        return result.section_s
    trace = result.trace
    return trace.rows[-1][0] - trace.rows[0][0] + trace.width_s if trace and trace.rows else None


def long_enough(result: Result) -> bool:
    """Return whether a result of wake-ups was long enough to say that a deadline is met."""
    activations = result.n + (result.missed or 0)
    return activations >= ENOUGH_N and (observed_s(result) or 0.0) >= ENOUGH_S


def largest(run: Run, places: Iterable[int], value: Callable[[Result], float | None]) -> int | None:
    """Return the first result with the largest value, None if none has a value."""
    measured = [(v, -place) for place in places if (v := value(run.results[place])) is not None]
    return -max(measured)[1] if measured else None


def _judged(run: Run, value: Callable[[Result], float | None]) -> Iterator[tuple[int, float]]:
    """Yield the results that are about the system, with their values."""
    for place, r in enumerate(run.results):
        judgeable = value(r)
        of_system = r.bench not in INTERVALS and family(r.bench) not in INSTRUMENT
        if judgeable is not None and of_system:
            yield place, judgeable


def _foremost(excesses: list[Excess]) -> list[Excess]:
    return sorted(excesses, key=lambda excess: -excess.times)


def _delays(run: Run) -> list[Excess]:
    """Return the maxima that are further above the median than is usual in this run.

    What interrupts one operation interrupts any other, so the distance counts, not the ratio.
    """

    def delay(r: Result) -> float | None:
        measured = r.missed is None and r.max is not None and r.p50 is not None
        return r.max - r.p50 if measured else None  # type: ignore[operator]

    delays = list(_judged(run, delay))
    far = []
    for unit in dict.fromkeys(run.results[place].unit for place, _ in delays):
        mine = [(place, value) for place, value in delays if run.results[place].unit == unit]
        usual = usual_excess(unit, [value for _, value in mine])
        for place, value in mine:
            most, middle = run.results[place].max or 0.0, run.results[place].p50 or 0.0
            if usual and value >= FAR * usual and most >= LEAST_RATIO * middle:
                rest = [v for other, v in mine if other != place]
                elsewhere = median(rest) if len(mine) >= PEERS else None
                far.append(Excess(place, value, value / usual, elsewhere))
    return _foremost(far)


def usual_excess(unit: str, excesses: Sequence[float]) -> float | None:
    """Return how far maxima usually are above medians, None if that is not known."""
    if len(excesses) < PEERS:
        return USUAL_EXCESS.get(unit)
    return max(median(excesses), LEAST_EXCESS.get(unit, 0.0))


def _spreads(run: Run) -> list[Excess]:
    """Return the large ratios of p99.9 to the median, among medians that the clock resolves."""
    granule = run.clock.resolution_ns if run.clock else 0.0

    def ratio(r: Result) -> float | None:
        resolved = r.p50 is not None and r.p50 > 0 and r.p50 * r.batch >= GRANULES * granule
        return r.p999 / r.p50 if resolved and r.p999 is not None else None  # type: ignore[operator]

    ratios = list(_judged(run, ratio))
    usual = max(LEAST_RATIO, median([value for _, value in ratios] or [0.0]))
    if len(ratios) < PEERS:
        usual = LEAST_RATIO
    return _foremost([Excess(p, value, value / usual) for p, value in ratios if value >= usual])


def _growth(slopes: Sequence[Slope]) -> tuple[list[int], list[Excess]]:
    """Return the slopes over a number of tasks, and those that rise, steepest first."""
    fitted = [
        place
        for place, s in enumerate(slopes)
        if s.points and (s.unit.partition(" per ")[2] or s.over) not in WORK
    ]
    growing = [p for p in fitted if not slopes[p].constant and slopes[p].slope > 0]
    grown = []
    for place in growing:
        # The growth over the parameter's range, relative to the smallest value.
        slope = slopes[place]
        least = min(y for _, y in slope.points)
        reach = max(x for x, _ in slope.points) - min(x for x, _ in slope.points)
        relative = slope.slope * reach / max(abs(least), 1e-9)
        grown.append(Excess(place, slope.slope, 1 + relative))
    return fitted, _foremost(grown)
