"""The group that alone may start the agent, as a package installs it (docs/guides/security.md)."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple


class Membership(NamedTuple):
    """A group that an agent is reserved for."""

    group: str
    joining: str | None  # what lets this user start the agent; None: they may


def membership(agent: Path) -> Membership | None:
    """Return the group whose members alone, and root, may start the agent; None: all may, or none.

    ``agent`` may be in a directory that cannot be read, or absent: None.
    """
    try:
        status = agent.stat()
        group = grp.getgrgid(status.st_gid)
    except (OSError, KeyError):
        return None
    if status.st_mode & stat.S_IXOTH or not status.st_mode & stat.S_IXGRP:
        return None
    if os.access(agent, os.X_OK):
        return Membership(group.gr_name, None)
    with suppress(KeyError):
        if pwd.getpwuid(os.getuid()).pw_name in group.gr_mem:  # but not when this session began
            return Membership(group.gr_name, f"log in again, or newgrp {group.gr_name}")
    return Membership(group.gr_name, f"sudo adduser $USER {group.gr_name}, and log in again")
