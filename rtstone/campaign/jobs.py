"""Jobs: what one run of a campaign is, and how it is known again."""

from __future__ import annotations

import msgspec

from rtstone.campaign.matrix import Cell

# What jobs that cannot run at the same time have in common.
CORE = "core"  # a CPU each, side by side: emulated and simulated systems
WHOLE = "machine"  # all of this machine


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a campaign.

    ``key``: a hash of all that its result depends on.  ``spec``: the target with its seed, as
    --target takes it.  ``lane``: CORE, WHOLE, or a machine elsewhere.  ``expected_s``: how long it
    takes, None if nobody knows.  ``lacks``: why the target can run nothing of it, else None.
    ``sections``: whether its sections are recorded, too.
    """

    campaign: str
    key: str
    cell: Cell
    spec: str
    lane: str
    time: str | None = None
    until: str | None = None
    cpus: str | None = None
    limit: str | None = None
    seed: int | None = None
    repeat: int = 1
    expected_s: float | None = None
    lacks: str | None = None
    sections: bool = False

    @property
    def run_id(self) -> str:
        """The id of its run: the same for whoever carries it out."""
        return run_id(self.campaign, self.key)

    @property
    def title(self) -> str:
        """The target with its seed, the cell and the repeat, in words."""
        again = f", repeat {self.repeat}" if self.repeat > 1 else ""
        return f"{self.spec}: {self.cell.title}{again}"


def run_id(campaign: str, key: str) -> str:
    """Return the id of the run of a job."""
    return f"{campaign}.{key}"
