"""The agent also builds for AArch64, with the same benches."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agent.speak import AGENT, Json, case, listed

COMPILER = shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")


def without_texts(bench: Json) -> Json:
    """Remove the texts from a bench's table: a guest's agent leaves them to the local one."""
    params = [param | {"help": ""} for param in bench["params"]]
    return bench | {"params": params} | dict.fromkeys(("title", "source", "help"), "")


@pytest.mark.skipif(not COMPILER, reason="needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross")
@pytest.mark.skipif(not EMULATOR, reason="needs qemu-user")
def test_the_same_benches(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    subprocess.run(["make", "--silent", "agent-aarch64"], cwd=root, check=True, capture_output=True)
    built = root / "build" / "guest-aarch64" / "rtstone-agent"
    emulated = tmp_path / "agent"
    emulated.write_text(f'#!/bin/sh\nexec {EMULATOR} {built} "$@"\n')
    emulated.chmod(0o755)

    def catalogue(agent: Path) -> list[Json]:
        return [without_texts(bench) for bench in listed("bench", agent)]

    assert catalogue(emulated) == catalogue(AGENT)
    for command in ("sem.wait.free", "sched.yield.pair"):
        results, end = case(f"{command} samples=50", agent=emulated)
        if end["status"] == "unsupported":
            assert "real-time" in end["reason"]
            continue
        assert end["status"] == "ok", end["reason"]
        assert results[0]["n"] == 50
