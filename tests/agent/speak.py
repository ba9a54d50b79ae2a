"""Talks to a real agent over its pipes, without the host: commands in, records out."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from rtstone.assemble.histogram import bounds
from rtstone.wire.reader import Noise, Reader

BUILD = Path(__file__).parents[2] / "build" / "agent"
AGENT = BUILD / "rtstone-agent"
HASTY = BUILD / "tests" / "hasty-agent"  # whose loads have a rate after a quarter of a second
QUICK = "--clock=vdso"  # a clock that need not be calibrated
STUB = BUILD / "tests" / "stub-agent"
# Whose two clocks differ from each other and from ns: a mistaken unit is a wrong result.
UNEQUAL_STUB = BUILD / "tests" / "stub-unequal"
POSIX = BUILD / "tests" / "posix-agent"  # with nothing but what POSIX has
UNEQUAL_SIM = BUILD / "tests" / "sim-unequal"
PATIENCE_S = 120

Json = dict[str, Any]


def records(lines: bytes, reader: Reader | None = None) -> list[Json]:
    """All records of an agent's output; fails on anything else in it."""
    reader, found = reader or Reader(), []
    for line in lines.splitlines():
        for item in reader.feed(line):
            assert not isinstance(item, Noise), item
        found.append(json.loads(line.split(b" ", 2)[2].rsplit(b" ", 1)[0]))
    assert not reader.defects
    return found


def talk(commands: Sequence[str], *args: str, agent: Path = AGENT, **options: Any) -> list[Json]:
    """The records that the agent answers the commands with, `bye` added."""
    done = subprocess.run(
        [agent, *args],
        input="\n".join([*commands, "bye", ""]).encode(),
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
        **options,
    )
    return records(done.stdout)


class Living:
    """An agent that lives on from test to test: each case is a process of its own anyway."""

    def __init__(self, *args: str) -> None:
        self.process = subprocess.Popen(
            [AGENT, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        self.reader = Reader()

    def case(self, command: str) -> list[Json]:
        """All records up to the end of the case."""
        assert self.process.stdin
        self.process.stdin.write(f"case 1 {command}\n".encode())
        found: list[Json] = []
        for line in self._lines(command):
            found += records(line, self.reader)
            if found and found[-1]["t"] == "end":
                break
        return found

    def _lines(self, command: str) -> Iterator[bytes]:
        assert self.process.stdout
        end = time.monotonic() + PATIENCE_S
        rest = b""
        while select.select([self.process.stdout], [], [], max(end - time.monotonic(), 0))[0]:
            read = self.process.stdout.read(1 << 16)
            if not read:
                status = self.process.wait(timeout=10)
                raise AssertionError(f"the agent ended within {command!r}: status {status}")
            *lines, rest = (rest + read).split(b"\n")
            yield from lines
        raise AssertionError(f"the agent did not end {command!r} within {PATIENCE_S} s")

    def bye(self) -> None:
        """Ends it; it must have no more to say."""
        out, _ = self.process.communicate(b"bye\n", timeout=30)
        assert [r["t"] for r in records(out, self.reader)] == ["bye"]
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate(timeout=30)


_living: dict[tuple[str, ...], Living] = {}


def _case_of_living(command: str, args: tuple[str, ...]) -> list[Json]:
    """Of the agent that lives; one that fails is not asked again."""
    agent = _living.pop(args, None) or Living(*args)
    try:
        found = agent.case(command)
    except BaseException:
        agent.kill()
        raise
    _living[args] = agent
    return found


def end_living() -> None:
    """Ends the agents that have lived on."""
    while _living:
        _living.popitem()[1].bye()


def case(command: str, *args: str, agent: Path = AGENT, **options: Any) -> tuple[list[Json], Json]:
    """(results, end) of one case; without options, the agent of this machine lives on."""
    if agent == AGENT and not options:
        found = _case_of_living(command, args)
    else:
        found = talk([f"case 1 {command}"], *args, agent=agent, **options)
    return (
        [r for r in found if r["t"] == "result"],
        next(r for r in found if r["t"] == "end"),
    )


def result(command: str, *args: str, agent: Path = AGENT, **options: Any) -> Json:
    """The one result of a case that must be ok."""
    results, end = case(command, *args, agent=agent, **options)
    assert end["status"] == "ok", end["reason"]
    assert len(results) == 1
    return results[0]


def in_ns(found: list[Json]) -> list[Json]:
    """The records with all values of their series in ns; ``tick`` is what was one before."""
    ticks: dict[tuple[int, str], Fraction] = {}
    for r in found:
        if r["t"] == "result":
            ticks[r["id"], r["series"]] = Fraction(10**9, r["hz"])
    for r in found:
        if r["t"] == "raw":
            tick = ticks[r["id"], r.get("series", "")]
            r["v"] = [_ns(v, tick) for v in r["v"]]
        elif r["t"] == "result":
            _result_in_ns(r, ticks[r["id"], r["series"]])
    return found


def _ns(value: int | None, tick: Fraction) -> Any:
    """Whole where it can be."""
    if value is None:
        return None
    exact = value * tick
    return exact.numerator if exact.denominator == 1 else float(exact)


def _result_in_ns(r: Json, tick: Fraction) -> None:
    r["tick"] = tick
    for part in (r, r.get("omitted") or {}):
        for name in ("min", "max", "sum", "overhead"):
            if name in part:
                part[name] = _ns(part[name], tick)
    r["worst"] = [[_ns(v, tick), i, _ns(at, tick)] for v, i, at in r["worst"]]


def bucket(found: Json, index: int) -> tuple[Any, Any]:
    """Start and width of a bucket of a result that is in ns."""
    low, width = bounds(index, found["bits"])
    return low * found["tick"], width * found["tick"]


def figures(found: Json) -> dict[str, float]:
    """Figures of a result by name."""
    return {name: value for name, value, _ in found["figures"]}


def may_realtime() -> bool:
    """True if this process may use real-time scheduling."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return True
