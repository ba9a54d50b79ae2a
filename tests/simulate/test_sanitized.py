"""The engine under AddressSanitizer and UBSan, on the sets that the oracle knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "build/sanitized/engine.so"


@pytest.mark.skipif(not ENGINE.exists(), reason="not built; run: make build/sanitized/engine.so")
def test_no_fault_in_the_engine() -> None:
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",  # those of the interpreter
        "RTSTONE_ENGINE": str(ENGINE),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
               "tests/simulate/test_engine.py", "tests/simulate/test_hartengine.py", "-k",
               "oracle"]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
