"""Recognize runs that hold another tool's samples."""

from __future__ import annotations

from rtstone.documents.run import Run

PLACE = "import:"  # begins the name of their target
TOOL = "imported"  # of a target's detail: the tool, with its version where that is known

# Benches of tools whose samples say how late a task woke up.
WAKE_UPS = frozenset(
    {"cyclictest", "jitterdebugger", "stress-ng.cyclic", "timerlat.thread", "timerlat.user"}
)


def tool(run: Run) -> str | None:
    """Return the tool that measured an imported run, None if rtstone did."""
    told = run.target.detail.get(TOOL)
    return told if isinstance(told, str) else None
