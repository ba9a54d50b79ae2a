"""Talk to a real agent over its pipes, without the host: commands in, records out."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from rtstone.wire.buckets import bounds
from rtstone.wire.commands import framed
from rtstone.wire.reader import Noise, Reader, Record

BUILD = Path(__file__).parents[2] / "build" / "agent"
AGENT = BUILD / "rtstone-agent"
HASTY = BUILD / "tests" / "hasty-agent"  # measures the rates of loads over a tenth of a second
QUICK = "--clock=vdso"  # a clock that needs no calibration
STUB = BUILD / "tests" / "stub-agent"
# Its two clocks differ from each other and from ns, so that a wrong unit gives a wrong result.
UNEQUAL_STUB = BUILD / "tests" / "stub-unequal"
POSIX = BUILD / "tests" / "posix-agent"  # uses nothing beyond POSIX
SIM = BUILD / "rtstone-agent-sim"
UNEQUAL_SIM = BUILD / "tests" / "sim-unequal"
LIVE_ON = (AGENT, SIM, UNEQUAL_SIM)  # their cases know nothing of each other
MOST_LIVING = 8
PATIENCE_S = 120
WATCHED = 110  # calls of a pass before the timed one that counts those which enter the kernel

Json = dict[str, Any]


# What an agent leaves out because it is null or empty.
LEFT_OUT: dict[str, Json] = {
    "end": {"reason": None, "load": None},
    "loaded": {"reason": None},
    "result": dict.fromkeys(("min", "max", "batches", "missed", "omitted", "ended")),
    "omitted": {"min": None, "max": None},
    "rate": dict.fromkeys(("wanted", "why", "cpu_ms", "missed", "runs", "cpus")),
    "component": {"wanted": None},
    "param": dict.fromkeys(("unit", "default", "min", "max")) | {"choices": [], "help": ""},
    "evidence": dict.fromkeys(
        ("section_ns", "cpu_ns", "minflt", "majflt", "nvcsw", "nivcsw", "migrations", "steal_ns",
         "quota_periods", "smi", "suspended_ns", "stops", "others", "stack_bytes", "heap_bytes",
         "entered", "entered_of", "entered_why", "prio")
    ),
}  # fmt: skip


def filled(record: Json) -> Json:
    """Return a record with the members that its agent has left out."""
    whole = LEFT_OUT.get(record["t"], {}) | record
    for name, kind in (("load", "rate"), ("components", "component"), ("params", "param")):
        if isinstance(whole.get(name), list):
            whole[name] = [LEFT_OUT[kind] | part for part in whole[name]]
    for name in ("evidence", "omitted"):
        if whole.get(name):
            whole[name] = LEFT_OUT[name] | whole[name]
    return whole


def records(lines: bytes, reader: Reader | None = None) -> list[Json]:
    """Return the records of an agent's output but for echoes; fail if it contains anything else."""
    reader, records = reader or Reader(), []
    for line in lines.splitlines():
        for item in reader.feed(line):
            assert not isinstance(item, Noise), item
        records.append(filled(json.loads(line.split(b" ", 2)[2].rsplit(b" ", 1)[0])))
    spoilt = {defect.first: defect for defect in reader.defects}
    numbered = {int(line.split(b" ", 2)[1]): line for line in lines.splitlines()}
    assert not spoilt, [(defect, numbered.get(seq)) for seq, defect in spoilt.items()]
    assert all("text" in r for r in pick(records, "heard")), "a command was damaged"
    return [r for r in records if r["t"] != "heard"]


def pick(records: Iterable[Json], kind: str) -> list[Json]:
    """Return the records of one kind."""
    return [r for r in records if r["t"] == kind]


def listed(kind: str, agent: Path = AGENT) -> list[Json]:
    """Return the tables of an agent's benches or loads."""
    done = subprocess.run([agent, "--list"], capture_output=True, check=True, timeout=60)
    return pick(records(done.stdout), kind)


def command_lines(*commands: str, first: int = 1) -> bytes:
    """Return commands as lines, numbered from ``first``."""
    return "".join(f"{framed(n, c)}\n" for n, c in enumerate(commands, first)).encode()


def talk(commands: Sequence[str], *args: str, agent: Path = AGENT, **options: Any) -> list[Json]:
    """Send an agent the commands and `bye`, and return all records of its answer."""
    done = subprocess.run(
        [agent, *args],
        input=command_lines(*commands, "bye"),
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
        **options,
    )
    return records(done.stdout)


class Agent(subprocess.Popen[bytes]):
    """An agent that is given one command after the other.

    Read its output only by these methods: every record is checked, as the host does.
    """

    def __init__(self, *command: str | Path, **options: Any) -> None:
        """Start a command line; default: the agent of this machine, without calibration."""
        super().__init__(
            command or (AGENT, QUICK), bufsize=0,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options,
        )  # fmt: skip
        self._reader = Reader()
        self._unread = b""
        self._sent = 0

    def send(self, commands: str) -> None:
        """Send a command, or one a line, and do not wait for their answers."""
        assert self.stdin
        for command in commands.split("\n"):
            self.stdin.write(self._line(command))

    def _line(self, command: str) -> bytes:
        self._sent += 1
        return framed(self._sent, command).encode() + b"\n"

    def until(self, kind: str) -> list[Json]:
        """Return the next records, up to the first of that kind."""
        records = [self.next()]
        while records[-1]["t"] != kind:
            records.append(self.next())
        return records

    def next(self) -> Json:
        """Return the next record; fail if the agent ends or is silent for too long."""
        assert self.stdout
        while b"\n" not in self._unread:
            if not select.select([self.stdout], [], [], PATIENCE_S)[0]:
                raise AssertionError(f"the agent said nothing for {PATIENCE_S} s")
            said = self.stdout.read(1 << 16)
            if not said:
                raise AssertionError(f"the agent ended: status {self.wait(timeout=10)}")
            self._unread += said
        line, self._unread = self._unread.split(b"\n", 1)
        records_of_line = records(line, self._reader)
        if not records_of_line:
            return self.next()
        self.last = records_of_line[0]
        return self.last

    def ready(self) -> bool:
        """Return whether something can be read."""
        assert self.stdout
        return b"\n" in self._unread or bool(select.select([self.stdout], [], [], 0)[0])

    def echo(self) -> Json:
        """Return the next record, which must be an echo."""
        assert self.stdout
        while b"\n" not in self._unread:
            chunk = os.read(self.stdout.fileno(), 1 << 16)
            assert chunk, f"the agent ended: {self._unread!r}"
            self._unread += chunk
        line, self._unread = self._unread.split(b"\n", 1)
        (item,) = self._reader.feed(line)
        assert isinstance(item, Record), item
        return dict(json.loads(line.split(b" ", 2)[2].rsplit(b" ", 1)[0]))

    def ask(self, command: str, kind: str) -> list[Json]:
        """Send a command and return the records up to the first of that kind."""
        self.send(command)
        return self.until(kind)

    def begin(self, command: str, samples: int = 1) -> list[Json]:
        """Begin a case and return its records so far, once it has taken so many samples."""
        self.send("progress 10")
        records = self.ask(f"case 1 {command}", "progress")
        while records[-1].get("n", 0) < samples:
            records += self.until("progress")
        return records

    def rest(self, *commands: str, timeout: float = 30) -> list[Json]:
        """Send commands, close the agent's input, and return all records until it ended."""
        said, _ = self.communicate(b"".join(map(self._line, commands)), timeout)
        unread, self._unread = self._unread, b""
        return records(unread + said, self._reader)

    def end_now(self) -> None:
        """Kill it."""
        self.kill()
        self.communicate(timeout=30)


_living: dict[tuple[str | Path, ...], Agent] = {}  # by their command lines


def ask_living(command: str, *args: str, agent: Path = AGENT) -> list[Json]:
    """Run a case on an agent that lives on from test to test, and return its records.

    Each case has a process of its own anyway, or a simulated system that has just started, and
    most of what a short one takes is the agent's start.  An agent that fails is not asked again.
    """
    key: tuple[str | Path, ...] = (agent, *args)
    living = _living.pop(key, None) or Agent(*key)
    try:
        records = living.ask(f"case 1 {command}", "end")
    except BaseException:
        living.end_now()
        raise
    _living[key] = living
    if len(_living) > MOST_LIVING:
        _end(_living.pop(next(iter(_living))))  # which has waited longest
    return records


def end_living() -> None:
    """End the agents that have lived on."""
    while _living:
        _end(_living.popitem()[1])


def _end(agent: Agent) -> None:
    """End an agent, which must have nothing more to say."""
    assert [r["t"] for r in agent.rest("bye")] == ["bye"]
    assert agent.returncode == 0


def case(command: str, *args: str, agent: Path = AGENT, **options: Any) -> tuple[list[Json], Json]:
    """Run one case and return (results, end); without options, by an agent that can live on."""
    if agent in LIVE_ON and not options:
        records = ask_living(command, *args, agent=agent)
    else:
        records = talk([f"case 1 {command}"], *args, agent=agent, **options)
    return pick(records, "result"), pick(records, "end")[0]


def result(command: str, *args: str, agent: Path = AGENT, **options: Any) -> Json:
    """Run a case that must be ok and have one result, and return it."""
    results, end = case(command, *args, agent=agent, **options)
    assert end["status"] == "ok", end["reason"]
    return without_single(results)


def without_single(results: list[Json]) -> Json:
    """Return the only result of a case beside that of its single calls, which batches have."""
    (record,) = (record for record in results if record["series"] != "single")
    assert len(results) == 1 or record["batch"] > 1
    return record


def in_ns(records: list[Json]) -> list[Json]:
    """Convert all values of series to ns, in place; ``tick`` is the ns of one unit before."""
    ticks: dict[tuple[int, str], Fraction] = {}
    for r in records:
        if r["t"] == "result":
            ticks[r["id"], r["series"]] = Fraction(10**9, r["hz"])
    for r in records:
        if r["t"] == "raw":
            tick = ticks[r["id"], r.get("series", "")]
            r["v"] = [_ns(v, tick) for v in r["v"]]
        elif r["t"] == "result":
            _result_in_ns(r, ticks[r["id"], r["series"]])
    return records


def _ns(value: int | None, tick: Fraction) -> Any:
    """Return an int if the value is whole."""
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


def bucket(record: Json, index: int) -> tuple[Any, Any]:
    """Return start and width of a bucket of a result in ns."""
    low, width = bounds(index, record["bits"])
    return low * record["tick"], width * record["tick"]


def figures(record: Json) -> dict[str, float]:
    """Return the figures of a result by name."""
    return {name: value for name, value, _ in record["figures"]}


def spread(record: Json) -> tuple[Any, Any]:
    """Return minimum and maximum of a result."""
    return record["min"], record["max"]
