"""Export Chrome's trace events, as Perfetto, chrome://tracing and speedscope read them: JSON.

A sample is a process.  Its segments are a thread, its calls are others: complete events ("X") that
nest, as the format demands of those of a thread.  Times are microseconds there: of instructions
each is shown as one microsecond.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from rtstone.documents.explanation import CAUSES, KINDS, Explanation, Span, Way

_INSTRUCTIONS = "1 µs stands for 1 instruction"
_GRID = 4096  # steps of a microsecond
_THREADS = 1_000_000  # numbers of threads per process: for some readers no two may share one


def trace_events(explanation: Explanation) -> bytes:
    """Return the time lines of a sample, and of the one that it is compared with."""
    counted = explanation.unit != "ns"
    ways = [way for way in (explanation.way, explanation.against) if way]
    events = [event for number, way in enumerate(ways, 1)
              for event in _way(way, number, explanation, counted=counted)]  # fmt: skip
    other = {
        "source": f"rtstone explain, run {explanation.run_id}",
        "target": explanation.target,
        "bench": f"{explanation.bench} {explanation.series}".rstrip(),
        "load": explanation.load,
        "unit": explanation.unit,
        "time": _INSTRUCTIONS if counted else "µs since the sample was due, to the ns",
        "sentence": explanation.sentence,
    }
    document = {
        "traceEvents": events,
        "displayTimeUnit": "ms" if counted else "ns",
        "otherData": other,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _way(
    way: Way, process: int, explanation: Explanation, *, counted: bool
) -> Iterator[dict[str, Any]]:
    """Yield the events of a sample: names first, then what happened, in order of time."""
    read = f" ({_INSTRUCTIONS})" if counted else ""
    name = f"sample {way.sample.index} of {explanation.bench}{read}"
    tracks = _tracks(way.spans)
    threads = ["segments", *("calls" for _ in tracks)]
    yield _named("process_name", process, 0, name=name)
    yield _named("process_sort_index", process, 0, sort_index=process)
    for number, thread in enumerate(threads):
        yield _named("thread_name", process, _thread(process, number), name=thread)
        yield _named("thread_sort_index", process, _thread(process, number), sort_index=number)
    for segment in way.segments:
        arguments = {"by": segment.by} if segment.by else {}
        arguments |= {"cause": CAUSES[segment.cause]} if segment.cause != "code" else {}
        arguments |= {"stack": " > ".join(segment.stack)} if segment.stack else {}
        event = {"name": KINDS[segment.kind], "cat": "segment", "ph": "X", "pid": process,
                 "tid": _thread(process, 0)}  # fmt: skip
        times = _times(segment.start, segment.length, counted=counted)
        yield event | times | ({"args": arguments} if arguments else {})
    for number, spans in enumerate(tracks, 1):
        for span in spans:
            event = {"name": span.name, "cat": "call", "ph": "X", "pid": process,
                     "tid": _thread(process, number)}  # fmt: skip
            yield event | _times(span.start, span.length, counted=counted)


def _thread(process: int, number: int) -> int:
    return process * _THREADS + number


def _named(metadata: str, process: int, thread: int, **arguments: object) -> dict[str, Any]:
    return {"name": metadata, "ph": "M", "pid": process, "tid": thread, "args": arguments}


def _times(start: float, length: float, *, counted: bool) -> dict[str, float]:
    """Return the times of a complete event.

    Both ends are rounded, so that what nests in the document nests there.
    """
    ends: list[float] = [round(value) for value in (start, start + length)]
    if not counted:
        # Microseconds, in multiples of a power of two, so that readers which add a duration to a
        # time get the very time at which the next event begins, and so near that rounding them
        # gives that ns.
        times = [round(ns * _GRID / 1000) / _GRID for ns in ends]
        ends = [int(time) if time == int(time) else time for time in times]
    return {"ts": ends[0], "dur": ends[1] - ends[0]}


def _tracks(spans: Iterable[Span]) -> list[list[Span]]:
    """Return calls by thread: as few as have only calls that are apart or within each other."""
    tracks: list[list[Span]] = []
    inside: list[list[int]] = []  # of each track the ends of the calls that the next may be within
    for span in sorted(spans, key=lambda s: (round(s.start), -round(s.start + s.length), s.depth)):
        begin, end = round(span.start), round(span.start + span.length)
        for ends in inside:
            while ends and ends[-1] <= begin:
                ends.pop()
        free = (n for n, ends in enumerate(inside) if not ends or end <= ends[-1])
        number = next(free, len(tracks))
        if number == len(tracks):
            tracks.append([])
            inside.append([])
        tracks[number].append(span)
        inside[number].append(end)
    return tracks
