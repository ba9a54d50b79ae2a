"""Turn SIGINT, SIGTERM and SIGHUP into a flag that the program checks where it can stop cleanly.

A second Ctrl-C does not wait for what takes its time to stop.  Programs that were started end with
this one, however it ends.
"""

from __future__ import annotations

import os
import shutil
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import Any

APART_S = 0.3  # between two Ctrl-C of a person; what passes a signal on sends its own at once


def bound(command: Sequence[str], number: signal.Signals = signal.SIGKILL) -> list[str]:
    """Return the command so that it gets this signal if this process ends, as by SIGKILL.

    It does not begin if this process has ended before that was arranged.
    """
    keeper = shutil.which("setpriv")
    if keeper is None:
        return list(command)
    name = number.name.removeprefix("SIG")
    if_alive = ("sh", "-c", 'test "$PPID" = "$0" && exec "$@"', str(os.getpid()))
    return [keeper, "--pdeathsig", name, *if_alive, *command]


def end_with(parent: int) -> bool:
    """Have this process killed when its parent ends; return False if that has ended already."""
    import ctypes  # takes its time, and only workers need it

    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0)  # PR_SET_PDEATHSIG
    return os.getppid() == parent


class Interrupt:
    """Within its ``with`` block, the signals only set ``requested``.

    ``insisted``: Ctrl-C was pressed again.
    """

    def __init__(self) -> None:
        self.requested = self.insisted = False
        self._since = 0.0
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupt:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = signal.signal(number, self._request)
            self._before[number] = before
            if number == signal.SIGHUP and before == signal.SIG_IGN:  # by nohup
                signal.signal(number, before)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: FrameType | None) -> None:
        now = time.monotonic()
        if not self.requested:
            self.requested, self._since = True, now
        elif number == signal.SIGINT and now - self._since > APART_S:
            self.insisted = True
