"""The runs of a session, found by its name."""

from __future__ import annotations

import json

import pytest

from rtstone.documents.plan import Plan
from rtstone.errors import UsageError
from rtstone.store import selection
from rtstone.store.selection import chosen, members
from tests.conftest import Cli
from tests.store.test_removal import stored


def test_targets_stay_in_the_order_they_were_asked_for(plan: Plan, cli: Cli) -> None:
    """Threads store their runs in any order."""
    for number in (2, 100, 1, 99):
        stored(plan, f"20260101-{number:02}", session="20260101")
    ids = [f"20260101-{number}" for number in ("01", "02", "99", "100")]
    for name in ("20260101", "20260101-02", "last"):
        assert [run.run_id for run in members(name)] == ids


def test_every_command_takes_a_session_and_last_is_all_of_it(plan: Plan, cli: Cli) -> None:
    """Alone, `last` is all that was measured at once; beside other names it is a single run."""
    stored(plan, "20251231-a")
    ids = [f"20260101-{number:02}" for number in (1, 2, 3)]
    for run_id in ids:
        stored(plan, run_id, session="20260101")
    names = [path.name for path in chosen(["last"])]
    assert names == [path.name for path in chosen(["20260101"])] == ids
    assert [path.name for path in chosen(["20260101-02"])] == ["20260101-02"]
    assert [path.name for path in chosen(["last~1"])] == ["20260101-02"]
    assert [path.name for path in chosen(["last~3", "last"])] == ["20251231-a", "20260101-03"]
    assert [path.name for path in chosen(["20260101-02", "20260101"])] == [ids[1], ids[0], ids[2]]
    for name in ("last", "20260101"):
        document = json.loads(cli("show", name, "--json").out)
        assert document["schema"] == "rtstone.session/1"
        assert [run["run_id"] for run in document["runs"]] == ids
        shown = cli("show", name)
        assert shown.status == 0
        assert all(run_id in shown.out for run_id in ids)
        assert len(cli("show", name, "-q").out.splitlines()) >= 3
        refused = cli("export", name, "--format", "csv")
        assert (refused.status, f"name one of {', '.join(ids)}" in refused.says) == (2, True)
        refused = cli("show", name, "--worst-case")
        assert (refused.status, f"name one of {', '.join(ids)}" in refused.says) == (2, True)
    assert cli("export", ids[1], "--format", "csv").status == 0


def test_the_session_of_the_last_run_is_known_without_its_document(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are large, and the catalogue has what selects them."""
    ids = [f"20260101-{number:02}" for number in (1, 2)]
    for run_id in ids:
        stored(plan, run_id, session="20260101")
    monkeypatch.setattr(selection, "load", None)
    assert [path.name for path in chosen(["last"])] == ids


def test_a_session_is_not_mixed_with_one_whose_name_begins_alike(plan: Plan) -> None:
    for name in ("20260101-s", "20260101-s2"):
        stored(plan, f"{name}-01", session=name)
        stored(plan, f"{name}-02", session=name)
    for name in ("20260101-s", "20260101-s-02"):
        assert [run.run_id for run in members(name)] == ["20260101-s-01", "20260101-s-02"]
    with pytest.raises(UsageError, match="4 runs start with"):
        members("20260101")
    assert len(members("20260101-s2")) == 2
