"""Commands read from a server as from a directory."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from time import time

import msgspec
import pytest

from rtstone.errors import TargetError, UsageError
from rtstone.server.client import fetch as fetching
from rtstone.server.client.fetch import named
from rtstone.server.projects import MAIN, Places
from rtstone.server.settings import Settings
from tests.conftest import Cli
from tests.server.conftest import BEGUN, DAY, Copied, Template
from tests.server.serving import Served, serving
from tests.server.test_analysis import machine, of_machine

NOW = (time() - BEGUN) / DAY


@pytest.fixture
def served(places: Places) -> Iterator[Served]:
    with serving(Settings(places.store, port=0)) as server:
        yield server


def key(served: Served, bench: str, target: str = "sim") -> str:
    listed = served.client.get("/p/main/series.json", params={"target": target}).json()["series"]
    name: str = next(head["key"] for head in listed if head["bench"] == bench)
    return name


def test_a_trend_of_a_server_is_that_of_its_directory(
    served: Served, copied: Copied, places: Places, cli: Cli
) -> None:
    for n in range(8):
        copied(f"r-{n}", day=NOW - 8 + n, scale=1.0 + (n > 4))
    served.settled()
    for words in (["dk.periodic"], ["wakeup"],
                  ["sem", "sched.yield", "--metric", "p99", "--by", "kernel"],
                  ["dk", "--target", "sim", "--metric", "max"]):  # fmt: skip
        remote = cli("trend", *words, "--json", "--store", f"{served.url}/p/main")
        here = cli("trend", *words, "--json", "--store", places.store)
        assert (remote.status, remote.err) == (0, "")
        assert remote.out == here.out
    assert len(remote.document["series"][0]["changes"]) == 1
    assert cli("trend", "mq", "--store", served.url).status == 2
    assert cli("trend", "dk", "--metric", "bound", "--store", served.url).status == 2


def test_a_trend_of_a_server_finds_the_changes_of_its_pages(
    served: Served, copied: Copied, places: Places, cli: Cli
) -> None:
    """Ten runs suffice for a change of one series alone, not of the seven that share the level."""
    for n in range(10):
        copied(f"r-{n}", day=NOW - 10 + n, scale=(1 + n % 3 / 100) * (1 + (n > 4)), edit=of_machine)
    served.settled()
    words = ("trend", "dk.periodic", "--metric", "p50", "--store")
    remote = cli(*words, f"{served.url}/p/main", "--json").document
    (series,) = remote["series"]
    page = served.client.get(
        f"/p/main/series/{key(served, 'dk.periodic', series['target'])}.json"
    ).json()
    (shown,) = [trend for trend in page["trends"] if trend["metric"] == "p50"]
    assert [change["at"] for change in series["changes"]] == [
        change["at"] for change in shown["changes"]
    ] == []  # fmt: skip
    assert series["least"] == shown["least"] > 10
    assert any(
        f"7 series of {series['target']} share the level of 5%" in remark
        for remark in remote["remarks"]
    )
    (alone,) = cli(*words, places.store, "--json").document["series"]
    assert [change["at"] for change in alone["changes"]] == [5] and alone["least"] < 10


def test_runs_are_shown_and_compared_by_their_urls(
    served: Served, copied: Copied, cli: Cli, template: Template
) -> None:
    for n in range(2):
        copied(f"r-{n}", day=NOW - 2 + n)
    served.settled()
    url = f"{served.url}/p/main/runs/r-0"
    document = cli("show", url, "--json").document
    assert document["run_id"] == "r-0"
    # From plan and logs, which were not varied, whatever the document says.
    assert document["results"] == json.loads(msgspec.json.encode(template.run.results))
    both = cli("compare", url, f"{served.url}/p/main/runs/r-1", "--json").document
    assert [column["runs"] for column in both["columns"]] == [["r-0"], ["r-1"]]
    assert cli("compare", f"{url},{served.url}/p/main/runs/r-1", template.path).status == 0
    assert cli("export", url, "--format", "csv").status == 0
    gone = cli("show", f"{served.url}/p/main/runs/r-9")
    assert gone.status == 2
    assert "no run 'r-9'" in gone.says


@pytest.mark.parametrize("url", [
    "http://h/p/main/runs/../x", "http://h/p/main/runs/a%2fb", "http://h/p/main", "http://h",
    "http://h/p/main/series/xyz", "ftp://h/runs/a", "http://h/p/main/runs/a?x=1", "http://h:x/",
])  # fmt: skip
def test_what_names_no_run_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        named(url)


def test_a_baseline_of_a_model_names_the_word_that_made_it_slower(
    served: Served, copied: Copied, cli: Cli, template: Template, tmp_path: Path
) -> None:
    for n in range(3):
        copied(f"r-{n}", day=NOW - 3 + n)
    served.settled()
    address = f"{served.url}/p/main/series/{key(served, 'dk.periodic')}"
    same = cli("check", template.path, "--baseline", address, "--json")
    assert (same.status, same.document["verdict"]) == (0, "passed")
    assert len(same.document["checks"]) > 3
    slower = tmp_path / "slower"
    shutil.copytree(copied("slower", project="lab", scale=1.5, conditions={
        "kernel.cmdline": "skew_tick=1"}), slower)  # fmt: skip
    failed = cli("check", slower, "--baseline", address)
    assert failed.status == 1
    assert "+50%" in failed.out
    by_fragment = cli("check", slower, "--baseline",
                      f"{served.url}/p/main#{key(served, 'dk.periodic')}", "--json")  # fmt: skip
    assert by_fragment.status == 1


def test_a_baseline_is_what_came_after_the_last_change(
    served: Served, copied: Copied, cli: Cli, places: Places, template: Template
) -> None:
    for n in range(6):
        copied(f"r-{n}", day=NOW - 6 + n, scale=1.0 + (n > 2))
    served.settled()
    address = f"{served.url}/p/main/series/{key(served, 'sched.yield')}"

    def against(run: Path) -> list[str]:
        report = cli("check", run, "--baseline", address, "--json").document
        baselines: list[str] = report["baselines"]
        return baselines

    assert against(template.path) == ["r-3", "r-4", "r-5"]
    done = cli("check", places.run(MAIN, "r-5"), "--baseline", address)
    assert re.search(
        r"compared only with runs since 20\S+ \S+ \(run r-3\), when p50 became worse \(\+100%\)",
        " ".join(done.out.split()),
    )
    first = cli("check", places.run(MAIN, "r-3"), "--baseline", address)
    assert "compared only" not in first.out
    assert against(places.run(MAIN, "r-5")) == ["r-3", "r-4"]  # those before it
    assert against(places.run(MAIN, "r-3")) == ["r-0", "r-1", "r-2"]
    assert cli("check", places.run(MAIN, "r-0"), "--baseline", address).status == 2


def test_single_runs_of_a_machine_are_too_few(copied: Copied, cli: Cli, places: Places) -> None:
    for n in range(12):
        machine(copied(f"r-{n}", day=n, scale=1.0 + n % 3 / 100))
    machine(copied("slower", day=19, scale=3.0))
    slower = places.run(MAIN, "slower")

    def against(*numbers: int) -> list[str]:
        return [word for n in numbers for word in ("--baseline", str(places.run(MAIN, f"r-{n}")))]

    for few in (1, 3):
        result = cli("check", slower, *against(*range(few)), "--json")
        assert (result.status, result.document["verdict"]) == (3, "inconclusive")
    assert cli("check", slower, *against(*range(12))).status == 1
    assert cli("check", places.run(MAIN, "r-5"), *against(*range(5))).status == 0
    assert cli("check", slower, "--baseline", slower).status == 2


def test_a_test_fails_if_what_it_measures_is_worse_than_a_series(
    served: Served, copied: Copied, pytester: pytest.Pytester
) -> None:
    for n in range(3):
        copied(f"r-{n}", day=NOW - 3 + n)
    served.settled()
    pytester.makepyfile(
        """
        def test_of_the_same_model(rtstone_run):
            rtstone_run("sem.post.higher", target="sim", time="20ms")

        def test_of_a_slower_one(rtstone_run):
            rtstone_run("sem.post.higher", target="sim:ose-like", time="20ms")

        def test_of_another_bench(rtstone_run):
            rtstone_run("sem.try.free", target="sim", time="1ms")
        """
    )
    address = f"{served.url}/p/main#{key(served, 'sem.post.higher')}"
    done = pytester.runpytest_inprocess("--rtstone-baseline", address)
    done.assert_outcomes(passed=2, failed=1)
    done.stdout.fnmatch_lines(["*failed*sem.post.higher*against the earlier runs*"])
    nothing = pytester.runpytest_inprocess("--rtstone-baseline", f"{served.url}/p/main#x")
    assert nothing.ret != 0


@pytest.mark.parametrize("name", ["../victim", "/tmp/victim", "a/b", "", ".", "..", "a" * 151])
def test_a_server_names_no_place_to_write_to(
    served: Served, copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Run ids come from the server, and are names of directories here."""
    copied("r-1", day=NOW - 1)
    served.settled()
    monkeypatch.setattr(fetching, "since_last_change", lambda *_: [name])
    (tmp_path / "into").mkdir()
    source = named(f"{served.url}/p/main#{key(served, 'dk.periodic')}")
    with pytest.raises(TargetError, match="as none is called"):
        fetching.baseline(source, 20, tmp_path / "into", "")
    assert list((tmp_path / "into").iterdir()) == []
    assert not (tmp_path / "victim").exists()


def test_a_server_that_lies_is_told_in_a_line(cli: Cli) -> None:
    answers = {
        "plan.json": b"{", "wire.log": b"\xff\xfe", "observations": b'{"runs": 3, "left": 0}\n',
    }  # fmt: skip

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.partition("?")[0].rpartition("/")[2]
            self.send_response(200 if name in answers else 404)
            self.end_headers()
            self.wfile.write(answers.get(name, b""))

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/p/main"
    try:
        assert cli("show", f"{url}/runs/a").status == 2
        assert "sent 0 of 3 runs" in cli("trend", "dk", "--store", url).says
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
