"""Talks to a real agent over its pipes, without the host: commands in, records out."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from rtstone.assemble.histogram import bounds
from rtstone.wire.reader import Noise, Reader

BUILD = Path(__file__).parents[2] / "build" / "agent"
AGENT = BUILD / "rtstone-agent"
STUB = BUILD / "tests" / "stub-agent"
# Whose two clocks differ from each other and from ns: a mistaken unit is a wrong result.
UNEQUAL_STUB = BUILD / "tests" / "stub-unequal"
POSIX = BUILD / "tests" / "posix-agent"  # with nothing but what POSIX has
UNEQUAL_SIM = BUILD / "tests" / "sim-unequal"

Json = dict[str, Any]


def records(lines: bytes) -> list[Json]:
    """All records of an agent's output; fails on anything else in it."""
    reader, found = Reader(), []
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
        timeout=120,
        check=True,
        **options,
    )
    return records(done.stdout)


def case(command: str, *args: str, agent: Path = AGENT, **options: Any) -> tuple[list[Json], Json]:
    """(results, end) of one case."""
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
