"""Internal errors: an exit code of their own, a file with the traceback, one line."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
import termios
import time
from array import array
from pathlib import Path

import pytest

from rtstone.cli import group, main
from tests.conftest import Cli


class SpeechlessError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def fail(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    """Let every command raise this exception."""

    def raises(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(group.group, "main", raises)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ZeroDivisionError("by\nzero \x1b[31m"), "ZeroDivisionError: by zero ?[31m; "),
        (RecursionError(), "RecursionError; "),
        (UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no"), "UnicodeEncodeError"),
        (OSError("telling nothing"), "OSError: telling nothing; "),
        (SpeechlessError(), "SpeechlessError; "),
    ],
)
def test_a_defect_is_no_verdict(
    cli: Cli, home: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: str
) -> None:
    fail(monkeypatch, error)
    done = cli("list")
    assert (done.status, done.out) == (70, "")
    (file,) = home.glob("defect-*.txt")
    assert f"internal error, {words}" in done.says
    assert str(file) in done.says
    assert done.err.count("\n") == 1
    assert "raise error\n" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_traceback_needs_no_home(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, ValueError("x"))
    (tmp_path / "file").touch()
    monkeypatch.setenv("RTSTONE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = cli("list")
    (file,) = tmp_path.glob("rtstone-defect-*.txt")
    assert (done.status, str(file) in done.says) == (70, True)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "no"))
    done = cli("list")
    assert (done.status, "the traceback could not be saved" in done.says) == (70, True)


def test_a_command_that_cannot_be_imported_is_a_defect(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("raise ImportError('broken')")
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    program = [sys.executable, "-c", "from rtstone.cli.main import main; main()"]
    done = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == main.DEFECT
    assert done.stderr.startswith("rtstone: internal error, ImportError: broken")
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [(KeyboardInterrupt(), 130, "rtstone: interrupted\n"), (BrokenPipeError(32, "x"), 0, "")],
)
def test_what_is_no_defect(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, says: str
) -> None:
    fail(monkeypatch, error)
    done = cli("list")
    assert (done.status, done.err) == (status, says)


def test_ctrl_c_while_a_file_is_awaited() -> None:
    program = [sys.executable, "-c", "from rtstone.cli.main import main; main()"]
    with subprocess.Popen([*program, "import", "-"], stdin=-1, stderr=-1) as waiting:
        assert waiting.stdin
        assert waiting.stderr
        waiting.stdin.write(b"1")
        waiting.stdin.flush()
        unread = array("i", [1])
        while unread[0]:  # until it reads
            fcntl.ioctl(waiting.stdin, termios.FIONREAD, unread)
            time.sleep(0.01)
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(60) == 130
        assert waiting.stderr.read().lstrip() == b"rtstone: interrupted\n"
