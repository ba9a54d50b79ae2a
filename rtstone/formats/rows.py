"""Flat rows of a run for tables: one per statistic, or one per bucket."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from rtstone.documents.run import Distribution, Result, Run, Value
from rtstone.results.edges import edged
from rtstone.summary import NAMES

STATISTICS = (
    *NAMES, "raw_min", "raw_max", "overflow", "negative", "missed", "warmup", "batch",
)  # fmt: skip
COUNTS = {"overflow", "negative", "missed", "warmup", "batch"}  # have no unit
VARIANTS = ("observed", "corrected")  # corrected: with omitted activations included


# Signs of all widths: spreadsheets in Chinese, Japanese and Korean take the wide ones, too.
_FORMULAS = tuple("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
_NUMBER = re.compile(r"[+-]?\d{1,30}(\.\d{1,30})?(e[+-]?\d{1,3})?", re.ASCII)


class Key(NamedTuple):
    """The columns that identify a result, the first of every row; parameters follow."""

    run_id: str
    target: str
    case: int
    bench: str
    load: str
    series: str
    status: str


class Statistic(NamedTuple):
    """A statistic, count or figure of a result; the unit of counts is "count"."""

    variant: str
    n: int
    statistic: str
    value: float | int | None
    unit: str


class Bucket(NamedTuple):
    """A bucket with its edges, None if they are not known, and the value that statistics take.

    ``value`` None: samples beyond the histogram.
    """

    variant: str
    n: int
    low: float | None
    high: float | None
    value: float | None
    unit: str
    samples: int


class Sample(NamedTuple):
    """A single sample; ``at_s``: seconds since the measurement began, where that was recorded."""

    sample: int
    value: float
    unit: str
    at_s: float | None


def key(run: Run, result: Result) -> Key:
    """Return the identifying columns of a result."""
    return Key(
        run.run_id, run.target.name, result.case, result.bench, result.load, result.series,
        result.status,
    )  # fmt: skip


def params(values: dict[str, Value]) -> str:
    """Return parameters as text, in base units: ``a=1;b=on``."""
    return ";".join(f"{name}={text(value)}" for name, value in values.items())


def names(run: Run) -> list[str]:
    """Return the parameters of a run's results, each once."""
    return list(dict.fromkeys(name for result in run.results for name in result.params))


def statistics(result: Result) -> Iterator[Statistic]:
    """Yield the known statistics, counts and figures of a result."""
    for variant, distribution in _variants(result):
        for name in STATISTICS:
            value = getattr(distribution, name, None)
            if value is not None and (distribution.n or value):
                unit = "count" if name in COUNTS else result.unit
                yield Statistic(variant, distribution.n, name, value, unit)
        if not distribution.n and not result.figures:
            yield Statistic(variant, 0, "n", 0, "count")
    for name, figure in result.figures.items():
        yield Statistic("figure", result.n, name, figure.value, figure.unit)


def buckets(result: Result) -> Iterator[Bucket]:
    """Yield the buckets of both histograms, and the samples beyond them."""
    for variant, distribution in _variants(result):
        edges = edged(result, distribution)
        for place, (value, count) in enumerate(distribution.histogram):
            low, high = edges[place][:2] if edges else (None, None)
            yield Bucket(variant, distribution.n, low, high, value, result.unit, count)
        beyond = distribution.n - sum(count for _, count in distribution.histogram)
        if beyond:
            low = edges[-1].low if edges else None
            yield Bucket(variant, distribution.n, low, None, None, result.unit, beyond)


def samples(result: Result, values: Sequence[float]) -> Iterator[Sample]:
    """Yield the samples; when they were taken is known of the largest."""
    times = {worst.index: worst.at_s for worst in result.worst}
    for number, value in enumerate(values):
        yield Sample(number, value, result.unit, times.get(number))


def _variants(result: Result) -> Iterator[tuple[str, Result | Distribution]]:
    yield VARIANTS[0], result
    if result.corrected:
        yield VARIANTS[1], result.corrected


def text(value: Value) -> str:
    """Return a parameter as text, in base units."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return "" if value is None else str(value)


def guarded(cell: object) -> object:
    """Return a cell of CSV that no spreadsheet takes for a formula: a text that begins like one.

    It gets an apostrophe, as OWASP advises (CSV injection); names of targets, runs, loads and
    parameters are those of whoever measured.  Numbers stay numbers.
    """
    if not isinstance(cell, str) or not cell.lstrip("'").startswith(_FORMULAS):
        return cell
    return cell if _NUMBER.fullmatch(cell) else f"'{cell}"


def unguarded(cell: str) -> str:
    """Return the text of a cell that may have been guarded."""
    guards = cell.startswith("'") and cell.lstrip("'").startswith(_FORMULAS)
    return cell[1:] if guards else cell


def whole_counts(
    points: Iterable[tuple[float, int]], number: Callable[[float], int]
) -> tuple[Counter[int], int]:
    """Return the counts of samples by whole number, and how many samples are negative."""
    counts: Counter[int] = Counter()
    negative = 0
    for value, count in points:
        if value < 0:
            negative += count
        else:
            counts[number(value)] += count
    return counts, negative


def lost(run: Run, *further: str) -> list[str]:
    """Return what a table of these rows does not contain."""
    names = ["conditions", "evidence", "flags", "traces", "worst samples", "slopes", *further]
    lines = [", ".join(names) + "; rtstone show --json has them"]
    texts = sum(len(result.tables) for result in run.results)
    return lines + ([f"{texts} tables of text"] if texts else [])
