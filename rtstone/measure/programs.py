"""Programs of actions, and how a search makes new ones of those that were measured.

A program does several actions of `rtstone provoke`, each at its time of a cycle (load actions,
agent/loads/steps.h).  Of each set of actions the best program is bred from: so a search
does not narrow to variants of one, and finds what only several actions together do.  A program that
runs code in which nothing can preempt, and which none ran before or for as long, is bred from, too:
it is on a path that a wake-up only has to hit.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from rtstone.documents.plan import load_name
from rtstone.measure.actions import CONTROL, within_load
from rtstone.wire.records import Load

LOAD = "actions"
CYCLE_US = 4937  # the load's default
STEPS = 6  # the most of a program
SIZES = (1, 4, 16, 64, 256, 1024)  # besides what is usual for an action
RANDOM = 0.25  # of the programs are bred from none
CROSSED = 0.3  # of those that are bred, from two others
CONTESTANTS = 20  # of which the best is bred from
NEAR_US = 50.0  # standard deviation of a small move
SMALL = 0.4  # of the moves are small
PIONEERS = 0.3  # of the parents are programs with new sections, or longer ones
RECENT = 4  # of those: a path is followed while it is new
RIVALS = 2  # of which the one with most news is bred from
TRIES = 1000  # to make a program that is new


class Step(NamedTuple):
    """An action at a time of the cycle, in µs; ``n``: how many of what it uses, None: as usual."""

    at_us: int
    action: str
    n: int | None = None

    def __str__(self) -> str:
        size = "" if self.n is None else f"*{self.n}"
        return f"{self.action}{size}@{self.at_us}us"


Program = tuple[Step, ...]  # in the order of their times
Sections = Mapping[str, int]  # the longest of each kind between two places, in instructions


class News(NamedTuple):
    """What a program's sections add to those of all before it.

    ``new``: sections that were not seen; ``longer``: those that were longer than before.
    ``gained``: by how many instructions in all.
    """

    new: int = 0
    longer: int = 0
    gained: int = 0


def load_of(program: Program) -> str:
    """Return a program as `--load` takes it."""
    return f"{LOAD}:steps={','.join(map(str, program))}"


def names(loads: Mapping[str, Load]) -> list[str]:
    """Return the actions that programs are made of: those that change no settings.

    ``loads``: of the agent, load provoke among them.
    """
    return [
        action.name
        for action in within_load(loads)
        if action.consent in {"own", "shared"} and not action.several_cpus
    ]


def sizes(loads: Mapping[str, Load]) -> list[int]:
    """Return how many of what they use actions may take there, besides what is usual for them."""
    number = loads[load_name(CONTROL.load)].param("n")
    most = number.max if number and number.max is not None else SIZES[-1]
    return [size for size in SIZES if size <= most]


def refused(program: Program, reason: str) -> str | None:
    """Return the action for which a program has no result, None if that is not known.

    ``reason``: as of the agent, which puts the step before it (agent/loads/steps.h).
    """
    steps = program if _is_alone(program) else [s for s in program if f" {s}: " in reason]
    return steps[0].action if steps else None


def _is_alone(program: Program) -> bool:
    """Return whether it is an action alone, with as much as is usual for it."""
    return len(program) == 1 and program[0].n is None


class Proposal(NamedTuple):
    """A program to be measured; ``bred``: from others, else drawn at random."""

    program: Program
    bred: bool


class Breeder:
    """Proposes programs; the same seed and the same measurements give the same ones.

    An action that has never worked and is refused is proposed alone before any other program, and
    never again if that is refused, too: it may have been too much only beside others.

    ``bred``: False draws all of them at random.
    """

    def __init__(
        self, seed: int, actions: Sequence[str], sizes: Sequence[int] = SIZES, *, bred: bool = True
    ) -> None:
        self._random = Random(seed)
        self._actions = list(actions)
        self._sizes = (None, *sizes)
        self._bred = bred
        self._best: dict[frozenset[str], tuple[float, Program]] = {}
        self._longest: dict[str, int] = {}  # sections
        self._pioneers: deque[tuple[int, Program]] = deque(maxlen=RECENT)
        self._proposed: set[Program] = set()
        self._working: set[str] = set()  # actions
        self._suspects: deque[str] = deque()  # actions that are to be tried alone
        self._lacking: set[str] = set()  # actions that were refused alone
        self._withheld: set[str] = set()  # actions that are either

    def propose(self) -> Proposal | None:
        """Return a program that was not proposed before, None if no action is left."""
        random = self._random
        while self._suspects:
            if (action := self._suspects.popleft()) not in self._working:
                alone = (Step(0, action),)
                self._proposed.add(alone)
                return Proposal(alone, bred=True)
        if not self._available():
            return None
        for _ in range(TRIES):
            bred = self._bred and bool(self._best) and random.random() >= RANDOM
            program = self._child() if bred else self._drawn()
            if program not in self._proposed:
                break
        self._proposed.add(program)
        return Proposal(program, bred)

    def compare(self, sections: Sections) -> News:
        """Return what is new in sections, and take note of them."""
        before = self._longest
        new = [name for name in sections if name not in before]
        longer = [name for name in sections if sections[name] > before.get(name, sections[name])]
        gained = sum(sections[name] - before.get(name, 0) for name in (*new, *longer))
        before |= {name: sections[name] for name in (*new, *longer)}
        return News(len(new), len(longer), gained)

    def learn(self, program: Program, longest: float, gained: int = 0) -> None:
        """Note what a program did: the larger, the better; ``gained``: as of its news."""
        for step in program:
            self._working.add(step.action)
            self._withheld.discard(step.action)
        if gained:
            self._pioneers.append((gained, program))
        kind = frozenset(step.action for step in program)
        if kind not in self._best or longest > self._best[kind][0]:
            self._best[kind] = longest, program

    def fail(self, program: Program, action: str) -> bool:
        """Note that a program has no result for an action; return whether the system lacks that."""
        if action in self._working or action in self._lacking:
            return False
        lacking = _is_alone(program)
        if lacking:
            self._lacking.add(action)
        elif action not in self._withheld:
            self._suspects.append(action)
        self._withheld.add(action)
        return lacking

    def _available(self) -> list[str]:
        return [action for action in self._actions if action not in self._withheld]

    def _drawn(self) -> Program:
        count = self._random.randint(1, STEPS)
        return _ordered([self._step() for _ in range(count)])

    def _step(self) -> Step:
        random = self._random
        return Step(
            random.randrange(CYCLE_US), random.choice(self._available()),
            random.choice(self._sizes),
        )  # fmt: skip

    def _parent(self) -> Program:
        if self._pioneers and self._random.random() < PIONEERS:
            rivals = [self._random.choice(self._pioneers) for _ in range(RIVALS)]
            return max(rivals, key=lambda entry: entry[0])[1]
        best = list(self._best.values())
        contestants = [self._random.choice(best) for _ in range(CONTESTANTS)]
        return max(contestants, key=lambda entry: entry[0])[1]

    def _child(self) -> Program:
        random = self._random
        steps = list(self._parent())
        if random.random() < CROSSED:
            steps = [step for step in steps + list(self._parent()) if random.random() < 0.5]
            return _ordered(steps[:STEPS] or [self._step()])
        place = random.randrange(len(steps))
        step = steps[place]
        changes = ["move", "move", "size", "action"]
        changes += ["add"] * (len(steps) < STEPS) + ["drop"] * (len(steps) > 1)
        match random.choice(changes):
            case "move" if random.random() < SMALL:
                at_us = round(step.at_us + random.gauss(0, NEAR_US)) % CYCLE_US
                steps[place] = step._replace(at_us=at_us)
            case "move":
                steps[place] = step._replace(at_us=random.randrange(CYCLE_US))
            case "size":
                steps[place] = step._replace(n=random.choice(self._sizes))
            case "action":
                steps[place] = step._replace(action=random.choice(self._available()))
            case "add":
                steps.append(self._step())
            case "drop":
                del steps[place]
        return _ordered(steps)


def _ordered(steps: Sequence[Step]) -> Program:
    return tuple(sorted(set(steps), key=lambda step: (step.at_us, step.action, step.n or 0)))


def smaller(program: Program) -> Iterator[Program]:
    """Yield the programs that lack one of the steps."""
    if len(program) > 1:
        for place in range(len(program)):
            yield program[:place] + program[place + 1 :]
