from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rtstone.store.index import find
from tests.conftest import Cli, Fake


def test_show(fake: Fake, cli: Cli) -> None:
    cli("run", "ctx.ballast", "-p", "ballast=0,1,33")
    done = cli("show", "last")
    assert done.status == 0
    for part in ("cpu.model", "Imaginary", "ballast=33", "+2 ns per task", "grows", "over"):
        assert part in done.out
    document = cli("show", "last", "--json")
    assert document.out == cli("show", find("last"), "--json").out
    assert document.document["schema"] == "rtstone.run/1"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "last"], "no run 'last'"),
        (["show", "nothing"], "no run 'nothing'"),
        (["show"], "Missing argument"),
        (["shwo"], "did you mean 'show'"),
        (["list", "benchs"], "did you mean 'benches'"),
        (["list", "sem.post.hihger"], "did you mean 'sem.post.higher'"),
        (["report", "last", "-o", "x.html"], "no run 'last'"),
    ],
)
def test_bad_requests(fake: Fake, cli: Cli, arguments: list[str], told: str) -> None:
    done = cli(*arguments)
    assert done.status == 2
    assert told in done.says


def test_a_killed_host_leaves_a_run_that_can_be_shown(fake: Fake, cli: Cli, home: Path) -> None:
    cli("run", "null")
    next(home.glob("runs/*/run.json")).unlink()
    assert cli("show", "last").status == 0
    assert json.loads(cli("list", "runs", "--json").out)["runs"][0]["status"] == "unfinished"


def test_lists(fake: Fake, cli: Cli) -> None:
    for what, part in [
        ("benches", "ctx.ballast"), ("suites", "quick"), ("loads", "none"), ("targets", "local"),
    ]:  # fmt: skip
        assert part in cli("list", what).out
        assert part in json.dumps(cli("list", what, "--json").document[what])
    assert cli("list").out == cli("list", "benches").out
    assert cli("list", "runs").status == 0


def test_one_bench(fake: Fake, cli: Cli) -> None:
    out = cli("list", "ctx.ballast").out
    for part in ("Title of ctx.ballast", "0 to 1024", "one of fifo, rr"):
        assert part in out
    params = cli("list", "benches", "--json").document["benches"][0]["params"]
    assert {"name", "type", "unit", "default", "min", "max", "help"} <= params[0].keys()


def test_a_report(fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cli("run", "null")
    html = pytest.importorskip("rtstone.report.html")
    monkeypatch.setattr(html, "render", lambda runs, path: path.write_text(runs[0].run_id))
    done = cli("report", "last", "last", "-o", tmp_path / "x.html")
    assert done.status == 0
    assert (tmp_path / "x.html").read_text() == find("last").name

    def fail(runs: object, path: Path) -> None:
        path.write_text("")

    monkeypatch.setattr(html, "render", fail)
    done = cli("report", "last", "-o", tmp_path / "no" / "x.html")
    assert done.status == 2
    assert "cannot write the report" in done.says


def modules(*arguments: str) -> set[str]:
    """What a command imports."""
    script = (
        "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
        "from rtstone.cli.main import main; main()"
    )
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


HEAVY = {"numpy", "scipy", "jinja2", "asyncio", "importlib.metadata"}


def test_help_imports_nothing_heavy() -> None:
    loaded = modules("--help")
    assert not loaded & (HEAVY | {"rich", "msgspec", "sqlite3", "subprocess", "json", "difflib"})


def test_show_imports_nothing_it_does_not_need(fake: Fake, cli: Cli) -> None:
    cli("run", "null")
    assert not modules("show", "last") & HEAVY
    assert not modules("show", "last", "--json") & (HEAVY | {"rich"})


def test_no_colour_where_there_is_no_terminal(fake: Fake, cli: Cli) -> None:
    fake(sched="other")
    assert "\x1b" not in cli("run", "null").out
