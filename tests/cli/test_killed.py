"""A command that is killed at any of its steps loses nothing, and the next one works."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rtstone.cli.main import _status
from tests.campaign import killing
from tests.conftest import Cli
from tests.server import killing as servers
from tests.server.pushing import arriving, stored

STRIDE = int(os.environ.get("RTSTONE_KILL_STRIDE", "7"))  # 1: at every step
CHANGES = {
    "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.symlink",
    "sqlite3.connect", "socket.connect", "http.client.send",
}  # fmt: skip
RUN = ("run", "sched.yield", "-p", "samples=50", "--target", "sim", "-q")
CAMPAIGN = """
targets = ["sim"]
measure = ["sched.yield"]
[params]
samples = 50
"""


class Steps:
    """Counts what this process does to files and sends, and kills it before one of these steps."""

    def __init__(self, at: int | None) -> None:
        self.at, self.count = at, 0
        sys.addaudithook(self.hook)
        sync = os.fsync

        def counted(fd: Any) -> None:
            self.step()
            sync(fd)

        os.fsync = counted

    def step(self) -> None:
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def hook(self, event: str, args: tuple[Any, ...]) -> None:
        writes = event == "open" and isinstance(args[2], int) and args[2] & os.O_ACCMODE
        if event in CHANGES or (writes and not str(args[0]).startswith(("/dev/", "/proc/"))):
            self.step()


def in_child(words: tuple[str, ...], at: int | None) -> int | None:
    """Carry a command out in a process of its own; return its number of steps, None if killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            steps = Steps(at)
            status = _status(list(words))
            os.write(writing, f"{steps.count} {status}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().split()
    os.waitpid(child, 0)
    if not said:
        return None
    assert said[1] in {"0", "3"}, (words, said)
    return int(said[0])


def complete(home: Path) -> dict[str, Any]:
    """Return the documents of a store's complete runs by their ids."""
    documents = [json.loads(path.read_text()) for path in (home / "runs").glob("[!.]*/run.json")]
    return {run["run_id"]: run for run in documents if run["status"] == "complete"}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a store with three runs and a campaign's."""
    home = tmp_path_factory.mktemp("template") / "home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(home))
        for _ in range(3):
            assert _status(list(RUN)) == 0
    yield home


@pytest.fixture
def tools(tmp_path: Path) -> Callable[[str], tuple[str, ...]]:
    """Return how each command is called."""
    file = tmp_path / "killed.toml"
    file.write_text(CAMPAIGN)
    samples = tmp_path / "values.txt"
    samples.write_text("".join(f"{n % 40 + 100}\n" for n in range(2000)))
    other = tmp_path / "other"

    def words(name: str) -> tuple[str, ...]:
        if name == "campaign pull" and not other.exists():
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("RTSTONE_HOME", str(other))
                assert _status(["campaign", "run", str(file)]) == 0
        return {
            "run": RUN,
            "import": ("import", "--format", "samples", "--unit", "us", str(samples)),
            "rm": ("rm", "last~1", "--yes"),
            "prune": ("prune", "--keep", "1"),
            "compare": ("compare", "last~1", "last"),
            "report": ("report", "last", "-o", str(tmp_path / "report.html")),
            "report of two": ("report", "last~1", "last", "-o", str(tmp_path / "two.html")),
            "campaign run": ("campaign", "run", str(file)),
            "campaign pull": ("campaign", "pull", str(file), str(other)),
        }[name]

    return words


def check(cli: Cli, home: Path, before: dict[str, Any], name: str) -> None:
    """Check that the store can be read, and holds all that was complete unless it was removed."""
    listed = cli("list", "runs", "--json")
    assert listed.status == 0, listed.err
    shown = cli("show", "last", "--json")
    assert shown.status in {0, 3} or len(shown.err.splitlines()) == 1, shown.err
    assert shown.status != 70, shown.err
    after = complete(home)
    gone = before.keys() - after.keys()
    assert len(gone) <= {"rm": 1, "prune": 2}.get(name, 0), gone
    assert all(after[run_id] == run for run_id, run in before.items() if run_id in after)
    for path in (home / "runs").glob("[!.]*"):
        done = cli("show", path.name)
        assert done.status in {0, 3} or len(done.err.splitlines()) == 1, (path, done.err)
        assert done.status != 70, done.err


COMMANDS = (
    "run", "import", "rm", "prune", "compare", "report", "report of two", "campaign run",
    "campaign pull",
)  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_killed_at_each_step(
    cli: Cli,
    home: Path,
    template: Path,
    tools: Callable[[str], tuple[str, ...]],
    name: str,
) -> None:
    words = tools(name)
    shutil.copytree(template, home, symlinks=True)
    before = complete(home)
    assert len(before) == 3
    count = in_child(words, None)
    assert count
    whole = complete(home)
    for at in range(count % STRIDE, count, STRIDE):
        shutil.rmtree(home)
        shutil.copytree(template, home, symlinks=True)
        assert in_child(words, at) is None, f"not killed at {at}"
        check(cli, home, before, name)
        assert in_child(words, None), f"after a kill at {at}"  # no lock stays
        check(cli, home, before, name) if name not in {"rm", "prune"} else None
        again = complete(home)
        if name not in {"rm", "run", "import"}:
            assert len(again) == len(whole), f"after a kill at {at}"
        left = [path for path in (home / "runs").rglob("*") if path.name.endswith(".new")]
        assert not left
        if name == "campaign pull":
            assert killing.left_behind(home) == []


def test_push_killed_at_each_step(
    cli: Cli, home: Path, template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each goes to a project of its own, where nothing of the run is yet."""
    shutil.copytree(template, home, symlinks=True)
    before, store = complete(home), tmp_path / "store"
    (log,) = (home / "runs").glob(f"{max(before)}/wire.log")
    monkeypatch.setenv("RTSTONE_TOKEN", servers.token(store))
    with servers.serve(store, tmp_path / "log") as server:
        address = f"http://127.0.0.1:{server.port}/p/"
        count = in_child(("push", f"{address}whole", max(before)), None)
        assert count
        for at in range(count % STRIDE, count, STRIDE):
            words = ("push", f"{address}at-{at}", max(before))
            assert in_child(words, at) is None, f"not killed at {at}"
            check(cli, home, before, "push")
            pushed = cli(*words)
            assert pushed.status == 0, (at, pushed.err)
            runs = store / "projects" / f"at-{at}" / "runs"
            assert stored(runs) == {log.parent.name}, at
            assert (runs / log.parent.name / "wire.log").read_bytes() == log.read_bytes()
            assert arriving(runs) == []
            assert "nothing is queued" in cli("push", words[1]).err, at
        done = cli("serve", "--verify", "--store", store)
        assert (done.status, done.out) == (0, "index and run directories agree\n"), done.err
    assert complete(home) == before
