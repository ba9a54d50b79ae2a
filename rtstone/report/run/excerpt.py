"""A result in plain lines, for the report of a failed test."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from rtstone.documents.run import Result
from rtstone.report.parts.bars import bars
from rtstone.report.run.findings import subjects_of
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
    lines = [out.getvalue().rstrip()]
    for _, result, case in subjects_of(evaluated.run):
        if result not in results or not result.n:
            continue
        lines.append(f"\n{case.with_load}: distribution of {counted(result.n, 'sample')}")
        lines += [f"  {line}" for line in bars(result, _HEIGHT, encoding)]
        lines += ["worst samples:"] if result.worst else []
        for sample in sorted(result.worst, key=lambda sample: -sample.value)[:_WORST]:
            when = "in order of the run"
            if result.unit == "ns":
                when = f"{seconds(sample.at_s)} after the start"
            value = quantity(sample.value, result.unit)
            lines.append(f"  {value:>10}  sample {sample.index}, {when}")
    return "\n".join(lines)
