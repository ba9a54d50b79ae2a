"""The demonstration: a year of five targets, in which there is something to find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rtstone.errors import UsageError
from rtstone.server import demo
from rtstone.server.settings import Settings
from tests.conftest import Cli
from tests.server.serving import Served, serving


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store of the user's own, while the demonstration is made."""
    return tmp_path_factory.mktemp("own")


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory, own: Path) -> Iterator[Served]:
    with (
        serving(Settings(tmp_path_factory.mktemp("demo"), port=0)) as served,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RTSTONE_HOME", str(own))
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


def test_its_machines_have_distributions_and_only_one_misses(shown: Served) -> None:
    listing = shown.client.get("/p/demo/latencies.json").json()
    missed = {each["target"]: each["main"]["missed"] for each in listing["targets"]}
    assert {name for name, count in missed.items() if count} == {"pi4-stock"}
    for each in listing["targets"]:
        (result,) = each["results"]
        if each["target"] == "sim":  # a model has the same cost every time
            assert len(result["histogram"]) == 1
            continue
        assert each["main"]["series"]["load"] == "heavy"
        assert len(result["histogram"]) > 50
        assert result["p50"] < result["p99"] < result["p999"] < result["max"]


def test_the_mixture_is_what_it_says(shown: Served) -> None:
    """Against samples that are drawn from its three parts."""
    chance = np.random.default_rng(1)
    for tail in (*demo._RT[:2], *demo._STOCK[:2]):
        n = 200_000
        part = chance.random(n)
        body = chance.lognormal(0.0, tail.body, n)
        shoulder = chance.lognormal(np.log(2.0), 0.2, n)
        far = 2.0 * (1.0 + chance.pareto(tail.alpha, n))
        late = part < tail.tail + tail.shoulder
        drawn = np.sort(np.where(part < tail.tail, far, np.where(late, shoulder, body)))
        at = np.array([0.9, 1.0, 1.2, 2.0, 3.0, 10.0, 100.0])
        shares = np.searchsorted(drawn, at, side="right") / n
        assert tail.upto(at) == pytest.approx(shares, abs=0.006)
        assert tail.upto(at)[-2:] == pytest.approx(shares[-2:], abs=0.001)
        assert demo._shares(tail).sum() == pytest.approx(1.0)


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


def test_the_users_own_store_is_not_touched(shown: Served, own: Path) -> None:
    assert shown.client.get("/p/demo/overview.json").json()["targets"]
    assert list(own.rglob("*")) == []


def test_the_users_own_store_is_never_filled(cli: Cli, home: Path) -> None:
    for arguments in ((), ("--store", home)):
        done = cli("serve", "--demo", *arguments)
        assert done.status == 2
        assert "a store of its own" in done.err
    assert not home.exists()
