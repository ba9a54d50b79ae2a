"""What other tasks delay on FreeRTOS, on emulated boards."""

from __future__ import annotations

import pytest

from rtstone.lab import ready, systems
from tests.conftest import Cli

pytestmark = pytest.mark.lab


def needs(system: str) -> None:
    """Skip a test where the system is not there."""
    if lacking := ready.missing(systems.find(system)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")


def test_the_call_that_wakes_many_tasks_is_found(cli: Cli) -> None:
    """Setting an event makes one task after the other ready with the scheduler suspended."""
    needs("freertos-a64")
    words = ["provoke", "events", "streams", "forks", "--target", "qemu:freertos-a64", "--json"]
    done = cli(*words)
    assert done.status == 0, done.err
    (system,) = done.document["systems"]
    assert (system["unit"], system["exact"], system["controls"]) == ("instructions", True, 1)
    events, streams, forks = system["actions"]
    assert [row["action"]["name"] for row in system["actions"]] == ["events", "streams", "forks"]
    assert events["outcome"] == "beyond"
    assert "xEventGroupSetBits" in events["cause"]
    assert streams["outcome"] == "within"
    assert streams["rate"] > 0
    assert (forks["outcome"], forks["reason"]) == ("unsupported", "only Linux has it")


def test_an_image_without_room_for_it_names_the_one_that_has_it(cli: Cli) -> None:
    needs("freertos-m3")
    done = cli("provoke", "--target", "qemu:freertos-m3")
    assert (done.status, done.out) == (2, "")
    assert "has no load provoke: load provoke is in the image freertos-m3-hart" in done.says
