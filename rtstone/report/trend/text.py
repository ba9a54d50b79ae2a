"""A trend in words, and drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Sequence

from rtstone.documents.case_name import case_names
from rtstone.documents.trend import Change, Place, Series, Switch, Trend
from rtstone.summary import LABELS
from rtstone.units import change_size, count, counted, quantity, relative_change

_HEIGHT = 9
_NARROWEST = 20
_DRAWN = (("·", ":", "#", "─"), (".", ":", "#", "-"))  # one run, several, many, the level
_MANY = 4
_LONGEST = 60  # characters of a value


# ---- words --------------------------------------------------------------------------------------


def titles(trend: Trend) -> list[str]:
    """Return the name of each series: case, target and what distinguishes it, metric."""
    cases = [(s.bench, s.params, s.series, s.load) for s in trend.series]
    names = []
    for name, s in zip(case_names(cases, trend.benches), trend.series, strict=True):
        identities = [other.identity for other in trend.series if other.target == s.target]
        differing = [
            f"{aspect} {value}"
            for aspect, value in s.identity.items()
            if any(identity.get(aspect) != value for identity in identities)
        ]
        target = f"on {s.target}" + (f" ({', '.join(differing)})" if differing else "")
        names.append(f"{name}, {target}: {metric(s)}")
    return names


def metric(series: Series) -> str:
    """Return what the series is of."""
    label = series.figure or LABELS.get(series.metric, series.metric)
    return f"{label}, corrected" if series.corrected else label


def value(number: float | None, unit: str) -> str:
    """Return a value of a series with its unit."""
    if number is None:
        return "unknown"
    return f"{number:.3g} %" if unit == "%" else quantity(number, unit)


def summary(series: Series) -> str:
    """Return what a series consists of: runs, level, changes."""
    if not series.runs:
        return f"no run has a value{left_out(series)}"
    levels = " -> ".join(value(part.value, series.unit) for part in series.segments)
    first, last = series.places[0].created[:10], series.places[-1].created[:10]
    when = first if first == last else f"{first} to {last}"
    if series.changes:
        changes = counted(len(series.changes), "change")
    elif series.runs < series.least:
        changes = f"too few runs to find a change: it takes {series.least}"
    else:
        changes = "all equal" if series.exact else "no change found"
    alike = "" if series.correlated is None else (
        f"; neighbouring runs are alike (correlation {series.correlated:.2f}), so levels wander"
    )  # fmt: skip
    return f"{counted(series.runs, 'run')}, {when}, {levels}; {changes}{alike}{left_out(series)}"


def left_out(series: Series) -> str:
    """Return how many runs have no value, and why; empty if all have one."""
    return "".join(f"; {count(n)} without: {why}" for why, n in series.without.items())


def size(before: float | None, after: float | None, unit: str) -> str:
    """Return how much a level changed: as the ratio of the two values, else their difference."""
    ratio = None
    if unit != "%" and before and after is not None:
        ratio = after / before
    return change_size(ratio, (after or 0.0) - (before or 0.0), unit)


def change(series: Series, shift: Change, number: int) -> str:
    """Return a change in a sentence; ``number``: of the segment before it, from 0.

    Levels are of all samples of several runs together; what is estimated, with its interval, is the
    change from run to run, which differs where runs scatter.
    """
    before, after = series.segments[number : number + 2]
    levels = f"{value(before.value, series.unit)} -> {value(after.value, series.unit)}"
    effect = shift.effect
    amount = size(before.value, after.value, series.unit)
    if effect.ratio is not None and effect.ci95 and not series.exact:
        estimate = relative_change(effect.ratio)
        of_runs = "" if estimate == amount else f", of a typical run {estimate}"
        amount += f"{of_runs} ({' to '.join(map(relative_change, effect.ci95))})"
    return (
        f"{effect.verdict} since {shift.created[:16].replace('T', ' ')} (run {shift.after}): "
        f"{levels}, {amount}; {count(before.runs)} and {counted(after.runs, 'run')}"
    )


def switch(difference: Switch) -> str:
    """Return a difference of conditions in words."""
    come, gone = difference.come, difference.gone
    if gone or come:
        words = [*(f"+ {word}" for word in come), *(f"- {word}" for word in gone)]
        text = "  ".join(_short(word) for word in words)
    else:
        before, after = difference.before or "none", difference.after or "none"
        text = f"{_short(before)} -> {_short(after)}"
    return f"{difference.aspect}: {text}{'' if difference.stays else ' (some runs off)'}"


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def switches(change: Change, most: int | None = None) -> list[str]:
    """Return the differences of conditions at a change, the most informative first.

    ``most``: how many; None: all.
    """
    if not change.differences:
        return ["no condition that is known differs"]
    texts = [switch(difference) for difference in change.differences[:most]]
    rest = len(change.differences) - len(texts)
    return texts + ([f"{counted(rest, 'further difference')}: see --json"] if rest else [])


def resolution(trend: Trend) -> str | None:
    """Return how precisely merged values are known, None without any."""
    shares = [part.off for s in trend.series for part in s.segments if part.off is not None]
    if not shares:
        return None
    return (
        f"Levels are of merged histograms, known to ±{100 * max(shares):.2g}%: half a bucket of "
        "the coarsest run; merging moves no sample."
    )


# ---- picture ------------------------------------------------------------------------------------


def picture(series: Series, width: int, encoding: str | None = None) -> list[str]:
    """Return the lines of a picture: runs as points, the level of each segment, the changes.

    It is logarithmic where all values are above zero.  No point is a mean: a column shows every run
    that falls into it.
    """
    valued = [place for place in series.places if place.pooled.value is not None]
    values = [place.pooled.value for place in valued if place.pooled.value is not None]
    if len(values) < 2:
        return []
    ratio = min(values) > 0
    levels = [part.value for part in series.segments if part.value is not None]
    low, high = min([*values, *levels]), max([*values, *levels])
    if high - low <= 0.01 * abs(high):  # nearly equal values are drawn as such
        pad = 0.05 * abs(high) or 1.0
        low, high = low - pad, high + pad
    if ratio:
        low, high = math.log(low), math.log(high)
    heights = [low + place / (_HEIGHT - 1) * (high - low) for place in reversed(range(_HEIGHT))]
    marks = [value(math.exp(height) if ratio else height, series.unit) for height in heights]
    margin = max(map(len, marks))
    columns = max(_NARROWEST, min(width - margin - 3, max(len(valued), _NARROWEST)))
    grid = _grid(series, valued, columns, (low, high), encoding, ratio=ratio)
    lines = [
        f"{mark if n % 2 == 0 else '':>{margin}} |{''.join(row)}".rstrip()
        for n, (mark, row) in enumerate(zip(marks, grid, strict=True))
    ]
    axis = ["-"] * columns  # with the numbers of the changes at their places
    for number, shift in enumerate(series.changes, 1):
        text, at = str(number), _column(shift.at, series.runs, columns)
        start = min(at, columns - len(text))
        axis[start : start + len(text)] = text
    return [*lines, f"{'':>{margin}} +{''.join(axis)}"]


def _grid(
    series: Series, valued: Sequence[Place], columns: int, ends: tuple[float, float],
    encoding: str | None, *, ratio: bool,
) -> list[list[str]]:  # fmt: skip
    single, several, many, level = _DRAWN[0]
    try:
        "".join(_DRAWN[0]).encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        single, several, many, level = _DRAWN[1]
    low, high = ends

    def row(number: float) -> int:
        size = math.log(number) if ratio else number
        return _HEIGHT - 1 - round((size - low) / (high - low) * (_HEIGHT - 1))

    grid = [[" "] * columns for _ in range(_HEIGHT)]
    parts = [0, *(change.at for change in series.changes), series.runs]
    for begin, end, part in zip(parts, parts[1:], series.segments, strict=False):
        if part.value is not None:
            first, last = (_column(at, series.runs, columns) for at in (begin, end - 1))
            grid[row(part.value)][first : last + 1] = level * (last - first + 1)
    hits: dict[tuple[int, int], int] = {}
    for place in valued:
        if place.pooled.value is not None:
            cell = row(place.pooled.value), _column(place.first, series.runs, columns)
            hits[cell] = hits.get(cell, 0) + 1
    for (y, x), n in hits.items():
        grid[y][x] = single if n == 1 else several if n < _MANY else many
    return grid


def _column(at: int, runs: int, columns: int) -> int:
    return round(at / max(runs - 1, 1) * (columns - 1))
