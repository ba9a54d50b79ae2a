"""The smaller tools of rt-tests: their benches, and results from the statistics they write.

Four tools measure pairs: a sender notes the time and hands over, a receiver notes the time when it
has got it.  They drop whole seconds of a latency.  After the sources of versions 2.1 to 2.4.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rtstone.documents.run import Result, Value
from rtstone.formats.reading import Series, result
from rtstone.formats.source import Source
from rtstone.wire.records import Bench, Param

PAIRS = ("pmqtest", "ptsematest", "svsematest", "sigwaittest")
_INTERVAL = Param("interval", "duration", "ns", help="What a receiver sleeps after each sample.")

BENCHES: Mapping[str, Bench] = {
    bench.id: bench
    for bench in (
        Bench("pmqtest", "Message queue latency as pmqtest measures it", "rt-tests",
              "From before a thread's mq_send to after the mq_receive of another.",
              params=[_INTERVAL]),
        Bench("ptsematest", "Mutex hand-over as ptsematest measures it", "rt-tests",
              "From before a thread unlocks a mutex to after another one has locked it.",
              params=[_INTERVAL]),
        Bench("svsematest", "System V semaphore latency as svsematest measures it", "rt-tests",
              "From before a task's semop to after the semop of the one that it wakes.",
              params=[_INTERVAL]),
        Bench("sigwaittest", "Signal latency as sigwaittest measures it", "rt-tests",
              "From before a task's kill to after the sigwait of the one that it wakes.",
              params=[_INTERVAL]),
        Bench("signaltest", "Round trip of a signal as signaltest measures it", "rt-tests",
              "A signal goes round in a ring of threads; each round is a sample of each thread.",
              params=[Param("threads", "int", help="Threads in the ring.")]),
        Bench("cyclicdeadline", "Lateness of SCHED_DEADLINE as cyclicdeadline measures it",
              "rt-tests", "From the begin of a task's period to its start in that period.",
              params=[Param("interval", "duration", "ns", help="Period and deadline of a task.")]),
    )
}  # fmt: skip

MINIMUM = "the minimum is left out: cyclicdeadline forgets it after a sample of 0 us"


class Status(NamedTuple):
    """The statistics of a thread, in the tool's unit; ``mean`` is None without a sample."""

    n: int
    min: int
    mean: float | None
    max: int
    interval_us: int | None = None
    cpu: int | None = None
    prio: int | None = None


def results(
    source: Source,
    tool: str,
    threads: Sequence[Status],
    *,
    within: tuple[float, float],
    unit_ns: int,
    lines: Sequence[int] = (),
) -> list[Result]:
    """Return the results of threads.  Raises UsageError if statistics contradict each other.

    ``within``: how exact the means are, see Series.  ``lines``: of the file, one for each thread.
    """
    rows: list[Result] = []
    for number, thread in enumerate(threads):
        line = lines[number] if lines else None
        name = f"pair {number}" if tool in PAIRS else f"thread {number}"
        if (thread.n > 0) != (thread.mean is not None):
            source.refuse(f"{name}: {thread.n} samples, but their mean is {thread.mean}", line)
        series = Series(
            name=name, n=thread.n, counts={}, unit_ns=unit_ns,
            min=None if tool == "cyclicdeadline" else thread.min, max=thread.max, mean=thread.mean,
            mean_within=within, line=line,
        )  # fmt: skip
        if series.min is None and thread.mean is not None and thread.mean > thread.max + 1:
            source.refuse(f"{name}: the mean {series.mean} is above the maximum", line)
        params: dict[str, Value] = {}
        if tool == "signaltest":
            params["threads"] = len(threads)
        elif thread.interval_us is not None:
            params["interval"] = thread.interval_us * 1000
        evidence: dict[str, Value] = {"sched": "deadline"} if tool == "cyclicdeadline" else {}
        if thread.cpu is not None and thread.cpu >= 0:
            evidence["cpus"] = [thread.cpu]
        if thread.prio is not None:
            evidence |= {"prio": thread.prio, "sched": "fifo" if thread.prio else "other"}
        rows.append(result(source, tool, series, params=params, evidence=evidence))
    return rows
