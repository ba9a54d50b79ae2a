"""From a campaign in the lab to who wants to know what got worse, and why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree as Xml

import pytest

from rtstone.server.projects import Places
from rtstone.server.settings import Settings
from tests.conftest import Cli
from tests.lab.test_repeat import skip_unless_ready
from tests.server.serving import Served, serving

pytestmark = pytest.mark.lab

KERNELS = ("linux-6.1", "freertos-m3")
WORD = "audit=1"  # has the kernel look at every system call
ATOM = "{http://www.w3.org/2005/Atom}"


@pytest.fixture
def served(places: Places, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    with serving(Settings(places.store, port=0)) as server:
        monkeypatch.setenv("RTSTONE_TOKEN", server.token("push"))
        yield server


def campaign(folder: Path, name: str, *targets: str) -> Path:
    path = folder / f"{name}.toml"
    listed = ", ".join(f'"qemu:{target}"' for target in targets)
    path.write_text(
        f'title = "{name}"\ntargets = [{listed}]\nmeasure = ["sched.yield"]\n'
        '[params]\nsamples = ["200"]\n'
    )
    return path


def test_a_slower_command_line_is_found_by_everyone_who_asks(
    served: Served, cli: Cli, tmp_path: Path
) -> None:
    for name in KERNELS:
        skip_unless_ready(name)
    before = campaign(tmp_path, "before", *KERNELS)
    planted = campaign(tmp_path, "planted", f"{KERNELS[0]}+append={WORD}", *KERNELS[1:])
    for plan in (before, planted):
        done = cli("campaign", "run", plan, "--push", served.url)
        assert done.status == 0, done.err
        served.settled()
    overview = served.client.get("/p/main/overview.json").json()
    assert len(overview["targets"]) == len(KERNELS)
    assert {change["series"]["target"] for change in overview["worse"]} == {"qemu:linux-6.1"}
    first = overview["worse"][0]
    assert first["differences"][0]["come"] == [WORD]
    page = served.client.get("/p/main/").text
    assert "1 of 2 targets got worse in 30 days: qemu:linux-6.1." in page
    assert WORD in page
    entry = Xml.fromstring(served.client.get("/p/main/feed.atom").content).find(f"{ATOM}entry")
    assert entry is not None
    assert WORD in (entry.findtext(f"{ATOM}content") or "")
    badge = served.client.get(f"/p/main/badge/{first['series']['key']}.svg").text
    assert "worse since" in badge
    slower = f"{served.url}/p/main/runs/{first['at_run']}"
    for baseline in (f"runs/{first['before_run']}", f"series/{first['series']['key']}"):
        failed = cli("check", slower, "--baseline", f"{served.url}/p/main/{baseline}")
        assert failed.status == 1, failed.err
        assert f"kernel command line: + {WORD}" in failed.out
    assert served.client.get("/p/main/campaigns/planted.json").json()["jobs"]["done"] == 2
