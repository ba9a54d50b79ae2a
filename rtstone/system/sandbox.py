"""Checks of what a sandbox refuses or a kernel lacks, however privileged this process is."""

from __future__ import annotations

from rtstone.documents.doctor import Verdict
from rtstone.system.calls import CALLS, LIVE
from rtstone.system.facts import System
from rtstone.system.findings import Finding, Seen
from rtstone.system.probes import KILLED

# What the error of a call that takes no rights means.
LIMITS = {("timer_create", "EAGAIN"): "no pending signal is left: ulimit -i"}
BUILT = {"mq_open": "CONFIG_POSIX_MQUEUE", "msgget": "CONFIG_SYSVIPC"}


def refused(seen: Seen) -> Finding:
    """Check whether each of the calls is there."""
    outcomes = {call: seen.system.probe(call.name) for call in CALLS}
    errors = {call: outcome.text for call, outcome in outcomes.items() if outcome.works is False}
    if errors:
        verdict: Verdict = "bad" if any(call.needed for call in errors) else "warn"
        text = ", ".join(f"{call.name} ({error})" for call, error in errors.items())
        remedies, filtered = [], []
        for call, error in errors.items():
            if limit := LIMITS.get((call.name, error)):
                remedies.append(limit)
            elif error == "ENOSYS" and call.name in BUILT:
                remedies.append(f"{call.name} takes a kernel with {BUILT[call.name]}")
            else:
                filtered.append(call.name)
        remedies += [way_out(seen, *filtered)] if filtered else []
        return Finding(verdict, f"refused: {text}", "; ".join(remedies))
    unknown = [outcome.text for outcome in outcomes.values() if outcome.works is None]
    return Finding("unknown", unknown[0]) if unknown else Finding("good", "none is refused")


def _opened(*names: str) -> str:
    """Return what to do where a filter refuses these calls."""
    return (
        "measure outside of the sandbox, or let its profile (a service's SystemCallFilter=) allow "
        f"{' and '.join(names)}"
    )


def fatal() -> str | None:
    """Return what to do where a filter of system calls kills the host of a run, None if none does.

    The host makes some of the calls that the agent does.
    """
    if System().status.get("Seccomp", "2") != "2":  # without /proc nothing is known
        return None
    killing = [call.name for call in CALLS if call.host and LIVE[call.name]().text == KILLED]
    if not killing:
        return None
    kills = f"a filter of system calls (seccomp) kills who calls {' or '.join(killing)}"
    return f"{kills}: {_opened(*killing)}"


def way_out(seen: Seen, *names: str) -> str:
    """Return what to do where these calls are refused however privileged a process is."""
    if seen.system.status.get("Seccomp") == "2":
        return f"a filter of system calls (seccomp) refuses it: {_opened(*names)}"
    return (
        "not a matter of rights: a sandbox (gVisor, an emulated kernel) or a security module "
        "refuses it; measure outside of it"
    )
