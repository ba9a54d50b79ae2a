"""What shells are told that complete a command line, and what they make of it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
import pytest

from rtstone.cli.completion import SCRIPTS, answer
from rtstone.cli.group import COMMANDS, group
from rtstone.cli.parameters import PUBLICATION, Word
from tests.conftest import Cli

RTSTONE = Path(sys.executable).parent / "rtstone"
BREAKS = " \t\n\"'><=;|&(:"  # of bash

# Parameters with values that nobody can foretell: numbers, texts, and names of CPUs.
FREE = {
    "KEY=VALUE", "S", "T", "N", "N,...", "U", "LIST", "SHARE", "WHEN", "P", "KWIPS", "ci=2%", "ID",
    "[PH.1 ...]", "[WORD]...", "SHELL", "NAME", "AGE", "W", "H", "above=50us",
    "URL", "DIR or URL", "HOST:PORT", "ID or NAME",
    "E", "K/N", "HOST:[DIR] or DIR", "LATENCY", "'BENCH p999<=100us'",
}  # fmt: skip


def words(line: str, breaks: str = "") -> list[str]:
    """The words that may stand at the end of the line."""
    return [row.split("\t")[1] for row in answer(line, breaks) if row.startswith("plain\t")]


def commands() -> Iterator[tuple[str, click.Command]]:
    context = click.Context(group)
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command
        yield name, command
        for inner in getattr(command, "commands", {}).values():
            yield inner.name, inner


def test_every_value_is_completed_or_free() -> None:
    """A new parameter must not go without."""
    for name, command in commands():
        for param in command.params:
            flag = isinstance(param, click.Option) and (param.is_flag or param.count)
            typed = not isinstance(param.type, click.types.StringParamType)
            assert flag or typed or param.metavar in FREE, (name, param.name)


def test_commands_options_and_names() -> None:
    assert words("rtstone ") == list(COMMANDS)
    assert words("rtstone re") == ["report", "reproduce"]
    assert "--target" in words("rtstone run --t")
    assert words("rtstone tune ") == ["apply", "restore", "status"]
    assert words("rtstone run qui") == ["quick"]
    assert {"dk.periodic", "dk.schedlat"} <= set(words("rtstone run quick dk."))
    assert {"heavy", "hackbench"} <= set(words("rtstone run --load h"))
    assert "none" in words("rtstone compare --load ")
    assert {"local", "sim", "qemu:freertos-m3"} <= set(words("rtstone run --target "))
    assert words("rtstone doctor --target loc") == words("rtstone tune apply --target loc")
    assert words("rtstone doctor --target loc") == ["local"]
    assert words("rtstone list --suite quic") == ["quick"]
    assert "governor,idle" in words("rtstone tune apply --only governor,i")
    assert "gutsalov" in words("rtstone reproduce ")
    assert "run" in words("rtstone schema ")
    assert "percentiles" in words("rtstone plot last --kind ")
    assert "cyclictest" in words("rtstone import --format ")
    assert words("rtstone lab build-kernel --board q") == ["q35"]
    assert answer("rtstone check --budget ") == answer("rtstone import ") == ["file"]


def test_runs_are_known_by_their_ids_and_by_age(cli: Cli) -> None:
    assert answer("rtstone show ") == ["file"]
    assert cli("run", "null", "--target", "sim", "--time", "1ms").status == 0
    last, run = words("rtstone show ")
    assert last == "last"
    assert words(f"rtstone report {run[:10]}") == [run]
    assert words(f"rtstone compare last,{run[:10]}") == [f"last,{run}"]
    assert words("rtstone show ./") == []


def test_of_a_word_only_what_the_shell_replaces() -> None:
    assert words("rtstone run --target qemu:freertos-m3-", BREAKS) == ["freertos-m3-hart"]
    assert words("rtstone run --target=qemu:freertos-m3-", BREAKS) == ["freertos-m3-hart"]
    assert words("rtstone run --target=loc", BREAKS) == ["local"]
    assert words("rtstone run --target=loc") == ["--target=local"]


def test_a_name_that_a_shell_would_carry_out_is_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = ["$(id)", "a;id", "a b", "`id`", "a\nplain\tb", "*", "-rf", "a\x1b[2J", "good"]
    source = partial(map, lambda name: Word(name, "a\n\x1b[2Jb"), hostile)
    monkeypatch.setattr(PUBLICATION, "sources", (source,))
    (row,) = answer("rtstone reproduce ")
    assert row == "plain\tgood\ta ?[2Jb"


def completing(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [RTSTONE], env=os.environ | {"_RTSTONE_COMPLETE": "1", "COMP_LINE": line} | environment,
        capture_output=True, text=True, check=False, timeout=20,
    )  # fmt: skip


def test_an_error_is_silent(tmp_path: Path) -> None:
    for line in ("", "rtstone 'unclosed", "rtstone no-such-command ", "rtstone run --no-such "):
        done = completing(line)
        assert (done.returncode, done.stderr) == (0, ""), line
    done = completing("rtstone run dk.", RTSTONE_AGENT=str(tmp_path))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("shell", SCRIPTS)
def test_each_script_completes_in_its_shell(shell: str, cli: Cli, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(cli("completion", shell).out)
    line = "rtstone run --target=sim:lynx-"
    ask = {
        "bash": f"source {script}; COMP_LINE='{line}' COMP_POINT={len(line)}; _rtstone rtstone; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
        # Both functions of zsh work in its line editor alone.
        "zsh": f"compdef() {{ }}; compadd() {{ print -rl -- $found }}; source {script}; "
        f"words=({line}); CURRENT=3; _rtstone",
        "fish": f"source {script}; complete --do-complete '{line}'",
    }
    options = {"bash": ["--norc"], "zsh": ["-f"], "fish": ["--no-config"]}[shell]
    done = subprocess.run(
        [shell, *options, "-c", ask[shell]], capture_output=True, text=True, check=False,
        env=os.environ | {"PATH": f"{RTSTONE.parent}:{os.environ['PATH']}"}, timeout=30,
    )  # fmt: skip
    assert done.stderr == ""
    (row,) = done.stdout.splitlines()
    assert row.split("\t")[0] == ("lynx-486" if shell == "bash" else "--target=sim:lynx-486")
