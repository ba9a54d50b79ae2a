"""Explain a sample of a live Linux by the snapshot that its agent has kept of the kernel's trace.

The trace's clock is CLOCK_MONOTONIC, and the agent has recorded when the sample was due and when
its time stamp was taken by the same clock: nothing has to be matched.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections import defaultdict
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.documents.explanation import (
    CAUSES,
    Cause,
    Explanation,
    Function,
    Segment,
    Stack,
    Way,
)  # fmt: skip
from rtstone.documents.run import Result, Run, Value
from rtstone.errors import Inconclusive, UsageError
from rtstone.explain.description import sample_of
from rtstone.explain.functions import Functions
from rtstone.explain.ring import SOFT_INTERRUPT, Formats, Read
from rtstone.explain.system_calls import names as system_calls
from rtstone.explain.timeline import (
    HALT_EXIT_NS,
    Around,
    Names,
    Part,
    Sampled,
    interrupted,
    parts,
    tasks,
)
from rtstone.results.flags import TRACED
from rtstone.results.steal import with_steal
from rtstone.store.rundir import logs
from rtstone.units import NS_PER_S, count, counted, trimmed
from rtstone.wire import records as wire
from rtstone.wire.reader import Reader, Record

MARKER = re.compile(r"rtstone (\d+) (\d+) (\d+)")
DEPTH = 12  # functions of a stack that are named
_END = 1 << 64  # of the addresses
_LOST = re.compile(r"(?:dropped events|commit overrun): (\d+)")
_TRACE = "measure again with --trace worst, as root on Linux"

# What the part that took longest did, for the sentence; {by} and {time} are filled in.
_SENTENCES = {
    "irq-delay": "its interrupt came {time} after it was due, while {by} had the CPU",
    "handler": "the handler of the interrupt that woke it, {by}, took {time}",
    "softirq": "softirq {by} took {time}",
    "wakeup": "the wake-up itself took {time}",
    "blocking": "{by} kept the CPU for {time} before the switch",
    "irq": "another interrupt, {by}, took {time}",
    "switch": "{time} passed between the wake-up and the switch, in which {by} had the CPU",
    "return": "the way back into the task took {time} after the switch",
    "task": "{by} ran for {time} of it",
}

# What of it did not pass in code that had the CPU, by where it passed; {who}: what had the CPU.
_ELSEWHERE: dict[Cause, str] = {
    "hypervisor": "the hypervisor took {time} of it, while {who} had the CPU",
    "firmware": "the firmware took {time} of it (SMI), while {who} had the CPU",
    "outside": "{time} passed outside of this system: {who} had the CPU, which cannot hold an "
    "interrupt back",
}


class _Snapshot(NamedTuple):
    """A sample of which there is a snapshot."""

    head: wire.Snapshot  # its first part
    pages: bytes


class _Snapshots:
    """The snapshots of one result, and the formats of their events."""

    def __init__(self, path: Path, result: Result) -> None:
        plan, texts = logs(path)
        self._parts: dict[int, dict[int, wire.Snapshot]] = defaultdict(dict)
        self.formats: dict[str, str] = {}
        self._symbols: dict[int, str] = {}  # functions of the kernel by where they begin
        for text in texts:
            reader = Reader()
            for line in text.splitlines(keepends=True):
                for record in reader.feed(line):
                    body = record.body if isinstance(record, Record) else None
                    if not isinstance(body, wire.Event | wire.Snapshot | wire.Symbol):
                        continue
                    if plan.case_of(body.id) != result.case:
                        continue
                    if isinstance(body, wire.Event):
                        self.formats[body.name] = body.format
                    elif isinstance(body, wire.Symbol):
                        self._symbols[int(body.address, 16)] = body.name
                    elif body.series == result.series:
                        pieces = self._parts[body.index]
                        if pieces and pieces.get(0, body).due != body.due:
                            pieces.clear()  # of a round before
                        pieces[body.at] = body

    @property
    def indexes(self) -> list[int]:
        """The samples that have a snapshot, the largest first."""
        samples = [(parts_[0].value, index) for index, parts_ in self._parts.items() if 0 in parts_]
        return [index for _, index in sorted(samples, reverse=True)]

    @property
    def functions(self) -> Functions:
        """The kernel's functions, as far as the snapshots have addresses in them."""
        starts = sorted(self._symbols)
        # The agent has named each word there that lies in a function: nothing lies between them.
        return Functions(starts, [*starts[1:], _END], [self._symbols[at] for at in starts])

    def snapshot(self, index: int) -> _Snapshot:
        """Return one.  Raises Inconclusive if a part of it is missing."""
        pieces = self._parts[index]
        try:
            pages = b"".join(
                base64.b64decode(pieces[at].data, validate=True) for at in sorted(pieces)
            )
        except binascii.Error:
            pages = b""
        if len(pages) != pieces[0].bytes:
            raise Inconclusive(f"the snapshot of sample {index} was damaged on its way")
        return _Snapshot(pieces[0], pages)


def traced(directory: Path, result: Result) -> list[int]:
    """Return the samples of a result that have a snapshot, the largest first.

    ``directory``: of the run.  Raises UsageError if it cannot be read.
    """
    return _Snapshots(directory, result).indexes


def from_trace(directory: Path, run: Run, result: Result, index: int) -> Explanation:
    """Return where the time of a sample went, by the snapshot that was kept of it.

    ``directory``: of the run.  ``index``: of the sample.  Raises UsageError if there is none,
    Inconclusive if it does not suffice.
    """
    snapshots = _Snapshots(directory, result)
    if not any(TRACED in other.flags for other in run.results):
        raise UsageError(f"nothing was traced in run {run.run_id}; {_TRACE}")
    where = f"of {result.bench}, in run {run.run_id}"
    if not snapshots.indexes:
        raise UsageError(f"nothing was traced {where}; {_TRACE}")
    if index not in snapshots.indexes:
        samples = ", ".join(map(str, snapshots.indexes))
        raise UsageError(
            f"no snapshot was kept of sample {index} {where}: it was below the limit, others were "
            f"larger, or it came while another one was being kept; there are those of {samples}"
        )
    return _explained(run, result, snapshots, index)


def _explained(run: Run, result: Result, snapshots: _Snapshots, index: int) -> Explanation:
    """Return where the time of a sample went that has a snapshot.  Raises Inconclusive."""
    snapshot = snapshots.snapshot(index)
    read = Formats(snapshots.formats.items()).read(snapshot.pages, snapshot.head.page)
    return _Explainer(run, result, snapshot.head, read, snapshots.functions).document()


def explanations(directory: Path, run: Run) -> list[Explanation]:
    """Return where the time of each sample went that a traced run has kept, of those that tell it.

    ``directory``: of the run; a damaged snapshot is left out.  Raises UsageError if it cannot be
    read.
    """
    explained = []
    for result in run.results:
        if TRACED not in result.flags or not result.n:
            continue
        snapshots = _Snapshots(directory, result)
        for index in snapshots.indexes:
            with suppress(Inconclusive):
                explained.append(_explained(run, result, snapshots, index))
    return explained


class _Explainer:
    def __init__(
        self, run: Run, result: Result, head: wire.Snapshot, read: Read, functions: Functions
    ) -> None:
        self.run, self.result, self.head, self.read = run, result, head, read
        rate = run.target.detail.get("instructions_per_s")
        counted = isinstance(rate, int) and result.unit != "ns"
        self.per_ns = rate / NS_PER_S if counted else 1.0  # type: ignore[operator]
        self.due, self.stamp = head.due, head.stamp
        agent = run.agent
        calls = system_calls(agent.arch if agent else "")
        self.names = Names(tasks(read.events), calls, functions)
        # The task that took the sample has written the marker.
        markers = ((event.pid, MARKER.search(event.text("buf"))) for event in read.events[::-1])
        own = (head.index, head.due, head.stamp)
        task = next((pid for pid, m in markers if m and tuple(map(int, m.groups())) == own), None)
        if task is None:
            raise Inconclusive(f"the snapshot of sample {head.index} lacks the agent's marker")
        sample = Sampled(self.due, self.stamp, task)
        model, build = (str(run.conditions.get(name) or "") for name in _MODELS)
        preemptible = "(full)" in model or "(lazy)" in model or bool(_ALWAYS.search(build))
        self.around = surroundings(run.conditions, head, closed=counted)
        self.parts = parts(
            read.events, sample, self.names, preemptible=preemptible, around=self.around
        )
        self.interrupted = interrupted(read.events, sample, self.names)

    def _at(self, time: int) -> float:
        """Return the distance of a time from when the sample was due, in the result's unit."""
        units = (time - self.due) * self.per_ns
        return float(round(units)) if self.per_ns != 1.0 else float(time - self.due)

    def _length(self, part: Part) -> float:
        return self._at(part.end) - self._at(part.start)

    def document(self) -> Explanation:
        """Return the explanation."""
        run, result = self.run, self.result
        verb = "late" if any(part.kind == "return" for part in self.parts) else "long"
        sentence = f"{self._quantity(self._at(self.stamp))} {verb}: {self._reason()}"
        # What the accounts show of this sample needs no conclusion from the others.
        shown = any(part.cause == "hypervisor" for part in self.parts)
        if self.around.virtual and (steal := with_steal(result, concluded=not shown)):
            sentence = f"{sentence}; {steal}"
        segments = [
            Segment(kind=part.kind, start=self._at(part.start), length=self._length(part),
                    by=part.by, cause=part.cause)
            for part in self.parts
        ]  # fmt: skip
        spent: dict[str, float] = defaultdict(float)  # by whom, or on what
        for part in self.parts:
            mine = part.cause in {"code", "unsure"}
            who = part.by or _ALONE.get(part.kind, part.kind)
            spent[who if mine else CAUSES[part.cause]] += self._length(part)
        costs = sorted(spent.items(), key=lambda item: -item[1])
        sample = sample_of(result, self.head.index, self._at(self.stamp))
        stacks = [Stack(frames=[name], cost=cost) for name, cost in costs]
        functions = [Function(name=name, own=cost, total=cost) for name, cost in costs]
        lost = sum(map(int, _LOST.findall(self.head.stats)))
        lost += sum(missing for time, missing in self.read.gaps if time > self.due)
        return Explanation(
            run_id=run.run_id, name=run.name, target=run.target.name, case=result.case,
            bench=result.bench, params=result.params, load=result.load, series=result.series,
            unit=result.unit, source="trace", sentence=sentence,
            way=Way(sample=sample, segments=segments, stacks=stacks), functions=functions,
            resolution=max(self.per_ns, 1.0), lost=lost,
            notes=self._notes(),
        )  # fmt: skip

    # ---- in words ----------------------------------------------------------------------------

    def _reason(self) -> str:
        """Return where most of the time went: to what had the CPU, or elsewhere."""
        sums: dict[tuple[Cause, str, str | None], float] = defaultdict(float)
        for part in self.parts:
            sums[_place(part)] += self._length(part)
        if not sums:
            raise Inconclusive(f"sample {self.head.index} has no length")
        (cause, kind, by), cost = max(sums.items(), key=lambda item: item[1])
        if cause in _ELSEWHERE:
            return _ELSEWHERE[cause].format(time=self._quantity(cost), who=self._who_had(cause))
        reason = _SENTENCES[kind].format(by=self._subject(kind, by), time=self._quantity(cost))
        off = ""
        if kind == "blocking":
            # If every interrupt until then, from the one that woke it, found preemption off.
            last = max(part.end for part in self.parts if part.kind == "blocking")
            disabled = [
                event.preempt > 0
                for event in self.read.events
                if self.due <= event.time <= last
                and event.name.endswith("_entry")
                and event.name not in {"softirq_entry", "hrtimer_expire_entry"}
                and not event.flags & SOFT_INTERRUPT
            ]
            off = ", with preemption off" if disabled and all(disabled) else ""
        where, interrupted = "", self.interrupted
        task = (by or "").partition(", ")[0]
        if kind in {"blocking", "irq-delay"} and interrupted and task == interrupted.task:
            where = f"; it was in {interrupted.functions[0]} when the interrupt came"
        doubted = any(
            part.cause == "unsure" and _place(part) == (cause, kind, by) for part in self.parts
        )
        doubt = f"; this may not be its doing: {self._doubt(kind, by)}" if doubted else ""
        return f"{reason}{off}{where}{doubt}"

    def _who_had(self, cause: Cause) -> str:
        """Return what had the CPU during most of the time that went elsewhere."""
        sums: dict[tuple[str, str | None], float] = defaultdict(float)
        for part in self.parts:
            if part.cause == cause:
                sums[part.kind, part.by] += self._length(part)
        kind, by = max(sums, key=lambda each: sums[each])
        if by is None:
            return "the kernel"
        names = {"softirq": f"softirq {by}", "irq": f"the interrupt {by}",
                 "handler": f"the interrupt {by}"}  # fmt: skip
        return names.get(kind) or self._subject(kind, by)

    def _doubt(self, kind: str, by: str | None) -> str:
        """Return what took time from the CPU around the sample, or why the code is in doubt."""
        thieves = []
        if self.around.steal_ns:
            span = trimmed(self.head.steal_span_ns, "ns")
            thieves.append(
                f"within {span} around it the hypervisor took {trimmed(self.around.steal_ns, 'ns')}"
            )
        if self.around.smi:
            span = trimmed(self.head.smi_span_ns, "ns")
            smis = counted(self.around.smi, "time")
            thieves.append(f"within {span} up to it the firmware interrupted the CPU {smis}")
        if not thieves and kind == "irq-delay" and ", in " not in (by or ""):
            return "whether it was in the kernel is not known, and a program cannot hold it back"
        return " and ".join(thieves) or "the kernel has not given it all of that time"

    def _subject(self, kind: str, by: str | None) -> str:
        name, _, call = (by or "").partition(", ")
        if kind not in {"blocking", "irq-delay", "switch", "task"}:
            return by or ""
        unnamed = name in {"the idle task", "a task that is not known"}
        subject = name if unnamed else f'the thread "{name}"'
        return f"{subject}, {call}," if call else subject

    def _quantity(self, value: float) -> str:
        unit = self.result.unit
        return trimmed(value, unit) if unit == "ns" else f"{count(round(value))} {unit}"

    # ---- what else a reader should know ------------------------------------------------------

    def _notes(self) -> list[str]:
        notes = [
            f"events of CPU {self.head.cpu} alone, by CLOCK_MONOTONIC, which the time stamps are "
            "of, too; of functions only those of timers are recorded"
        ]
        if self.interrupted:
            way = " < ".join(self.interrupted.functions[:DEPTH])
            notes.append(f"the interrupt came into {way}")
        elif not any(event.stack for event in self.read.events):
            notes.append("`--trace worst,stacks` records which functions its interrupt came into")
        if self.around.virtual:
            notes.append(
                "steal is what the hypervisor gave to others; what it does itself when code here "
                "calls it (devices, memory) is in no account, and counts for that code"
            )
        if any(part.cause in {"outside", "firmware"} for part in self.parts):
            # What a task that only read the clock saw of time that went past all code.
            gaps = [
                r.max for r in self.run.results if r.bench == "hw.latency" and r.max is not None
            ]
            if gaps and self.result.unit == "ns":
                notes.append(f"hw.latency of this run saw gaps of up to {trimmed(max(gaps), 'ns')}")
        if not self.read.events or self.read.events[0].time > self.due:
            notes.append("the trace begins after the sample was due: its first part is guessed")
        figures = [self.result.figures.get(f"median {how} tracing") for how in ("without", "with")]
        medians = [
            self._quantity(figure.value)
            for figure in figures
            if figure and figure.value is not None
        ]
        if len(medians) == 2:
            notes.append(
                f"tracing itself: the median was {medians[0]} without it, {medians[1]} with it"
            )
        return notes


def _place(part: Part) -> tuple[Cause, str, str | None]:
    """Return where the time of a part went: in "code", to whom and on what; or elsewhere."""
    if part.cause in _ELSEWHERE:
        return part.cause, "", None
    return "code", part.kind, part.by


def surroundings(conditions: Mapping[str, Value], head: wire.Snapshot, *, closed: bool) -> Around:
    """Return what is known of the surroundings."""
    config, exit_us = conditions.get("kernel.config"), conditions.get("cpu.idle_latency_us")
    steal = head.steal_ns or 0
    return Around(
        closed=closed,
        virtual=not closed and (conditions.get("machine.virtual") is True or steal > 0),
        steal_ns=steal, smi=head.smi or 0,
        idle_exit_ns=exit_us * 1000 if isinstance(exit_us, int) and exit_us else HALT_EXIT_NS,
        irq_time="CONFIG_IRQ_TIME_ACCOUNTING=y" in config if isinstance(config, list) else None,
    )  # fmt: skip


_MODELS = ("kernel.preempt_dynamic", "kernel.build")
_ALWAYS = re.compile(r"\bPREEMPT(_RT)?\b")  # not _DYNAMIC, which has the model that is chosen

_ALONE = {"wakeup": "wake-up", "return": "return to the task"}
