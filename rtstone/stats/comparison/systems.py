"""The systems of a comparison: which runs belong together.

Runs of one system are those that the user joined, those of one side of an interleaved session, or
those that differ only in the seed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import takewhile
from typing import NamedTuple

from rtstone.documents.comparison import Column
from rtstone.documents.imported import file
from rtstone.documents.origin import origin
from rtstone.documents.run import NO_REASON, Run
from rtstone.results.steal import share_with_steal

SEED, SYSTEM = "seed", "system"  # keys in a target's detail
_NAMED = 3  # names in a label
_SEPARATOR = re.compile(r"([-_: ])")  # of the words of a name


class System(NamedTuple):
    """One column: its label, and its runs."""

    label: str
    runs: list[Run]

    @property
    def first(self) -> Run:
        """The run whose circumstances stand for all."""
        return self.runs[0]

    @property
    def model(self) -> str:
        """Of a model: what was modelled, and from what; empty of a system that was measured."""
        detail = self.first.target.detail
        return ", ".join(str(detail[name]) for name in ("title", "label") if detail.get(name))

    @property
    def seeds(self) -> list[int]:
        """The seeds in the order of the runs."""
        return [seed for run in self.runs if (seed := _seed(run)) is not None]

    def run_label(self, number: int) -> str:
        """Return a name for the run with this index: its seed, or its id."""
        seed = _seed(self.runs[number])
        return self.runs[number].run_id if seed is None else f"seed {seed}"

    def column(self) -> Column:
        """Return the system's column of the document."""
        reasons = [
            f"{f'{run.run_id}: ' if len(self.runs) > 1 else ''}{run.reason or NO_REASON}"
            for run in self.runs
            if run.status != "complete"
        ]
        rate = self.first.target.detail.get("instructions_per_s")
        return Column(
            label=self.label,
            target=self.first.target.name,
            called=self.first.target.called,
            runs=[run.run_id for run in self.runs],
            origin=origin(self.first),
            seeds=self.seeds,
            names={run.run_id: run.name for run in self.runs if run.name},
            status="incomplete" if reasons else "complete",
            reasons=reasons,
            command=self.first.command,
            stolen=max(
                (share for run in self.runs for r in run.results if (share := share_with_steal(r))),
                default=None,
            ),
            instructions_per_s=rate if isinstance(rate, int) else None,
        )


def systems(named: Sequence[Run | Sequence[Run]]) -> list[System]:
    """Return the systems in the order of their names; each list is one system."""
    single = [run for run in named if isinstance(run, Run)]
    if len(single) < len(named):
        groups = [[runs] if isinstance(runs, Run) else list(runs) for runs in named]
    elif session(single):
        ordered = sorted(in_pairs(single), key=lambda run: run.run_id)
        sides = [[r for r in ordered if r.turn and r.turn.side == side] for side in "AB"]
        groups = [side for side in sides if side] or _by_seed(single)
    else:
        groups = _by_seed(single)
    return [System(*pair) for pair in zip(_labels(groups), groups, strict=True)]


def session(runs: Sequence[Run]) -> str | None:
    """Return the interleaved session that all runs belong to, None if there is none."""
    sessions = {run.turn.session if run.turn else None for run in runs}
    return sessions.pop() if len(sessions) == 1 else None


def in_pairs(runs: Sequence[Run]) -> list[Run]:
    """Return the runs of a session whose pair has measurements on both sides."""
    measured = [run for run in runs if any(r.n or r.figures for r in run.results)]
    sides = [{r.turn.pair for r in measured if r.turn and r.turn.side == side} for side in "AB"]
    both = set.intersection(*sides)
    return [run for run in measured if run.turn and run.turn.pair in both]


def _by_seed(runs: Sequence[Run]) -> list[list[Run]]:
    """Return the runs in groups that differ only in their seeds, each of which occurs once."""

    def identity(run: Run) -> tuple[object, ...]:
        detail = {name: v for name, v in run.target.detail.items() if name != SEED}
        target = None if SYSTEM in detail else run.target.name  # it may hold the seed
        return target, detail, run.agent, run.clock and run.clock.unit

    groups: list[list[Run]] = []
    for run in runs:
        for group in groups:
            seeds = [_seed(other) for other in group]
            new = None not in (_seed(run), *seeds) and _seed(run) not in seeds
            if new and identity(run) == identity(group[0]):
                group.append(run)
                break
        else:
            groups.append([run])
    return groups


def _seed(run: Run) -> int | None:
    seed = run.target.detail.get(SEED)
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def _labels(groups: Sequence[Sequence[Run]]) -> list[str]:
    """Return a label for each group, with what distinguishes it if others have the same name."""
    firsts = [group[0] for group in groups]
    hosts = [run.conditions.get("machine.host") for run in firsts]
    boards, kernels = ([run.target.detail.get(n) for run in firsts] for n in ("board", "kernel"))
    sides = [run.turn.side if run.turn else None for run in firsts]
    tails = [run.run_id.rpartition("-")[2] for run in firsts]
    numbers = [str(number) for number in range(1, len(firsts) + 1)]
    labels = [_called(group) for group in groups]
    homes = [called(run) for run in firsts]
    named = {home for label, home in zip(labels, homes, strict=True) if label != home}
    # Beside a run of the same system that has a name the system's says nothing.
    labels = [
        f"{label} ({tail})" if label == home and home in named else label
        for label, home, tail in zip(labels, homes, tails, strict=True)
    ]
    for words in (hosts, boards, kernels, sides, tails, numbers):
        distinct: dict[str, set[object]] = defaultdict(set)
        for label, word in zip(labels, words, strict=True):
            distinct[label].add(word)
        labels = [
            f"{label} ({word})" if len(distinct[label]) > 1 and word else label
            for label, word in zip(labels, words, strict=True)
        ]
    return labels


def _called(group: Sequence[Run]) -> str:
    """Return what a person calls the runs, if each has a name, else the usual name of the system.

    Of tuned-1 and tuned-2 that is tuned; names without a common beginning are added up.  An import
    without a name has that of its file.
    """
    names = [name for run in group if (name := run.name or file(run))]
    if len(names) < len(group):
        return called(group[0])
    words = zip(*(_SEPARATOR.split(name) for name in names), strict=False)
    begin = "".join(word for word, *_ in takewhile(lambda same: len(set(same)) == 1, words))
    if label := begin.rstrip("-_: "):
        return label
    rest = f" + {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return " + ".join(names[:_NAMED]) + rest


def called(run: Run) -> str:
    """Return the usual name of the system that a run measured."""
    if run.target.called:
        return run.target.called
    system, preempt = run.target.detail.get(SYSTEM), run.target.detail.get("preempt")
    if not isinstance(system, str):
        return run.target.name
    beside = run.target.detail.get("beside_load")
    if beside and beside != "none":
        return f"{system} beside={beside}"
    words = [system]
    if isinstance(preempt, str) and preempt not in system:
        words.append(preempt)
    if device := run.target.detail.get("device"):
        words.append(f"device={device}")
    return " ".join(words)
