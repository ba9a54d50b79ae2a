"""The fake agent in memory: a link without a process, for scenarios in which no time passes."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import deque
from pathlib import Path
from typing import Any

from rtstone.errors import TargetError
from rtstone.targets.base import Link, Options
from rtstone.targets.process import _fate
from tests.fake_agent import Ended, FakeAgent, noted


class _Hung(Exception):  # noqa: N818
    """The agent says nothing more."""


class _Agent(FakeAgent):
    def hang(self) -> None:
        raise _Hung


class Played(Link):
    """Replaces the process that the local target starts, and ends in the same way."""

    def __init__(self, program: Path, options: Options) -> None:
        self._scenario: dict[str, Any] = json.loads(os.environ["FAKE_AGENT"])
        words = ["--list"] * options.catalogue + ["--keep-idle"] * options.keep_idle
        noted(self._scenario, *words)
        self._agent = _Agent(self._scenario, self._hear)
        self._commands: deque[str] = deque()
        self._heard = bytearray()
        self._ended: Ended | None = None
        self._closed = self._hung = False
        self._do(self._agent.catalogue if options.catalogue else self._agent.start)
        if options.catalogue:
            self._ended = Ended(0)

    def _hear(self, data: bytes) -> None:
        self._heard += data

    def _do(self, act: Any, *words: str) -> None:
        try:
            act(*words)
        except Ended as ended:
            self._ended = ended
        except _Hung:
            self._hung = True

    def send(self, line: str) -> None:
        self._commands.append(line)

    def read(self, timeout: float) -> bytes | None:
        """Return a line; commands are answered when nothing is left to read, as if immediately."""
        while not self._heard and not self._hung and self._ended is None and self._commands:
            self._do(self._agent.take, self._commands.popleft())
            if self._agent.over and self._ended is None:
                self.stop()
        if self._heard:
            line, end, rest = bytes(self._heard).partition(b"\n")
            self._heard = bytearray(rest)
            return line + end
        if self._ended is None:
            time.sleep(timeout)
            return None
        if self._ended.status:
            raise TargetError(f"the agent {_fate(self._ended.status)}{self.last_words()}")
        return b""

    def stop(self) -> None:
        """End it at once; one that hangs is killed without the usual grace period."""
        if self._ended is None and not self._hung:
            self._do(self._agent.end)
        self._ended = self._ended or Ended(-signal.SIGKILL if self._hung else 0)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.stop()
            if self._ended and self._ended.status:
                noted(self._scenario, "--sweep")

    def last_words(self) -> str:
        words = " ".join(self._ended.words.split()) if self._ended else ""
        return f"; its output ends: {words}" if words else ""
