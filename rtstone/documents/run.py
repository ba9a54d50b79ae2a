"""The run document and its schema.

Times are nanoseconds (``unit`` "ns") net of clock overhead, or instructions in an emulated lab;
unknown is ``None``, never NaN or a sentinel.  Members are only ever added; a change of meaning
changes ``SCHEMA``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rtstone.errors import UsageError
from rtstone.statistics import NAMES
from rtstone.wire import records
from rtstone.wire.records import (
    Bench,
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
GRAVITY: tuple[Status, ...] = ("ok", "unsupported", "incomplete", "failed")  # rising
NO_REASON = "no reason was recorded"
STOPPED = "stopped"  # what ended a series that the host told to end
INTERRUPTED = "interrupted"  # the reason of one that was ended before it had a sample
NOT_BEGUN = f"not run: {INTERRUPTED}"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A single number of a case that is not a distribution."""

    value: Number | Whole | None
    unit: str


class Worst(msgspec.Struct, frozen=True, kw_only=True):
    """One of the largest samples: net value, its index, seconds since the section began."""

    value: Number
    index: Natural
    at_s: Number


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """Extremes over time: rows of (start in s, n, min, mean, max), net; windows of width_s."""

    width_s: Width
    rows: list[tuple[Number, Natural, Number, Number, Number]]


class Blocks(msgspec.Struct, frozen=True, kw_only=True):
    """Maxima, net, of successive blocks of equally many samples (for extreme-value analysis)."""

    samples: Positive
    max: list[Number]


class Batches(msgspec.Struct, frozen=True, kw_only=True):
    """Successive samples in batches, which show the correlation of samples.

    Of each batch: how many samples, their net mean, and how many of them lie above the line nearest
    to a percentile of the whole series, for each percentile that there are samples for.
    """

    n: list[Positive]
    mean: list[Number]
    above: dict[str, list[Natural]]

    def __post_init__(self) -> None:
        lengths = {len(self.n), len(self.mean), *map(len, self.above.values())}
        if len(lengths) > 1:
            raise ValueError("not as many numbers as there are batches")


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One round of a case: its samples, and the precision reached so far.

    ``section_s``: how long it measured; ``ended``: which of its limits ended it.
    """

    n: Natural
    warmup: Natural
    section_s: Number | None
    ended: str | None
    width: Number | None


class StopCriterion(msgspec.Struct, frozen=True, kw_only=True):
    """The precision that `--until` reached, and its rounds.

    A width is the distance of the statistic to the farther end of its 95% interval, as a share of
    it; None: it cannot be told.  ``time_s``: the limit, of measuring.
    """

    statistic: str
    asked: Number
    width: Number | None
    time_s: Number
    rounds: list[Round]


class Distribution(msgspec.Struct, frozen=True, kw_only=True):
    """Statistics of one set of samples, net.  A percentile q is None unless n >= 10/(1-q)."""

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

    ``series`` distinguishes several distributions of one case (one per CPU, say), else "".
    ``corrected`` includes the omitted activations of a periodic case (coordinated omission).
    ``ci95`` holds [low, high] of the mean and the percentiles, or None (docs/estimates.md).
    ``until``: of a case that was measured in rounds, which are one result; ``ended`` is then "ci",
    "time", "rounds" (so many that it will not get there) or "stopped".
    """

    case: Natural
    bench: str
    params: dict[str, Value]
    load: str
    load_rates: list[Rate] = []  # what the load did meanwhile, by component
    series: str = ""
    status: Status
    reason: str | None = None
    unit: str = "ns"
    n: Natural = 0
    warmup: Natural = 0
    batch: Positive = 1
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
    worst: list[Worst] = []
    negative: Natural = 0
    overflow: Natural = 0
    missed: Natural | None = None
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
    def section_s(self) -> float | None:
        """The measured time in s, None if unknown; instructions have no time."""
        told = self.evidence.get("section_ns")
        known = isinstance(told, int | float) and not isinstance(told, bool) and told > 0
        return told / 1e9 if known and self.unit == "ns" else None  # type: ignore[operator]

    def to_numpy(self) -> NDArray[Any]:
        """Return the histogram as a structured array: ``value`` in ``unit``, and its ``count``.

        ``numpy.repeat(a["value"], a["count"])`` are the samples, to within a bucket's width.
        """
        import numpy as np

        return np.array(self.histogram, dtype=[("value", np.float64), ("count", np.int64)])

    def to_frame(self) -> Any:
        """Return the same as a pandas.DataFrame.  Raises UsageError if pandas is not installed."""
        return _frame(self.to_numpy())


class Slope(msgspec.Struct, frozen=True, kw_only=True):
    """Least-squares slope of the mean over a parameter, per unit of it, with its 95% interval.

    ``constant`` is True if the interval contains 0 (benchmarks 4.1).
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


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """The clock of the samples; ``overhead_ns`` is the cost of two consecutive reads."""

    source: str
    hz: Positive
    resolution_ns: Number
    overhead_ns: Number
    unit: str = "ns"


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """The program that took the samples.

    ``source`` and ``common`` are hashes: of all its source, and of the part that all ports share.
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


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The target of a run."""

    name: str
    detail: dict[str, Value] = {}


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The place of a run in an interleaved comparison: A B B A A B ...

    ``session`` is the start of all their ids; ``pair`` counts from 1.
    """

    session: str
    side: Literal["A", "B"]
    pair: Positive


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """One execution of a suite on a target; ``name``: what a person calls it."""

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
    loads: list[Loaded] = []  # that were started, in order, with their parameters and parts
    benches: list[Bench] = []  # tables of the benches that occur: titles, units, defaults
    notes: list[str] = []
    duration_s: Number | None = None
    turn: Turn | None = None
    name: str | None = None

    @property
    def interrupted(self) -> bool:
        """Return whether it is incomplete only because it was interrupted."""
        return self.status != "complete" and (self.reason or "").startswith(INTERRUPTED)

    @property
    def until_stopped(self) -> bool:
        """Return whether it measured until it was stopped, as requested."""
        return any(r.ended == STOPPED and INTERRUPTED not in r.flags for r in self.results)

    def to_frame(self) -> Any:
        """Return a pandas.DataFrame with a row for each result: its case and its statistics.

        Parameters are columns ``params.NAME``.  Raises UsageError if pandas is not installed.
        """
        return _frame([_row(result) for result in self.results])


_COLUMNS = ("bench", "load", "series", "status", "reason", "unit", "n", *NAMES, "missed")


def _row(result: Result) -> dict[str, Value]:
    params = {f"params.{name}": value for name, value in result.params.items()}
    statistics = {name: getattr(result, name) for name in _COLUMNS}
    return {**statistics, "flags": " ".join(result.flags), **params}


def _frame(rows: Any) -> Any:
    try:
        pandas: Any = import_module("pandas")
    except ModuleNotFoundError as error:
        raise UsageError(
            "to_frame() needs pandas; install it with: pip install 'rtstone[pandas]'"
        ) from error
    return pandas.DataFrame(rows)
