"""The runs of a session, found by its name."""

from __future__ import annotations

from rtstone.documents.plan import Plan
from rtstone.store.selection import members
from tests.conftest import Cli
from tests.store.test_removal import stored


def test_targets_stay_in_the_order_they_were_asked_for(plan: Plan, cli: Cli) -> None:
    """Threads store their runs in any order."""
    for number in (2, 100, 1, 99):
        stored(plan, f"20260101-{number:02}", session="20260101")
    ids = [f"20260101-{number}" for number in ("01", "02", "99", "100")]
    for name in ("20260101", "20260101-02", "last"):
        assert [run.run_id for run in members(name)] == ids
