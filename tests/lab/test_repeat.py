"""Every emulated target twice, the second time stopped again and again: the same bytes.

Booting all of them takes minutes, so by itself only the quickest of each kind runs; with
RTSTONE_LAB=all in the environment it is all that are ready.
"""

from __future__ import annotations

import os
from typing import Any

import pytest

from rtstone.lab.ready import missing
from rtstone.lab.systems import SYSTEMS, find, split
from rtstone.targets.qemu import Qemu
from tests.conftest import Cli, disturbed

pytestmark = pytest.mark.lab

IDENTITY = {"run_id", "created", "duration_s"}  # the members in which documents differ
QUICK = {"freertos-a64", "freertos-m3", "linux-6.1"}
NAMES = [listed.argument for listed in Qemu.listed()[:-1]]
CASES = ["null", "sched.yield.pair", "sem.post.higher", "dk.periodic"]


def document(cli: Cli, name: str) -> dict[str, Any]:
    target = f"qemu:{name}"
    done = cli("run", *CASES, "--target", target, "-p", "samples=100", "--json")
    assert done.status == 0, done.err
    return done.document


QUIET: dict[str, dict[str, Any]] = {}


def quiet(cli: Cli, name: str) -> dict[str, Any]:
    """The same undisturbed, of which both tests need one."""
    return QUIET.get(name) or QUIET.setdefault(name, document(cli, name))


def skip_unless_ready(name: str) -> None:
    if name not in QUICK and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("takes long: RTSTONE_LAB=all runs it")
    if lacking := missing(find(split(name)[0])):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")


@pytest.mark.parametrize("name", NAMES)
def test_a_target_repeats_itself_to_the_instruction(cli: Cli, name: str) -> None:
    skip_unless_ready(name)
    first = quiet(cli, name)
    with disturbed():
        second = document(cli, name)
    assert {key for key in first if first[key] != second[key]} <= IDENTITY
    assert [r["status"] for r in first["results"]] == ["ok"] * len(CASES)
    assert {r["unit"] for r in first["results"]} == {"instructions"}


@pytest.mark.parametrize("name", [name for name, system in SYSTEMS.items() if system.kernel])
def test_another_seed_is_another_sample(cli: Cli, name: str) -> None:
    """Else the seeds of a published table would prove nothing."""
    skip_unless_ready(name)
    first, second = quiet(cli, name), document(cli, f"{name}+seed=2")
    histograms = [[r["histogram"] for r in d["results"]] for d in (first, second)]
    assert histograms[0] != histograms[1]
