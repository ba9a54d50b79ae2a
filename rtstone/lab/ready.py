"""Determine which of the lab's systems can be started, and how to get what is missing."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import TargetError
from rtstone.lab import images, kernels
from rtstone.lab.systems import System
from rtstone.resources import BUILT

SOURCE = Path(__file__).parents[2]  # in a checkout, the directory of the Makefile
BUILD = "rtstone lab build"
INSTALL = "install a wheel made by `make dist`"  # for installations without sources
# Of the Makefile.
GOALS = ("agent", "agent-aarch64", "agent-x86_64", "agent-riscv64", "freertos", "engine")
# Programs needed to build them, each with the Debian packages that provide it.
TOOLS = {
    "make": "make",
    "gcc": "gcc libc6-dev",
    "cmake": "cmake",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu libc6-dev-arm64-cross "
    "picolibc-aarch64-linux-gnu",
    "arm-none-eabi-gcc": "gcc-arm-none-eabi picolibc-arm-none-eabi",
    "riscv64-linux-gnu-gcc": "gcc-riscv64-linux-gnu libc6-dev-riscv64-cross",
    "riscv64-unknown-elf-gcc": "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf",
    "cargo": "cargo",
}


class Missing(NamedTuple):
    """A missing component, and the command that installs it."""

    what: str
    command: str


def missing(system: System) -> list[Missing]:
    """Return the missing components of a system, empty if it is ready."""
    board, found = system.board, []
    brings = BUILD if _is_checkout(SOURCE) else INSTALL
    if not shutil.which(board.emulator):
        found.append(Missing(board.emulator, f"apt-get install {board.package}"))
    both = [system, *([system.beside] if system.beside else [])]
    for image in (one.image for one in both if one.image):
        if not (BUILT / image).exists():
            found.append(Missing(f"image {image}", brings))
    if any(one.kernel for one in both):
        if not (agent := images.AGENTS[board.arch]).exists():
            found.append(Missing(f"agent {agent.name}", brings))
        if not images.mke2fs():
            found.append(Missing("mke2fs", "apt-get install e2fsprogs"))
    for name in system.fetched:
        try:
            kernels.find(name, board.arch)
        except TargetError:
            what = "hypervisor" if name in kernels.HYPERVISORS else "kernel"
            fetched = f"rtstone lab fetch {system.name}"
            how = fetched if system.hypervisor else kernels.brings(name, board.arch)
            found.append(Missing(f"{what} {name}", how))
    return found


def _is_checkout(source: Path) -> bool:
    return (source / "Makefile").exists()


def build(source: Path = SOURCE, tools: Iterable[str] = tuple(TOOLS)) -> None:
    """Build agents and images.  Raises TargetError if a tool is missing or fails."""
    if not _is_checkout(source):
        raise TargetError(f"the lab is built in a checkout of rtstone, not in {source}; {INSTALL}")
    if lacking := [tool for tool in tools if not shutil.which(tool)]:
        packages = " ".join(TOOLS[tool] for tool in lacking)
        raise TargetError(
            f"not installed: {', '.join(lacking)}; `apt-get install {packages}` as root"
        )
    done = subprocess.run(["make", "--silent", *GOALS], cwd=source, check=False)
    if done.returncode:
        raise TargetError(f"`make {' '.join(GOALS)}` in {source} failed, as told above")
