"""Files that a person names: none can make rtstone wait."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rtstone.files import content
from tests.conftest import Cli


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (os.mkfifo, "a pipe"),
        (bind, "a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
)
def test_what_may_have_no_end_is_not_read(
    tmp_path: Path, make: Callable[[Path], object], kind: str
) -> None:
    make(tmp_path / "x.toml")
    with pytest.raises(OSError, match=f"it is {kind}, not a regular file"):
        content(tmp_path / "x.toml")


def test_a_file_is_read_to_its_end_or_one_byte_more_than_allowed(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"12345")
    assert content(tmp_path / "x") == b"12345"
    assert content(tmp_path / "x", 3) == b"1234"
    with pytest.raises(IsADirectoryError):
        content(tmp_path)
    with pytest.raises(FileNotFoundError):
        content(tmp_path / "y")


def test_a_pipe_that_was_given_is_read(tmp_path: Path) -> None:
    """As by <(command) of a shell, or as standard input by its name."""
    program = "import sys, pathlib, rtstone.files as f; print(f.content(pathlib.Path(sys.argv[1])))"
    for name in ("/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"):
        done = subprocess.run(
            [sys.executable, "-c", program, name], input=b"text", capture_output=True, check=True
        )
        assert done.stdout == b"b'text'\n"


@pytest.mark.parametrize(
    "command",
    [
        ("run", "PIPE"), ("check", "last", "--budget", "PIPE"), ("import", "PIPE"),
        ("run", "--target", "sim:PIPE"), ("campaign", "run", "PIPE"),
    ],
)  # fmt: skip
def test_each_command_names_the_pipe_at_once(
    cli: Cli, tmp_path: Path, command: tuple[str, ...]
) -> None:
    os.mkfifo(tmp_path / "x.toml")
    cli("run", "null", "--target", "sim", "--time", "1ms")
    done = cli(*(word.replace("PIPE", str(tmp_path / "x.toml")) for word in command))
    assert done.status == 2
    assert "it is a pipe, not a regular file" in done.err
    assert done.err.count("\n") == 1
