"""What a person at a terminal meets: the verdict alone, and the pager."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from rtstone.cli.pager import paged
from tests.conftest import Cli, Fake


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pager that keeps what it is given; the terminal has ten lines."""
    pages = tmp_path / "kept"
    program = tmp_path / "pager"
    program.write_text(f'#!/bin/sh\ncat >{pages}\necho "$LESS" >>{pages}\n')
    program.chmod(0o755)
    for name, value in (("PAGER", str(program)), ("LINES", "10"), ("COLUMNS", "40")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("LESS", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    return pages


def lines(file: io.StringIO, n: int) -> str:
    with paged(file) as out:
        for k in range(n):
            out.print(f"line {k}")
    return file.getvalue()


def test_what_fills_a_terminal_goes_to_the_pager(pager: Path) -> None:
    assert lines(Terminal(), 12) == ""
    assert pager.read_text() == "".join(f"line {k}\n" for k in range(12)) + "FRXMK\n"


@pytest.mark.parametrize(("file", "n"), [(Terminal(), 9), (io.StringIO(), 50)])
def test_what_fits_or_is_read_by_a_program_does_not(pager: Path, file: io.StringIO, n: int) -> None:
    assert lines(file, n).splitlines()[-1] == f"line {n - 1}"
    assert not pager.exists()


@pytest.mark.parametrize("program", ["", "cat", "/nowhere/pager"])
def test_without_a_pager_all_is_printed(
    pager: Path, monkeypatch: pytest.MonkeyPatch, program: str
) -> None:
    monkeypatch.setenv("PAGER", program)
    assert lines(Terminal(), 12).count("line") == 12
    assert not pager.exists()


def test_quiet_leaves_the_verdict(fake: Fake, cli: Cli) -> None:
    fake(missed=7)
    done = cli("run", "dk.periodic", "-q")
    assert (done.status, done.err) == (0, "")
    assert done.out == (
        "Not fit for a period of 1 ms: 7 of 1 007 activations missed, without load.\n"
    )
    assert cli("show", "last", "-q").out == done.out


def test_after_a_run_off_a_terminal_ten_lines_follow_those_of_the_cases(
    fake: Fake, cli: Cli
) -> None:
    fake(missed=7)
    done = cli("run", "dk.periodic", "null", "ctx.ballast")
    assert len(done.out.splitlines()) <= 10
    assert "rtstone show" in done.out.splitlines()[-1]
    first, *cases = done.err.splitlines()
    assert first.startswith("3 cases")
    assert all("/" in line.split()[0] for line in cases)
