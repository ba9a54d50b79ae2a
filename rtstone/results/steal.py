"""What a result says of its worst samples and stolen time, in words."""

from __future__ import annotations

from rtstone.documents.run import Result
from rtstone.units import counted


def with_steal(result: Result) -> str:
    """Return around how many of the worst samples steal time grew, "" where that is not known.

    Beside it is in how much of the measured time it did: where it always does, it does around all
    samples.  What is shorter than a step of the count may not show.
    """
    times = [sample.steal_ns for sample in result.worst if sample.steal_ns is not None]
    if not times or len(times) < len(result.worst):
        return ""
    stolen = sum(steal > 0 for steal in times)
    text = (
        "steal time, which counts in steps of 10 ms, grew around "
        f"{stolen} of its {counted(len(times), 'worst sample')}"
    )
    share = share_with_steal(result)
    return text if share is None else f"{text} and in {share:.1%} of the time"


def share_with_steal(result: Result) -> float | None:
    """Return the share of the measured time around which steal time grew, None if not known."""
    near, watched = (result.evidence.get(f"steal_{name}_ns") for name in ("near", "watched"))
    if not isinstance(near, int) or not isinstance(watched, int) or not watched:
        return None
    return near / watched
