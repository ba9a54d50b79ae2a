"""An uploaded agent removes its own program, and nothing else."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import AGENT, command_lines

pytestmark = pytest.mark.machine

NAME = "rtstone-upload-0123456789abcdef"


def uploaded(folder: Path) -> Path:
    folder.mkdir()
    return Path(shutil.copy(AGENT, folder / "agent"))


def output_of(program: Path, *options: str, commands: str = command_lines("bye").decode()) -> str:
    done = subprocess.run(
        [program, *options], input=commands, capture_output=True, text=True, check=True
    )
    return done.stdout


@realtime
def test_it_measures_without_its_file_and_its_directory(tmp_path: Path) -> None:
    """One that executes itself does so without the file, too."""
    program = uploaded(tmp_path / NAME)
    out = output_of(
        program,
        "--uploaded",
        commands=command_lines("case 1 proc.create kind=spawn samples=5", "bye").decode(),
    )
    assert '"n":5' in out
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--keep-idle"]])
def test_without_the_option_it_stays(tmp_path: Path, options: list[str]) -> None:
    program = uploaded(tmp_path / NAME)
    output_of(program, *options)
    assert program.exists()


def test_another_directory_is_not_touched(tmp_path: Path) -> None:
    for name in ("rtstone", "rtstone-4711-0123456789abcdef", "upload"):
        program = uploaded(tmp_path / name)
        output_of(program, "--uploaded")
        assert program.exists()


def test_what_else_lies_in_the_directory_stays(tmp_path: Path) -> None:
    program = uploaded(tmp_path / NAME)
    (program.parent / "mine").touch()
    output_of(program, "--uploaded")
    assert [file.name for file in program.parent.iterdir()] == ["mine"]


@pytest.mark.parametrize("planted", ["file", "link", "directory"])
def test_what_was_put_in_its_place_stays(tmp_path: Path, planted: str) -> None:
    """The kernel names a removed program as before, with "(deleted)" behind it."""
    program = uploaded(tmp_path / NAME)
    with program.open("rb") as held:
        program.unlink()
        for victim in (program, program.with_name("agent (deleted)")):
            if planted == "directory":
                victim.mkdir()
            elif planted == "link":
                victim.symlink_to(AGENT)
            else:
                victim.write_text("mine")
        subprocess.run(
            ["agent", "--uploaded"], executable=f"/proc/self/fd/{held.fileno()}",
            input=command_lines("bye"), capture_output=True, pass_fds=[held.fileno()], check=True,
        )  # fmt: skip
    assert len(list(program.parent.iterdir())) == 2
    assert AGENT.exists()


def test_a_link_in_the_place_of_its_directory_is_not_followed(tmp_path: Path) -> None:
    program = uploaded(tmp_path / NAME)
    with program.open("rb") as held:
        program.parent.rename(tmp_path / "away")
        program.parent.symlink_to(tmp_path / "away")
        # the kernel knows it by its new name, which is not that of an upload
        subprocess.run(
            ["agent", "--uploaded"], executable=f"/proc/self/fd/{held.fileno()}",
            input=command_lines("bye"), capture_output=True, pass_fds=[held.fileno()], check=True,
        )  # fmt: skip
    assert (tmp_path / "away/agent").exists()
