"""A result in plain lines, for the report of a failed test."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path

from rtstone.documents.run import Result
from rtstone.stats.evaluate import RunEvaluation
from rtstone.units import counted, quantity, seconds

_BINS = 12  # rows of a distribution
_BAR = 40  # letters of its longest bar
_WORST = 5


def excerpt(evaluated: RunEvaluation, results: Sequence[Result], path: Path, name: str) -> str:
    """Return the summary of a run, with distributions and worst samples of some results.

    ``path``: where it is stored.  ``name``: its name on a command line.
    """
    from rtstone.report.parts.console import console
    from rtstone.report.run.terminal import stored, summary

    out = StringIO()
    console(out).print(*summary(evaluated, _WIDE), *stored(path, name), sep="\n")
    return "\n".join([out.getvalue().rstrip(), *(_result(r) for r in results if r.n)])


_WIDE = 1000  # columns, so that no line of a test's report is folded


def _result(result: Result) -> str:
    name = f"{result.bench} {result.series}".rstrip()
    worst = sorted(result.worst, key=lambda one: -one.value)[:_WORST]
    lines = [f"\n{name}, load {result.load}: distribution of {counted(result.n, 'sample')}"]
    lines += _distribution(result)
    lines += ["worst samples:"] if worst else []
    lines += [
        f"  {quantity(one.value, result.unit):>10}  sample {one.index}, {_when(one.at_s, result)}"
        for one in worst
    ]
    return "\n".join(lines)


def _when(at_s: float, result: Result) -> str:
    """Return when a sample was taken; empty for instructions, which have no time."""
    return f"{seconds(at_s)} after the start" if result.unit == "ns" else "in order of the run"


def _distribution(result: Result) -> Iterator[str]:
    """Yield a bar for each bin; a single sample is still visible."""
    bins = list(_bins(result.histogram))
    most = max((n for *_, n in bins), default=1)
    for low, high, n in bins:
        bar = "#" * math.ceil(_BAR * n / most)
        ends = f"{quantity(low, result.unit):>10} to {quantity(high, result.unit):>10}"
        yield f"  {ends}  {bar} {n}"
    if result.overflow:
        yield f"  beyond it: {result.overflow}"


def _bins(histogram: Sequence[tuple[float, int]]) -> Iterator[tuple[float, float, int]]:
    """Return smallest value, largest value and count of up to _BINS bins that have samples.

    Bins are equally wide on a logarithmic scale, or a linear one if a value is below 1.
    """
    if not histogram:
        return
    values = [value for value, _ in histogram]
    scale = math.log2 if values[0] >= 1 else float
    first, last = scale(values[0]), scale(values[-1])
    groups: dict[int, list[tuple[float, int]]] = {}
    for value, n in histogram:
        place = int((scale(value) - first) / (last - first) * _BINS) if last > first else 0
        groups.setdefault(min(place, _BINS - 1), []).append((value, n))
    for _, group in sorted(groups.items()):
        yield group[0][0], group[-1][0], sum(n for _, n in group)
