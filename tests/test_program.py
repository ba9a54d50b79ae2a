"""The name of the program in what a person may type next."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtstone import program
from rtstone.program import typed


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Start rtstone by a path that is not on PATH, and return that path."""
    path = tmp_path / "bin" / "rtstone"
    path.parent.mkdir()
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.setattr(sys, "argv", [str(path), "show"])
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    program._name.cache_clear()
    yield path
    program._name.cache_clear()


def test_a_command_has_the_path_that_the_program_was_started_by(started: Path) -> None:
    for text in (
        "rtstone show last", "see `rtstone show last`", "a page: rtstone report last",
        "all: rtstone show a; a page: rtstone report a", "takes 60 s (rtstone run null)",
        "for i in 1 2 3; do rtstone run null; done; rtstone compare a b", "-> rtstone doctor",
    ):  # fmt: skip
        assert typed(text) == text.replace("rtstone", str(started))
    for text in (
        "not an rtstone agent, /x",
        "rtstone: no run",
        "/opt/rtstone run",
        "rtstone 0.3.0",
    ):
        assert typed(text) == text


def test_a_path_with_blanks_is_quoted(started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blank = started.parent / "a b" / "rtstone"
    blank.parent.mkdir()
    started.rename(blank)
    monkeypatch.setattr(sys, "argv", [str(blank)])
    assert typed("rtstone show last") == f"'{blank}' show last"


def test_on_path_it_is_its_name(started: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{started.parent}:/usr/bin")
    assert typed("see `rtstone list`, or sudo rtstone tune apply") == (
        f"see `rtstone list`, or sudo {started} tune apply"  # sudo has a path of its own
    )
    other = started.with_name("other")
    other.mkdir()
    (other / "rtstone").write_text("#!/bin/sh\n")
    (other / "rtstone").chmod(0o755)
    program._name.cache_clear()
    monkeypatch.setenv("PATH", f"{other}:{started.parent}")  # another rtstone comes first
    assert typed("rtstone list") == f"{started} list"


@pytest.mark.parametrize("argv", [[], [""], ["-c"], ["/usr/bin/pytest"]])
def test_another_program_has_the_name(
    started: Path, monkeypatch: pytest.MonkeyPatch, argv: list[str]
) -> None:
    monkeypatch.setattr(sys, "argv", argv)
    assert typed("rtstone list") == "rtstone list"


def test_what_a_run_advises_can_be_typed(tmp_path: Path) -> None:
    """Each hint of a program that is not on PATH, typed as it stands."""
    programs = Path(sys.executable).parent
    environment = {**os.environ, "PATH": "/usr/bin:/bin"}
    words = ["bin/rtstone", "run", "null", "--target", "sim", "-p", "samples=200"]
    (tmp_path / "bin").symlink_to(programs)
    done = subprocess.run(
        words, cwd=tmp_path, env=environment, text=True, capture_output=True, check=True
    )
    hints = done.stdout.strip().splitlines()[-1].split("; ")
    assert [hint.partition(": ")[0] for hint in hints] == ["all results", "a page"]
    for hint in hints:
        command = hint.partition(": ")[2]
        assert command.startswith("bin/rtstone ")
        subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment, check=True, capture_output=True
        )
