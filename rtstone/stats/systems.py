"""The systems of a comparison: runs, those that differ in nothing but the seed taken together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rtstone.model.comparison import Column
from rtstone.model.documents import Run

SEED, SYSTEM = "seed", "system"  # of a target's detail


class System(NamedTuple):
    """One column: its label, and its runs with different seeds or its only run."""

    label: str
    runs: list[Run]

    @property
    def first(self) -> Run:
        """The run that tells the circumstances, which are the same for all."""
        return self.runs[0]

    @property
    def seeds(self) -> list[int]:
        """The seeds in the order of the runs."""
        return [seed for run in self.runs if (seed := _seed(run)) is not None]

    def column(self) -> Column:
        """What the document says of it."""
        reasons = [
            f"{run.run_id}: {run.reason or 'no reason was recorded'}"
            for run in self.runs
            if run.status != "complete"
        ]
        return Column(
            label=self.label,
            target=self.first.target.name,
            runs=[run.run_id for run in self.runs],
            seeds=self.seeds,
            status="incomplete" if reasons else "complete",
            reasons=reasons,
        )


def systems(runs: Sequence[Run]) -> list[System]:
    """The runs by system, in the order in which they are named."""
    groups: list[list[Run]] = []
    for run in runs:
        home = next((group for group in groups if _joins(run, group)), None)
        if home is None:
            groups.append([run])
        else:
            home.append(run)
    return [System(*pair) for pair in zip(_labels(groups), groups, strict=True)]


def _seed(run: Run) -> int | None:
    seed = run.target.detail.get(SEED)
    return seed if isinstance(seed, int) and not isinstance(seed, bool) else None


def _joins(run: Run, group: Sequence[Run]) -> bool:
    """True if nothing but the seed tells it from each of them.  A seed counts once."""
    first, seeds = group[0], [_seed(other) for other in group]
    return None not in (_seed(run), *seeds) and _seed(run) not in seeds and _same(run, first)


def _same(one: Run, other: Run) -> bool:
    def made(run: Run) -> tuple[object, ...]:
        detail = {name: v for name, v in run.target.detail.items() if name != SEED}
        name = None if SYSTEM in detail else run.target.name  # it may hold the seed
        return name, detail, run.agent, run.clock and run.clock.unit

    return made(one) == made(other)


def _labels(groups: Sequence[Sequence[Run]]) -> list[str]:
    """A name for each; where it would be that of another, with what tells them apart."""
    firsts = [group[0] for group in groups]
    boards, kernels = ([run.target.detail.get(n) for run in firsts] for n in ("board", "kernel"))
    tails = [run.run_id.rpartition("-")[2] for run in firsts]
    numbers = [str(number) for number in range(1, len(firsts) + 1)]
    labels = [_name(run) for run in firsts]
    for more in (boards, kernels, tails, numbers):
        told: dict[str, set[object]] = defaultdict(set)
        for label, word in zip(labels, more, strict=True):
            told[label].add(word)
        labels = [
            f"{label} ({word})" if len(told[label]) > 1 and word else label
            for label, word in zip(labels, more, strict=True)
        ]
    return labels


def _name(run: Run) -> str:
    system, preempt = run.target.detail.get(SYSTEM), run.target.detail.get("preempt")
    if not isinstance(system, str):
        return run.target.name
    told = isinstance(preempt, str) and preempt not in system
    return f"{system} {preempt}" if told else system
