"""The console of the hypervisor Xen, to which all its domains print."""

from __future__ import annotations

import re

from rtstone.errors import TargetError
from rtstone.targets.lines import Lines
from rtstone.units import NS_PER_S
from rtstone.wire import commands, records
from rtstone.wire.reader import Reader, Record

AGENT, OTHER = b"1", b"2"  # domains, in the order of the device tree
FULL = 126  # bytes of a domain's line, at which Xen prints what there is, and goes on
_PREFIX = re.compile(rb"\(XEN\) DOM(\d): ")
NONE = "none"  # the load that is none
READY, BESIDE = 1, 2  # cases of the other domain: one that proves its load, one without an end
_CASE = b'{"t":"case"'


def company(load: str) -> list[str]:
    """Return the commands for the system beside the agent's, which runs the load until the end.

    Its agent then sleeps, but for a wake-up in a second: what it prints takes the processor.
    """
    first = {"period": 100_000_000, "samples": 30}
    endless = {"period": NS_PER_S, "samples": 10**9}
    return [
        *([commands.load(load, {})] if load != NONE else []),
        commands.case(READY, "dk.periodic", first),
        commands.case(BESIDE, "dk.periodic", endless),
        commands.BYE,
    ]


class Console:
    """What a hypervisor prints, taken apart.

    ``beside``: the name of the system in the other domain.  ``load``: what that one has to run
    while the agent measures.
    """

    def __init__(self, beside: str, load: str) -> None:
        self._lines = Lines()
        self._parts: dict[bytes, bytes] = {}  # of domains' lines that go on
        self._other = _Other(beside, load)

    def feed(self, data: bytes) -> bytes:
        """Take bytes of the console; return those of the agent, and what nobody claims.

        Raises TargetError if the agent measures while the other domain does not do its part.
        """
        self._lines.add(data)
        output = bytearray()
        while (line := self._lines.take()) is not None:
            start = _PREFIX.match(line)
            if not start:
                output += line
                continue
            domain, text = start[1], line[start.end() :].removesuffix(b"\n").removesuffix(b"\r")
            whole = self._parts.pop(domain, b"") + text
            if len(text) == FULL:
                self._parts[domain] = whole
            elif domain == OTHER:
                output += self._other.take(whole)
            else:
                if _CASE in whole:
                    self._other.check()
                output += whole + b"\n"
        return bytes(output)


class _Other:
    """What the domain without the measuring agent does, according to its records."""

    def __init__(self, name: str, load: str) -> None:
        self._name = name
        self._load = load
        self._reader = Reader()
        self._works = load == NONE
        self._ready = False
        self._words = b""  # the last ones

    def take(self, line: bytes) -> bytes:
        """Take a line of it; return it if it is no record.  Raises TargetError."""
        events = list(self._reader.feed(line + b"\n"))
        for event in events:
            if isinstance(event, Record):
                body = event.body
                if isinstance(body, records.Loaded) and body.status != "ok":
                    raise TargetError(
                        f"load '{self._load}' does not run in {self._name}: {body.reason}"
                    )
                if isinstance(body, records.End):
                    if body.id == READY and body.status == "ok":
                        rates = body.load or []
                        self._works |= bool(rates) and all(
                            r.alive and r.achieved > 0 for r in rates
                        )
                    else:
                        raise TargetError(
                            f"{self._name} has ended its part: {body.reason or body.status}"
                        )
                if isinstance(body, records.Case) and body.id == BESIDE:
                    self._ready = True
        if any(isinstance(event, Record) for event in events):
            return b""
        self._words = line
        return line + b"\n"

    def check(self) -> None:
        """Raise TargetError unless the load runs."""
        if not (self._ready and self._works):
            said = self._words.decode(errors="replace").strip() or "nothing"
            state = "does not run" if self._ready else "was not running in time"
            raise TargetError(
                f"load '{self._load}' {state} in {self._name}, beside the agent; the last words "
                f"of that were: {said[:200]}"
            )
