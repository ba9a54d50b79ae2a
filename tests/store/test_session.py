"""The runs of a session, found by its name."""

from __future__ import annotations

import pytest

from rtstone.documents.plan import Plan
from rtstone.errors import UsageError
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


def test_a_session_is_not_mixed_with_one_whose_name_begins_alike(plan: Plan) -> None:
    for name in ("20260101-s", "20260101-s2"):
        stored(plan, f"{name}-01", session=name)
        stored(plan, f"{name}-02", session=name)
    for name in ("20260101-s", "20260101-s-02"):
        assert [run.run_id for run in members(name)] == ["20260101-s-01", "20260101-s-02"]
    with pytest.raises(UsageError, match="4 runs start with"):
        members("20260101")
    assert len(members("20260101-s2")) == 2
