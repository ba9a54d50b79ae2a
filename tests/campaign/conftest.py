"""A board that fails when it is told to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from rtstone.campaign import running
from rtstone.targets import model
from rtstone.targets.sim import Sim

Board = Callable[[Sequence[int]], str]


@pytest.fixture
def board(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Board:
    """Return what makes a target whose agent fails at these of its starts, counted from 1.

    Planning starts it once, a job twice: for its list of benches, and for its run.  Targets rest
    for a moment only.
    """
    monkeypatch.setattr(running, "RESTS_S", (0.05, 0.05, 0.05))

    def make(dead: Sequence[int]) -> str:
        sim = Sim()
        agent = [sim.agent, *model.arguments(model.find("default"), sim._words())]
        script = tmp_path / "board.sh"
        script.write_text(
            "#!/bin/sh\n"
            f"n=$(($(cat {tmp_path}/starts 2>/dev/null || echo 0) + 1))\n"
            f"echo $n >{tmp_path}/starts\n"
            f'case " {" ".join(map(str, dead))} " in *" $n "*)\n'
            '    echo "the board is off" >&2; exit 1 ;;\nesac\n'
            f"exec {shlex.join(agent)}\n"
        )
        script.chmod(0o755)
        return f"exec:{script}"

    return make
