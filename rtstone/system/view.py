"""Checks of what this process is shown: /proc, /sys, /dev, and the place for results."""

from __future__ import annotations

from rtstone.system.findings import Finding, Seen

READ = ("sys/",)
HIDDEN = {"0", "off"}  # what hidepid= is where nothing is hidden


def proc(seen: Seen) -> Finding:
    """Check whether /proc shows everything; its absence makes much unknown, and nothing good."""
    system = seen.system
    options: dict[str, str] = {}  # of the mount that counts, the last one
    for line in (system.read("proc/self/mountinfo") or "").splitlines():
        before, _, after = line.partition(" - ")
        places, kinds = before.split(), after.split()
        if len(places) > 4 and places[4] == "/proc" and len(kinds) > 2:
            pairs = (word.partition("=") for word in kinds[2].split(","))
            options = {name: value for name, _, value in pairs if value not in HIDDEN}
    if not system.names("proc"):
        return Finding("warn", "not mounted", "mount it: mount -t proc proc /proc")
    if len(system.status.get("NSpid", "").split()) > 1:
        return Finding(
            "warn",
            "that of another PID namespace, where processes have other numbers",
            "mount that of this one: mount -t proc proc /proc (unshare --mount-proc)",
        )
    if options.get("subset") == "pid":
        return Finding(
            "warn",
            "shows processes only (subset=pid)",
            "mount it without subset=pid: the rest is unknown",
        )
    if not seen.moments[1].whole:
        hidden = f"hidepid={options['hidepid']}" if "hidepid" in options else "hidepid"
        return Finding(
            "warn",
            f"hides other users' processes ({hidden})",
            "run doctor as root, who sees them, or as a member of the group of its option gid=",
        )
    return Finding("good", "all can be seen")


def sys(seen: Seen) -> Finding:
    """Check whether /sys is there."""
    if not seen.system.names("sys"):
        return Finding("warn", "not mounted")
    return Finding("good", "mounted")
