"""Import samples and histograms that users measured themselves, and whose meaning they state.

A sample is the lateness of an activation, or any other time.  With a period, activations that did
not start within it count as missed (docs/guides/formats.md).
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from importlib import import_module
from importlib.util import find_spec
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import structs
from numpy.lib import format as npy

from rtstone.documents.run import Result, Value
from rtstone.formats.columns import Cells, check_rows, columns
from rtstone.formats.reading import LOAD, Reading, Series, result
from rtstone.formats.source import Source
from rtstone.results.recorded import HZ, LARGEST, MOST_OMITTED, Times, evidence, recorded
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench, Param

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ticks = NDArray[np.int64]

BENCH = "samples"
_TICKS = HZ // NS_PER_S  # in a ns
_PERIOD = Param("period", "duration", "ns", help="Of the task that was activated.")
_NUMPY, _PARQUET = b"\x93NUMPY", b"PAR1"
_LATE = "give --due and --at in place of one column, which say which activations ran"


def bench(name: str | None) -> Bench:
    """Return the bench of samples that somebody measured with means of their own."""
    return Bench(
        name or BENCH, "Samples of one's own, not of rtstone's instrument", "imported",
        "Whoever measured them says what they are.", params=[_PERIOD],
    )  # fmt: skip


def read(source: Source) -> Reading:
    """Return the distribution of the samples.  Raises UsageError."""
    meaning = source.meaning
    if meaning.unit_ns is None:
        source.refuse("samples have no unit", do="give --unit ns, us, ms or s")
    if (meaning.due is None) != (meaning.at is None) or (meaning.due and meaning.column):
        source.refuse("the columns do not fit", do="give --column, or --due and --at")
    if source.data.startswith(_NUMPY):
        cells = from_array(source, _array(source))
    elif source.data.startswith(_PARQUET):
        cells = _parquet(source)
    else:
        cells = columns(source)
    names = [meaning.due, meaning.at] if meaning.due and meaning.at else [meaning.column]
    numbers = [cells.column(source, name) for name in names]
    return judged(source, [ticks(source, own, cells.lines) for own in numbers])


def judged(source: Source, numbers: list[list[int]]) -> Reading:
    """Return the reading of samples in ticks: one list of them, or when each was due and ran."""
    meaning = source.meaning
    period = meaning.period_ns and meaning.period_ns * _TICKS
    *due, last = numbers
    values = [ran - moment for moment, ran in zip(*due, last, strict=True)] if due else last
    low, high = min(values), max(values)
    if low < 0 or high >= LARGEST:
        wrong, why = (low, "is negative") if low < 0 else (high, "is longer than 26 days")
        shown = wrong / (source.unit_ns or 1) / _TICKS
        reason = f"sample {values.index(wrong) + 1}, {shown:g}, {why}"
        source.refuse(reason, do="check the column and the unit")
    samples = np.array(values, np.int64)
    times, note = None, ""
    if due:
        start = due[0][0]
        if not 0 <= max(due[0]) - start < LARGEST or min(due[0]) < start:
            source.refuse("what was due is not in the order of time, or 26 days apart")
        moments = np.array([moment - start for moment in due[0]], np.int64)
        times = Times(moments + samples, _gaps(source, moments, period), period)
    elif period:
        times, note = _periodic(samples, period)
    if times and int(times.hidden.sum()) > MOST_OMITTED:
        source.refuse("more than 10 000 000 activations are missing", do="check the unit")
    own = bench(meaning.bench)
    params: dict[str, Value] = {"period": meaning.period_ns} if meaning.period_ns else {}
    blank = Result(case=1, bench=own.id, params=params, load=LOAD, status="ok",
                   evidence=evidence(times))  # fmt: skip
    limit_ns = None if period and not times else meaning.limit_ns  # unclear what was left out
    judgement = recorded(blank, samples, times, limit_ns)
    judgement = structs.replace(judgement, flags=["imported", *judgement.flags])
    return Reading(tool=BENCH, results=[judgement], benches=[own], notes=[note] if note else [],
                   duration_s=judgement.section_s)  # fmt: skip


def read_histogram(source: Source) -> Reading:
    """Return the distribution of a histogram, a value and its count on each line.

    Raises UsageError.
    """
    unit_ns = source.meaning.unit_ns
    if unit_ns is None:
        source.refuse("a histogram has no unit", do="give --unit ns, us, ms or s")
    cells = columns(source)
    if len(cells.names) != 2:
        source.refuse(f"{len(cells.names)} columns", do="a value and its count, on each line")
    counts: dict[int, int] = {}
    for line, value, count in zip(cells.lines, cells.take(0), cells.take(1), strict=True):
        number = _number(value)
        if number is None or number != int(number):
            source.refuse(f"value '{_short(value)}' is not a whole number", line)
        if int(number) in counts:
            source.refuse(f"value {_short(value)} for the second time", line)
        counts[int(number)] = source.number(str(count).strip(), line)
    held = [value for value, count in counts.items() if count]
    series = Series(name="", n=sum(counts.values()), counts=counts, unit_ns=unit_ns,
                    min=min(held, default=None), max=max(held, default=None))  # fmt: skip
    own = bench(source.meaning.bench)
    return Reading(tool="histogram", results=[result(source, own.id, series)], benches=[own])


# ---- numbers ------------------------------------------------------------------------------------


def _array(source: Source) -> NDArray[Any]:
    """Return the array of a file of NumPy.  Refuses one that is smaller than its header states."""
    data = io.BytesIO(source.data)
    try:
        version = npy.read_magic(data)
        head = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, kind = head(data)
        if prod(shape) * kind.itemsize > len(source.data):
            source.cut(f"its shape is {shape}")
        check_rows(source, shape[0] if shape else 1)
        data.seek(0)
        array: NDArray[Any] = np.load(data, allow_pickle=False)
    except (ValueError, EOFError, OSError, SyntaxError) as error:
        source.refuse(f"no array of NumPy: {str(error)[:60]}")
    return array


def _parquet(source: Source) -> Cells:
    """Return the columns of numbers of a Parquet file, each read when it is taken."""
    if find_spec("pyarrow") is None:
        source.refuse("Parquet needs pyarrow", do="pip install 'rtstone[parquet]'")
    arrow: Any = import_module("pyarrow")
    tables: Any = import_module("pyarrow.parquet")
    try:
        file = tables.ParquetFile(arrow.BufferReader(source.data))
    except (arrow.ArrowException, OSError) as error:
        source.refuse(f"no Parquet: {str(error)[:60]}")
    check_rows(source, file.metadata.num_rows)
    types = arrow.types
    names = [
        field.name for field in file.schema_arrow
        if types.is_integer(field.type) or types.is_floating(field.type)
    ]  # fmt: skip
    if not names:
        source.refuse("no column of numbers", do="give integers or floats")

    def take(place: int) -> Sequence[object]:
        try:
            column: list[object] = file.read(columns=[names[place]]).column(0).to_pylist()
        except (arrow.ArrowException, OSError) as error:
            source.refuse(f"a damaged column {names[place]}: {str(error)[:60]}")
        return column

    return Cells(names, take)


def from_array(source: Source, array: NDArray[Any]) -> Cells:
    """Return the columns of an array: one of samples, or a row each of several numbers."""
    if not array.size:
        source.refuse("no sample")
    if array.dtype.names:
        parts: Sequence[NDArray[Any]] = [array[name] for name in array.dtype.names]
    elif array.ndim in {1, 2}:
        parts = list(array.reshape(len(array), -1).T)
    else:
        source.refuse(f"an array of {array.ndim} dimensions", do="give one, or a row a sample")
    if any(own.dtype.kind not in "iuf" or own.ndim != 1 for own in parts):
        source.refuse("an array of no numbers", do="give integers or floats")
    names = list(array.dtype.names or [str(n + 1) for n in range(len(parts))])
    return Cells(names, lambda place: parts[place].tolist())


def _number(cell: object) -> Decimal | None:
    """Return a finite number, None for anything else; a float is what it is written as."""
    try:
        number = Decimal(cell if isinstance(cell, int) else str(cell).strip())
    except InvalidOperation:
        return None
    return number if number.is_finite() and abs(number.adjusted()) < 30 else None


def _short(cell: object) -> str:
    return str(cell).strip()[:40]


def ticks(source: Source, cells: Sequence[object], lines: Sequence[int] = ()) -> list[int]:
    """Return numbers in ticks.  Refuses what is none, with its line where there are lines."""
    scale = (source.unit_ns or 1) * _TICKS
    numbers = []
    for place, cell in enumerate(cells):
        number = _number(cell)
        if number is None:
            line = lines[place] if lines else None
            source.refuse(f"'{_short(cell)}' is not a number", line)
        numbers.append(int((number * scale).to_integral_value()))
    if not numbers:
        source.refuse("no sample")
    return numbers


# ---- activations --------------------------------------------------------------------------------


def _periodic(late: Ticks, period: int) -> tuple[Times | None, str]:
    """Return the times of activations whose lateness alone is known, None if unclear; and a note.

    A loop that goes on with the next activation to come hides those meanwhile; one that catches up
    shows each of them, a period less late than the one before.
    """
    hidden, note = late // period, ""
    behind = np.flatnonzero(hidden[:-1] >= 2)  # by less, the next may be late for itself
    if len(behind) == 0:
        behind = np.flatnonzero(hidden[:-1])
    caught = late[behind + 1] >= late[behind] - period
    if caught.any() and not caught.all():
        return None, f"which activations were left out is not to be seen; {_LATE}"
    if caught.any():
        hidden = np.zeros_like(hidden)
        note = "the loop catches up: activations ran late, none was left out"
    number = np.arange(len(late)) + np.cumsum(hidden) - hidden
    return Times(number * period + late, hidden, period), note


def _gaps(source: Source, due: Ticks, period: int | None) -> Ticks:
    """Return how many activations are missing between each and the next, by when they were due."""
    hidden = np.zeros(len(due), np.int64)
    steps = np.diff(due)
    if period is None:
        return hidden
    if (steps <= 0).any():
        source.refuse(f"activation {int((steps <= 0).argmax()) + 2} is due no later than the one "
                      "before it", do="check --due")  # fmt: skip
    whole = np.maximum((steps + period // 2) // period, 1)
    off = np.abs(steps - whole * period) > period // 4
    if off.any():
        place = int(off.argmax())
        source.refuse(f"activations {place + 1} and {place + 2} are due {steps[place] / HZ:g} s "
                      "apart, no whole periods", do="check --period and --unit")  # fmt: skip
    hidden[:-1] = whole - 1
    return hidden
