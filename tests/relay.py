"""A serial line that damages what it carries, with an agent as the board at its other end."""

from __future__ import annotations

import os
import random
import select
import subprocess
import threading
import time
import tty
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NOISE = (
    b"[    4.812345] usb 1-1: new high-speed device\n", b"\x00\xff\xfe#\r", b'#rts 7 {"t":"end"',
    b"\n#cmd 3 stop 00000000\n", b"Login: ",
)  # fmt: skip


@dataclass
class Harm:
    """What happens to the bytes of one direction; numbers are per byte."""

    seed: int = 0
    drop: float = 0.0
    flip: float = 0.0
    double: float = 0.0
    noise: float = 0.0
    count: int = 0  # of damages so far
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.each = self.drop + self.flip + self.double + self.noise

    def __call__(self, data: bytes) -> bytes:
        if not self.each:
            return data
        out, at = bytearray(), 0
        while (step := int(self.chance.expovariate(self.each))) < len(data) - at:
            out += data[at : at + step]
            at += step
            out += self._one_byte(data[at : at + 1])
            at += 1
            self.count += 1
        return bytes(out + data[at:])

    def _one_byte(self, byte: bytes) -> bytes:
        kind = self.chance.random() * self.each
        if (kind := kind - self.drop) < 0:
            return b""
        if (kind := kind - self.flip) < 0:
            return bytes([byte[0] ^ 1 << self.chance.randrange(8)])
        if (kind - self.double) < 0:
            return 2 * byte
        return byte + self.chance.choice(NOISE)


@dataclass(kw_only=True)
class Relay:
    """A pty whose slave is ``device``, with a board behind: an agent that speaks over its pipes.

    ``baud``: None for as fast as it goes.  ``up`` and ``down`` change what goes to the host and to
    the agent.
    """

    agent: Sequence[str | Path]
    baud: int | None = None
    up: Callable[[bytes], bytes] = bytes
    down: Callable[[bytes], bytes] = bytes
    boots: int = 0

    def __enter__(self) -> Relay:
        self._host, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._host, False)
        self.device = os.ttyname(self._slave)
        self.boot()
        self._over = False
        self._thread = threading.Thread(target=self._carry)
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._over = True
        self._thread.join()
        self._end()
        os.close(self._host)
        os.close(self._slave)

    @property
    def target(self) -> str:
        return f"serial:{self.device},{self.baud or 115200}"

    def boot(self) -> None:
        """Start the board, or reset it."""
        if self.boots:
            self._end()
        self.boots += 1
        self._board = subprocess.Popen(
            self.agent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            bufsize=0,
        )  # fmt: skip

    def _end(self) -> None:
        self._board.kill()
        self._board.communicate()

    def _carry(self) -> None:
        owed = time.monotonic()
        while not self._over:
            assert self._board.stdin
            assert self._board.stdout
            output = self._board.stdout.fileno()
            readable, _, _ = select.select([self._host, output], [], [], 0.05)
            most = 1 << 14 if self.baud is None else 256
            size = 0
            if output in readable:
                chunk = os.read(output, most)
                size += len(chunk)
                self._write(self.up(chunk))
                if not chunk:
                    time.sleep(0.05)  # it has ended
            if self._host in readable:
                with suppress(OSError):
                    chunk = os.read(self._host, most)
                    size = max(size, len(chunk))
                    if changed := self.down(chunk):
                        self._board.stdin.write(changed)
            if self.baud:
                owed = max(owed, time.monotonic()) + 10 * size / self.baud
                time.sleep(max(0.0, owed - time.monotonic()))

    def _write(self, data: bytes) -> None:
        while data and not self._over:
            select.select([], [self._host], [], 0.05)
            with suppress(BlockingIOError):
                data = data[os.write(self._host, data) :]
