"""Name this program as the person who started it can type it again."""

from __future__ import annotations

import re
import shlex
import sys
from functools import cache
from pathlib import Path

NAME = "rtstone"
# Where sudo looks for programs, whatever the caller's PATH is.
_OF_SUDO = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# The name at the start of a command: of the text, quoted, after a colon, in a loop of the shell.
_COMMAND = re.compile(rf"(^|`|\(|[:;>] |\b(?:do|with|see|run|write) |sudo ){NAME}(?= [a-z])", re.M)


def typed(text: str) -> str:
    """Return a text in which each command of rtstone is one that the person's shell takes.

    Without it on PATH, as in a checkout, that is the path that the program was started by.
    """
    return _COMMAND.sub(lambda match: match[1] + shlex.quote(_name(match[1] == "sudo ")), text)


@cache
def _name(by_root: bool) -> str:
    """Return the name of the program; ``by_root``: as sudo takes it."""
    import shutil

    started = (sys.argv or [""])[0]
    if Path(started).name != NAME:  # another program, or a module
        return NAME
    path = shutil.which(NAME, path=_OF_SUDO if by_root else None)
    if path and Path(path).resolve() == Path(started).resolve():
        return NAME
    return str(Path(started).absolute()) if by_root else started
