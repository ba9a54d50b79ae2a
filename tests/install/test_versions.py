"""`rtstone --version`, in a line and with what a report of a defect needs."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from rtstone import __version__, resources
from rtstone.cli import versions
from tests.install.programs import needs

PROGRAM = Path(sys.executable).with_name("rtstone")


def printed(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, check=False)


def rows(text: str) -> dict[str, str]:
    """The rows by their labels, each in one line."""
    lines = text.replace("\n" + " " * 11, " ").splitlines()
    return {label: rest.strip() for label, _, rest in (line.partition(" ") for line in lines)}


def test_the_version_is_one_line() -> None:
    done = printed("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"rtstone {__version__}\n", "")


@pytest.mark.parametrize("order", [("--version", "--verbose"), ("--verbose", "--version")])
def test_all_that_is_installed_is_short(order: tuple[str, str]) -> None:
    done = printed(*order)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"rtstone {__version__}"
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    labels = {"package", "Python", "platform", "agents", "images", "engine", "optional", "licence"}
    assert labels | {"rtstone"} <= rows(done.stdout).keys()


def test_verbose_alone_says_what_it_is_for() -> None:
    done = printed("--verbose", "list")
    assert done.returncode == 2
    assert done.stderr == "rtstone: --verbose is for --version; write rtstone --version --verbose\n"


def test_agents_stand_by_their_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "BUILT", tmp_path)
    monkeypatch.setenv("RTSTONE_AGENT", str(tmp_path / "local"))
    assert rows(versions.full())["agents"] == "none"
    (tmp_path / "local").write_bytes(b"\x7fELF\0" + __version__.encode() + b"\0")
    (tmp_path / "rtstone-agent-sim").mkdir()
    (tmp_path / "rtstone-agent-armv7").write_bytes(b"\x7fELF\0" + b"0.0.1\0")
    (tmp_path / "rtstone-agent-riscv64").write_bytes(__version__.encode() + b".1\0")
    assert rows(versions.full())["agents"] == (
        f"{__version__}: local; unreadable: sim; another version: armv7, riscv64"
    )


def test_optional_packages_are_those_of_extras_for_users(monkeypatch: pytest.MonkeyPatch) -> None:
    optional = rows(versions.full())["optional"]
    assert f"matplotlib {metadata.version('matplotlib')}" in optional
    assert f"psycopg {metadata.version('psycopg')}" in optional
    assert "pytest" not in optional
    assert "numpy" not in optional
    monkeypatch.setattr(metadata, "requires", lambda name: ['absent>=2; extra == "server"'])
    assert rows(versions.full())["optional"] == "none"


@needs("git")
def test_a_commit_is_that_of_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "path", lambda *names: tmp_path.joinpath("rtstone", *names))
    assert "commit" not in rows(versions.full())
    for words in (("init", "--quiet"), ("commit", "--quiet", "--allow-empty", "-m", "first")):
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", tmp_path, *identity, *words], check=True)
    head = subprocess.run(
        ["git", "-C", tmp_path, "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    )
    assert rows(versions.full())["commit"] == head.stdout[:12]
