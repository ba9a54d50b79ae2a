"""Make a task set of what a trace shows, with comments that say how sure each of it is."""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rtstone.documents.tasks import Chain, Policy, Task, TaskSet, Work
from rtstone.errors import Inconclusive
from rtstone.printable import shown
from rtstone.results.rhealstone import COMPONENTS, Components
from rtstone.tasks.estimates import FEWEST, Estimate, Observation, Period, Range
from rtstone.tasks.file import QUANTUM, checked
from rtstone.tasks.trace import Identity
from rtstone.tasks.writing import toml_text
from rtstone.units import CLOCK, SYMBOLS, count, counted, trimmed
from rtstone.wire.parameters import duration

_WIDTH = 78  # of a comment's text
_LISTED = 12  # omitted tasks that are named

# The component of Rhealstone that is what a count counts.
_COUNTED = {"ts": "switches", "pt": "preemptions", "il": "interrupts", "ss": "semaphore_waits",
            "im": "messages", "db": "inherited"}  # fmt: skip


class Source(NamedTuple):
    """Where an observation is from, for its words.

    ``whose``: such as ``control, process 812``.  ``lacks``: what could not be recorded, by what it
    is for, with the reason.  ``ended``: why the recording ended early.
    """

    whose: str
    lacks: Mapping[str, str]
    ended: str | None


class Observed(NamedTuple):
    """A task set as the text of its file; ``answer``: in one line."""

    set: TaskSet
    text: str
    answer: str


def observed(observation: Observation, source: Source, costs: Components | None) -> Observed:
    """Return the task set of an observation, with comments.

    ``costs``: what a system takes for each component of Rhealstone.  Raises Inconclusive if there
    is no task in it.
    """
    writer = _Writer(observation, source)
    tasks = writer.task_set()
    answer = writer.answer(tasks)
    head = [answer, *writer.head(), "", *_rhealstone(observation, source, costs), ""]
    return Observed(tasks, toml_text(tasks, writer.comments, head), answer)


class _Writer:
    def __init__(self, observation: Observation, source: Source) -> None:
        self.observation, self.source = observation, source
        self.omitted = [
            (f"{shown(each.name)} ({each.tid})", each.reason, each.busy_ns)
            for each in observation.omissions
        ]
        self.estimates: dict[Identity, Estimate] = {}
        for estimate in observation.estimates:
            if reason := _reason(estimate):
                named = f"{shown(estimate.name)} ({estimate.identity.tid})"
                self.omitted.append((named, reason, estimate.busy_ns))
            else:
                self.estimates[estimate.identity] = estimate
        # Whoever is woken by a task that cannot be written arrives by itself.
        for identity, estimate in self.estimates.items():
            if estimate.waker is not None and estimate.waker not in self.estimates:
                self.estimates[identity] = estimate._replace(waker=None)
        self.names = _names(self.estimates)
        self.comments: dict[str, list[str]] = {}

    def task_set(self) -> TaskSet:
        """Return the task set.  Raises Inconclusive."""
        if not self.estimates:
            raise Inconclusive(
                f"no task had {FEWEST} jobs in {_seconds(self.observation)} of "
                f"{self.source.whose}{_lost(self.observation)}; trace longer, or what works "
                "meanwhile"
            )
        tasks = [self._task(estimate) for estimate in self.estimates.values()]
        return checked(
            TaskSet(
                title=self.source.whose, quantum_ns=duration(QUANTUM, "quantum"), tasks=tasks,
                chains=list(self._chains()),
            ),
            "what was traced",
        )  # fmt: skip

    def _task(self, estimate: Estimate) -> Task:
        name = self.names[estimate.identity]
        self.comments[name] = [
            line
            for comment in self._certainty(estimate)
            for line in textwrap.wrap(comment, _WIDTH, subsequent_indent="  ")
        ]
        thread, policy = estimate.thread, _policy(estimate)
        real_time = policy in {"fifo", "rr"}
        reservation = thread.reservation if thread else None
        deadline_ns = None
        if reservation is not None and reservation[1] != reservation[2]:
            deadline_ns = reservation[1]
        return Task(
            name=name,
            arrival="woken" if estimate.waker else "periodic" if estimate.period else "sporadic",
            period_ns=None if estimate.waker else _length(estimate),
            jitter_ns=_up(estimate.period.spread_ns) if _own(estimate) and estimate.period else 0,
            deadline_ns=deadline_ns,
            work=Work(least_ns=estimate.work.least, most_ns=estimate.work.most),
            policy=policy,
            priority=_priority(estimate) if real_time else None,
            runtime_ns=reservation[0] if reservation else None,
            cpus=list(thread.cpus) if thread else estimate.cpus,
        )

    def _certainty(self, estimate: Estimate) -> Iterator[str]:
        """Yield what is known of a task, and how well."""
        if estimate.waker:
            waker = self.names[estimate.waker]
            n = estimate.distances.n + 1 if estimate.distances else 1
            yield f"woken by {waker}: {estimate.share:.0%} of {counted(n, 'wake-up')}"
        elif estimate.period:
            yield _of_period(estimate.period)
        elif estimate.distances:
            yield f"no period: irregular; distances {_of_range(estimate.distances)}"
        yield f"work {_of_range(estimate.work)}: no bound"
        if estimate.doubt_ns:
            yield (
                f"a job may have taken {trimmed(estimate.doubt_ns, 'ns')} more: the trace lacks "
                "changes of task in each"
            )
        if estimate.within:
            yield (
                f"waits {estimate.within:.3g} times in a job for something else, which delays it: "
                "a task set does not say so"
            )
        if estimate.late:
            yield f"{counted(estimate.late, 'job')} began late, right after the one before"
        yield from estimate.notes
        thread = estimate.thread
        places = f"on CPU {', '.join(map(str, estimate.cpus))}"
        if thread is None:
            yield f"it ended before its policy and its CPUs were read; it was {places}"
        elif estimate.migrations:
            yield f"{places}: {counted(estimate.migrations, 'migration')}"
        if estimate.priorities > 1:
            yield f"it had {estimate.priorities} priorities: by inheritance, or as it was changed"

    def _chains(self) -> Iterator[Chain]:
        """Yield a chain for each task that is woken and wakes none."""
        wakers = {estimate.waker for estimate in self.estimates.values()}
        for identity, estimate in self.estimates.items():
            if estimate.waker is None or identity in wakers:
                continue
            path = [identity]
            while (waker := self.estimates[path[-1]].waker) is not None:
                path.append(waker)
            names = [self.names[each] for each in reversed(path)]
            yield Chain(name=f"{names[0]} to {names[-1]}", path=names, by=estimate.by)

    # ---- before all ----

    def answer(self, tasks: TaskSet) -> str:
        """Return what was seen, in one line."""
        arrivals = Counter(task.arrival for task in tasks.tasks)
        kinds = [f"{n} {word}" for arrival, word in (
            ("periodic", "periodic"), ("woken", "woken by another"), ("sporadic", "irregular"),
        ) if (n := arrivals[arrival])]  # type: ignore[index]  # fmt: skip
        return (
            f"{counted(len(tasks.tasks), 'task')} in {_seconds(self.observation)} of "
            f"{self.source.whose}: {', '.join(kinds)}{_lost(self.observation)}"
        )

    def head(self) -> Iterator[str]:
        """Yield what else is to be known of all."""
        observation = self.observation
        if self.source.ended:
            yield f"The recording ended early: {self.source.ended}."
        if observation.lost:
            yield from textwrap.wrap(
                f"Lost: {count(observation.lost)} events or more, "
                f"{counted(observation.gaps, 'time')}; jobs and distances that may lack some are "
                "left out, and what happened then is not counted.", _WIDTH,
            )  # fmt: skip
        if observation.missing:
            yield from textwrap.wrap(
                f"Missing: {count(observation.missing)} changes of task, though the kernel reports "
                "no loss; execution times that this concerns are left out, and Rhealstone's rates "
                "lack them.", _WIDTH,
            )  # fmt: skip
        if "forks" in self.source.lacks:
            yield f"Not seen: {self.source.lacks['forks']}."
        yield from textwrap.wrap(
            "Seen, not proven: a longer job or a shorter distance may come. Times have what "
            "interrupts, and a hypervisor, took of them.", _WIDTH,
        )  # fmt: skip
        if not self.omitted:
            return
        busy = sum(time for _, _, time in self.omitted) / (observation.seconds * 1e9)
        yield f"Not in the set: {counted(len(self.omitted), 'task')}, {busy:.2%} of a CPU"
        reasons: dict[str, list[str]] = {}
        for named, reason, _ in sorted(self.omitted, key=lambda each: -each[2]):
            reasons.setdefault(reason, []).append(named)
        for reason, tasks in reasons.items():
            rest = f" and {len(tasks) - _LISTED} more" if len(tasks) > _LISTED else ""
            yield from textwrap.wrap(
                f"- {reason}: {', '.join(tasks[:_LISTED])}{rest}", _WIDTH, subsequent_indent="  "
            )


# ---- words and values ---------------------------------------------------------------------------


def _reason(estimate: Estimate) -> str | None:
    """Return why no task can be written of an estimate, None if one can."""
    own = estimate.waker is None
    if own and estimate.period is None and estimate.distances is None:
        return "no two of its releases were seen"
    if _policy(estimate) != "deadline":
        return None
    reservation = estimate.thread.reservation if estimate.thread else None
    if reservation is None:
        return "its reservation, of SCHED_DEADLINE, cannot be read"
    if _own(estimate) and _length(estimate) < reservation[1]:
        return (
            f"it arrives after {trimmed(_length(estimate), 'ns')}, before the deadline of its "
            f"reservation, {trimmed(reservation[1], 'ns')}"
        )
    return None


def _own(estimate: Estimate) -> bool:
    """Return whether a task arrives by itself."""
    return estimate.waker is None


def _policy(estimate: Estimate) -> Policy:
    if estimate.thread:
        return estimate.thread.policy
    if estimate.priority < 0:
        return "deadline"
    return "fifo" if estimate.priority < 100 else "other"


def _priority(estimate: Estimate) -> int:
    """Return a real-time priority: the task's own, not one that it has inherited."""
    return estimate.thread.priority if estimate.thread else 99 - estimate.priority


def _length(estimate: Estimate) -> int:
    """Return the period in ns, else the least distance."""
    if estimate.period is None:
        return estimate.distances.least if estimate.distances else 0
    reserved = estimate.thread.reservation if estimate.thread else None
    if reserved and estimate.period.least <= reserved[2] <= estimate.period.most:
        return reserved[2]
    return simplest(estimate.period)


def simplest(period: Period) -> int:
    """Return the number of ns with fewest digits that is in the period's range, the nearest one."""
    for digits in range(len(str(round(period.most))), 0, -1):
        step = int(10**digits)
        nearest = round(period.ns / step) * step
        if period.least <= nearest <= period.most:
            return nearest
    return round(period.ns)


def _up(time: int) -> int:
    """Return a time in ns, rounded up to us."""
    return -(-time // CLOCK["us"]) * CLOCK["us"]


def _names(estimates: Mapping[Identity, Estimate]) -> dict[Identity, str]:
    """Return a name for each task, which no other has."""
    shared = Counter(estimate.name for estimate in estimates.values())
    names: dict[Identity, str] = {}
    for identity, estimate in estimates.items():
        name = shown(estimate.name).strip() or "task"
        if shared[estimate.name] > 1 or name in names.values():
            name = f"{name}-{identity.tid}"
        while name in names.values():
            name = f"{name}-{identity.life}"
        names[identity] = name
    return names


def _of_period(period: Period) -> str:
    # As many digits as tell the two ends apart.
    unit = next((unit for unit in ("s", "ms", "us") if period.ns >= CLOCK[unit]), "ns")
    digits = max(0, 1 - math.floor(math.log10((period.most - period.least) / CLOCK[unit])))
    least, most = (f"{end / CLOCK[unit]:.{digits}f}" for end in (period.least, period.most))
    missing = f", {period.missing} missing" if period.missing else ""
    return (
        f"period {least} to {most} {SYMBOLS.get(unit, unit)}, by {counted(period.n, 'release')}"
        f"{missing}; up to {trimmed(period.spread_ns, 'ns')} late"
    )


def _of_range(times: Range) -> str:
    least, median, most = (trimmed(time, "ns") for time in times[:3])
    return f"{least} to {most}, median {median}, n = {count(times.n)}"


def _seconds(observation: Observation) -> str:
    return f"{observation.seconds:.3g} s"


def _lost(observation: Observation) -> str:
    return f"; {count(observation.lost)} events lost" if observation.lost else ""


# ---- Rhealstone ---------------------------------------------------------------------------------


def _rhealstone(
    observation: Observation, source: Source, costs: Components | None
) -> Iterator[str]:
    """Yield how often a second each component happens, and what it costs the application."""
    if observation.seconds <= 0:
        return
    beside = f", means of load {costs.load}, {costs.form}" if costs else ""
    yield f"Rhealstone's components{beside}:"
    weights, total, unknown = {}, 0.0, []
    for name, title in COMPONENTS.items():
        counter = _COUNTED[name]
        lack = _lack_of(counter, source)
        if lack:
            yield f"- {title}: unsupported, {lack}"
            unknown.append(title)
            continue
        rate = getattr(observation.counts, counter) / observation.seconds
        weights[name] = round(rate)
        text = f"- {title} (rheal.{name}): {rate:.1f} a second"
        if name in {"ss", "im"}:
            calls = observation.counts.semaphore_calls if name == "ss" else (
                observation.counts.queue_calls)  # fmt: skip
            text += f", of {calls / observation.seconds:.1f} calls"
        component = costs.times[name] if costs else None
        if component and component.mean_ns is not None:
            cost = rate * component.mean_ns
            total += cost
            text += (
                f", {trimmed(component.mean_ns, 'ns')} each: {cost / 1e3:.1f} us a second, "
                f"{cost / 1e9:.4%}"
            )
        elif component:
            text += f"; n.e.: {component.lack}"
            unknown.append(title)
        yield from textwrap.wrap(text, _WIDTH, subsequent_indent="  ")
    if costs:
        without = f", without {', '.join(unknown)}" if unknown else ""
        yield from textwrap.wrap(
            f"Together {total / 1e3:.1f} us a second, {total / 1e9:.4%} of a CPU{without}.", _WIDTH
        )
    yield from textwrap.wrap(
        "As weights: rtstone run --suite rhealstone "
        + " ".join(f"-p weight_{name}={weight}" for name, weight in weights.items()),
        _WIDTH, subsequent_indent="  ", break_on_hyphens=False,
    )  # fmt: skip


def _lack_of(counter: str, source: Source) -> str | None:
    """Return why something was not counted, None if it was."""
    if counter in {"semaphore_waits", "messages"}:
        return source.lacks.get("calls")
    return source.lacks.get(counter)
