"""Read and write the JSON of rt-app (its doc/tutorial.txt), as far as task sets express it.

What a task set cannot say changes nothing in silence: what has no part in whether deadlines hold
is listed, and what has is refused, by name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from rtstone.documents.tasks import Chain, Policy, Resource, Task, TaskSet, Use, Work
from rtstone.errors import UsageError
from rtstone.files import content
from rtstone.printable import shown
from rtstone.tasks.analysis.problem import levels
from rtstone.tasks.file import MOST_TASKS, QUANTUM, checked
from rtstone.units import CLOCK
from rtstone.wire.parameters import duration

US = CLOCK["us"]
LONGEST_US = 3_600_000_000
_POLICIES: dict[str, Policy] = {
    "SCHED_FIFO": "fifo", "SCHED_RR": "rr", "SCHED_DEADLINE": "deadline", "SCHED_OTHER": "other",
    "SCHED_BATCH": "other", "SCHED_IDLE": "other",
}  # fmt: skip
_WRITTEN = {"fifo": "SCHED_FIFO", "rr": "SCHED_RR", "deadline": "SCHED_DEADLINE",
            "other": "SCHED_OTHER"}  # fmt: skip
PRIORITY = 10  # of rt-app, where none is written

# Events by the beginning of their keys, as rt-app takes them; the longest comes first.
_EVENTS = ("sem_post", "sem_wait", "suspend", "runtime", "barrier", "memrun", "resume", "unlock",
           "signal", "iorun", "yield", "timer", "sleep", "broad", "sync", "lock", "wait", "fork",
           "mem", "run")  # fmt: skip
_OUTSIDE = {
    "barrier": "a barrier", "mem": "work on memory", "memrun": "work on memory",
    "iorun": "work on a device", "yield": "giving up the CPU", "fork": "starting tasks",
}  # fmt: skip
_AWAITED = {"suspend", "sem_wait", "wait"}  # by which a task waits for another one
_POSTED = {"resume", "sem_post", "signal", "broad"}
_SETTINGS = {"instance", "loop", "delay", "policy", "priority", "cpus", "phases", "dl-runtime",
             "dl-period", "dl-deadline"}  # fmt: skip
_BESIDE = {"util_min", "util_max", "nodes_membind", "taskgroup"}

_TOKEN = re.compile(
    r'(?P<text>"(?:\\.|[^"\\])*")|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<mark>[{}\[\],:])'
    r"|(?P<blank>\s+)|(?P<word>[^\s{}\[\],:\"]+)",
    re.DOTALL,
)


class Converted(NamedTuple):
    """A converted task set, or its text; ``left``: what of the other form it does not say."""

    set: TaskSet
    left: list[str]


class Written(NamedTuple):
    """The JSON of a task set; ``left``: what of the set it does not say."""

    text: str
    left: list[str]


Pairs = list[tuple[str, Any]]


# ---- reading ------------------------------------------------------------------------------------


def load(path: Path) -> Converted:
    """Read a file of rt-app.  Raises UsageError, which names what a task set cannot express."""
    try:
        text = content(path).decode("utf-8")
        document = json.loads(strict(text), object_pairs_hook=list)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not a file of rt-app, {path}: {error}") from error
    return _Reader(path).read(document)


def strict(text: str) -> str:
    """Return strict JSON of what rt-app and its workgen take.

    Comments and commas before a closing bracket go; a key without a value gets an empty text.
    """
    tokens = [match for match in _TOKEN.finditer(text)
              if match.lastgroup not in {"comment", "blank"}]  # fmt: skip
    written: list[str] = []
    open_: list[str] = []
    for number, match in enumerate(tokens):
        token = match[0]
        following = tokens[number + 1][0] if number + 1 < len(tokens) else ""
        if token in "{[":
            open_.append(token)
        elif token in "}]" and open_:
            open_.pop()
        if token == "," and following in {"}", "]"}:
            continue
        written.append(token)
        before = written[-2] if len(written) > 1 else ""
        key = match.lastgroup == "text" and open_[-1:] == ["{"] and before in {"{", ","}
        if key and following in {",", "}"}:
            written.append(':""')
    return " ".join(written)


@dataclass
class _Loop:
    """What a thread does over and over, with its times in us.

    ``least``: the shortest work, of several phases.  ``posts``: the names that it wakes at the end
    of a job; ``waits``: the name that wakes it.  ``rest``: what the thread does after it has woken
    others, or has waited for another one, within the same turn; each is a task of its own.
    """

    work: int = 0
    least: int = 0
    sleep: int = 0
    period: int | None = None
    waits: str | None = None
    posts: list[str] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    rest: list[_Loop] = field(default_factory=list)


class _Reader:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.left: list[str] = []
        self.protocol = "none"
        self.policy = "SCHED_OTHER"
        self.tasks: list[Task] = []
        self.posts: dict[str, list[str]] = {}  # of each task
        self.waits: dict[str, str] = {}
        self.ticks: dict[str, int] = {}  # what a timer wakes, and how often, us
        self.turns: list[list[str]] = []  # the tasks that a thread is, in order
        self.resources: list[str] = []

    def refuse(self, construct: str, where: str) -> UsageError:
        return UsageError(
            f"a task set cannot express {shown(construct)}, in {shown(where)}, {self.path}; write "
            "the set as tasks.toml, see `rtstone tasks new`"
        )

    def read(self, document: object) -> Converted:
        table = _table(document, str(self.path))
        if not isinstance(table.get("tasks"), list):
            raise UsageError(f"no tasks, in {self.path}; it is no file of rt-app")
        for key in table:
            if key not in {"tasks", "global", "resources"}:
                self.left.append(f"{key}: unknown to rt-app, too")
        self._global(_table(table.get("global", []), "global"))
        if "resources" in table:
            self.left.append("resources: rt-app makes them as tasks name them")
        threads: Pairs = table["tasks"]
        for name, thread in threads:
            self._thread(shown(name), thread)
        if not self.tasks:
            raise UsageError(f"no tasks, in {self.path}; all of them have no instance")
        self.tasks = [self._ticked(task) for task in self.tasks]
        if len(self.tasks) > MOST_TASKS:
            raise UsageError(
                f"{len(self.tasks)} tasks, in {self.path}; at most {MOST_TASKS} can be analysed"
            )
        chains = list(self._chains())
        tasks = TaskSet(
            title=self.path.stem,
            quantum_ns=duration(QUANTUM, "quantum"),
            tasks=self.tasks,
            resources=[
                Resource(name=name, protocol=self.protocol)  # type: ignore[arg-type]
                for name in dict.fromkeys(self.resources)
            ],
            chains=[*chains, *self._ends(chains)],
        )
        return Converted(checked(tasks, str(self.path)), list(dict.fromkeys(self.left)))

    def _global(self, table: dict[str, Any]) -> None:
        if table.get("pi_enabled") is True:
            self.protocol = "inherit"
        self.policy = str(table.get("default_policy", self.policy))
        settings = [key for key in table if key not in {"pi_enabled", "default_policy"}]
        if settings:
            self.left.append(f"global: {', '.join(map(shown, settings))}: how rt-app runs the set")

    def _thread(self, name: str, thread: object) -> None:
        where = f"task '{name}'"
        table = _table(thread, where)
        number = self._number(table, "instance", 1, where)
        if number == 0:
            self.left.append(f"{where}: it has no instance, and runs only if it is forked")
            return
        if number > MOST_TASKS:
            raise UsageError(
                f"{number} instances of {where}, in {self.path}; at most {MOST_TASKS} tasks can be "
                "analysed"
            )
        if ticks := self._timer(thread, where):
            for post, period in ticks.items():
                if self.ticks.setdefault(post, period) != period:
                    raise self.refuse(f"two timers that wake '{post}'", where)
            self.left.append(f"{where}: it does no work; what it wakes is periodic")
            return
        loop = self._job(thread, where)
        if loop.rest and str(table.get("policy", self.policy)) == "SCHED_DEADLINE":
            raise self.refuse("a reservation of a thread that wakes others within a job", where)
        for copy in range(number):
            own = name if number == 1 else f"{name}-{copy}"
            turn = [own, *(f"{own}.{place}" for place in range(2, 2 + len(loop.rest)))]
            self.turns.append(turn)
            for task, part in zip(turn, [loop, *loop.rest], strict=True):
                self.tasks.append(self._task(task, table, part, where, rest=part is not loop))
                self.posts[task] = part.posts
                if part.waits is not None:
                    self.waits[task] = part.waits or name
        if loop.rest:
            self.left.append(
                f"{where}: that it is one thread; what it does after it woke or awaited another is "
                f"a task of its own, {', '.join(turn[1:])}"
            )

    def _timer(self, thread: Any, where: str) -> dict[str, int] | None:
        """Return what a thread without work wakes, each every so many us; None: it is none such."""
        table = _table(thread, where)
        phases = table.get("phases", [("", thread)])
        if not isinstance(phases, list) or self._number(table, "loop", -1, where) != -1:
            return None
        posts: dict[str, int] = {}
        lengths: set[int] = set()
        places = 0
        for _, phase in phases:
            own = _table(phase, where)
            turns = self._number(own, "loop", 1, where) if "phases" in table else 1
            events = [(key, value) for key, value in phase if key not in _SETTINGS | _BESIDE]
            for key, value in events:
                if key.startswith("timer"):
                    lengths.add(self._time(_table(value, where).get("period"), "period", where))
                    places += turns
                elif key.startswith(("resume", "sem_post")):
                    post = shown(str(value))
                    posts[post] = posts.get(post, 0) + turns
                else:
                    return None
        if not posts or len(lengths) != 1 or set(posts.values()) != {1} or turns < 1:
            return None
        return dict.fromkeys(posts, places * lengths.pop()) if 0 not in lengths else None

    def _ticked(self, task: Task) -> Task:
        """Return a task with the arrivals of the timer that wakes it, if one does."""
        period = self.ticks.get(self.waits.get(task.name, ""))
        if period is None:
            return task
        post = self.waits.pop(task.name)
        if any(post in posts for posts in self.posts.values()):
            raise self.refuse(f"a task and a timer that both wake '{post}'", f"task '{task.name}'")
        return structs.replace(task, arrival="periodic", period_ns=US * period)

    def _job(self, thread: Any, where: str) -> _Loop:
        """Return what a thread does over and over: a phase, or several as one."""
        table = _table(thread, where)
        if "phases" not in table:
            return self._loop(list(thread), where)
        phases = table["phases"]
        if not isinstance(phases, list) or not phases:
            raise self.refuse("phases that are no object", where)
        tables = [_table(events, where) for _, events in phases]
        if any(set(own) & {"policy", "priority", "cpus"} for own in tables):
            raise self.refuse("settings of a phase", where)
        if len(phases) > 1 and (alike := self._alike([events for _, events in phases], where)):
            return alike
        once = all(self._number(own, "loop", 1, where) == 1 for own in tables)
        if len(phases) > 1 and not once:
            raise self.refuse("phases that differ, each several times", where)
        return self._loop([event for _, events in phases for event in events], where)

    def _alike(self, phases: list[Pairs], where: str) -> _Loop | None:
        """Return the loop of phases that differ in nothing but their work, else None."""
        before = len(self.left)
        try:
            loops = [self._loop(phase, where) for phase in phases]
        except UsageError:
            loops = []
        plain = all(
            not loop.uses and not loop.posts and not loop.rest and loop.waits is None
            for loop in loops
        )
        if not loops or not plain or len({(loop.period, loop.sleep) for loop in loops}) > 1:
            del self.left[before:]
            return None
        self.left[before:] = dict.fromkeys(self.left[before:])
        works = [loop.work for loop in loops]
        if min(works) < max(works):
            self.left.append(f"{where}: which phase follows which; each job takes any one's work")
        loop = loops[0]
        loop.work, loop.least = max(works), min(works)
        return loop

    def _loop(self, pairs: Pairs, where: str) -> _Loop:
        """Return what the events of a phase make of a job."""
        events, timed = self._ordered(list(self._events(pairs, where)), where)
        loop = _Loop()
        parts = [loop]
        held: dict[str, int] = {}
        mutexes: set[str] = set()  # of condition variables
        for kind, value in events:
            part = parts[-1]
            if kind in {"run", "runtime"}:
                if part.posts:  # it goes on after it has woken others
                    parts.append(self._part(held, mutexes, where))
                parts[-1].work += self._time(value, kind, where)
            elif kind == "lock":
                held[shown(str(value))] = part.work
            elif kind == "unlock":
                self._unlock(part, held, shown(str(value)), where)
            elif kind in _AWAITED:
                if kind == "wait":  # it has the mutex again once it is woken
                    mutex = shown(str(_table(value, where).get("mutex")))
                    mutexes.add(mutex)
                    held.setdefault(mutex, part.work)
                    if held[mutex] != part.work:
                        raise self.refuse(f"work with '{mutex}' before awaiting it", where)
                if part.work or part.posts or part.waits is not None:
                    parts.append(self._part(held, mutexes, where))
                parts[-1].waits = self._name(kind, value, where)
            elif kind in _POSTED:
                part.posts.append(self._name(kind, value, where))
            elif kind == "sleep":
                loop.sleep += self._time(value, kind, where)
            else:
                loop.period = self._period(value, where)
        last = parts[-1]
        if any(name not in mutexes or at != last.work for name, at in held.items()):
            raise self.refuse(f"holding '{next(iter(held))}' from job to job", where)
        if timed and loop.waits is not None:
            raise self.refuse("waiting twice before a job", where)
        if not timed and loop.waits is None:
            raise self.refuse("a task that never waits", where)
        if not all(part.work for part in parts):
            raise self.refuse("a job without work", where)
        for part in parts:
            part.least = part.work
        if mutexes:
            self.left.append(f"{where}: that a signal is lost if nobody awaits it")
        loop.rest = parts[1:]
        return loop

    def _ordered(
        self, events: list[tuple[str, Any]], where: str
    ) -> tuple[list[tuple[str, Any]], bool]:
        """Return the events of a turn from its begin on, and whether that is after a wait for time.

        A job begins when it is woken, and ends before it waits for time.
        """
        times = [
            place
            for place, (kind, value) in enumerate(events)
            if kind == "timer" or (kind == "sleep" and value)
        ]
        if len(times) > 1:
            raise self.refuse("waiting twice for time in a job", where)
        begin = next((place for place, (kind, _) in enumerate(events) if kind in _AWAITED), 0)
        if times:
            begin = (times[0] + 1) % len(events)
        if begin:
            self.left.append(f"{where}: where in its events it begins")
        return events[begin:] + events[:begin], bool(times)

    def _part(self, held: dict[str, int], mutexes: set[str], where: str) -> _Loop:
        """Return the next part of a turn, in which the same mutexes are held."""
        if names := [name for name in held if name not in mutexes]:
            raise self.refuse(f"waking or awaiting another task with '{names[0]}' held", where)
        held.update(dict.fromkeys(held, 0))
        return _Loop()

    def _name(self, kind: str, value: Any, where: str) -> str:
        """Return the name by which tasks wake each other; condition variables have their own."""
        if kind == "wait":
            return f"condition {shown(str(_table(value, where).get('ref')))}"
        name = shown(str(value))
        return f"condition {name}" if kind in {"signal", "broad"} else name

    def _events(self, pairs: Pairs, where: str) -> Iterator[tuple[str, Any]]:
        for key, value in pairs:
            if key in _SETTINGS:
                continue
            if key in _BESIDE:
                self.left.append(f"{where}: {key}")
                continue
            kind = next((event for event in _EVENTS if key.startswith(event)), None)
            if kind is None:
                raise self.refuse(f"'{key}'", where)
            if kind in _OUTSIDE:
                raise self.refuse(f"{_OUTSIDE[kind]}, '{key}'", where)
            if kind == "sync":
                yield "signal", _table(value, where).get("ref")
                kind = "wait"
            yield kind, value

    def _unlock(self, loop: _Loop, held: dict[str, int], name: str, where: str) -> None:
        if name not in held:
            raise self.refuse(f"giving back '{name}', which it does not hold", where)
        after = held.pop(name)
        if loop.work == after:
            self.left.append(f"{where}: that it holds '{name}' for no time")
            return
        self.resources.append(name)
        length = US * (loop.work - after)
        loop.uses.append(Use(resource=name, after_ns=US * after, for_ns=length))

    def _period(self, value: object, where: str) -> int:
        table = _table(value, where)
        if table.get("mode", "relative") != "absolute":
            self.left.append(f"{where}: that after an overrun its timer starts anew (relative)")
        if not str(table.get("ref", "")).startswith("unique") and "ref" in table:
            self.left.append(f"{where}: that timer '{shown(str(table['ref']))}' may be shared")
        return self._time(table.get("period"), "period", where) or self._zero(where)

    def _zero(self, where: str) -> int:
        raise UsageError(f"'period' is 0, in {where}, {self.path}; make it longer")

    def _task(
        self, name: str, table: dict[str, Any], loop: _Loop, where: str, *, rest: bool = False
    ) -> Task:
        written = str(table.get("policy", self.policy))
        if written not in _POLICIES:
            raise UsageError(f"unknown policy '{written}', in {where}, {self.path}")
        policy = _POLICIES[written]
        if written in {"SCHED_BATCH", "SCHED_IDLE"}:
            self.left.append(f"{where}: {written}, which is taken for SCHED_OTHER")
        priority = None
        if policy in {"fifo", "rr"}:
            priority = self._number(table, "priority", PRIORITY, where)
            if not 1 <= priority <= 99:
                raise UsageError(f"bad priority {priority}, in {where}, {self.path}; write 1 to 99")
        elif table.get("priority"):
            self.left.append(f"{where}: priority {table['priority']}, its nice value")
        if "loop" in table and table["loop"] != -1:
            self.left.append(f"{where}: that it ends after {table['loop']} loops")
        work = US * loop.work
        period = loop.period or (loop.least + loop.sleep if loop.sleep else None)
        if loop.period is None and loop.sleep:
            self.left.append(
                f"{where}: that it sleeps {loop.sleep} us after each job; jobs are taken to be at "
                "least work and sleep apart"
            )
        woken = rest or loop.waits is not None
        own_period = None if woken else US * (period or 1)
        if "delay" in table and loop.period is None:
            self.left.append(f"{where}: delay")
        reserved = policy == "deadline"
        runtime = self._number(table, "dl-runtime", 0, where) if reserved else 0
        deadline = self._number(table, "dl-deadline", 0, where) if reserved else 0
        reserved_period = self._number(table, "dl-period", runtime, where) if reserved else 0
        if reserved and own_period is not None and US * reserved_period != own_period:
            raise self.refuse("a reservation with a period other than the task's", where)
        return Task(
            name=name,
            arrival="woken" if woken else "periodic" if loop.period else "sporadic",
            period_ns=own_period,
            offset_ns=US * self._number(table, "delay", 0, where)
            if "delay" in table and loop.period is not None else None,
            deadline_ns=US * deadline if deadline else None,
            work=Work(least_ns=US * loop.least, most_ns=work),
            policy=policy,
            priority=priority,
            runtime_ns=US * runtime if runtime else None,
            cpus=self._cpus(table, where),
            uses=loop.uses,
        )  # fmt: skip

    def _cpus(self, table: dict[str, Any], where: str) -> list[int]:
        cpus = table.get("cpus")
        if cpus is None:
            self.left.append(f"{where}: that it may run on any CPU; it is taken to run on CPU 0")
            return [0]
        sound = isinstance(cpus, list) and cpus and all(
            isinstance(cpu, int) and 0 <= cpu < 1024 for cpu in cpus
        )  # fmt: skip
        if not sound:
            raise UsageError(f"bad CPUs, in {where}, {self.path}; write numbers such as [0, 2]")
        return sorted(set(cpus))

    def _chains(self) -> Iterator[Chain]:
        """Yield a chain for each task that wakes another, and for each that goes on as another."""
        for name, posts in self.posts.items():
            own = next(turn for turn in self.turns if name in turn)
            for post in posts:
                # No thread wakes itself.
                woken = [other for other, waits in self.waits.items()
                         if waits == post and other not in own]  # fmt: skip
                if not woken:
                    self.left.append(f"task '{name}': that it wakes '{post}', which nobody awaits")
                if len(woken) > 1 and post.startswith("condition "):
                    raise self.refuse(f"several that await {post}", f"task '{name}'")
                for other in woken:
                    yield Chain(name=f"{name} to {other}", path=[name, other])
        for turn in self.turns:
            for name, following in pairwise(turn):
                if following not in self.waits:
                    yield Chain(name=f"{name} to {following}", path=[name, following])

    def _ends(self, chains: list[Chain]) -> Iterator[Chain]:
        """Yield a chain for each thread that is several tasks, from its first to its last one.

        Its deadline is that of the thread, its period: a reaction takes a period more.  A part that
        awaits another task has to follow from the part before, as that has to end first, too.
        """
        wakers = {chain.path[1]: chain.path[0] for chain in chains}
        for turn in self.turns:
            for name, following in pairwise(turn):
                path = [following]
                while path[-1] != name and path[-1] in wakers and wakers[path[-1]] not in path:
                    path.append(wakers[path[-1]])
                if path[-1] != name:
                    raise self.refuse(
                        f"awaiting '{self.waits[following]}' after work that does not lead to it",
                        f"task '{turn[0]}'",
                    )
            if len(turn) == 1:
                continue
            path = [turn[-1]]
            while path[-1] != turn[0]:
                path.append(wakers[path[-1]])
            first = next(task for task in self.tasks if task.name == turn[0])
            if first.period_ns is not None and first.policy != "other":
                yield Chain(
                    name=f"{turn[0]} to its end", path=path[::-1], deadline_ns=2 * first.period_ns
                )

    def _number(self, table: dict[str, Any], key: str, default: int, where: str) -> int:
        value = table.get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LONGEST_US:
            raise UsageError(f"bad number for '{key}', in {where}, {self.path}")
        return value

    def _time(self, value: object, key: str, where: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LONGEST_US:
            raise UsageError(
                f"bad time for '{key}', in {where}, {self.path}; write microseconds up to an hour"
            )
        return value


def _table(pairs: object, where: str) -> dict[str, Any]:
    """Return an object of JSON as a table; of equal keys the last counts, as in rt-app."""
    sound = isinstance(pairs, list) and all(isinstance(pair, tuple) for pair in pairs)
    if not sound:
        raise UsageError(f"no object, in {where}; it is no file of rt-app")
    return dict(pairs)  # type: ignore[call-overload, no-any-return]


# ---- writing ------------------------------------------------------------------------------------


def write(tasks: TaskSet) -> Written:
    """Return a task set as rt-app takes it, every job with its longest work.

    Raises UsageError if no task can be written.
    """
    return _Writer(tasks).write()


class _Writer:
    def __init__(self, tasks: TaskSet) -> None:
        self.set = tasks
        self.left: list[str] = []
        self.levels = levels(tasks)

    def write(self) -> Written:
        protocols = {resource.protocol for resource in self.set.resources}
        inherits = "inherit" in protocols
        for resource in self.set.resources:
            wanted = "inherit" if inherits else "none"
            if resource.protocol != wanted and any(
                use.resource == resource.name for task in self.set.tasks for use in task.uses
            ):
                self.left.append(
                    f"resource '{resource.name}': protocol {resource.protocol}; all mutexes of "
                    f"rt-app have {wanted}"
                )
        threads = {task.name: thread for task in self.set.tasks if (thread := self._thread(task))}
        if not threads:
            raise UsageError("no task can be written for rt-app; their arrivals are random")
        self._rest()
        document = {
            "global": {
                "duration": -1, "calibration": "CPU0", "default_policy": "SCHED_OTHER",
                "pi_enabled": inherits, "lock_pages": True,
            },
            "tasks": threads,
        }  # fmt: skip
        return Written(json.dumps(document, indent=4) + "\n", self.left)

    def _rest(self) -> None:
        """Note what no part of rt-app's file says."""
        for chain in self.set.chains:
            if chain.deadline_ns is not None:
                self.left.append(f"chain '{chain.name}': its deadline")
            if all(self.set.task(name).arrival != "woken" for name in chain.path):
                self.left.append(f"chain '{chain.name}': its tasks do not wake each other")
        self.left += [f"server '{server.name}'" for server in self.set.servers]
        if any(task.policy == "rr" for task in self.set.tasks):
            self.left.append("the quantum of policy rr, which the system has")

    def _thread(self, task: Task) -> dict[str, Any] | None:
        where = f"task '{task.name}'"
        if task.arrival == "poisson" or task.server is not None:
            self.left.append(f"{where}, as a whole: random arrivals, or a server")
            return None
        if task.work.most_ns is None:
            self.left.append(f"{where}, as a whole: its work in KWI")
            return None
        thread: dict[str, Any] = {"policy": _WRITTEN[task.policy], "cpus": task.cpus, "loop": -1}
        if task.policy in {"fifo", "rr"}:
            own = self.levels[task.name]
            if not isinstance(task.priority, int):
                own += 1
                self.left.append(f"{where}: priority {task.priority}, which is {own} here")
            thread["priority"] = own
        if task.policy == "deadline":
            period = self.set.source(task.name).period_ns or 0
            runtime = task.runtime_ns or task.work.most_ns
            thread |= {
                "dl-runtime": self._us(runtime, f"{where}: runtime"),
                "dl-period": self._us(period, f"{where}: period"),
                "dl-deadline": self._us(task.deadline_ns or period, f"{where}: deadline"),
            }
        elif task.deadline_ns is not None:
            self.left.append(f"{where}: deadline")
        if task.offset_ns:
            thread["delay"] = self._us(task.offset_ns, f"{where}: offset")
        if task.jitter_ns:
            self.left.append(f"{where}: jitter")
        if task.work.least_ns != task.work.most_ns:
            self.left.append(f"{where}: that jobs may take less work")
        if task.needs:
            self.left.append(f"{where}: needs")
        return thread | self._events(task, where)

    def _events(self, task: Task, where: str) -> dict[str, Any]:
        """Return the events of a job, each with a key of its own."""
        events: list[tuple[str, Any]] = []
        waker = self.set.waker(task.name)
        if waker is not None:
            # Known to every version; one that does not know sem_wait would never wait.
            events.append(("suspend", task.name))
            self.left.append(f"{where}: that a job which is woken too early is not lost")
        at = 0
        for time, name, held in _locks(task):
            if time > at:
                events.append(("run", self._us(time - at, f"{where}: work")))
            events.append(("unlock" if held else "lock", name))
            at = time
        most = task.work.most_ns or 0
        if most > at:
            events.append(("run", self._us(most - at, f"{where}: work")))
        events += [("resume", other.name) for other in self.set.tasks
                   if self.set.waker(other.name) == task.name]  # fmt: skip
        if task.arrival in {"periodic", "sporadic"}:
            if task.arrival == "sporadic":
                self.left.append(f"{where}: that it is sporadic; its least distance is its period")
            period = self._us(task.period_ns or 0, f"{where}: period")
            events.append(("timer", {"ref": "unique", "period": period, "mode": "absolute"}))
        return {f"{kind}{place}": value for place, (kind, value) in enumerate(events)}

    def _us(self, time: int, construct: str) -> int:
        """Return a time in us; work is rounded up, as less would be optimistic."""
        if time % US:
            self.left.append(f"{construct}: {time} ns, rounded up to us")
        return -(-time // US)


def _locks(task: Task) -> list[tuple[int, str, bool]]:
    """Return when a job takes or, True, gives back which resource, in order."""
    takes = [(use.after_ns, 1, -use.for_ns, use.resource, False) for use in task.uses]
    gives = [(use.after_ns + use.for_ns, 0, -use.after_ns, use.resource, True) for use in task.uses]
    ordered = sorted(takes + gives, key=lambda event: event[:3])
    return [(time, name, held) for time, _, _, name, held in ordered]
