"""The list of the lab's targets: on one screen, by system and state."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rich.text import Text

from rtstone.cli.listing import Row, matching, table
from rtstone.documents.run import QEMU
from rtstone.lab import kernels
from rtstone.lab.devices import DEVICES
from rtstone.lab.ready import missing
from rtstone.lab.systems import System, every
from rtstone.program import typed

Listed = tuple[dict[str, Any], Row]

# The states of a target in the order in which they are shown, each with what leads out of it.
_STATES = {
    "ready": "",
    "fetch": "rtstone lab fetch NAME",
    "build": "rtstone lab build NAME",
    "lacks": "rtstone lab list lacks",
}


def systems(words: Collection[str] = ()) -> list[Listed]:
    """Return the members of the lab's document for each system that has these words, and its line.

    Raises UsageError if none has them.
    """
    listed = [_listed(system) for system in every().values()]
    if not words:
        return listed
    chosen = matching([row for _, row in listed], words, "target of the lab")
    return [pair for pair in listed if pair[1] in chosen]


def _listed(system: System) -> Listed:
    lacking = missing(system)
    version = system.kernel and kernels.newest(system.kernel, system.board.arch)
    member = {
        "target": QEMU + system.name,
        "title": system.title,
        "board": system.board.name,
        "version": version,
        "preempt": list(system.preempt),
        "devices": list(system.devices),
        "ready": not lacking,
        "missing": [{"what": lack.component, "command": lack.command} for lack in lacking],
    }
    commands = {lack.command.partition(" NAME")[0] for lack in lacking}
    if not lacking:
        state = "ready"
    elif all(command.startswith("rtstone lab fetch") for command in commands):
        state = "fetch"
    elif all(command.startswith("rtstone lab build") for command in commands):
        state = "build"
    else:
        state = "lacks"
    if lacking:
        text = "; ".join(typed(f"no {lack.component}: {lack.command}") for lack in lacking)
    else:
        build = f" ({version})" if version and version not in system.name else ""
        choices = "|".join(system.preempt)
        text = f"{system.title} on {system.board.name}{build}"
        text += f", also +preempt={choices}" if choices else ""
        text += f", +device={'|'.join(system.devices)}" if system.devices else ""
    about = f"{system.title} {system.board.name} {system.board.title} {state}"
    return member, Row((QEMU + system.name, state, text), _group(system), about)


def _group(system: System) -> str:
    """Return what kind of system it is, as the overview names it."""
    if system.hypervisor:
        return "two systems under Xen"
    if not system.kernel:
        return "FreeRTOS"
    return f"Linux on {system.board.name}"


def table_lines(listed: Sequence[Listed], width: int, *, whole: bool) -> list[Text]:
    """Return a line for each system: its name, its state, and what it is or lacks."""
    return table((), [row.cells for _, row in listed], width, whole=whole)


def overview(listed: Sequence[Listed], width: int) -> list[Text | str]:
    """Return how many systems are ready, and their names by state, on at most 23 lines of 80."""
    ready = sum(member["ready"] for member, _ in listed)
    lines: list[Text | str] = [
        f"{ready} of {len(listed)} emulated targets are ready; each is {QEMU}NAME"
    ]
    groups = [*dict.fromkeys(row.group for _, row in listed)]
    rows = sorted((row for _, row in listed), key=lambda row: groups.index(row.group))
    cells = [
        (state, "  ".join(row.cells[0].removeprefix(QEMU) for row in rows if row.cells[1] == state))
        for state in _STATES
        if any(row.cells[1] == state for row in rows)
    ]
    lines += table((), cells, width, "  ", whole=True)
    prefixes = {
        f"{prefix}/: {row.group}": None
        for row in rows
        for prefix, slash, _ in [row.cells[0].removeprefix(QEMU).partition("/")]
        if slash
    }
    lines.append(Text("; ".join(prefixes)))
    lines += [typed(f"{state}: {_STATES[state]}") for state, _ in cells if _STATES[state]]
    for device in DEVICES.values():
        boards = " and ".join(device.boards)
        lines += table((), [(f"+device={device.name}", f"{device.title}; for Linux on {boards}")],
                       width, whole=True)  # fmt: skip
    lines.append(typed("`rtstone lab list linux rt` says what each of these lacks, --all of all"))
    return lines
