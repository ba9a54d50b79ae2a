"""A traced case in a guest: who kept the CPU is named, and the segments are the sample."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from rtstone.explain.explain import explain
from rtstone.explain.live import traced
from rtstone.interrupt import Interrupt
from rtstone.lab import ready, systems
from rtstone.store.rundir import load
from tests.conftest import Cli

pytestmark = pytest.mark.lab

SYSTEM = "linux-6.1"
LOADED = ["-p", "samples=60", "-p", "period=20ms", "--load", "unmap"]


def test_the_system_call_that_kept_the_cpu_is_found(cli: Cli, tmp_path: Path) -> None:
    """Unmapping takes some 100,000 instructions, in which this kernel is not preempted."""
    if lacking := ready.missing(systems.find(SYSTEM)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    sentences = []
    for seed in (1, 2):
        place = tmp_path / f"run-{seed}"
        done = cli("run", "dk.periodic", *LOADED, "--target", f"qemu:{SYSTEM}+seed={seed}",
                   "--trace", "above=500us", "--out", place, "-q")  # fmt: skip
        assert done.status == 0, done.err
        run = load(place)
        (result,) = run.results
        assert (result.status, "traced" in result.flags) == ("ok", True)
        culprits = traced(place, result)
        assert 1 <= len(culprits) <= 4
        values = {worst.index: worst.value for worst in result.worst}
        for index in culprits:
            explanation = explain(place, run, result, str(index), "median", interrupt=Interrupt())
            assert explanation.source == "trace"
            segments = explanation.way.segments
            assert explanation.lost == 0
            assert explanation.way.sample.value == values[index]
            assert sum(segment.length for segment in segments) == values[index]
            assert all(a.start + a.length == b.start for a, b in itertools.pairwise(segments))
            sentences.append(explanation.sentence)
    # Of a task that was in its call when recording went on, the call is not known.
    assert all('the thread "init"' in sentence for sentence in sentences), sentences
    assert any('"init", in munmap,' in sentence for sentence in sentences), sentences
