"""Recognize runs that hold another tool's samples."""

from __future__ import annotations

from rtstone.documents.run import Run, as_text

PLACE = "import:"  # prefix of their target's name
TOOL = "imported"  # key in the target's detail: the tool, with its version if known

# Benches of tools whose samples say how late a task woke up.
WAKE_UPS = frozenset(
    {"cyclictest", "jitterdebugger", "stress-ng.cyclic", "timerlat.thread", "timerlat.user"}
)


def tool(run: Run) -> str | None:
    """Return the tool that measured an imported run, None if rtstone did."""
    return as_text(run.target.detail.get(TOOL))
