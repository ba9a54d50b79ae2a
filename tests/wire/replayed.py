"""A recorded conversation with a real agent, told again with some of its records changed."""

from __future__ import annotations

import json
import time
import zlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rtstone.targets.base import Link, Options
from rtstone.wire.reader import Reader, Record

Json = dict[str, Any]
MOST_S = 10  # that a host may take to see that nothing more comes


def recorded(log: Path) -> list[Json]:
    """Return the records in a log, all of which must be sound."""
    reader, bodies = Reader(), []
    for line in log.read_bytes().splitlines():
        for event in reader.feed(line):
            assert isinstance(event, Record)
            bodies.append(json.loads(line.split(b" ", 2)[2].rsplit(b" ", 1)[0]))
    assert not reader.defects
    return bodies


class Replayed(Link):
    """An agent that answers each command as it was answered when the conversation was recorded.

    ``changed``: what it sends in place of some records, by their numbers.  What is asked for again
    it sends as before, and whatever else it is told it only echoes.  ``forever``: what it says
    whenever it has nothing else to say.
    """

    def __init__(
        self, bodies: Sequence[Json], changed: Mapping[int, list[str]], forever: str | None
    ) -> None:
        self._answers: dict[str, list[str]] = {}
        self._due: deque[str] = deque()
        self._seq, self._over, self._forever = 0, False, forever
        self._end = time.monotonic() + MOST_S
        command = ""
        for number, body in enumerate(bodies):
            if body["t"] == "heard":
                command = body["text"]
                self._answers[command] = list(changed.get(number, []))
                continue
            texts = changed.get(number, [json.dumps(body)])
            (self._answers[command] if command else self._due).extend(texts)

    def send(self, line: str) -> None:
        number, text = line.split(" ", 2)[1], line.split(" ", 2)[2].rsplit(" ", 1)[0]
        self._due.append(json.dumps({"t": "heard", "n": int(number), "text": text}))
        again = text.partition("again ")[2]
        same = [c for c in self._answers if again and c.startswith(f"case {again} ")]
        self._due.extend(self._answers.get(same[0] if same else text, []))
        self._over |= text == "bye"

    def read(self, timeout: float) -> bytes | None:
        if not self._due:
            assert time.monotonic() < self._end, "the host waits for ever"
            if not self._over:
                time.sleep(min(timeout, 0.005))
            if self._over or self._forever is None:
                return b"" if self._over else None
            self._due.append(self._forever)
        covered = f"{self._seq} {self._due.popleft()}".encode(errors="surrogateescape")
        self._seq += 1
        return b"#rts %s %08x\n" % (covered, zlib.crc32(covered))

    def stop(self) -> None:
        self._over = True

    def close(self) -> None:
        self.stop()

    def last_words(self) -> str:
        return ""


def player(
    bodies: Sequence[Json],
    changed: Mapping[int, list[str]],
    forever: str | None,
    real: Callable[[Path, Options], Link],
) -> Callable[[Path, Options], Link]:
    """Return what starts the agent of the local target; the list of benches is the real one."""

    def start(program: Path, options: Options) -> Link:
        return real(program, options) if options.catalogue else Replayed(bodies, changed, forever)

    return start
