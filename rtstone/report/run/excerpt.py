"""A result in plain lines, for the report of a failed test."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from rtstone.documents.run import Result
from rtstone.report.parts.bars import bars
from rtstone.stats.evaluate import RunEvaluation
from rtstone.units import counted, quantity, seconds

_HEIGHT = 6  # lines of a distribution
_WORST = 5
_WIDE = 1000  # columns, so that no line of a test's report is folded


def excerpt(evaluated: RunEvaluation, results: Sequence[Result], path: Path, name: str) -> str:
    """Return the summary of a run, with distributions and worst samples of some results.

    ``path``: where it is stored.  ``name``: its name on a command line.
    """
    from rtstone.report.parts.console import console
    from rtstone.report.run.terminal import stored, summary

    out = StringIO()
    encoding = sys.stdout.encoding
    console(out).print(*summary(evaluated, _WIDE, encoding), *stored(path, name, _WIDE), sep="\n")
    return "\n".join([out.getvalue().rstrip(), *(_result(r, encoding) for r in results if r.n)])


def _result(result: Result, encoding: str | None) -> str:
    name = f"{result.bench} {result.series}".rstrip()
    worst = sorted(result.worst, key=lambda one: -one.value)[:_WORST]
    lines = [f"\n{name}, load {result.load}: distribution of {counted(result.n, 'sample')}"]
    lines += [f"  {line}" for line in bars(result, _HEIGHT, encoding)]
    lines += ["worst samples:"] if worst else []
    lines += [
        f"  {quantity(one.value, result.unit):>10}  sample {one.index}, {_when(one.at_s, result)}"
        for one in worst
    ]
    return "\n".join(lines)


def _when(at_s: float, result: Result) -> str:
    """Return when a sample was taken; empty for instructions, which have no time."""
    return f"{seconds(at_s)} after the start" if result.unit == "ns" else "in order of the run"
