"""Determine which of the lab's systems can be started, and how to get what is missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import TargetError
from rtstone.lab import images, kernels
from rtstone.lab.systems import SYSTEMS, System
from rtstone.resources import BUILT

SOURCE = Path(__file__).parents[2]  # in a checkout, the directory of the Makefile
BUILD = "rtstone lab build"
INSTALL = "install a wheel made by `make dist`"  # for installations without sources
# What runs on this machine: goals of the Makefile, beside those of the systems.
GOALS = ("agent", "engine")
# Sets of packages.txt that agents of other machines and images need.
AGENT_PACKAGES, IMAGE_PACKAGES = ("build", "agents"), ("build", "boards", "kernel")


class Missing(NamedTuple):
    """A missing component, and the command that installs it."""

    component: str
    command: str


def missing(system: System) -> list[Missing]:
    """Return the missing components of a system, empty if it is ready."""
    board, lacking = system.board, []
    brings = f"{BUILD} {system.name}" if _is_checkout(SOURCE) else INSTALL
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


def _needs(systems: Sequence[System]) -> tuple[list[str], list[str]]:
    """Return the goals of the Makefile that systems need, and the sets of packages that those do.

    Goals and sets are each there once.
    """
    both = [part for s in systems for part in (s, s.beside) if part]
    agents = [f"agent-{part.board.arch}" for part in both if part.kernel]
    images = [f"image-{part.image.removesuffix('.elf')}" for part in both if part.image]
    packages = [*(AGENT_PACKAGES if agents else ()), *(IMAGE_PACKAGES if images else ())]
    return list(dict.fromkeys([*agents, *images])), list(dict.fromkeys(packages))


def _is_checkout(source: Path) -> bool:
    return (source / "Makefile").exists()


def build(wanted: Sequence[System] = (), source: Path = SOURCE) -> None:
    """Build what these systems need, or all, one after the other, and print how long each took.

    Raises TargetError if a tool is missing, which is looked for first, or fails.
    """
    if not _is_checkout(source):
        raise TargetError(f"the lab is built in a checkout of rtstone, not in {source}; {INSTALL}")
    goals, packages = _needs(wanted or list(SYSTEMS.values()))
    if not wanted:
        goals = [*GOALS, *goals]
    packaging = source / "packaging"
    check = subprocess.run(
        [packaging / "packages", "check", *packages], capture_output=True, text=True, check=False
    )
    if check.returncode:
        lines = check.stderr.replace("make: ", "").splitlines()
        raise TargetError("; ".join(line.strip() for line in lines))
    for number, goal in enumerate(goals, 1):
        log = source / "build" / f"lab-{goal}.log"
        done = f"{number} of {len(goals)}: {goal} is built"
        step: list[str | Path] = [packaging / "step", done, log, "make", "--silent", goal]
        if subprocess.run(step, cwd=source, check=False).returncode:
            raise TargetError(f"`make --silent {goal}` in {source} failed, as shown above")
