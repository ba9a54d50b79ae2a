"""`rtstone agent`: the file it writes is the agent, and can be run."""

from __future__ import annotations

import os
import platform
from hashlib import sha256
from pathlib import Path

import pytest

from rtstone import resources
from tests.conftest import Cli

OWN = b"\x7fELF" + bytes(3000)
ARMV7 = b"\x7fELF for a board" + bytes(30_000)


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Agents for this machine, which is x86-64, and for ARMv7."""
    folder = tmp_path / "_agent"
    folder.mkdir()
    (folder / "rtstone-agent").write_bytes(OWN)
    (folder / "rtstone-agent-armv7").write_bytes(ARMV7)
    monkeypatch.setattr(resources, "BUILT", folder)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.mark.parametrize("arch", ["armv7", "armv7l", "armhf"])
def test_it_is_written_executable_and_says_what_it_is(cli: Cli, arch: str) -> None:
    before = os.umask(0o027)
    try:
        done = cli("agent", "--arch", arch, "-o", "board")
    finally:
        os.umask(before)
    hashed = sha256(ARMV7).hexdigest()
    assert (done.status, done.err) == (0, "")
    assert done.out == f"board: agent for armv7, 30 kB, SHA-256 {hashed}\n"
    assert Path("board").read_bytes() == ARMV7
    assert Path("board").stat().st_mode & 0o777 == 0o750


def test_what_was_there_is_replaced_and_made_executable(cli: Cli) -> None:
    Path("board").write_text("an older agent")
    Path("board").chmod(0o644)
    assert cli("agent", "--arch=armv7", "-o", "board").status == 0
    assert Path("board").read_bytes() == ARMV7
    assert Path("board").stat().st_mode & 0o777 == 0o755


def test_by_default_it_is_this_machines(cli: Cli) -> None:
    assert cli("agent", "-o", "own").out.startswith("own: agent for x86_64, 3 kB")
    assert Path("own").read_bytes() == OWN


def test_into_a_pipe_goes_the_agent_and_nothing_else(cli: Cli, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        done = cli("agent", "--arch", "armv7", "-o", str(pipe))
        assert (done.status, done.out, os.read(reader, 1 << 16)) == (0, "", ARMV7)
        assert "agent for armv7" in done.err
    finally:
        os.close(reader)


def test_alone_it_lists_the_architectures(cli: Cli) -> None:
    head, *rows = cli("agent").out.splitlines()
    assert head.split() == ["arch", "uname", "-m", "Debian", "agent"]
    assert [row.split()[0] for row in rows] == ["x86_64", "aarch64", "armv7", "riscv64"]
    assert rows[0].split() == ["x86_64", "x86_64", "amd64", "3", "kB"]
    assert rows[2].split() == ["armv7", "armv7l,", "armv8l", "armhf", "30", "kB"]
    assert rows[3].endswith("not built")


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (
            ("--arch", "mips", "-o", "board"), 2,
            "unknown architecture 'mips', in --arch; "
            "there are agents for x86_64, aarch64, armv7, riscv64",
        ),
        (
            ("--arch", "armv7"), 2,
            "no file to write the agent to; write --arch armv7 -o FILE",
        ),
        (("--arch", "armv7", "-o", "none/board"), 2, "cannot write none/board, in -o: No such"),
        (("--arch", "riscv64", "-o", "board"), 4, "the agent for riscv64 has not been built"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(
    cli: Cli, arguments: tuple[str, ...], status: int, says: str
) -> None:
    done = cli("agent", *arguments)
    assert (done.status, done.out) == (status, "")
    assert done.says.startswith(f"rtstone: {says}")
    assert not Path("board").exists()


def test_a_machine_without_an_agent_must_name_one(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "ppc64le")
    done = cli("agent", "-o", "board")
    assert (done.status, done.says) == (
        2,
        "rtstone: no agent for this machine, 'ppc64le'; "
        "write --arch A: x86_64, aarch64, armv7, riscv64",
    )
