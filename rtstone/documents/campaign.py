"""The document of a campaign: its matrix, and how far it has come."""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.wire.records import Natural, Number

SCHEMA = "rtstone.campaign/1"


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """How many jobs are in each state.

    ``running``: leased by a runner.  ``unsupported``: the target can measure nothing of it.
    """

    planned: Natural = 0
    running: Natural = 0
    done: Natural = 0
    failed: Natural = 0
    unsupported: Natural = 0

    @property
    def total(self) -> int:
        """All of them that can be measured."""
        return self.planned + self.running + self.done + self.failed


class Missing(msgspec.Struct, frozen=True, kw_only=True):
    """Why so many jobs have no run."""

    reason: str
    jobs: Natural


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A result over the runs of a cell; each statistic from its least to its greatest value.

    ``title``: the case and its series.  ``runs``: in how many it is valid.  ``n``: all samples.
    Percentiles are each run's own, never averaged, and include missed activations; ``max`` is the
    largest of all.  ``missed``: activations missed in all of them, None if they are not counted.
    """

    title: str
    bench: str
    unit: str
    runs: Natural
    n: Natural
    p50: tuple[Number, Number] | None = None
    p99: tuple[Number, Number] | None = None
    max: Number | None = None
    missed: Natural | None = None


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a cell: that of its worst run.

    ``run``: which one.  ``of``: how many runs it is the worst of.  ``results``: over these.
    """

    grade: Literal["bad", "note", "good", "info"]
    verdict: str
    run: str
    of: Natural
    results: list[Spread] = []


class CampaignCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of the matrix.

    ``load``: None where the suites' own apply.  ``runs``: the ids of its runs.  ``remarks``: what
    the runner said of these.  ``missing``: why jobs of it have none.  ``incomplete``: paths of
    the incomplete runs of failed jobs.  ``judged``: in a report only, None where no run can be
    read.
    """

    target: str
    measure: str
    load: str | None = None
    params: dict[str, str] = {}
    jobs: Counts
    runs: list[str] = []
    remarks: list[Missing] = []
    missing: list[Missing] = []
    incomplete: list[str] = []
    judged: Judged | None = None


class CampaignState(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign, as planned or as far as it has come.

    ``name``: of its file, with which the ids of its runs begin.  ``absent``: targets that did not
    answer, why, and with how many jobs.  ``left_s``: how long the rest is expected to take here, in
    s, None if nobody knows.  ``earlier``: jobs of earlier plans, of other kernels or agents.
    """

    schema: str = SCHEMA
    name: str
    title: str
    jobs: Counts
    left_s: Number | None = None
    cells: list[CampaignCell] = []
    absent: dict[str, Missing] = {}
    earlier: Natural = 0
