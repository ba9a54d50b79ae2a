"""Guests show to the instruction what a deadline server takes from a busy SCHED_FIFO task."""

from __future__ import annotations

import os

import pytest

from rtstone.lab.ready import missing
from rtstone.lab.systems import find
from tests.bench.servers import PER_MS, SETTINGS, Spun, spun

pytestmark = pytest.mark.lab


def ready(kernel: str) -> None:
    if lacking := missing(find(kernel)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    if kernel != "linux-6.12" and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("takes long: RTSTONE_LAB=all runs it")


def paused(seen: Spun, ms: int, flag: str) -> bool:
    """Return whether it was paused for that long each second, but for a tick or two of 4 ms."""
    return (
        seen.gaps in (3, 4)
        and ms - 2 <= (seen.longest or 0) / PER_MS <= ms + 8
        and abs(seen.share - (1 - ms / 1000)) < 0.02
        and seen.flags == [flag]
    )


@pytest.mark.parametrize("kernel", ["linux-6.12", "linux-6.12-rt", "linux-unstable-rt"])
def test_the_server_pauses_a_busy_task_whatever_the_throttling_is(kernel: str) -> None:
    ready(kernel)
    assert paused(spun(kernel, SETTINGS["RT throttling off"]), 50, "server")


@pytest.mark.parametrize("kernel", ["linux-6.12-rt", "linux-unstable", "linux-unstable-rt"])
def test_an_enlarged_server_pauses_for_longer_and_none_never(kernel: str) -> None:
    ready(kernel)
    assert paused(spun(kernel, SETTINGS["server 200 ms"]), 200, "server")
    off = spun(kernel, SETTINGS["server 0"])
    assert (off.gaps, off.flags, off.share > 0.999) == (0, [], True)


def test_before_there_were_servers_throttling_paused_it() -> None:
    ready("linux-6.1")
    assert paused(spun("linux-6.1", SETTINGS["as it comes"]), 50, "throttled")
    assert spun("linux-6.1", SETTINGS["RT throttling off"]).gaps == 0
