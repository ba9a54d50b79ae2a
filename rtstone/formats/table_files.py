"""Export as a table: statistics, histograms or samples as CSV, histograms as Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rtstone.documents.run import Result, Run, Value, parameter_units
from rtstone.errors import UsageError
from rtstone.formats import rows
from rtstone.formats.registry import Written
from rtstone.results.samples import KEEP, has_raw_samples
from rtstone.units import counted

if TYPE_CHECKING:
    from rtstone.formats.registry import Samples

_Pairs = Iterable[tuple[Result, Iterable[tuple[Any, ...]]]]  # each result with its rows


def csv_statistics(run: Run) -> Written:
    """Export a row for each statistic of each result; each row names its unit."""
    tables = ((result, rows.statistics(result)) for result in run.results)
    return Written(_csv(run, rows.Statistic._fields, tables), rows.lost(run, "histograms"))


def csv_histogram(run: Run) -> Written:
    """Export a row for each bucket; rows without a value count samples beyond the histogram."""
    tables = ((result, rows.buckets(result)) for result in run.results)
    data = _csv(run, rows.Bucket._fields, tables)
    return Written(data, rows.lost(run, "statistics, figures"))


def csv_samples(run: Run, samples: Samples) -> Written:
    """Export a row for each single sample, with its number from 0, as far as they were kept.

    Raises UsageError if none were, Inconclusive if some of them were lost.
    """
    results = [result for result in run.results if has_raw_samples(result)]
    if not results:
        raise UsageError(
            f"no single samples in run {run.run_id}; measure them with {KEEP}, or export "
            "csv-histogram"
        )
    tables = ((result, rows.samples(result, samples(result).tolist())) for result in results)
    lost = rows.lost(run, "statistics, figures, histograms")
    if without := sum(result.n > 0 for result in run.results) - len(results):
        lost.append(f"samples of {counted(without, 'result')} without raw=on")
    return Written(_csv(run, rows.Sample._fields, tables), lost)


def parquet(run: Run) -> Written:
    """Export the rows of ``csv_histogram`` as Parquet; parameters are of their own types.

    Raises UsageError if pyarrow is not installed.
    """
    if find_spec("pyarrow") is None:
        raise UsageError(
            "Parquet needs pyarrow, in --format; install it with: pip install 'rtstone[parquet]'"
        )
    arrow: Any = import_module("pyarrow")
    tables: Any = import_module("pyarrow.parquet")
    whole, real = arrow.int64(), arrow.float64()
    kinds = {"case": whole, "n": whole, "samples": whole, "low": real, "high": real, "value": real}
    pairs = ((result, rows.buckets(result)) for result in run.results)
    cells = list(_flat(run, pairs, lambda value: value))
    head, units = _head(run, rows.Bucket._fields), parameter_units(run)
    params = set(_parameters(run))
    fields, columns = [], []
    for place, name in enumerate(head):
        column = [row[place] for row in cells]
        kind = kinds.get(name, arrow.string())
        if name in params:  # values of several types are texts
            types = {type(value) for value in column if value is not None}
            if types in ({bool}, {int}):
                kind = arrow.bool_() if types == {bool} else arrow.int64()
            elif types and types <= {int, float}:
                kind = real
            else:
                column = [None if value is None else rows.text(value) for value in column]
        columns.append(arrow.array(column, kind))
        metadata = {"unit": units[name]} if name in units else None
        fields.append(arrow.field(name, kind, metadata=metadata))
    out = io.BytesIO()
    tables.write_table(arrow.table(columns, schema=arrow.schema(fields)), out)
    return Written(out.getvalue(), rows.lost(run, "statistics, figures"))


def _parameters(run: Run) -> list[str]:
    return [f"params.{name}" for name in rows.names(run)]


def _head(run: Run, names: Sequence[str]) -> list[str]:
    return [*rows.Key._fields, *_parameters(run), *names]


def _flat(run: Run, tables: _Pairs, param: Callable[[Value], Any]) -> Iterator[tuple[Any, ...]]:
    """Yield rows with what identifies their result; ``param`` makes cells of parameters."""
    names = rows.names(run)
    for result, own in tables:
        first = (*rows.key(run, result), *(param(result.params.get(name)) for name in names))
        for row in own:
            yield (*first, *row)


def _csv(run: Run, names: Sequence[str], tables: _Pairs) -> bytes:
    out = io.StringIO()
    table = csv.writer(out)  # RFC 4180, with its line ends
    table.writerow(map(rows.guarded, _head(run, names)))
    table.writerows(map(rows.guarded, row) for row in _flat(run, tables, rows.text))
    return out.getvalue().encode()
