"""The details of a result, as data from which the page's script builds them.

A table is a form (caption, names of columns and rows), which many results share, and its columns.
A cell is text, or a list with the reason why there is no text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rtstone.documents.case_name import setting
from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import Distribution, Result
from rtstone.report.parts.console import figure as value_text
from rtstone.report.parts.shapes import correction, samples, undrawn
from rtstone.report.parts.typeset import count, figure, quantity, seconds, typeset, words
from rtstone.report.parts.words import LOAD_COLUMNS, load_rate, reached
from rtstone.report.run.page import Row
from rtstone.results import flags
from rtstone.results.load_rates import load_place
from rtstone.summary import LABELS, NAMES
from rtstone.units import NS_PER_S, trimmed
from rtstone.wire.records import Bench

Cell = str | list[str]
_FACTS = ("name", "value")


class Forms:
    """The forms of all tables of a page, without repetition."""

    def __init__(self) -> None:
        self._forms: dict[tuple[str, tuple[str, ...], tuple[str, ...]], int] = {}

    def table(
        self, caption: str, head: Sequence[str], names: Iterable[str], *columns: list[Cell]
    ) -> list[Any]:
        """Return a table: the number of its form, and its columns; ``names`` are those of rows."""
        form = caption, tuple(head), tuple(names)
        return [self._forms.setdefault(form, len(self._forms)), *columns]

    def rows(self, caption: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[Any]:
        """Return a table given by its rows."""
        columns: list[list[Cell]] = [[] for _ in head]
        for row in rows:
            for column, cell in zip(columns, row, strict=True):
                column.append(cell)
        return self.table(caption, head, (), *columns)

    def facts(self, caption: str, pairs: Iterable[tuple[str, Cell]]) -> list[Any]:
        """Return a table of names and values."""
        facts = dict(pairs)
        return self.table(caption, _FACTS, facts, list(facts.values()))

    @property
    def data(self) -> list[list[Any]]:
        """The forms in the order of their numbers."""
        return [list(form) for form in self._forms]


def detail(
    row: Row, bench: Bench | None, charts: Mapping[str, Any], forms: Forms
) -> dict[str, Any]:
    """Return the details of a result: sentences, kinds of charts, tables, flags."""
    r = row.result
    lead = [f"Load {r.load} {load_place(r)}".rstrip()]
    if r.n:
        lead.append(f"n {count(r.n)} after {count(r.warmup)} discarded for warm-up")
    if row.observed:
        lead.append(f"observed for {row.observed}")
    if precision := reached(r):
        lead.append(precision)
    elif r.ended:
        lead.append(f"ended by {r.ended}")
    if r.unit != "ns":
        lead.append(f"counted in {r.unit}, which is not time")
    notes = []
    if r.batch > 1:
        notes.append(
            f"Batched: one sample is the mean of {count(r.batch)} calls, because one call is "
            f"shorter than the clock can resolve. {_singly(r)}"
        )
    return {
        "lead": " · ".join(lead),
        "notes": notes,
        "charts": list(charts),
        "corrected": correction(r) is not None,
        **_chart_notes(r, charts),
        "tables": list(_tables(r, bench, forms)),
        "flags": r.flags,
    }


def flag_texts(results: Iterable[Result]) -> dict[str, list[str]]:
    """Return cause and advice of the flags that occur, empty for unknown ones."""
    occurring = dict.fromkeys(name for r in results for name in r.flags)
    pairs = ((name, flags.BY_NAME.get(name)) for name in occurring)
    return {name: [flag.cause, flag.advice] if flag else ["", ""] for name, flag in pairs}


def _singly(r: Result) -> str:
    """Return what is known of the single calls of a batched result."""
    if r.single is None or r.single.max is None:
        return "There is no maximum of a single call."
    step = f", by the step of the clock of {quantity(r.grid.per_tick, r.unit)}" if r.grid else ""
    return (
        f"Of {count(r.single.n)} calls that were timed one by one{step}, the longest took "
        f"{quantity(r.single.max, r.unit)}."
    )


def why_no_max(r: Result) -> str:
    """Return the reason why a result has no maximum."""
    if r.single and r.single.max is not None:
        return f"batched; of single calls: {quantity(r.single.max, r.unit)}"
    return "batched: no time of a single call" if r.batch > 1 else "not recorded"


def _chart_notes(r: Result, charts: Mapping[str, Any]) -> dict[str, str]:
    """Return notes on the charts of the distribution, of the trace and of block maxima."""
    drawn = []
    if "percentiles" in charts:
        drawn.append("The curve is dotted where fewer than ten samples lie beyond.")
    if at_zero := sum(c for v, c in samples(r) if v <= 0):
        drawn.append(f"{count(at_zero)} samples at or below zero are at the left edge.")
    if left := undrawn(r):
        plural = "" if left == 1 else "s"
        drawn.append(
            f"Not drawn: {count(left)} sample{plural} beyond the histogram, below the maximum."
        )
    windows = blocks = ""
    if r.trace is not None and "trace" in charts:
        rows, rows_drawn = len(r.trace.rows), len(charts["trace"]["rows"]) // 4
        width = f" of {seconds(r.trace.width_s)}" if r.unit == "ns" else ""
        drawing = f", drawn as {count(rows_drawn)}; extremes are kept"
        windows = f"{count(rows)} windows{width}{drawing if rows > rows_drawn else ''}."
    if "heat" in charts:
        block, each = (count(charts["heat"][name]) for name in ("block", "each"))
        blocks = (
            f"The largest of every {block} successive samples. Each column holds {each} such "
            "blocks; the stronger a cell's colour, the more of them are in its range. Other "
            "samples are not shown."
        )
    return {"drawn": " ".join(drawn), "windows": windows, "blocks": blocks}


def _tables(r: Result, bench: Bench | None, forms: Forms) -> Iterable[list[Any]]:
    """Yield the tables: statistics, figures, what bench and load reported, parameters, samples."""
    if r.n:
        yield _distribution(r, forms)
        yield forms.facts("Accounting", _accounting(r))
    if r.figures:
        yield forms.facts("Figures", ((name, figure(f)) for name, f in sorted(r.figures.items())))
    for table in r.tables:
        yield forms.rows(table.title, table.columns, table.rows)
    if r.load_rates:
        yield forms.rows(f"Load {r.load}", LOAD_COLUMNS, map(load_rate, r.load_rates))
    if r.params:
        values = ((name, setting(bench, name, value)) for name, value in r.params.items())
        yield forms.facts("Parameters", values)
    if r.worst:
        at = "at (s)" if r.unit == "ns" else "at"
        yield forms.table(
            "Worst samples", ("value", "sample", at), (),
            [quantity(w.value, r.unit) for w in r.worst],
            [count(w.index) for w in r.worst],
            [f"{w.at_s:.4f}" for w in r.worst],
        )  # fmt: skip
    if r.evidence:
        texts: list[tuple[str, Cell]] = []
        for name, value in r.evidence.items():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if r.unit == "ns" and name.endswith("_ns") and number:
                texts.append((name, seconds(value / NS_PER_S)))  # type: ignore[operator]
            else:
                texts.append((name, words(value)))
        yield forms.facts("Around the timed section", texts)


def _distribution(r: Result, forms: Forms) -> list[Any]:
    def column(distribution: Result | Distribution, no_max: str) -> list[Cell]:
        whys, bucket = {"max": no_max}, bucket_ns([r])
        values = ((name, getattr(distribution, name)) for name in NAMES)
        return [
            count(distribution.n),
            *([whys.get(k, "not enough samples")] if v is None
              else typeset(value_text(v, r.unit, bucket)) for k, v in values),
        ]  # fmt: skip

    columns = {"observed": column(r, why_no_max(r))}
    if corrected := correction(r):
        columns["corrected"] = column(corrected, "not recorded")
    if r.single:
        columns["single calls"] = column(r.single, "not recorded")
    intervals = {k: [quantity(end, r.unit) for end in ci] for k, ci in r.ci95.items() if ci}
    columns["95% interval"] = ["", *(" to ".join(intervals.get(name, [])) for name in NAMES)]
    names = ["n", *(LABELS[name] for name in NAMES)]
    return forms.table("Statistics", ("statistic", *columns), names, *columns.values())


def _accounting(r: Result) -> Iterable[tuple[str, Cell]]:
    for name, value in (("raw minimum", r.raw_min), ("raw maximum", r.raw_max)):
        yield name, ["not recorded"] if value is None else quantity(value, r.unit)
    yield "below the clock's overhead", count(r.negative)
    yield "too large for the histogram", count(r.overflow)
    if r.missed is not None:
        yield "missed activations", count(r.missed)
    if r.required and r.required.limit:
        yield f"later than {trimmed(r.required.limit, r.unit)}", count(r.required.late)
    if r.misses and len(r.misses.windows) > 1:
        windows = r.misses.windows
        ends = dict.fromkeys((2, len(windows)))
        closest = ", ".join(f"{k} in {count(windows[k - 1])}" for k in ends)
        yield "closest misses, in successive activations", closest
    yield "calls per sample", count(r.batch)
    if r.blocks:
        yield (
            "block maxima kept",
            f"{count(len(r.blocks.max))}, each of {count(r.blocks.samples)} samples",
        )
