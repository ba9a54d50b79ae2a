"""How a run is repeated: exact targets, and what the same numbers take."""

from __future__ import annotations

import pytest
from msgspec import structs

from rtstone.documents.repetition import exact_target, repeating, requirement
from rtstone.documents.run import Agent, Run, Target, Value
from rtstone.lab import kernels
from rtstone.resources import architectures
from rtstone.targets.qemu import Qemu
from tests.report.synthetic import run

DETAIL: dict[str, Value] = {
    "system": "linux-6.1", "board": "virt-a53", "seed": 1, "icount": True, "qemu": "7.2.22",
    "kernel": "6.1.0-57-arm64", "kernel_sha256": "0c95",
}  # fmt: skip


def emulated(name: str, arch: str = "aarch64", called: str | None = None, **detail: Value) -> Run:
    """Return a run on an emulated board, without results."""
    bare = run(results=[])
    agent = bare.agent and structs.replace(bare.agent, arch=arch, compiler="GNU 12.2.0")
    assert isinstance(agent, Agent)
    target = Target(name=name, detail=DETAIL | detail, called=called)
    words = ["rtstone", "run", "wakeup", "--target", called or name, "--load", "exit"]
    return structs.replace(bare, target=target, agent=agent, command=words)


@pytest.mark.parametrize(
    ("name", "detail", "exact"),
    [
        ("qemu:linux-6.1", {}, "qemu:linux-6.1@6.1.0-57+seed=1"),
        ("qemu:linux-6.1+seed=7+mem=256", {"seed": 7}, "qemu:linux-6.1@6.1.0-57+seed=7+mem=256"),
        (
            "qemu:linux-6.12-rt+append=a.b=1 nosmt",
            {"system": "linux-6.12-rt", "kernel": "6.12.117+deb13-rt-arm64"},
            "qemu:linux-6.12-rt@6.12.117+deb13+append=a.b=1 nosmt+seed=1",
        ),
        (
            "qemu:linux-6.1@6.1.0-50",
            {"system": "linux-6.1@6.1.0-50", "kernel": "6.1.0-50-arm64"},
            "qemu:linux-6.1@6.1.0-50+seed=1",
        ),
        ("qemu:freertos-a64", {"system": "freertos-a64", "seed": None, "kernel": None},
         "qemu:freertos-a64"),
        ("qemu:own/mine", {"system": "own/mine", "kernel": "6.1.1"}, "qemu:own/mine+seed=1"),
        ("qemu:kernel=/a/linux-6.1+x", {"system": "linux"}, "qemu:kernel=/a/linux-6.1+x+seed=1"),
        ("qemu:xen/linux-6.1+freertos-a64", {"system": "xen/linux-6.1+freertos-a64"},
         "qemu:xen/linux-6.1+freertos-a64+seed=1"),
    ],
)  # fmt: skip
def test_a_target_names_build_and_seed(name: str, detail: dict[str, Value], exact: str) -> None:
    bare = emulated(name)
    target = structs.replace(bare.target, detail=bare.target.detail | detail)
    assert exact_target(structs.replace(bare, target=target)) == exact


def test_the_exact_target_of_each_kernel_is_one_that_the_lab_knows() -> None:
    debian = {each.name: each.debian for each in architectures()}
    seen = 0
    for name, package in kernels.PACKAGES.items():
        for arch in package.arches:
            system = kernels.PREFIX[arch] + name
            release = f"6.12.117+deb13{kernels.suffix(name, debian[arch])}"
            exact = exact_target(emulated(f"qemu:{system}", arch, system=system, kernel=release))
            assert exact == f"qemu:{system}@6.12.117+deb13+seed=1"
            assert Qemu(exact.removeprefix("qemu:")).system.kernel == f"{name}@6.12.117+deb13"
            seen += 1
    assert seen > 18


def test_a_target_that_is_not_emulated_stays() -> None:
    plain = run(results=[])
    assert exact_target(plain) == plain.target.name
    assert repeating(plain) == plain.command and not requirement(plain)


def test_the_command_has_the_exact_targets_of_all_runs_of_it() -> None:
    both = [emulated("qemu:linux-6.1"), emulated("qemu:linux-6.12", called="mine", system=
            "linux-6.12", kernel="6.12.117+deb13-arm64")]  # fmt: skip
    words = ["rtstone", "run", "wakeup", "--target", "mine", "--target=qemu:linux-6.1"]
    first, second = (structs.replace(each, command=words) for each in both)
    again = ["rtstone", "run", "wakeup", "--target", "qemu:linux-6.12@6.12.117+deb13+seed=1",
             "--target=qemu:linux-6.1@6.1.0-57+seed=1"]  # fmt: skip
    assert repeating(first, [first, second]) == again == repeating(second, [first, second])
    assert repeating(first)[3:] == ["--target", "mine", again[-1]]
    other = structs.replace(second, command=["rtstone", "run", "x", "--target", "mine"])
    assert repeating(first, [other]) == repeating(first)


def test_what_the_same_numbers_take_is_said() -> None:
    assert requirement(emulated("qemu:linux-6.1")) == (
        "The numbers are the same again with kernel 6.1.0-57-arm64, QEMU 7.2.22 and an agent built "
        "by GNU 12.2.0, and only with this very command line: its cases share one boot, so one of "
        "them, or one load, more or fewer changes the others. `rtstone lab fetch "
        "linux-6.1@6.1.0-57` brings the kernel."
    )
    own = requirement(emulated("qemu:kernel=x", system="linux"))
    assert "kernel 6.1.0-57-arm64 (SHA-256 0c95)" in own and "lab fetch" not in own
    assert not requirement(emulated("qemu:linux-6.1", icount=False))
