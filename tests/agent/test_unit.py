"""The agent's own unit tests, as built and under AddressSanitizer and UBSan."""

from __future__ import annotations

import subprocess

import pytest

from tests.agent.speak import AGENT, BUILD, STUB, talk

PROGRAMS = [
    "recorder_test",
    "recorder_small_test",
    "recorder_tiny_test",
    "wire_test",
    "scale_test",
    "text_test",
    "whetstone_test",
    "command_test",
    "options_test",
    pytest.param("port_test", marks=pytest.mark.machine),  # of who is more urgent
    "clock_test",
    "cpus_test",
    "capacity_test",
    "evidence_test",
    "wall_test",
    "watchdog_test",
    "sim_test",
    pytest.param("load_test", marks=pytest.mark.machine),  # another test's spinning task starves it
    "rate_test",
    "rheal_test",
    "rheal_equal_test",
    "template_test",
]


@pytest.mark.parametrize("build", ["agent", "sanitized"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_unit(build: str, program: str) -> None:
    path = BUILD.parent / build / "tests" / program
    done = subprocess.run([path], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


def test_all_ports_tell_the_hash_of_what_they_share() -> None:
    agents = (AGENT, BUILD / "rtstone-agent-sim", STUB)
    hellos = [talk([], agent=agent)[0] for agent in agents]
    assert len({hello["source"] for hello in hellos}) == len(agents)
    assert len({hello["common"] for hello in hellos}) == 1
    assert {len(hello["common"]) for hello in hellos} == {16}
