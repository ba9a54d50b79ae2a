"""Recognize runs that hold another tool's samples."""

from __future__ import annotations

from collections.abc import Iterable

from rtstone.documents.run import Result, Run, as_text

PLACE = "import:"  # prefix of their target's name
# Keys in the target's detail: the tool, with its version if known, and the file's name.
TOOL, FILE = "imported", "file"

# In the evidence, where it is not known how many activations late wake-ups hid: at most so many.
MISSED_MOST = "missed_most"

NO_LOAD_KNOWN = "unknown"  # the load of imported results: tools do not record it

# Benches of tools whose samples say how late a task woke up.
WAKE_UPS = frozenset(
    {"cyclictest", "jitterdebugger", "stress-ng.cyclic", "timerlat.thread", "timerlat.user"}
)


def tool(run: Run) -> str | None:
    """Return the tool that measured an imported run, None if rtstone did."""
    return as_text(run.target.detail.get(TOOL))


def file(run: Run) -> str | None:
    """Return the name of the file that a run was imported from, None if rtstone measured it."""
    return as_text(run.target.detail.get(FILE)) if tool(run) else None


def bucket_ns(results: Iterable[Result]) -> float:
    """Return the width of the tool's buckets in ns, 0.0 if values are exact or rtstone's own.

    A value v of such a tool is at least v, and below v + width.
    """
    values = [result.evidence.get("bucket_ns") for result in results]
    widths = [w for w in values if isinstance(w, int | float) and not isinstance(w, bool)]
    return float(max(widths, default=0))


def hiding(results: Iterable[Result]) -> list[Result]:
    """Return the results that lack an unknown number of activations, which late wake-ups hid."""
    return [result for result in results if "omission" in result.flags and result.missed is None]


def missed_most(result: Result) -> int | None:
    """Return how many activations late wake-ups of a result hid at most, None if not known."""
    most = result.evidence.get(MISSED_MOST)
    return most if isinstance(most, int) and not isinstance(most, bool) and most >= 0 else None
