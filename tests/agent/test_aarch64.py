"""The agent also builds for aarch64, and has the same benches there."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.agent.speak import AGENT, case, records

COMPILER = shutil.which("aarch64-linux-gnu-gcc")
EMULATOR = shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")


@pytest.mark.skipif(not COMPILER, reason="needs gcc-aarch64-linux-gnu and libc6-dev-arm64-cross")
@pytest.mark.skipif(not EMULATOR, reason="needs qemu-user")
def test_the_same_benches(tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "agent"
    subprocess.run(
        ["cmake", "-S", source, "-B", tmp_path, f"-DCMAKE_C_COMPILER={COMPILER}",
         "-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64"],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(
        ["cmake", "--build", tmp_path, "--parallel", "2", "--target", "rtstone-agent"],
        check=True, capture_output=True,
    )  # fmt: skip
    emulated = tmp_path / "agent"
    emulated.write_text(f'#!/bin/sh\nexec {EMULATOR} {tmp_path / "rtstone-agent"} "$@"\n')
    emulated.chmod(0o755)

    def catalogue(agent: Path) -> list[dict[str, object]]:
        done = subprocess.run([agent, "--list"], check=True, capture_output=True, timeout=60)
        return [r for r in records(done.stdout) if r["t"] == "bench"]

    assert catalogue(emulated) == catalogue(AGENT)
    for command in ("sem.wait.free", "sched.yield.pair"):
        results, end = case(f"{command} samples=50", agent=emulated)
        if end["status"] == "unsupported":
            assert "real-time" in end["reason"]
            continue
        assert end["status"] == "ok", end["reason"]
        assert results[0]["n"] == 50
