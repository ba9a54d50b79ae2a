"""The words that the terminal and the page share.

Text is plain, so that it can be copied and searched: a space between digits, an ASCII minus.  The
page typesets it, see ``typeset``.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from typing import Literal, NamedTuple, cast

from rtstone.documents.breakdown import Breakdown
from rtstone.documents.case_name import case_names, usual_load
from rtstone.documents.run import Result, Run, Slope, Value
from rtstone.stats.standouts import observed_s
from rtstone.units import counted, plain, rounded, seconds, trimmed
from rtstone.wire.records import Rate

# How grave a statement is.
Grade = Literal["bad", "note", "good", "info"]
WORST_FIRST: tuple[Grade, ...] = ("bad", "note", "info", "good")  # of several runs' verdicts
MARKS = {"bad": "✗", "note": "!", "good": "✓", "info": "·"}

OBSERVED = "time"  # the heading of the column of measured times
# Of tables whose percentiles are those of ``whole`` (results/omitted.py).
WITH_MISSED = (
    "Percentiles, p50 too, include the missed activations; min and max are those observed."
)

# ---- numbers ------------------------------------------------------------------------------------


def words(value: Value) -> str:
    """Return a value of a condition or a piece of evidence."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return plain(value)
    if isinstance(value, list):
        return ", ".join(words(cast(Value, item)) for item in value) or "none"
    return value


def range_text(low: str, high: str) -> str:
    """Return a range in words: ``37.9 µs to 38.4 µs``, or one value if they are equal."""
    return low if low == high else f"{low} to {high}"


def known_as(run: Run) -> str:
    """Return the name of a run with its id, or the id alone."""
    return f"{run.name} ({run.run_id})" if run.name else run.run_id


def called(run: Run) -> str:
    """Return how to name a stored run on a command line."""
    return shlex.quote(run.name or run.run_id)


def observed(result: Result) -> str | None:
    """Return the measured time in words, which belongs to any worst case; None for counts."""
    span = observed_s(result)
    return None if span is None else seconds(span)


_FINEST = 0.004  # resolution of the histogram, as a share of the value


def reached(result: Result) -> str | None:
    """Return the precision reached by a case that was run with `--until`, None without.

    ± is the distance to the farther end of the 95% interval, as a share of the statistic.
    """
    until = result.until
    if until is None:
        return None
    if until.width is None:
        width = "no interval yet"
    elif until.width < _FINEST:
        width = f"± {_FINEST:.1%} or less (95%)"
    else:
        width = f"± {until.width:.2%} (95%)"
    rounds = counted(len(until.rounds), "round")
    if result.ended == "ci":
        return f"{until.statistic} {width} after {rounds}"
    why = {"time": f"stopped after {seconds(until.time_s)}", "rounds": "no more rounds"}
    ended = why.get(result.ended or "", str(result.ended))
    missed = f"{until.asked * 100:g}% was not reached"
    return f"{until.statistic} {width} after {rounds}; {ended}, {missed}"


# ---- loads --------------------------------------------------------------------------------------

LOAD_COLUMNS = ("part", "per second", "wanted")


def load_rate(rate: Rate) -> tuple[str, str, str]:
    """Return a part of a load: its name, its rate per second, and the target rate."""
    did = f"{rounded(rate.achieved)} {rate.unit}" if rate.alive else f"ended, {rate.why}"
    if rate.alive and rate.counted is not None:
        held = f"{rounded(rate.counted)} {rate.unit} before the first miss"
        did = f"{held}, {rounded(rate.achieved)} in all"
    wanted = "as fast as it goes" if rate.wanted is None else f"{plain(rate.wanted)} {rate.unit}"
    return rate.component, did, wanted


def load_lines(run: Run) -> list[str]:
    """Return for each load of a run what its parts did: the range over all results."""
    seen: dict[str, dict[str, list[Rate]]] = defaultdict(lambda: defaultdict(list))
    for result in run.results:
        for rate in result.load_rates:
            seen[result.load][rate.component].append(rate)
    lines = []
    for load, parts in seen.items():
        texts = []
        for component, rates in parts.items():
            low, high = (rounded(end(rate.achieved for rate in rates)) for end in (min, max))
            first = rates[0]
            target = f" of {plain(first.wanted)}" if first.wanted is not None else ""
            texts.append(f"{component} {range_text(low, high)}{target} {first.unit}/s")
        lines.append(f"load {load}: {', '.join(texts)}")
    return lines


# ---- slopes -------------------------------------------------------------------------------------


class Growth(NamedTuple):
    """A slope in words."""

    name: str
    unit: str
    per: str
    rate: str  # with its sign
    interval: str
    verdict: str


def growths(run: Run) -> list[Growth]:
    """Return the slopes of a run, in their order; per KiB instead of per byte."""
    cases = [(s.bench, s.params, "", s.load) for s in run.slopes]
    names = case_names(cases, run.benches, usual_load(result.load for result in run.results))
    worded = []
    for slope, name in zip(run.slopes, names, strict=True):
        unit, _, per = slope.unit.partition(" per ")
        per, times = ("KiB", 1024) if per == "B" else (per or slope.over, 1)
        rate, ends = slope.slope * times, [end * times for end in slope.ci95]
        verdict = "grows" if rate > 0 else "falls"
        if slope.constant:
            verdict = _no_growth(run, slope, max(map(abs, ends)), times, f"{unit} per {per}")
        if slope.doubling is not None and slope.doubling_ci95:
            per, rate, ends = f"doubling of {slope.over}", slope.doubling, list(slope.doubling_ci95)
            verdict = f"{'grows' if rate > 0 else 'falls'} with the logarithm"
        low, high = (trimmed(end, unit) for end in ends)
        growth = Growth(
            name=str(name),
            unit=unit,
            per=per,
            rate=f"{'+' if rate > 0 else ''}{trimmed(rate, unit)} per {per}",
            interval=f"95%: {low} to {high}, {counted(len(slope.points), 'point')}",
            verdict=verdict,
        )
        worded.append(growth)
    return worded


def _no_growth(run: Run, slope: Slope, most: float, times: float, unit: str) -> str:
    """Return of which statistic no growth was seen, and above what, if its clock decides that.

    Values that are all of one step of the clock have an interval of no width, which says more than
    the clock can.  ``most``: the farther end of the interval, in ``unit`` as what is printed.
    """
    name = {"mean": "mean", "min": "minimum"}.get(slope.statistic, slope.figure or "figure")
    text = f"no growth of the {name}"
    places = [place for place, _ in slope.points]
    span = max(places, default=0) - min(places, default=0)
    if run.clock is None or not span or not slope.unit.startswith(f"{run.clock.unit} per "):
        return f"{text} seen"
    step = run.clock.resolution_ns * times / span
    if most > step:
        return f"{text} seen"
    base, _, per = unit.partition(" per ")
    return f"{text} above {trimmed(step, base)} per {per}, a step of the clock"


# ---- the system ---------------------------------------------------------------------------------


def emulated(run: Run) -> str | None:
    """Return what the numbers of an emulated board mean, None for other targets."""
    detail = run.target.detail
    if "icount" not in detail:
        return None
    return "instructions, not time" if detail["icount"] else "icount is off: compares with nothing"


COUNTED = (  # what results mean that are no times
    "These numbers come from an emulated target. They compare with other runs of the same kind, "
    "never with a clock."
)


def counted_units(run: Run) -> list[str]:
    """Return the units of a run other than time."""
    return sorted({result.unit for result in run.results if result.n and result.unit != "ns"})


# ---- rights -------------------------------------------------------------------------------------


def lacking_rights(run: Run) -> dict[str, int]:
    """Return the real-time rights that a run lacked, with the number of results without them.

    The number is 0 if nothing could run for lack of rights, and only the conditions say so.
    """
    ran = measured(run)
    numbers = {
        "real-time scheduling": sum("no_rt" in r.flags for r in ran),
        "locked memory": sum("no_mlock" in r.flags for r in ran),
    }
    refused = {"real-time scheduling"} if run.conditions.get("rights.realtime") is False else set()
    return {right: n for right, n in numbers.items() if n or right in refused}


def measured(run: Run) -> list[Result]:
    """Return the results with anything measured."""
    return [r for r in run.results if (r.n or r.figures) and "derived" not in r.flags]


def breakdown_text(at: Breakdown | None) -> str:
    """Return how far an experiment of Hartstone came, as a range where it is between two tests."""
    if at is None:
        return "-"
    if at.again is not None:
        return f"{at.held:.1f} to {at.again:.1f} %"
    return f"{'' if at.broke else '> '}{at.held:.1f} %"
