"""Determine which of the lab's systems can be started, and how to get what is missing."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import TargetError
from rtstone.lab import images, kernels
from rtstone.lab.systems import System
from rtstone.resources import BUILT

SOURCE = Path(__file__).parents[2]  # in a checkout, the directory of the Makefile
BUILD = "rtstone lab build"
INSTALL = "install a wheel made by `make dist`"  # for installations without sources
# Of the Makefile, one after the other, and the sets of packages.txt that they need.
GOALS = ("agent", "agent-aarch64", "agent-x86_64", "agent-riscv64", "freertos", "engine")
PACKAGES = ("build", "agents", "boards", "kernel")


class Missing(NamedTuple):
    """A missing component, and the command that installs it."""

    component: str
    command: str


def missing(system: System) -> list[Missing]:
    """Return the missing components of a system, empty if it is ready."""
    board, lacking = system.board, []
    brings = BUILD if _is_checkout(SOURCE) else INSTALL
    if not shutil.which(board.emulator):
        lacking.append(Missing(board.emulator, f"apt-get install {board.package}"))
    both = [system, *([system.beside] if system.beside else [])]
    for image in (part.image for part in both if part.image):
        if not (BUILT / image).exists():
            lacking.append(Missing(f"image {image}", brings))
    if any(part.kernel for part in both):
        if not (agent := images.AGENTS[board.arch]).exists():
            lacking.append(Missing(f"agent {agent.name}", brings))
        if not images.mke2fs():
            lacking.append(Missing("mke2fs", "apt-get install e2fsprogs"))
    for name in system.fetched:
        try:
            kernels.find(name, board.arch)
        except TargetError:
            noun = "hypervisor" if name in kernels.HYPERVISORS else "kernel"
            fetched = f"rtstone lab fetch {system.name}"
            how = fetched if system.hypervisor else kernels.brings(name, board.arch)
            lacking.append(Missing(f"{noun} {name}", how))
    return lacking


def _is_checkout(source: Path) -> bool:
    return (source / "Makefile").exists()


def build(source: Path = SOURCE) -> None:
    """Build agents and images, and print how long each took.

    Raises TargetError if a tool is missing, which is looked for first, or fails.
    """
    if not _is_checkout(source):
        raise TargetError(f"the lab is built in a checkout of rtstone, not in {source}; {INSTALL}")
    packaging = source / "packaging"
    check = subprocess.run(
        [packaging / "packages", "check", *PACKAGES], capture_output=True, text=True, check=False
    )
    if check.returncode:
        lines = check.stderr.replace("make: ", "").splitlines()
        raise TargetError("; ".join(line.strip() for line in lines))
    for goal in GOALS:
        log = source / "build" / f"lab-{goal}.log"
        step: list[str | Path] = [
            packaging / "step",
            f"{goal} is built",
            log,
            "make",
            "--silent",
            goal,
        ]
        if subprocess.run(step, cwd=source, check=False).returncode:
            raise TargetError(f"`make --silent {goal}` in {source} failed, as shown above")
