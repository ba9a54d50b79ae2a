"""The records that an agent sends; docs/reference/wire.md explains their members.

Values are in ticks unless stated otherwise.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, cast

import msgspec

from rtstone import printable, structures
from rtstone.wire import totals

VERSION = 2

# Bounds of numbers used in arithmetic: a checksum does not prove that they are sane.  A record out
# of bounds is malformed.
_MOST = (1 << 63) - 1
Whole = Annotated[int, msgspec.Meta(ge=-_MOST, le=_MOST)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=_MOST)]
Positive = Annotated[int, msgspec.Meta(gt=0, le=_MOST)]
Number = Annotated[float, msgspec.Meta(ge=-1e60, le=1e60)]  # squares can still be summed
Hz = Annotated[int, msgspec.Meta(gt=0, le=10**12)]  # no clock counts faster
Width = Annotated[float, msgspec.Meta(gt=0, le=1e60)]

# Values of parameters, conditions and evidence: never nested objects.  A list that differs between
# the rounds of a case becomes a list of lists.
Item = str | Whole | Number | bool | None
Value = str | Whole | Number | bool | list[Item | list[Item]] | None

Buckets = list[tuple[Natural, Natural]]
_Sum = Annotated[int, msgspec.Meta(ge=0)]  # a sum of values, which may need more than 64 bits

_BITS = 16  # the finest resolution of a histogram that is accepted
Bits = Annotated[int, msgspec.Meta(ge=0, le=_BITS)]
_WIDTH = 64  # of a value in bits; sums have twice as many


class NegativeSpanError(ValueError):
    """Time spans that ended before they began: as unsigned numbers their sums overflow."""


class Hello(msgspec.Struct, frozen=True, tag_field="t", tag="hello"):
    """The first record: identity and build of the agent.

    ``n``: number of the command that it answers; 0: of none, the agent has just started.
    ``line``: most characters of a command.
    """

    wire: int
    agent: str
    source: str
    port: str
    os: str
    arch: str
    compiler: str
    flags: str
    caps: list[str] = []
    common: str | None = None
    n: int = 0
    line: Positive = 4095


class Heard(msgspec.Struct, frozen=True, tag_field="t", tag="heard"):
    """The echo of command ``n``; without a text, ``n`` is the newest one that was undamaged."""

    n: int
    text: str | None = None


class Param(msgspec.Struct, frozen=True):
    """A parameter of a bench; times in ns, sizes in bytes."""

    name: str
    type: str
    unit: str | None = None
    default: Whole | Number | str | bool | None = None
    min: Whole | Number | None = None
    max: Whole | Number | None = None
    choices: list[str] | None = None
    help: str = ""


class Table(msgspec.Struct, frozen=True):
    """The agent's declaration of a bench or a load."""

    noun: ClassVar[str]

    id: str
    title: str = ""
    source: str = ""
    help: str = ""
    needs: list[str] = []
    params: list[Param] = []

    def param(self, name: str) -> Param | None:
        """Return the parameter of that name, or None."""
        return next((p for p in self.params if p.name == name), None)


class Bench(Table, frozen=True, tag_field="t", tag="bench"):
    """One measuring procedure and its parameters."""

    noun = "bench"

    metric: str | None = None
    slope_over: str | None = None
    slope_of: str | None = None


class Load(Table, frozen=True, tag_field="t", tag="load"):
    """A load and its parameters."""

    noun = "load"


class Clock(msgspec.Struct, frozen=True, tag_field="t", tag="clock"):
    """The clock that time stamps are taken from; ``granule`` and ``overhead`` in ticks."""

    source: str
    hz: Hz
    granule: Whole
    overhead: Whole
    unit: str = "ns"


class Conditions(msgspec.Struct, frozen=True, tag_field="t", tag="conditions"):
    """The conditions reported by the target."""

    values: dict[str, Value]


class Case(msgspec.Struct, frozen=True, tag_field="t", tag="case"):
    """The start of a case, with all its parameters."""

    id: int
    bench: str
    params: dict[str, Value]


class Progress(msgspec.Struct, frozen=True, tag_field="t", tag="progress"):
    """The progress of a case.

    ``done``: in parts per thousand.  ``text``: replaces the figures for benches without samples.
    """

    id: int
    n: Natural = 0
    hz: Positive = 1
    min: Whole | None = None
    p50: Whole | None = None
    p99: Whole | None = None
    max: Whole | None = None
    overhead: Whole = 0
    batch: Positive = 1
    done: Whole | None = None
    text: str | None = None


class Raw(msgspec.Struct, frozen=True, tag_field="t", tag="raw"):
    """Single samples of a series, the first of them number ``at``."""

    id: int
    series: str
    at: int
    v: list[int]


class Event(msgspec.Struct, frozen=True, tag_field="t", tag="event"):
    """The fields of a kind of event in the snapshots of a traced case, as the kernel says them."""

    id: int
    name: str
    format: str


class Symbol(msgspec.Struct, frozen=True, tag_field="t", tag="symbol"):
    """A function of the kernel of which an address may be in a snapshot: where it begins."""

    id: int
    address: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{1,16}$")]
    name: str


class Snapshot(msgspec.Struct, frozen=True, tag_field="t", tag="snapshot"):
    """A part of what was recorded around one sample of a traced case.

    ``value``: of the sample, in ticks.  ``due``, ``stamp``: when it began and ended, in ns.
    ``page``: bytes of a page of the ring.  ``stats``: the kernel's counts of that ring.
    ``bytes``: of all parts; those that are missing at the end of the last page are 0.  ``at``: of
    this one.  ``data``: in base 64.  ``steal_ns`` and ``smi``: by how much the steal time of the
    measured CPUs and the count of SMIs grew around it, within ``steal_span_ns`` and
    ``smi_span_ns``; None: not known.
    """

    id: int
    series: str
    index: Natural
    value: Natural
    due: Natural
    stamp: Natural
    cpu: Natural
    page: Positive
    bytes: Natural
    at: Natural
    data: str
    stats: str = ""
    steal_ns: Natural | None = None
    smi: Natural | None = None
    steal_span_ns: Natural = 0
    smi_span_ns: Natural = 0


class Trace(msgspec.Struct, frozen=True):
    """Rows of (window, n, min, sum, max)."""

    ticks: Positive
    rows: list[tuple[Natural, Natural, int, int, int]]

    def __post_init__(self) -> None:
        if not _fit([value for row in self.rows for value in (row[2], row[4])]):
            raise ValueError("numbers out of range")
        if any(abs(row[3]) >= 1 << 2 * _WIDTH for row in self.rows):
            raise ValueError("a sum out of range")


class Blocks(msgspec.Struct, frozen=True):
    """Maxima of successive blocks of ``samples`` samples each."""

    samples: Positive
    max: list[int]

    def __post_init__(self) -> None:
        if not _fit(self.max):
            raise ValueError("numbers out of range")


class Batches(msgspec.Struct, frozen=True):
    """Batches of successive samples: rows of n, sum, and number of samples above each line.

    A line is given by the first bucket above it.
    """

    lines: list[Natural]
    rows: list[list[_Sum]]

    def __post_init__(self) -> None:
        if any(len(row) != 2 + len(self.lines) for row in self.rows):
            raise ValueError("a row has not a number for each line")


class TextTable(msgspec.Struct, frozen=True):
    """A table of texts that a case reports."""

    title: str
    columns: list[str]
    rows: list[list[str]]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a row is not as long as the table is wide")


class Omitted(msgspec.Struct, frozen=True):
    """The lateness that activations would have had that never happened."""

    n: Natural
    sum: int
    min: int | None = None
    max: int | None = None
    overflow: Natural = 0
    hist: Buckets = []


class Misses(msgspec.Struct, frozen=True):
    """Omitted activations, samples above the limit, and how they lie: docs/reference/wire.md.

    ``windows``: how few successive activations held 1, 2, … of them, up to ``room``.
    """

    n: Natural
    late: Natural
    squares: Natural
    room: Positive
    windows: list[Positive] = []
    limit_ns: Positive | None = None


class Result(msgspec.Struct, frozen=True, tag_field="t", tag="result"):
    """One series of a case."""

    id: int
    series: str
    hz: Hz
    n: Natural
    sum: int
    bits: Bits
    overhead: Whole = 0
    granule: Positive | None = None
    batch: Positive = 1
    warmup: Natural = 0
    min: int | None = None
    max: int | None = None
    negative: Natural = 0
    overflow: Natural = 0
    hist: Buckets = []
    worst: list[tuple[int, Natural, int]] = []
    worst_steal: list[Natural] | None = None
    trace: Trace | None = None
    blocks: Blocks | None = None
    batches: Batches | None = None
    missed: Natural | None = None
    omitted: Omitted | None = None
    misses: Misses | None = None
    figures: list[tuple[str, Whole | Number | None, str]] = []
    tables: list[TextTable] = []
    ended: str | None = None

    def __post_init__(self) -> None:
        for part in (self, self.omitted):
            if part is not None and not _sane(part, self.bits):
                raise ValueError("numbers out of range")
        if not _fit([ticks for value, _, at in self.worst for ticks in (value, at)]):
            raise ValueError("numbers out of range")
        if self.worst_steal is not None and len(self.worst_steal) != len(self.worst):
            raise ValueError("steal is not that of the worst samples")


class Component(msgspec.Struct, frozen=True):
    """A part of a load, and its target rate per second; None: as fast as possible."""

    name: str
    unit: str
    wanted: Number | None = None


class Loaded(msgspec.Struct, frozen=True, tag_field="t", tag="loaded"):
    """The outcome of starting a load."""

    load: str
    status: str
    reason: str | None = None
    params: dict[str, Value] = {}
    components: list[Component] = []


class Rate(msgspec.Struct, frozen=True):
    """What a component of a load achieved per second during a case, over ``window_s`` seconds.

    ``cpu_ms``: CPU time used per second, in ms.  ``missed``: periods in which nothing was done.
    ``runs``: how often a program ran to completion.  ``counted``: the same as ``achieved`` in those
    parts of the case alone that its bench counts, of Hartstone the tests before the first miss,
    over ``counted_s`` seconds; None where a bench does not distinguish.  ``cpus``: those on which
    it may run; None of an agent that has one CPU, and of earlier ones.
    """

    component: str
    unit: str
    achieved: Number
    window_s: Number
    wanted: Number | None = None
    alive: bool = True
    why: str | None = None
    cpu_ms: Number | None = None
    missed: Natural | None = None
    runs: Natural | None = None
    counted: Number | None = None
    counted_s: Number | None = None
    cpus: list[Natural] | None = None


class End(msgspec.Struct, frozen=True, tag_field="t", tag="end"):
    """The end of a case."""

    id: int
    status: str
    reason: str | None = None
    evidence: dict[str, Value] = {}
    load: list[Rate] | None = None


class Log(msgspec.Struct, frozen=True, tag_field="t", tag="log"):
    """A message of the agent."""

    level: str
    text: str


class Bye(msgspec.Struct, frozen=True, tag_field="t", tag="bye"):
    """The last record."""

    cases: Natural | None = None


def _fit(values: list[int]) -> bool:
    """Return whether each value fits in 64 bits, signed or unsigned."""
    return all(abs(value) < 1 << _WIDTH for value in values)


def _sane(part: Result | Omitted, bits: int) -> bool:
    """Return whether buckets, sum and extremes are possible for 64-bit values."""
    buckets = (_WIDTH + 1 - bits) << bits
    limit = 1 << _WIDTH
    return (
        all(index < buckets for index, _ in part.hist)
        and sum(count for _, count in part.hist) <= part.n
        and abs(part.sum) < limit * limit
        and all(value is not None for value in (part.min, part.max) if part.n)
        and all(abs(value) < limit for value in (part.min, part.max) if value is not None)
    )


def _missing(misses: Misses) -> totals.Missing:
    return totals.Missing(misses.n, misses.late, misses.squares, misses.room, misses.windows)


def _contradiction(result: Result) -> str | None:
    """Return which numbers of a result cannot be of the same samples, None if all can."""
    n, high, worst, omitted = result.n, result.max, result.worst, result.omitted
    for part in (result, omitted):
        if part is None:
            continue
        values = totals.Values(part.n, part.sum, part.min, part.max, part.overflow, part.hist)
        if not totals.distribution(values, result.bits):
            return "sum, extremes and buckets are not those of the samples"
    trace, blocks, batches = result.trace, result.blocks, result.batches
    checks = {
        "the worst are not the largest samples": not worst or totals.largest(worst, n, high),
        "the windows are not all samples": not trace
        or totals.windows(trace.rows, n, result.sum, high),
        "the blocks are not of these samples": not blocks
        or totals.blocks(blocks.samples, blocks.max, n, high),
        "the batches are not all samples": not batches
        or totals.batches(batches.rows, n, result.sum),
        "not as many are omitted as are missed": not omitted or omitted.n == result.missed,
        "the misses are not of these activations": not result.misses
        or totals.misses(_missing(result.misses), n, result.missed or 0),
    }
    return next((wrong for wrong, right in checks.items() if not right), None)


Body = (
    Hello
    | Heard
    | Bench
    | Load
    | Clock
    | Conditions
    | Loaded
    | Case
    | Progress
    | Raw
    | Event
    | Snapshot
    | Symbol
    | Result
    | End
    | Log
    | Bye
)

OfACase = Case | Progress | Raw | Event | Snapshot | Symbol | Result | End

_decoder = structures.decoder(Body)


def decode_body(data: bytes) -> Body:
    """Return the record of a JSON text, its strings made printable.

    Raises as msgspec does, also for a result whose numbers do not add up.
    """
    body: Body
    if printable.plainly(data):
        body = _decoder.decode(data)
    else:
        value = printable.every(msgspec.json.decode(data))
        body = structures.convert(value, cast("type[Body]", Body))
    if isinstance(body, Result) and (wrong := _contradiction(body)):
        backwards = (body.max or 0) >= 1 << (_WIDTH - 1)
        raise msgspec.ValidationError(wrong) from (NegativeSpanError() if backwards else None)
    return body
