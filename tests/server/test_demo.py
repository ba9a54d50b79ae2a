"""The demonstration: a year of five targets, in which there is something to find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rtstone.errors import UsageError
from rtstone.server import demo
from rtstone.server.settings import Settings
from tests.server.serving import Served, serving


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(Settings(tmp_path_factory.mktemp("demo"), port=0)) as served:
        steps: list[tuple[int, int]] = []
        demo.fill(served.database, served.places, lambda done, total: steps.append((done, total)))
        assert steps == [(done, 6) for done in range(6)]  # five targets, and the index
        served.settled()
        yield served


def test_two_targets_got_worse_and_one_is_silent(shown: Served) -> None:
    overview = shown.client.get("/p/demo/overview.json").json()
    worse = {entry["series"]["target"] for entry in overview["worse"]}
    assert (worse, overview["pending"]) == ({"pi4-rt", "gateway-x6425"}, 0)
    assert [entry["name"] for entry in overview["targets"] if entry["silent_s"]] == ["plc-j1900"]


def test_its_campaign_is_nearly_over(shown: Served) -> None:
    campaign = shown.client.get("/p/demo/campaigns/release.json").json()
    assert (campaign["jobs"]["done"], campaign["jobs"]["planned"]) == (17, 1)
    assert all(cell["judged"]["of"] == cell["jobs"]["done"] for cell in campaign["cells"])


def test_what_is_made_up_says_so(shown: Served) -> None:
    runs = shown.client.get("/p/demo/search.json?target=pi4-rt").json()["runs"]
    document = shown.client.get(f"/p/demo/runs/{runs[0]['run_id']}/run.json").json()
    assert document["notes"] == [demo._NOTE]


def test_a_store_with_runs_is_not_filled(shown: Served) -> None:
    with pytest.raises(UsageError, match="the store has runs"):
        demo.fill(shown.database, shown.places)


def test_nothing_is_left_of_what_was_simulated(shown: Served) -> None:
    assert not list(Path(shown.places.store).glob(".demo-*"))
