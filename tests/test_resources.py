"""The static agents: which machine gets which, and what is said where there is none."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from rtstone import resources
from rtstone.errors import TargetError


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        ("x86_64", "x86_64"), ("amd64", "x86_64"), ("aarch64", "aarch64"), ("arm64", "aarch64"),
        ("armv7l", "armv7"), ("armv8l", "armv7"), ("armhf", "armv7"), ("riscv64", "riscv64"),
    ],
)  # fmt: skip
def test_what_uname_says_names_the_architecture(machine: str, name: str) -> None:
    architecture = resources.architecture(machine)
    assert architecture
    assert architecture.name == name
    assert architecture.agent == resources.BUILT / f"rtstone-agent-{name}"


def test_no_name_means_two_architectures() -> None:
    named = [
        {architecture.name, architecture.debian, *architecture.machines}
        for architecture in resources.architectures()
    ]
    assert len(named) == 4
    assert sum(map(len, named)) == len(set().union(*named))


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for agents, on a machine that is x86-64."""
    monkeypatch.setattr(resources, "BUILT", tmp_path)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    return tmp_path


def test_each_machine_gets_the_agent_of_its_architecture(built: Path) -> None:
    for name in ("rtstone-agent", "rtstone-agent-x86_64", "rtstone-agent-armv7"):
        (built / name).touch()
    assert resources.static_agent("x86_64") == built / "rtstone-agent-x86_64"
    assert resources.static_agent("armv7l") == built / "rtstone-agent-armv7"


def test_this_machines_own_agent_does_for_machines_of_its_kind(built: Path) -> None:
    (built / "rtstone-agent").touch()
    assert resources.static_agent("x86_64") == built / "rtstone-agent"
    with pytest.raises(TargetError, match=r"aarch64 has not been built, .*; run `make agents`"):
        resources.static_agent("aarch64")


@pytest.mark.parametrize("machine", ["armv6l", "mips", "", "i686"])
def test_a_machine_without_an_agent_is_told_which_there_are(built: Path, machine: str) -> None:
    with pytest.raises(TargetError) as refused:
        resources.static_agent(machine)
    assert str(refused.value) == (
        f"no agent for a machine of type '{machine}'; "
        "there are agents for x86_64, aarch64, armv7, riscv64"
    )
