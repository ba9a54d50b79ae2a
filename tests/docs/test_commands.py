"""Every command in the documentation is run.

A page is a session in a store of its own, in which there are six runs already; the README is a
list of which every line stands for itself, but for the files it leaves.

They are run as they are written, but shorter: what is measured here is the documentation, so runs
that name no target go to the simulated one, and all take as little time as they can.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from functools import cache
from pathlib import Path

import pytest

from rtstone.cli.main import _status
from rtstone.resources import architecture, local_agent
from tests.agent.speak import BUILD
from tests.conftest import Cli, machine
from tests.docs.commands import PAGES, Command, commands
from tests.install.programs import needs
from tests.relay import Relay
from tests.targets import places
from tests.targets.board import NEEDED, board

pytestmark = pytest.mark.lab

TEMPLATE = BUILD / "tests" / "template-agent"
RTSTONE = [str(Path(sys.executable).parent / "rtstone")]
FILES = Path(__file__).parent / "files"  # what a reader is supposed to have
OUTPUTS = {  # of other tools, as a reader calls them: tests/formats/data has them
    "timerlat.txt": "rtla-timerlat.txt",
    "summary.xml": "rteval.xml",
    "latmus.txt": "latmus.txt",
    "zephyr.txt": "zephyr-latency.txt",
}

LISTS = {"README.md"}  # of commands that are no session
SESSION = ["compare", "last"]  # but for this one, which needs what the one before it measured
REACHES = {"targets.md"}  # tells of other machines
NEEDS = {"targets.md": NEEDED, "papers.md": needs("zstd")}
SCRIPTS = {"six-questions.md"}  # that tests/docs/test_examples.py runs

# What is not run, and why.  Each beginning must stand in some page.
NOT_HERE = {
    "tune apply": "would change this machine; tests/system applies it to a copy of one",
    "tune restore": "as tune apply",
    "check last --limit sections": "as sections",
    "run --resume": "needs a run that was interrupted; tests/cli/test_resume.py has one",
    "sections": "needs a run on an emulated board; tests/lab/test_sections.py has them",
    "explain": "needs a run on an emulated board, or a trace; tests/cli/test_explain.py has them",
    "search": "takes minutes; tests/lab/test_search.py has one",
    "growth --target qemu": "takes minutes; tests/cli/test_growth.py measures simulated systems",
    "growth wakeup --target qemu": "as growth --target qemu",
    "provoke": "takes minutes; tests/cli/test_provoke.py measures two actions",
    "tasks break": "takes minutes; tests/cli/test_tasks_break.py searches simulated systems",
    "campaign run night.toml --engine": "needs a cluster; tests/campaign/test_dask.py has one",
    "campaign pull": "needs runs of other machines; tests/campaign/test_pull.py has them",
    "simulate --engine": "as campaign run --engine",
    "serve": "goes on until it is told to end; tests/server has servers",
    "push": "needs a results server; tests/server/test_push.py has one",
    "token": "as push; tests/server/test_access.py",
    "run quick --push": "as push",
    "campaign run night.toml --push": "as push",
    "trend dk.periodic --store": "as push; tests/server/test_reading.py",
    "compare https": "as trend --store",
    "check last --baseline": "as trend --store",
    "run preemption": "takes a minute on an emulated board; tests/inputs reads its suite",
    "lab build-kernel": "takes minutes; tests/lab/test_build.py builds a tree that does not",
    "lab build": "make test does",
    "lab fetch": "make test does",
    "lab remove": "would remove this machine's; tests/lab/test_build.py has kernels to remove",
}

# What is added to make it short; a later option replaces an earlier one.
SHORTER = {
    "run": ["--time", "1ms"],
    "reproduce gutsalov last": [],  # measures nothing
    "reproduce": ["--time", "1ms"],
    "run --until": ["--until", "ci=50%,time=1ms", "-p", "samples=50"],
    "compare --run": ["--pairs", "2", "--time", "20ms"],  # in 1 ms a busy machine takes no sample
    "simulate hartstone": ["PH.3"],
    "simulate": ["--sets", "2", "--time", "2s", "--utilisation", "0.9", "--workers", "1"],
}
REACHING = ("docker", "podman", "kubectl", "lxc", "adb")  # programs that reach an agent elsewhere
LINUX = (
    "qemu:linux",
    "qemu:q35",
    "ssh:",
    "labgrid:",
)  # there a load takes a second and more, at any time
FAIR = {0, 1, 3}  # an answer: good, a gate that failed, inconclusive


@cache
def ready() -> set[str]:
    """Emulated targets that can be started here."""
    output = subprocess.run([*RTSTONE, "lab", "list", "--json"], capture_output=True, check=True)
    return {entry["target"] for entry in json.loads(output.stdout)["systems"] if entry["ready"]}


def shortened(words: list[str]) -> list[str]:
    text = " ".join(words)
    name = next((name for name in SHORTER if f"{text} ".startswith(f"{name} ")), "")
    if name == "run" and "--until" in words:  # which --time cannot stand beside
        name = "run --until"
    added = SHORTER.get(name, [])
    if added and words[:1] in (["run"], ["reproduce"]) and not {"--target", "--cpus"} & set(words):
        added = [*added, "--target", "sim"]
    reaching = words[0] != "doctor" and any(word.startswith(LINUX) for word in words)
    if reaching and "--load" not in words:
        added = [*added, "--load", "none"]
    return [*words, *added]


def is_serial(word: str) -> bool:
    """Whether it names a board, for which the template of a port stands here."""
    return word.startswith("serial:")


ON_BOARDS: set[str] = set()  # commands that have run: each takes long, and stands for itself
LACKING: set[str] = set()  # pages of which a command was left out, as a board is not ready here


def run(command: Command, page: str, cli: Cli) -> None:
    boards = {word.partition("+")[0] for word in command.words if word.startswith("qemu:")}
    if boards - ready():
        LACKING.add(page)
    if boards - ready() or command.text in ON_BOARDS:
        return  # `rtstone lab list` says what brings it; Xen, half a minute each: tests/lab
    if command.words == SESSION and page in LACKING:
        return  # the session that it compares was not measured
    if boards:
        ON_BOARDS.add(command.text)
    if command.words[:2] == ["agent", "--arch"]:
        wanted = architecture(command.words[2])
        if wanted and not wanted.agent.exists():
            return  # `make agents` brings it
    words = shortened(command.words)
    if not places.AVAILABLE and any(word.startswith("labgrid:") for word in words):
        return
    with (
        machine() if {"local", "--cpus"} & set(words) else nullcontext(),
        Relay(agent=[TEMPLATE]) if any(map(is_serial, words)) else nullcontext() as relay,
    ):
        done = cli(*(relay.target if relay and is_serial(word) else word for word in words))
    text = f"{page}:{command.line}: {command.text}: exit {done.status}\n{done.err}"
    assert done.status in FAIR, text
    assert "Traceback" not in done.err, text


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's directory, with files, and a store with six runs."""
    where: Path = tmp_path_factory.mktemp("docs")
    shutil.copytree(FILES, where, dirs_exist_ok=True)
    shutil.copytree(Path(__file__).parents[2] / "examples", where / "examples")
    for name, data in OUTPUTS.items():
        shutil.copy(Path(__file__).parents[1] / "formats" / "data" / data, where / name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RTSTONE_HOME", str(where / "home"))
        for _ in range(6):
            assert _status([*shortened(["run", "quick"]), "--quiet"]) == 0
    return where


@pytest.fixture
def where(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The directory that a page begins in, which is this process's: a process each took longer."""
    mine = Path(shutil.copytree(place, tmp_path / "reader"))
    monkeypatch.chdir(mine)
    for name, value in {"RTSTONE_HOME": f"{mine}/home", "COLUMNS": "100", "TERM": "dumb"}.items():
        monkeypatch.setenv(name, value)
    with Path(os.devnull).open(encoding="ascii") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        yield mine


@pytest.fixture
def reached(where: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a reader can reach from there: a board, places, and an agent behind programs."""
    programs = tmp_path / "bin"
    for folder in (programs, tmp_path / "board", tmp_path / "places"):
        folder.mkdir()
    for name in REACHING:
        (programs / name).write_text(f"#!/bin/sh\nexec {local_agent()}\n")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    with ExitStack() as running:
        remote = running.enter_context(board(tmp_path / "board"))
        remote.client(programs)
        shutil.copy(remote.folder / "key", where / "lab_key")
        if places.AVAILABLE:
            shelf = running.enter_context(places.places(tmp_path / "places", remote))
            for name, value in shelf.settings.items():
                monkeypatch.setenv(name, value)
        yield


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=NEEDS.get(page.name, ()))
        for page in PAGES
        if page.name not in SCRIPTS
    ],
)
def test_the_commands_of_a_page_work(
    page: Path, place: Path, where: Path, cli: Cli, request: pytest.FixtureRequest
) -> None:
    if page.name in REACHES:
        request.getfixturevalue("reached")
    page_commands = [
        command
        for command in commands(page.read_text(encoding="utf-8"))
        if not any(" ".join(command.words).startswith(name) for name in NOT_HERE)
    ]
    for command in page_commands:
        if page.name in LISTS and command.words != SESSION:
            shutil.rmtree(where / "home")
            shutil.copytree(place / "home", where / "home")
        run(command, page.name, cli)


def test_what_is_not_run_is_written_somewhere() -> None:
    texts = {
        " ".join(command.words)
        for page in PAGES
        for command in commands(page.read_text(encoding="utf-8"))
    }
    assert all(any(text.startswith(name) for text in texts) for name in NOT_HERE)


def test_commands_are_found_as_a_reader_sees_them() -> None:
    page = (
        "text\n    for i in 1 2; do rtstone run a; done   # why\n\n`rtstone no`\n```sh\n"
        ".venv/bin/rtstone show \\\n"
        "    last\nrtstones\n```\n```\nrtstone no\n```\n    printf x | rtstone no\n"
    )
    assert list(commands(page)) == [
        Command(2, ["run", "a"]),
        Command(2, ["run", "a"]),
        Command(6, ["show", "last"]),
    ]
