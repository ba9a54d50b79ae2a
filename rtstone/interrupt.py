"""Turn SIGINT, SIGTERM and SIGHUP into a flag that the program checks where it can stop cleanly."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any


class Interrupt:
    """Within its ``with`` block, the signals only set ``requested``."""

    def __init__(self) -> None:
        self.requested = False
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
        self.requested = True
