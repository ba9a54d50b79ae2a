"""Show long output in the user's pager, as git and systemctl do."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from rich.console import Console

from rtstone.report.parts.console import console

_PAGER = "less"
# As systemctl has it, but for long lines, which are folded: quit if it fits one screen, keep
# colours, do not clear the screen, say which lines of how many are shown, end at Ctrl-C as at q.
LESS = "FRXMK"


@contextmanager
def paged(file: TextIO) -> Iterator[Console]:
    """Return a console whose output is shown at the end: by the pager if it fills a terminal.

    The pager is $PAGER, else less; an empty one or `cat` is none.
    """
    out = console(file)
    command = shlex.split(os.environ.get("PAGER", _PAGER))
    if not out.is_terminal or command in ([], ["cat"]):
        yield out
        return
    with out.capture() as captured:
        yield out
    text = captured.get()
    if text.count("\n") < out.height or not _shown(text, command):
        file.write(text)
        file.flush()


def _shown(text: str, command: list[str]) -> bool:
    """Show a text in a pager; False if it cannot be started."""
    environment = {"LESS": LESS} | os.environ
    try:
        pager = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
    except OSError:
        return False
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the pager's
    try:
        with suppress(BrokenPipeError):  # the reader has seen enough
            pager.communicate(text.encode("utf-8", "replace"))
        return pager.wait() >= 0
    finally:
        signal.signal(signal.SIGINT, handler)
