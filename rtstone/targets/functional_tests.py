"""Functional tests of a machine that only a shell reaches; compare rtstone.system.probes.

What needs a program of rtstone's own is not tried.  Whoever is not root cannot start what they lack
the rights to, so the shell has to have those that the agent will have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rtstone.system.probes import Probe
from rtstone.targets.shell import Shell

MISSING = 127  # the exit status if there is no such program
# 1 ms in every 100 ms, as rtstone.system.probes requests.
_DEADLINE = "chrt -d -T 1000000 -D 100000000 -P 100000000 0 true"


def trials(shell: Shell, cpus: frozenset[int]) -> Mapping[str, Callable[[], Probe]]:
    """Return the tests by name; ``cpus``: those that the agent can use."""
    return {
        "realtime": lambda: _realtime(shell),
        "levels": lambda: _levels(shell),
        "deadline": lambda: _deadline(shell),
        "idle_request": lambda: _idle_request(shell),
        "agent_capabilities": lambda: Probe(False, "an uploaded agent has none"),
        "agent_group": lambda: Probe(None, "not reserved for a group"),
        "usable_cpus": lambda: Probe(True, "", cpus or None),
    }


def _outcome(shell: Shell, command: str) -> tuple[int, str]:
    """Return the exit status of a command, and the reason that it gave at its end."""
    status, output = shell.run(f"{command} 2>&1")
    text = output.decode(errors="replace").strip()
    return status, "chrt is not installed there" if status == MISSING else text


def _reason(text: str) -> str:
    return text.rpartition(": ")[2] or "no reason given"


def _realtime(shell: Shell) -> Probe:
    status, text = _outcome(shell, "chrt -f 1 true")
    if status == 0:
        return Probe(True, "SCHED_FIFO granted")
    return Probe(None if status == MISSING else False, _reason(text))


def _levels(shell: Shell) -> Probe:
    _, text = _outcome(shell, "chrt -m")
    match = re.search(r"^SCHED_FIFO\b.*\b(\d+)/(\d+)", text, re.MULTILINE)
    if match is None:
        return Probe(None, _reason(text))
    return Probe(True, str(int(match[2]) - int(match[1]) + 1))


def _deadline(shell: Shell) -> Probe:
    """Try SCHED_DEADLINE; the text of a refusal has no reason, and busybox has no such option."""
    status, text = _outcome(shell, _DEADLINE)
    return Probe(True, "SCHED_DEADLINE granted") if not status else Probe(None, _reason(text))


def _idle_request(shell: Shell) -> Probe:
    """Open it for writing, and close it, which changes nothing."""
    file = "/dev/cpu_dma_latency"
    status, text = _outcome(shell, f"[ -c {file} ] && dd if=/dev/null of={file} conv=notrunc")
    if status == 0:
        return Probe(True, "may be used")
    reasons = [_reason(line) for line in text.splitlines() if ": " in line]
    return Probe(False, reasons[0] if reasons else "No such file or directory")
