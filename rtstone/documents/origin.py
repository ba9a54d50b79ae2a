"""Where a run comes from: the system that was measured, its machine, and the day."""

from __future__ import annotations

from rtstone.documents.imported import tool
from rtstone.documents.run import Run, as_text


def model(run: Run) -> tuple[str, str] | None:
    """Return title and label of the model of a simulated run, None for a real system."""
    texts = (run.conditions.get("model"), run.conditions.get("model.label"))
    if None in texts:  # the agent has not answered
        texts = (run.target.detail.get("title"), run.target.detail.get("label"))
    title, label = texts
    return (title, label) if isinstance(title, str) and isinstance(label, str) else None


def system(run: Run) -> str | None:
    """Return the operating system with its version; a model is named as such."""
    if simulated := model(run):
        return f"{simulated[0]}, simulated ({simulated[1]})"
    name = run.agent.os if run.agent else str(run.conditions.get("kernel.name") or "")
    release = run.conditions.get("kernel.release") or ""
    return (name if str(release) in name else f"{name} {release}".strip()) or None


def origin(run: Run) -> str:
    """Return what a reader has to know of a measurement, as far as the run knows it.

    The tool if it is not rtstone, the system with its kernel, the board, the CPU and the day:
    ``Linux 6.12.9-rt, Cortex-A72, 2026-11-29``.
    """
    board = as_text(run.target.detail.get("board"))
    parts = (
        tool(run), system(run), f"board {board}" if board else None,
        "emulated" if "icount" in run.target.detail else None,
        as_text(run.conditions.get("cpu.model")),
        "virtual machine" if run.conditions.get("machine.virtual") is True else None,
        run.created[:10],
    )  # fmt: skip
    return ", ".join(part for part in parts if part)
