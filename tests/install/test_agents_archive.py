"""The archive of the static agents: the same bytes each time, and installed without Python."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import tarfile
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from rtstone import __version__
from rtstone.resources import Architecture, architecture, architectures

ROOT = Path(__file__).parents[2]
FOLDER = f"rtstone-agents-{__version__}"
EPOCH = 1_000_000_000


@pytest.fixture(scope="module")
def agents(script: None) -> ModuleType:
    if not all(architecture.agent.exists() for architecture in architectures()):
        pytest.skip("needs the cross compilers of `make agents`")
    return import_module("agents")


@pytest.fixture(scope="module")
def unpacked(agents: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    (folder / "archive").write_bytes(agents.archive(EPOCH))
    subprocess.run(["tar", "xzf", folder / "archive", "-C", folder], check=True)
    return folder / FOLDER


def installed(folder: Path, root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--silent", "-C", folder, "install", f"DESTDIR={root}", "PREFIX=/usr", *words],
        capture_output=True, text=True, check=False,
        env={name: text for name, text in os.environ.items() if not name.startswith("MAKE")},
    )  # fmt: skip


def test_the_same_agents_give_the_same_bytes(agents: ModuleType, tmp_path: Path) -> None:
    first = agents.archive(EPOCH)
    assert agents.archive(EPOCH) == first
    (tmp_path / "archive").write_bytes(first)
    with tarfile.open(tmp_path / "archive") as archive:
        entries = archive.getmembers()
    names = [entry.name for entry in entries]
    assert names == sorted(names)
    programs = {f"{FOLDER}/{architecture.agent.name}" for architecture in architectures()}
    texts = {f"{FOLDER}/{name}" for name in (
        "LICENSE", "NOTICE", "README", "Makefile", "architectures.txt",
    )}  # fmt: skip
    assert set(names) == programs | texts
    for entry in entries:
        assert (entry.mtime, entry.uid, entry.gid, entry.uname) == (EPOCH, 0, 0, "root")
        assert entry.mode == (0o755 if entry.name in programs else 0o644)


def test_make_installs_the_agent_for_this_machine(unpacked: Path, tmp_path: Path) -> None:
    own = architecture(platform.machine())
    if not own:
        pytest.skip("no agent for this machine")
    done = installed(unpacked, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    program = tmp_path / "usr" / "bin" / "rtstone-agent"
    assert program.read_bytes() == own.agent.read_bytes()
    answer = subprocess.run(
        [program, "--list"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True,
        env={},
    ).stdout  # fmt: skip
    assert f'"agent":"{__version__}"' in answer.splitlines()[0]


@pytest.mark.parametrize(
    "architecture", architectures(), ids=lambda architecture: architecture.name
)
def test_make_installs_the_agent_for_another_machine(
    unpacked: Path, tmp_path: Path, architecture: Architecture
) -> None:
    for name in (architecture.name, architecture.debian, *architecture.machines):
        shutil.rmtree(tmp_path / "usr", ignore_errors=True)
        assert installed(unpacked, tmp_path, f"ARCH={name}").returncode == 0
        program = tmp_path / "usr" / "bin" / "rtstone-agent"
        assert program.read_bytes() == architecture.agent.read_bytes()
        assert program.stat().st_mode & 0o777 == 0o755


@pytest.mark.parametrize("name", ["sparc64", "#", "The", "v7", ""])
def test_a_machine_without_an_agent_is_refused(unpacked: Path, tmp_path: Path, name: str) -> None:
    done = installed(unpacked, tmp_path, f"ARCH={name}")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == (
        f"make: no agent for '{name}', in ARCH; see architectures.txt"
    )
    assert not (tmp_path / "usr").exists()


def test_the_text_for_people_is_short() -> None:
    assert len((ROOT / "packaging" / "agents" / "README").read_text().splitlines()) <= 12
