"""The run document and its schema.

Times are nanoseconds (``unit`` "ns") net of clock overhead, or instructions in an emulated lab;
unknown is ``None``, never NaN or a sentinel.  A release may add members; a change of meaning
changes ``SCHEMA``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rtstone.documents.attribution import Attribution
from rtstone.errors import UsageError
from rtstone.summary import NAMES
from rtstone.units import NS_PER_S
from rtstone.wire import records
from rtstone.wire.records import (
    Bench,
    Bits,
    Loaded,
    Natural,
    Number,
    Positive,
    Rate,
    TextTable,
    Whole,
    Width,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

SCHEMA = "rtstone.run/1"

Value = records.Value
Status = Literal["ok", "unsupported", "failed", "incomplete"]
GRAVITY: tuple[Status, ...] = ("ok", "unsupported", "incomplete", "failed")  # ascending
LOST_STATUSES: tuple[Status, ...] = ("incomplete", "failed")  # though it could have been measured
NO_REASON = "no reason was recorded"
STOPPED = "stopped"  # how a series ended that the host stopped
BY_LIMIT = "limit"  # how one ended in which a sample was above the limit of --stop-above
INTERRUPTED = "interrupted"  # the reason of one that was ended before it had a sample
NOT_BEGUN = f"not run: {INTERRUPTED}"
SINGLE_CALLS = "single"  # the series of operations, taken one by one, that another has in batches

HARTSTONE = "hart."  # what its benches begin with
BREAKDOWN = "breakdown utilisation"  # figure of an experiment; see documents/breakdown.py
UNREACHED = "no breakdown up to"  # instead of it, where no step missed a deadline


# Of a kernel that nobody gave a name, and of a container: the begin of its id, new at each start.
_UNNAMED = re.compile(r"\(none\)|[0-9a-f]{12}")


def as_text(value: object) -> str | None:
    """Return a value if it is text, else None."""
    return value if isinstance(value, str) else None


def rights_in(evidence: Sequence[Mapping[str, Value]]) -> str:
    """Return the rights of measuring tasks, in words, from the evidence of their results."""
    lacking = ["real-time scheduling"] if any(e.get("sched") == "other" for e in evidence) else []
    lacking += ["locked memory"] if any(e.get("locked") is False for e in evidence) else []
    return f"without {' and '.join(lacking)}" if lacking else "real-time"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A single number of a case, such as a rate, that is not a statistic of its samples."""

    value: Number | Whole | None
    unit: str


class Worst(msgspec.Struct, frozen=True, kw_only=True):
    """One of the largest samples.

    ``value``: net.  ``index``: its place among the samples.  ``at_s``: seconds since the
    start of the measured section.  ``steal_ns``: by how much the steal time of the measured CPUs
    grew around it; None: not known.
    """

    value: Number
    index: Natural
    at_s: Number
    steal_ns: Natural | None = None


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """Minimum, mean and maximum over time.

    ``width_s``: width of a window.  ``rows``: (start in s, n, min, mean, max) of each window that
    has samples; values are net.
    """

    width_s: Width
    rows: list[tuple[Number, Natural, Number, Number, Number]]


class Blocks(msgspec.Struct, frozen=True, kw_only=True):
    """Net maxima of successive blocks of ``samples`` samples each, for extreme-value analysis."""

    samples: Positive
    max: list[Number]


class Batches(msgspec.Struct, frozen=True, kw_only=True):
    """Successive samples summarised in batches, which show how samples are correlated.

    Each list has one entry per batch.  ``n``: number of samples.  ``mean``: their net mean.
    ``above``: by percentile, how many samples lie above the bucket edge nearest to that percentile
    of the whole series; percentiles that n does not allow are missing.
    """

    n: list[Positive]
    mean: list[Number]
    above: dict[str, list[Natural]]

    def __post_init__(self) -> None:
        lengths = {len(self.n), len(self.mean), *map(len, self.above.values())}
        if len(lengths) > 1:
            raise ValueError("the lists of the batches differ in length")


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """The recorder's buckets: what a histogram, of their middles, needs to have edges again.

    ``bits`` as in docs/reference/wire.md; ``per_tick``: units of the result in a tick;
    ``overhead``: ticks of each sample that are the clock's.
    """

    bits: Bits
    per_tick: Width
    overhead: Whole


class Misses(msgspec.Struct, frozen=True, kw_only=True):
    """Activations that missed: that never happened or, with a limit, were later than it.

    ``limit``: that latency, in the result's unit; None: only those that never happened count.
    ``n``: how many missed.
    ``late``: those of them that happened.  ``squares``: the sum of the squared lengths of runs of
    successive misses.  ``windows``: the fewest successive activations that held 1, 2, … misses, up
    to ``room``; a shorter list is of all.
    """

    limit: Positive | None = None
    n: Natural
    late: Natural
    squares: Natural
    room: Positive
    windows: list[Positive]

    def __post_init__(self) -> None:
        rises = all(before < after for before, after in pairwise([0, *self.windows]))
        if len(self.windows) > min(self.n, self.room) or not rises:
            raise ValueError("the windows are not those of so many misses")

    def holds(self, most: int, length: int) -> bool | None:
        """Return whether no ``length`` successive activations held more than ``most`` misses.

        None if that is not known, for lack of room.
        """
        if most < len(self.windows):
            return self.windows[most] > length
        return None if len(self.windows) == self.room else True

    def most_in(self, length: int) -> int:
        """Return the most misses that are known to lie in so many successive activations."""
        return sum(window <= length for window in self.windows)


class Requirement(msgspec.Struct, frozen=True, kw_only=True):
    """The latencies that the user of a run requires.

    ``latency``: an activation that is later is a miss.  ``stop_above``: one that is later than this
    ends the run; None: none does.  ``unit``: of both, that of the run's results.
    """

    latency: Positive
    stop_above: Positive | None = None
    unit: Literal["ns", "instructions"] = "ns"


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round of a case, and the precision reached with it and all rounds before it.

    ``n``, ``warmup``: samples recorded, and samples discarded before them.  ``section_s``: measured
    time in s.  ``ended``: the limit that ended the round.  ``width``: see ``StopCriterion``.
    """

    n: Natural
    warmup: Natural
    section_s: Number | None
    ended: str | None
    width: Number | None


class StopCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """The precision requested with `--until`, the precision reached, and the rounds it took.

    A width is the distance from the statistic to the farther end of its 95% interval, divided by
    the statistic.  ``asked``: the requested width.  ``width``: the one reached, None if it cannot
    be computed.  ``time_s``: limit of the measured time in s.
    """

    statistic: str
    asked: Number
    width: Number | None
    time_s: Number
    rounds: list[Round]


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Net statistics of one set of samples.  A percentile q is None unless n >= 10/(1-q).

    ``histogram``: (value, count) of each bucket that has samples.
    """

    n: Natural
    min: Number | None
    mean: Number | None
    sd: Number | None
    p50: Number | None
    p90: Number | None
    p99: Number | None
    p999: Number | None
    p9999: Number | None
    max: Number | None
    histogram: list[tuple[Number, Natural]]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The distribution of one case under one load, with its conditions and flags.

    ``case``: number of the case in the run; all its series share it.
    ``bench``: id of the bench.
    ``params``: all parameters by name, times in ns, sizes in bytes; of an unsupported case at
    least those that are the cause.
    ``load``: the load as it was written, "none" without one.
    ``load_rates``: what each component of the load achieved meanwhile.
    ``series``: distinguishes several distributions of one case (one per CPU, say), else "".
    ``status``: "ok", or why there is no valid result: "unsupported", "failed", "incomplete".
    ``reason``: what the status is due to, None if "ok".
    ``unit``: of all values: "ns" or "instructions".
    ``n``, ``warmup``: samples recorded, and samples discarded before them.
    ``batch``: operations per sample; with more than one a sample is their mean.
    ``single``: the same operations timed one by one, in a series of its own, at the resolution of
    the clock: what has a maximum and a tail.  None without batches, of agents that have no room for
    it, and of earlier ones.  It has no evidence and rates of loads of its own.
    ``min`` to ``max``: net statistics, explained at ``rtstone.Measured``; None if n is too small.
    ``raw_min``, ``raw_max``: extremes as read from the clock, overhead and batch included.
    ``ci95``: [low, high] of the mean and each percentile, or None (docs/reference/estimates.md).
    ``histogram``: (net value, count) of each bucket that has samples.
    ``grid``: the recorder's buckets, of both histograms; None where they have no common one, and
    for imported results.
    ``worst``: the largest samples.
    ``negative``: samples with a net value below zero.
    ``overflow``: samples too large for the histogram; they count in ``n``, ``mean`` and ``max``.
    ``missed``: activations that never happened; None if the bench does not count them.
    ``misses``: these, those later than the run's limit, and how they lie; None if the bench counts
    no activations and there is no limit, of agents that have no room for it, and of earlier ones.
    ``corrected``: the distribution with omitted activations included (coordinated omission).
    ``trace``, ``blocks``, ``batches``: extremes over time, block maxima, correlation of samples.
    ``figures``: numbers that are not statistics of the samples, by name.
    ``tables``: further tables of the bench.
    ``evidence``: how the agent really measured: policy, CPUs, counters.
    ``ended``: the limit that ended the measurement: "samples", "time", "stopped", or "limit" for a
    sample above the one of `--stop-above`; with rounds also "ci" (precise enough) or "rounds" (the
    precision is out of reach).
    ``until``: rounds and precision of a case that was run with `--until`.
    ``flags``: names of the reasons for caution, explained by `rtstone show`.
    """

    case: Natural
    bench: str
    params: dict[str, Value]
    load: str
    load_rates: list[Rate] = []
    series: str = ""
    status: Status
    reason: str | None = None
    unit: str = "ns"
    n: Natural = 0
    warmup: Natural = 0
    batch: Positive = 1
    single: Result | None = None
    min: Number | None = None
    mean: Number | None = None
    sd: Number | None = None
    p50: Number | None = None
    p90: Number | None = None
    p99: Number | None = None
    p999: Number | None = None
    p9999: Number | None = None
    max: Number | None = None
    raw_min: Number | None = None
    raw_max: Number | None = None
    ci95: dict[str, tuple[Number, Number] | None] = {}
    histogram: list[tuple[Number, Natural]] = []
    grid: Grid | None = None
    worst: list[Worst] = []
    negative: Natural = 0
    overflow: Natural = 0
    missed: Natural | None = None
    misses: Misses | None = None
    corrected: Distribution | None = None
    trace: Trace | None = None
    blocks: Blocks | None = None
    batches: Batches | None = None
    figures: dict[str, Figure] = {}
    tables: list[TextTable] = []
    evidence: dict[str, Value] = {}
    ended: str | None = None
    until: StopCriterion | None = None
    flags: list[str] = []

    @property
    def not_begun(self) -> bool:
        """Return whether its case was not begun when the run was interrupted: no fault of it."""
        return self.reason == NOT_BEGUN

    @property
    def goes_on(self) -> bool:
        """Return whether it was stopped while it took samples, so that it can be continued."""
        return self.status == "ok" and self.n > 0 and self.ended == STOPPED

    @property
    def required(self) -> Misses | None:
        """The misses of a limit on single operations, None if there was none."""
        singly = self if self.batch == 1 else self.single
        misses = singly.misses if singly is not None else None
        return misses if misses is not None and misses.limit is not None else None

    @property
    def section_s(self) -> float | None:
        """The measured time in s; None if unknown, or if the unit is instructions."""
        length = self.evidence.get("section_ns")
        valid = isinstance(length, int | float) and not isinstance(length, bool) and length > 0
        return length / NS_PER_S if valid and self.unit == "ns" else None  # type: ignore[operator]

    def to_numpy(self) -> NDArray[Any]:
        """Return the histogram as a structured array: ``value`` in ``unit``, and its ``count``.

        ``numpy.repeat(a["value"], a["count"])`` restores the samples, to a bucket's width.
        """
        import numpy as np

        return np.array(self.histogram, dtype=[("value", np.float64), ("count", np.int64)])

    def to_frame(self) -> Any:
        """Return the histogram as a pandas.DataFrame, as ``to_numpy`` does.

        Raises UsageError if pandas is not installed.
        """
        return _frame(self.to_numpy(), {"value": self.unit})


def slim(result: Result) -> Result:
    """Return a result without what takes room: histograms, single samples and series over time."""
    corrected = result.corrected
    return msgspec.structs.replace(
        result, histogram=[], worst=[], trace=None, blocks=None, batches=None, tables=[], ci95={},
        load_rates=[], until=None,
        corrected=corrected and msgspec.structs.replace(corrected, histogram=[]),
        single=result.single and slim(result.single),
    )  # fmt: skip


Growth = Literal["constant", "logarithmic", "linear"]


class Slope(msgspec.Struct, frozen=True, kw_only=True):
    """Least-squares slope of a statistic over the parameter ``over``, with its 95% interval.

    ``params``: the parameters that all points share.  ``points``: (parameter, statistic).
    ``figure``: the name of the figure that the points are, of the statistic "figure".
    ``slope``: in ``unit`` per unit of the parameter.  ``constant``: no growth was seen (benchmarks
    4.1): the interval contains 0.  ``growth``: how it grows, None in documents of earlier versions,
    which are of means; "logarithmic" only where that fits better than the line, and then
    ``doubling`` is what each doubling of the parameter adds, with its 95% interval.
    """

    bench: str
    load: str
    over: str
    params: dict[str, Value]
    points: list[tuple[Number, Number]]
    slope: Number
    ci95: tuple[Number, Number]
    unit: str
    constant: bool
    statistic: Literal["mean", "min", "figure"] = "mean"
    figure: str | None = None
    growth: Growth | None = None
    doubling: Number | None = None
    doubling_ci95: tuple[Number, Number] | None = None


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """The clock that took the samples; ``overhead_ns`` is the cost of two consecutive reads."""

    source: str
    hz: Positive
    resolution_ns: Number
    overhead_ns: Number
    unit: str = "ns"


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """The program that took the samples.

    Hashes: ``source`` of all its source, ``common`` of the part that all ports share, ``binary`` of
    the program file.
    """

    version: str
    source: str
    port: str
    os: str
    arch: str
    compiler: str
    flags: str
    caps: list[str] = []
    binary: str | None = None
    common: str | None = None


LOCAL = "local"  # the name of the target that is this machine
QEMU = "qemu:"  # how the names of emulated targets begin


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The target of a run.  ``detail``: what identifies it beyond its name.

    ``name``: its kind and address.  ``called``: what a person calls it in a targets file.
    """

    name: str
    detail: dict[str, Value] = {}
    called: str | None = None

    @property
    def title(self) -> str:
        """What it is called, with its address."""
        return f"{self.called} ({self.name})" if self.called else self.name


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a run in an interleaved comparison (A B B A A B ...).

    ``session``: the prefix that the ids of all its runs share.  ``pair``: counts from 1.
    """

    session: str
    side: Literal["A", "B"]
    pair: Positive


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of benches or a suite on a target.

    ``schema``: name and version of the document.
    ``run_id``, ``created``: id, which sorts by time, and start in ISO 8601.
    ``status``, ``reason``: "complete", or "incomplete" and why.
    ``command``: the command line, word by word.
    ``suite``: name of the suite, None if benches were named.
    ``target``: what was measured.
    ``agent``, ``clock``: what took the samples; None if the target never reported it.
    ``conditions``: what is known of the system, by name ("kernel.release", say).
    ``results``: one per case and series, in the order of the cases.
    ``slopes``: growth over parameters that the run varies.
    ``loads``: loads that were started, in order, with parameters and components.
    ``benches``: descriptions of the benches that occur: titles, units, defaults.
    ``notes``: remarks of host and agent, for the reader.
    ``duration_s``: duration of the whole run in s.
    ``turn``: the place in an interleaved comparison, None if the run stands alone.
    ``name``: what a person calls the run.
    ``session``: the prefix that the ids of all runs share that one command measured at once on
    several targets, None if the run stands alone.
    ``attribution``: which parts of a load cause what, None if they were not measured apart.
    ``requirement``: the latencies that were required of it, None if none was.
    """

    schema: str = SCHEMA
    run_id: str
    created: str
    status: Literal["complete", "incomplete"]
    reason: str | None = None
    command: list[str] = []
    suite: str | None = None
    target: Target
    agent: Agent | None = None
    clock: Clock | None = None
    conditions: dict[str, Value] = {}
    results: list[Result] = []
    slopes: list[Slope] = []
    loads: list[Loaded] = []
    benches: list[Bench] = []
    notes: list[str] = []
    duration_s: Number | None = None
    turn: Turn | None = None
    name: str | None = None
    session: str | None = None
    attribution: Attribution | None = None
    requirement: Requirement | None = None

    @property
    def interrupted(self) -> bool:
        """Return whether it is incomplete only because it was interrupted."""
        return self.status != "complete" and (self.reason or "").startswith(INTERRUPTED)

    @property
    def host(self) -> str | None:
        """The host name of its machine, None of one that nobody gave a name."""
        name = as_text(self.conditions.get("machine.host"))
        return None if name is None or _UNNAMED.fullmatch(name) else name

    @property
    def until_stopped(self) -> bool:
        """Return whether it measured until it was stopped, as requested."""
        return any(r.ended == STOPPED and INTERRUPTED not in r.flags for r in self.results)

    def to_frame(self) -> Any:
        """Return a pandas.DataFrame with a row for each result: its case and its statistics.

        Statistics are in the row's ``unit``; parameters are columns ``params.NAME``, in the units
        of ``attrs["units"]``.  Raises UsageError if pandas is not installed.
        """
        rows = []
        for result in self.results:
            statistics = {name: getattr(result, name) for name in _COLUMNS}
            params = {f"params.{name}": value for name, value in result.params.items()}
            rows.append({**statistics, "flags": " ".join(result.flags), **params})
        return _frame(rows, parameter_units(self))


def parameter_units(run: Run) -> dict[str, str]:
    """Return the units of the parameters that have one, by ``params.NAME``."""
    return {
        f"params.{param.name}": param.unit
        for bench in run.benches
        for param in bench.params
        if param.unit
    }


_COLUMNS = ("bench", "load", "series", "status", "reason", "unit", "n", *NAMES, "missed")


def _frame(rows: Any, units: dict[str, str]) -> Any:
    try:
        pandas: Any = import_module("pandas")
    except ModuleNotFoundError as error:
        raise UsageError(
            "to_frame() needs pandas; install it with: pip install 'rtstone[pandas]'"
        ) from error
    frame = pandas.DataFrame(rows)
    frame.attrs["units"] = {name: unit for name, unit in units.items() if name in frame.columns}
    return frame
