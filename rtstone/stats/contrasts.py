"""Speed against determinism in a reproduction: today's systems beside each other and the printed.

Two systems of today are compared as `compare` does, in what the publication's tables show.  A
publication prints means and maxima, of one run each, and no interval: beside these a ratio of
means is called different only if it is beyond what an unknown scatter of runs may do, and a ratio
of what maxima exceed means by is never, as a maximum is a single sample.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.case_name import case_names
from rtstone.documents.comparison import Comparison, Effect
from rtstone.documents.reproduction import Contrast, ContrastCase, Printed, Table
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.results.estimates import estimate_whole
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled
from rtstone.stats.comparison.axes import points
from rtstone.stats.comparison.compare import compare_with_results
from rtstone.stats.comparison.direction import SMALLER
from rtstone.stats.comparison.scatter import Past
from rtstone.stats.comparison.verdicts import beside_constant, tally
from rtstone.summary import LABELS
from rtstone.units import CLOCK

MEANS = {"avg": "mean", "typical": "p50"}  # what is printed, and what of today is beside it
MAXIMA = ("max", "worst")
TODAY = "medians, and spreads from the median to the tail"
PRINTED = "means (p50 beside what is printed as typical), and maxima less means"
_NO_MAXIMUM = "the publication prints no maximum of it"
_SINGLE = "a maximum is a single sample, on either side"
_BATCHED = "no maximum of a single call, as several are timed together"

Results = Mapping[tuple[int, int, int], Sequence[Result]]  # by table, item and system


class _Place(NamedTuple):
    """A printed mean with its maximum if there is one, and where it stands."""

    label: str  # of the published system
    table: int
    item: int
    mean: Printed
    maximum: Printed | None


def contrasts(
    columns: Sequence[Sequence[Run]],
    tables: Sequence[Table],
    results: Results,
    past: Past | None = None,
) -> list[Contrast]:
    """Return each two systems of today, and each with each published one, that have a case.

    ``columns``: the runs of each system of today.  ``results``: behind the cells of the tables.
    ``past``: returns stored runs, which show how far runs scatter.
    """
    shown: dict[int, int] = {}  # the first table with a result, by the result's identity
    for (table, _, _), behind in sorted(results.items(), key=lambda pair: pair[0]):
        for result in behind:
            shown.setdefault(id(result), table)
    each = [
        [structs.replace(r, results=[x for x in r.results if id(x) in shown]) for r in runs]
        for runs in columns
    ]
    today = [
        contrast
        for (first, a), (other, b) in combinations(enumerate(each), 2)
        if (contrast := _of_today((first, a), (other, b), shown, past))
    ]
    places = list(_places(tables))
    labels = dict.fromkeys(place.label for place in places)
    printed = [
        contrast
        for column in range(len(columns))
        for label in labels
        if (contrast := _of_printed(column, label, places, tables, results))
    ]
    return [*today, *printed]


# ---- two systems of today -----------------------------------------------------------------------


def _of_today(
    first: tuple[int, Sequence[Run]],
    other: tuple[int, Sequence[Run]],
    shown: Mapping[int, int],
    past: Past | None,
) -> Contrast | None:
    """Return how two systems compare in what the tables show of both; None without such a case."""
    try:
        comparison, behind = compare_with_results([first[1], other[1]], past=past)
    except UsageError:  # instructions beside time, or no case in common
        return None
    cases = list(_cases(comparison, behind, shown))
    return _contrast(other[0], first[0], None, TODAY, cases) if cases else None


def _cases(
    comparison: Comparison, behind: Sequence[Sequence[Sequence[Result]]], shown: Mapping[int, int]
) -> Iterator[ContrastCase]:
    keys = [(row.bench, row.params, row.series, row.load) for row in comparison.rows]
    names = case_names(keys, comparison.benches)
    for row, speed, spread in points(comparison.rows):
        yield ContrastCase(
            label=str(names[row]), table=shown[id(behind[row][0][0])],
            unit=comparison.rows[row].unit, speed=speed, spread=spread,
        )  # fmt: skip


def _contrast(
    column: int, against: int | None, printed: str | None, basis: str, cases: list[ContrastCase]
) -> Contrast:
    return Contrast(
        column=column, against=against, printed=printed, basis=basis,
        speed=tally(case.speed.verdict for case in cases),
        determinism=tally(case.spread.verdict for case in cases),
        cases=cases,
    )  # fmt: skip


# ---- beside what is printed ---------------------------------------------------------------------


def _places(tables: Sequence[Table]) -> Iterator[_Place]:
    """Yield the means in times that are printed in the tables, each with its maximum."""
    for number, table in enumerate(tables):
        records: dict[tuple[str, str, str], dict[str, tuple[int, str, Printed]]] = {}
        for place, item in enumerate(table.items):
            for system, cell in zip(table.systems, item.cells, strict=True):
                for record in cell.printed:
                    if record.stat and record.unit in CLOCK and _is_number(record):
                        key = record.system, record.metric, record.condition
                        own = records.setdefault(key, {})
                        own.setdefault(record.stat, (place, system.label, record))
        for own in records.values():
            mean = next((own[stat] for stat in MEANS if stat in own), None)
            most = next((own[stat][2] for stat in MAXIMA if stat in own), None)
            if mean:
                place, label, record = mean
                yield _Place(label, number, place, record, most)


def _is_number(record: Printed) -> bool:
    return isinstance(record.value, int | float) and record.value > 0


def _of_printed(
    column: int, label: str, places: Sequence[_Place], tables: Sequence[Table], results: Results
) -> Contrast | None:
    """Return how a system of today compares with a published one; None without a common case."""
    pairs = [
        (place, system, behind)
        for place in places
        if place.label == label
        for number, system in enumerate(tables[place.table].systems)
        if system.column == column
        and (behind := results.get((place.table, place.item, number)))
        and {r.unit for r in behind if r.n} == {"ns"}
    ]
    cases = []
    for place, system, behind in pairs:
        table = tables[place.table]
        variant = system.label.partition(", ")[2]
        names = (table.id, table.items[place.item].label, variant)
        cases.append(
            ContrastCase(
                label=": ".join(filter(None, names)), table=place.table, unit="ns",
                speed=_speed(place.mean, behind, len(pairs), label, system.label),
                spread=_spread(place, behind, label, system.label),
            )
        )  # fmt: skip
    return _contrast(column, None, label, PRINTED, cases) if cases else None


def _ns(record: Printed) -> tuple[float, float, float]:
    """Return a printed number in ns, and the ends of what rounds to it."""
    assert isinstance(record.value, int | float)
    decimals = len(repr(record.value).partition(".")[2])
    half, unit = 0.5 * 10.0**-decimals, CLOCK[str(record.unit)]
    value = record.value * unit
    return value, value - half * unit, value + half * unit


def _speed(
    record: Printed, results: Sequence[Result], together: int, label: str, column: str
) -> Effect:
    statistic = MEANS[str(record.stat)]
    counted = [result for result in results if result.n]
    effect = Effect(
        part="median", statistic=statistic, column=column, against=label, verdict="inconclusive"
    )
    value: float | None = getattr(pooled([whole(result) for result in counted]), statistic)
    if value is None or value <= 0:
        return structs.replace(effect, reason=f"no {LABELS[statistic]} above 0 here")
    ends = partial(estimate_whole, counted, statistic)
    return beside_constant(effect, _ns(record), (value, ends), SMALLER, together)


def _spread(place: _Place, results: Sequence[Result], label: str, column: str) -> Effect:
    """Return the ratio of what maxima exceed means by, which decides nothing."""
    effect = Effect(
        part="spread", statistic="max", column=column, against=label, verdict="inconclusive"
    )
    if place.maximum is None:
        return structs.replace(effect, reason=_NO_MAXIMUM)
    samples = pooled([whole(result) for result in results if result.n])
    middle: float | None = getattr(samples, MEANS[str(place.mean.stat)])
    if samples.max is None or middle is None:
        return structs.replace(effect, reason=_BATCHED)
    printed = _ns(place.maximum)[0] - _ns(place.mean)[0]
    here = samples.max - middle
    if printed <= 0 or here <= 0:
        return structs.replace(effect, reason="a maximum that does not exceed the mean")
    return structs.replace(effect, ratio=here / printed, values=(printed, here), reason=_SINGLE)
