"""The engine under AddressSanitizer and UBSan, on the oracle's sets."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from rtstone.simulate.engine import simulate
from rtstone.simulate.hartengine import run
from rtstone.tasks.simulation import System
from rtstone.tasks.simulation import simulate as schedule
from tests.simulate import test_engine, test_hartengine
from tests.tasks import test_simulation

ROOT = Path(__file__).parents[2]
ENGINE = ROOT / "build/sanitized/engine.so"


@pytest.mark.skipif(not ENGINE.exists(), reason="not built; run: make build/sanitized/engine.so")
def test_no_fault_in_the_engine() -> None:
    runtime = subprocess.run(
        ["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    ).stdout.strip()
    environment = os.environ | {
        "LD_PRELOAD": runtime,
        "ASAN_OPTIONS": "detect_leaks=0",  # leaks of the interpreter
        "RTSTONE_ENGINE": str(ENGINE),
    }
    command = [sys.executable, "-c", f"from {__name__} import results; print(results())"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == f"{results()}\n"


def results() -> str:
    """Return a digest of the engine's results for these sets."""
    digest = hashlib.sha256()
    for way in test_engine.WAYS:
        for drawing in test_engine.drawn(*way):
            outcome = simulate(*drawing, completions=True)
            assert outcome.completed is not None
            assert outcome.request_completed is not None
            for array in (outcome.counts, outcome.completed, outcome.request_completed):
                digest.update(array.tobytes())
            digest.update(repr(outcome.totals).encode())
    for how in test_hartengine.HOW:
        for test in test_hartengine.played(*how):
            digest.update(run(*test).counts.tobytes())
    for kind in test_simulation.KINDS:
        for _, tasks, jobs in islice(test_simulation.sets(kind), 20):
            costs = System(switch=np.array([1, 0]), resume=np.array([1]), runtime=7, period=9)
            for times in schedule(tasks, jobs, costs, end=test_simulation.LAST):
                digest.update(b"".join(array.tobytes() for array in times))
    return digest.hexdigest()
