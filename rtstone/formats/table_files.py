"""Export as a table: statistics or histograms as CSV, histograms as Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.formats import rows
from rtstone.formats.table import Written


def csv_statistics(run: Run) -> Written:
    """Export a row for each statistic of each result; each row names its unit."""
    data = _csv(rows.Statistic._fields, _flat(run, rows.statistics))
    return Written(data, rows.lost(run, statistics=True))


def csv_histogram(run: Run) -> Written:
    """Export a row for each bucket; rows without a value count samples beyond the histogram."""
    data = _csv(rows.Bucket._fields, _flat(run, rows.buckets))
    return Written(data, rows.lost(run, statistics=False))


def parquet(run: Run) -> Written:
    """Export the rows of ``csv_histogram`` as Parquet.

    Raises UsageError if pyarrow is not installed.
    """
    if find_spec("pyarrow") is None:
        raise UsageError(
            "Parquet needs pyarrow, in --format; install it with: pip install 'rtstone[parquet]'"
        )
    arrow: Any = import_module("pyarrow")
    tables: Any = import_module("pyarrow.parquet")
    names = [*rows.Key._fields, *rows.Bucket._fields]
    kinds = {"case": arrow.int64(), "n": arrow.int64(), "samples": arrow.int64()}
    kinds["value"] = arrow.float64()
    schema = arrow.schema([(name, kinds.get(name, arrow.string())) for name in names])
    found = list(_flat(run, rows.buckets))
    columns = [[row[place] for row in found] for place in range(len(names))]
    out = io.BytesIO()
    tables.write_table(arrow.table(dict(zip(names, columns, strict=True)), schema=schema), out)
    return Written(out.getvalue(), rows.lost(run, statistics=False))


def _flat(run: Run, of: Callable[[Result], Iterable[tuple[Any, ...]]]) -> Iterator[tuple[Any, ...]]:
    return ((*rows.key(run, result), *row) for result in run.results for row in of(result))


def _csv(names: Sequence[str], found: Iterable[tuple[Any, ...]]) -> bytes:
    out = io.StringIO()
    table = csv.writer(out)  # RFC 4180, with its line ends
    table.writerow([*rows.Key._fields, *names])
    table.writerows(found)
    return out.getvalue().encode()
