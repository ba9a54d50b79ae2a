"""Estimate beforehand how long a run takes, and refuse one that nobody can have meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rtstone.documents.plan import NONE, Case, Plan
from rtstone.errors import UsageError
from rtstone.store.durations import Past
from rtstone.units import NS_PER_S, TIMES, count, counted, file_size, plain, roughly, trimmed
from rtstone.wire.parameters import quantity

LONG_S = 3600.0  # a run that takes longer has to be asked for
CASE_S = 0.3  # start, warm-up and end of a case
UNTIMED_S = 0.1  # a case whose samples nobody can time beforehand, if it has no shorter limit
LOAD_S = 3.0  # start of a load
RESULT_BYTES = 6000  # of a case, without its samples
SLOW_S = 5.0  # a transfer that takes longer is announced
SAMPLE_BYTES = 6  # of a sample, with raw=1
LONGER = 1.2  # times as long as expected, from which what the last such run took is named
UNUSUAL = 100  # times the default: farther off, a number without a unit is named with its unit


class Extent(NamedTuple):
    """How long a run takes in s, measuring and the rest; ``case``: what takes longest."""

    seconds: float
    case: Case


class Transfer(NamedTuple):
    """What a slow line has to carry, and how much of it in a second."""

    size: int
    bytes_per_s: int

    @property
    def seconds(self) -> float:
        """How long it takes."""
        return self.size / self.bytes_per_s


def transfer(plan: Plan) -> Transfer | None:
    """Return what the results take on a slow line, None if it is not slow, or nobody knows."""
    rate = plan.target.detail.get("bytes_per_s")
    if not isinstance(rate, int) or plan.endless:
        return None
    size = 0
    for case in plan.cases:
        samples = plan.value(case, "samples")
        raw = plan.value(case, "raw") and isinstance(samples, int)
        size += RESULT_BYTES + (SAMPLE_BYTES * int(samples) if raw else 0)  # type: ignore[arg-type]
    return Transfer(size, rate)


def extent(plan: Plan) -> Extent | None:
    """Return how long a run takes, None if nobody knows.

    That is so where a target has a time of its own, and where the run has no end.
    """
    own_time = plan.target.detail.get("instructions_per_s") or plan.target.detail.get("model")
    if own_time or plan.endless or not plan.cases:
        return None
    times = {case.id: _measuring_s(plan, case) for case in plan.cases}
    loads = [case.load for case in plan.cases]
    changes = sum(load != before for before, load in zip([NONE, *loads], loads, strict=False))
    longest = max(plan.cases, key=lambda case: times[case.id])
    results = transfer(plan)
    rest = CASE_S * len(times) + LOAD_S * changes + (results.seconds if results else 0.0)
    return Extent(sum(times.values()) + rest, longest)


def expected_s(plan: Plan) -> float | None:
    """Return about how long a run takes in s, None if nobody knows.

    That is what the last such run took where that was longer, as on a busy machine.
    """
    length, took_s = extent(plan), Past().took_s(plan)
    times = [length.seconds if length else None, took_s]
    return max((time for time in times if time is not None), default=None)


def _measuring_s(plan: Plan, case: Case) -> float:
    if plan.until is not None:
        return plan.until.time_s  # at most
    expected, limit = plan.expected_s(case), plan.limit_s(case)
    return min(UNTIMED_S, limit or UNTIMED_S) if expected is None else expected


def announcement(plan: Plan) -> str:
    """Return the first line of a run: ``45 cases, about 1 min 20 s``."""
    cases = counted(len(plan.cases), "case")
    if plan.endless:
        return f"{cases}, until it is stopped: Ctrl-C ends it with its result"
    if plan.target.detail.get("instructions_per_s"):
        return f"{cases}{_emulated(plan)}"
    length = extent(plan)
    if length is None:
        return cases
    results, slow = transfer(plan), ""
    if results and results.seconds >= SLOW_S:
        slow = (
            f"; about {file_size(results.size)} at {count(results.bytes_per_s)} B/s: "
            f"{roughly(results.seconds)} of it"
        )
    longer = "" if plan.until else _longer(plan, length.seconds)
    about = "at most" if plan.until else "about"
    return f"{cases}, {about} {roughly(length.seconds)}{slow}{longer}"


def _longer(plan: Plan, expected_s: float) -> str:
    """Return what the last such run took if that was longer, as on a busy machine; else empty."""
    took = Past().took_s(plan)
    if took is None or took < LONGER * expected_s or roughly(took) == roughly(expected_s):
        return ""
    return f"; the last such run took {roughly(took)}"


def _emulated(plan: Plan) -> str:
    """Return how long a run takes in the emulated machine's time, and what the last one took."""
    times = [None if plan.until else plan.own_time_s(case) for case in plan.cases]
    finite = [time for time in times if time is not None]
    least = "" if len(finite) == len(times) else "at least "
    own = f", {least}{trimmed(sum(finite) * NS_PER_S, 'ns')} of emulated time" if finite else ""
    took = Past().took_s(plan)
    if took is None:
        return f"{own}; how fast that passes depends on this host" if own else ""
    return f"{own}, about {roughly(took)} here: the last such run took as long"


def refuse_long(plan: Plan) -> None:
    """Raise UsageError for a run that takes longer than an hour."""
    length = extent(plan)
    if length is None or length.seconds <= LONG_S:
        return
    case = length.case
    samples, period = plan.value(case, "samples"), plan.value(case, "period")
    if plan.until is None and isinstance(samples, int) and isinstance(period, int) and samples:
        longest = f"{plain(samples)} samples at {_time(period)}"
    else:
        longest = roughly(_measuring_s(plan, case))
    kind = " of" if len(plan.cases) == 1 else ", the longest of"
    raise UsageError(
        f"would take about {roughly(length.seconds)} ({counted(len(plan.cases), 'case')}"
        f"{kind} {longest}): "
        "give --time, -p samples=N, or --yes"
    )


def _time(ns: int) -> str:
    unit = next(name for name in reversed(TIMES) if ns % TIMES[name] == 0)
    return f"{ns // TIMES[unit]} {unit}"


def assumed_units(plan: Plan, params: dict[str, str]) -> Iterator[str]:
    """Yield what a time without a unit was taken for, where that is far from the usual.

    ``params``: as written.  Users of cyclictest mean microseconds.
    """
    for name, text in params.items():
        for bench in {case.bench: plan.benches[case.bench] for case in plan.cases}.values():
            param = bench.param(name)
            if param is None or param.type != "duration" or name == "time":
                continue
            usual = param.default if isinstance(param.default, int) else 0
            for word in text.split(","):
                bare = word.strip().replace(".", "", 1).isdecimal()
                if bare and float(word) * TIMES["s"] > UNUSUAL * usual > 0:
                    yield (
                        f"{name}={word} is {_time(round(float(word) * TIMES['s']))}, as a time "
                        f"without a unit is in seconds; the default is {quantity(param, usual)}"
                    )
            break
