"""Growth on several systems in words: where classes differ first, then all pairs side by side."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from rtstone.documents.growth import (
    GrowthPair,
    GrowthRow,
    GrowthsCompared,
    GrowthTable,
    GrowthVerdict,
)
from rtstone.report.growth.words import NAMED, class_name, ends, things, title
from rtstone.report.parts.model import Cell, Grid, Head
from rtstone.units import counted, quantity

_MARKS: dict[GrowthVerdict, str] = {
    "class": " !", "slope": " *", "unseen": " ?", "same": "", "unknown": "",
}  # fmt: skip
_SHORT = {"logarithmic": "log", "linear or n log n": "linear or n log"}


def undetermined(compared: GrowthsCompared) -> str | None:
    """Return why nothing is compared; None if some pair is."""
    if any(verdict != "unknown" for row in compared.rows for verdict in row.verdicts):
        return None
    first, *further = (system.system for system in compared.systems)
    return f"no pair has a class on both {first} and {' or '.join(further)}"


def answer(compared: GrowthsCompared) -> str:
    """Return the first line: which pairs are of another class than on the first system."""
    if why := undetermined(compared):
        return f"{why[0].upper()}{why[1:]}."
    first, *further = (system.system for system in compared.systems)
    judged = [row for row in compared.rows if set(row.verdicts) != {"unknown"}]
    differing = [row for row in judged if "class" in row.verdicts]
    steeper = sum("slope" in row.verdicts for row in judged if row not in differing)
    unseen = sum("unseen" in row.verdicts for row in judged if row not in differing)
    place = f"on {' or '.join(further)} than on {first}"
    rest = [
        f"{count} {text}"
        for count, text in (
            (len(judged) - len(differing) - steeper - unseen, "grow alike"),
            (steeper, "by the same class with another slope"),
            (unseen, "are not decided, as growth was not seen where there is noise"),
        )
        if count
    ]
    if not differing:
        return f"No pair of {len(judged)} is of another class {place}: {', '.join(rest)}."
    named = "; ".join(_difference(row, compared) for row in differing[:NAMED])
    dots = "; …" if len(differing) > NAMED else ""
    verb = "is" if len(differing) == 1 else "are"
    share = f"{len(differing)} of {counted(len(judged), 'pair')} {verb} of another class {place}"
    return f"{'; '.join([f'{share}: {named}{dots}', *rest])}."


def _difference(row: GrowthRow, compared: GrowthsCompared) -> str:
    """Return the classes of a pair: ``fork beside n maps, linear on a, quadratic on b``."""
    verdicts: list[GrowthVerdict] = ["class", *row.verdicts]
    classes = [
        f"{class_name(pair.growth, exact=system.exact)} on {system.system}"
        for pair, system, verdict in zip(row.pairs, compared.systems, verdicts, strict=True)
        if pair is not None and pair.growth is not None and verdict == "class"
    ]
    return f"{row.service} beside n {things(row)}, {', '.join(classes)}"


def grid(compared: GrowthsCompared) -> Grid:
    """Return all pairs by row, systems by column."""
    heads = [Head("", system.system) for system in compared.systems]
    rows = []
    for row in compared.rows:
        verdicts: list[GrowthVerdict] = ["same", *row.verdicts]
        cells = [
            Cell(f"{_class(pair, exact=system.exact)}{_MARKS[verdict]}")
            for pair, system, verdict in zip(row.pairs, compared.systems, verdicts, strict=True)
        ]
        rows.append((Head("", title(row)), cells))
    return Grid("service: n of what", heads, rows)


def _class(pair: GrowthPair | None, *, exact: bool) -> str:
    """Return a class with its slope, or the cost if it is constant; instructions have no unit."""
    if pair is None or not pair.points:
        return "-"
    if pair.growth is None:
        return "few points"
    name = class_name(pair.growth, exact=exact)
    value = pair.points[0].cost if pair.growth == "constant" else pair.slope
    number = "" if value is None else f" {quantity(value, pair.unit).removesuffix(' instr')}"
    return f"{_SHORT.get(name, name)}{number}"


def notes(tables: Sequence[GrowthTable], compared: GrowthsCompared) -> Iterator[str]:
    """Yield what the marks and the numbers mean, and what was not measured on which system."""
    first = compared.systems[0].system
    present = {verdict for row in compared.rows for verdict in row.verdicts}
    meanings = {
        "class": f"another class than on {first}",
        "slope": "the same class, and the ranges of the slopes lie more than 1% apart",
        "unseen": "growth was not seen on one of them, where noise may hide it",
    }
    marks = [f"{_MARKS[v].strip()} {meanings[v]}" for v in _MARKS if v in present & meanings.keys()]
    if marks:
        yield f"{'; '.join(marks)}."
    yield (
        "Beside a class its slope, beside constant the cost at the least n; where no unit is "
        "named, instructions."
    )
    noisy = [system.system for system in compared.systems if not system.exact]
    exact = [system.system for system in compared.systems if system.exact]
    if noisy and exact:
        verb = "has" if len(exact) == 1 else "have"
        yield (
            f"{', '.join(exact)} {verb} the class of the algorithm; {', '.join(noisy)} that of "
            "what one pays, caches included."
        )
    places: dict[str, list[str]] = defaultdict(list)
    for table in tables:
        for text in ends(table):
            places[text].append(table.system)
    for text, systems in places.items():
        yield f"{', '.join(systems)}: {text}"
