"""An agent that measures nothing: it speaks docs/reference/wire.md as a scenario says.

It is a program or, if no time passes in the scenario, is played in memory (tests/played.py).
The environment variable FAKE_AGENT contains the scenario, a JSON object:
    trace     file that gets a line for each start: its options
    at        the case at which the fate below strikes; before its result, after its `case`
    fate      "kill", "exit", "fail", "hang" (obeys SIGTERM), "deaf" (does not); or, without
              `at`, "late": it is killed after the last case
    wire      {"result 1": "damage" | "lose" | "double" | "late" | "noise" | "cut"}: what happens
              to a record the first time that it is sent, by its kind and, if it has one, its case
    pause     with `at`: so many seconds pass before its result; progress is told if asked for
    quiet     no case tells of its progress unless it is asked for
    flood     records `log` that come with each case; with "endless" no end comes
    evidence  members of the evidence of each case
    rates     members of the rates of a load's one part
    conditions  more of them, or others
    forgets   it cannot send anything again
    traceless  it cannot trace
    roomless  it has no room for misses, so that no case can have a limit
    refuses   why it refuses all cases, before it measures anything
    exact, had  how many samples there are, as ``FakeAgent.result`` says
    sched, locked, missed, others, wire_version, source, listed_source,
    extra (members of every result)
"""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def buckets(values: range, times: int) -> list[list[int]]:
    """Return the histogram of values below 512, each so many times."""
    indexes = [v if v < 256 else 128 + (v >> 1) for v in values if times]
    return [[index, times * indexes.count(index)] for index in sorted(set(indexes))]


class Ended(Exception):  # noqa: N818  it is no error
    """Raised to end the agent as its scenario says: with ``status``, -9 if it is killed."""

    def __init__(self, status: int, words: str = "") -> None:
        super().__init__(status)
        self.status, self.words = status, words


def param(name: str, kind: str, default: Any, **rest: Any) -> dict[str, Any]:
    table = {"name": name, "type": kind, "unit": None, "default": default}
    return table | {"min": None, "max": None, "choices": [], "help": f"the {name}"} | rest


COMMON = [
    param("samples", "int", 1000, min=0, max=10**12),
    param("time", "duration", 0, unit="ns", min=0, max=10**18),
    param("cpus", "cpus", None),
    param("raw", "bool", False),
]
BENCHES: dict[str, tuple[list[dict[str, Any]], str | None]] = {
    "null": ([], None),
    "ctx.ballast": (
        [
            param("ballast", "int", 0, unit="tasks", min=0, max=1024),
            param("policy", "choice", "fifo", choices=["fifo", "rr"]),
        ],
        "ballast",
    ),
    "sem.post.higher": ([param("entity", "choice", "thread", choices=["thread", "process"])], None),
    "dk.periodic": ([param("period", "duration", 10**6, unit="ns", min=1000, max=10**10)], None),
    "mem.memset": ([param("size", "size", 16384, unit="B", min=1, max=1 << 30)], None),
}


LOADS: dict[str, list[dict[str, Any]]] = {
    "heavy": [param("disk", "bool", True), param("place", "choice", "others", choices=["others"])],
    "command": [param("run", "text", None, max=99)],
}


class FakeAgent:
    """One run of the agent: commands go in by ``take``, bytes come out by ``out``."""

    def __init__(self, scenario: dict[str, Any], out: Callable[[bytes], None]) -> None:
        self.scenario, self.out = scenario, out
        self.wire: dict[str, str] = {}
        self.seq = self.cases = 0
        self.held = b""
        self.stopped = self.over = False
        self.progresses = False  # progress was requested
        self.beside = "none"  # the load
        self.newest = 0  # number of the newest command
        self.last: list[str] = []  # the words of the last case

    def put(self, **body: Any) -> None:
        covered = f"{self.seq} {json.dumps(body)}".encode()
        line = b"#rts %s %08x\n" % (covered, zlib.crc32(covered))
        match self.wire.pop(f"{body['t']} {body.get('id', '')}".strip(), None):
            case "damage":
                line = line[:12] + b"?" + line[13:]
            case "lose":
                line = b""
            case "double":
                line *= 2
            case "late":
                self.held, line = line, b""
            case "noise":
                line = b"[  1.5] usb 1-1: new device\n[  1.6] random: " + line
            case "cut":
                line = line[: len(line) // 2]
        self.out(line)
        if self.held and line:
            self.out(self.held)
            self.held = b""
        self.seq += 1

    def hello(self, listed: bool = False) -> None:
        source = self.scenario.get("source", "00ff00ff00ff00ff")
        self.put(
            t="hello", wire=self.scenario.get("wire_version", 2), agent="0",
            source=self.scenario.get("listed_source", source) if listed else source,
            port="fake", os="Fake 1.0", arch="none", compiler="none", flags="-O2", caps=["heap"],
        )  # fmt: skip

    def catalogue(self) -> None:
        self.hello(listed=True)
        for name, (params, over) in BENCHES.items():
            self.put(
                t="bench", id=name, title=f"Title of {name}", source="nobody", help="it waits",
                needs=[], slope_over=over, params=params + COMMON,
            )  # fmt: skip
        for name, params in LOADS.items():
            self.put(t="load", id=name, title=f"Title of {name}", source="nobody", params=params)
        self.put(t="bye", cases=0)

    def load(self, words: list[str]) -> None:
        self.beside = words[0]
        if words[0] != "none":
            parts = [{"name": "disk", "unit": "ms", "wanted": 100.0}]
            self.put(
                t="loaded", load=words[0], status="ok", reason=None, params={}, components=parts
            )

    def result(self, number: int, bench: str, params: dict[str, Any], ended: str) -> None:
        """Return 1000 samples: 100, 101, … 199 ten times, with an overhead of 20 ticks of 1 ns.

        With ``exact``: as many hundreds of them as the case asks for or, if it is stopped, ``had``.
        """
        times = 10
        if "exact" in self.scenario:
            n = self.scenario["had"] if ended == "stopped" else params["samples"]
            times = n // 100
        base = 100 + 2 * int(params.get("ballast", 0))
        periodic = bench == "dk.periodic"
        values = range(base, base + 100)
        body = {
            "id": number, "series": "", "hz": 10**9, "overhead": 20, "batch": 1, "n": 100 * times,
            "warmup": 2, "sum": times * sum(values), "min": base if times else None,
            "max": base + 99 if times else None, "negative": 0,
            "overflow": 0, "bits": 7, "hist": buckets(values, times),
            "worst": [[base + 99, 7, 55]] if times else [],
            "trace": {
                "ticks": 10**9,
                "rows": [[0, 100 * times, base, times * sum(values), base + 99]] if times else [],
            },
            "blocks": {"samples": 500, "max": [base + 99] * (times // 5)},
            "missed": self.scenario.get("missed", 0) if periodic else None, "omitted": None,
            "figures": [["granule", 1.0, "ns"]] if bench == "null" else [], "ended": ended,
        }  # fmt: skip
        self.put(t="result", **body | self.scenario.get("extra", {}))

    def hang(self) -> None:
        while not self.stopped or self.scenario["fate"] == "deaf":
            time.sleep(0.01)

    def strike(self) -> str:
        """Carry out the fate of the scenario; return the case's end, if there is one."""
        match self.scenario.get("fate"):
            case "kill":
                raise Ended(-signal.SIGKILL)
            case "exit":
                raise Ended(0)
            case "fail":
                raise Ended(3, "the clock\nhas stopped\n")
            case "hang" | "deaf":
                self.hang()
        return "stopped"

    def progress(self, number: int) -> None:
        self.put(
            t="progress", id=number, n=10, min=100, p50=110, p99=120, max=130, hz=10**9,
            overhead=20, batch=1, done=500,
        )  # fmt: skip

    def pause(self, number: int, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.05)
            if self.progresses:
                self.progress(number)

    def flood(self) -> None:
        for number in (
            itertools.count()
            if self.scenario.get("flood") == "endless"
            else range(self.scenario.get("flood", 0))
        ):
            self.put(t="log", level="warn", text=f"{number} {'x' * 200}")

    def case(self, words: list[str]) -> None:
        number, bench, pairs = int(words[0]), words[1], words[2:]
        if "refuses" in self.scenario:
            self.put(t="end", id=number, status="failed", reason=self.scenario["refuses"])
            return
        params = {p["name"]: p["default"] for p in BENCHES[bench][0] + COMMON}
        arguments = dict(pair.split("=") for pair in pairs)
        for name, value in arguments.items():
            params[name] = int(value) if value.isdigit() else value
        self.put(t="case", id=number, bench=bench, params=params)
        if not self.scenario.get("quiet"):
            self.progress(number)
        self.flood()
        reason = (
            self.strike() if self.scenario.get("at") == number and "fate" in self.scenario else None
        )
        if self.scenario.get("at") == number:
            self.pause(number, self.scenario.get("pause", 0))
        self.result(number, bench, params, "stopped" if reason else "samples")
        evidence = {
            "section_ns": 10**6, "cpu_ns": 9 * 10**5, "minflt": 0, "majflt": 0, "nivcsw": 0,
            "tasks": 1, "sched": self.scenario.get("sched", "fifo"),
            "locked": self.scenario.get("locked", True), "others": self.scenario.get("others", 0),
            **self.scenario.get("evidence", {}),
        }  # fmt: skip
        rate = {
            "component": "disk",
            "unit": "ms",
            "wanted": 100.0,
            "achieved": 99.0,
            "window_s": 1.0,
        }
        rates = None if self.beside == "none" else [rate | self.scenario.get("rates", {})]
        status = "failed" if reason else "ok"
        self.put(t="end", id=number, status=status, reason=reason, evidence=evidence, load=rates)

    def begin(self) -> None:
        self.put(t="clock", source="fake", hz=10**9, granule=1, overhead=20, unit="ns")
        document = {
            "cpu.model": "Imaginary",
            "kernel.release": "1.0",
            **self.scenario.get("conditions", {}),
        }
        self.put(t="conditions", values=document)

    def start(self) -> None:
        self.wire = dict(self.scenario.get("wire", {}))
        self.hello()
        if "refuses" not in self.scenario:
            self.begin()

    def take(self, line: str) -> None:
        """Take a command; one that is damaged, or was taken before, only has an echo."""
        match = re.fullmatch(r"#cmd ((\d+) (.*)) ([0-9a-f]{8})\s*", line)
        good = match is not None and zlib.crc32(match[1].encode()) == int(match[4], 16)
        if not match or not good or int(match[2]) != self.newest + 1:
            self.put(t="heard", n=self.newest)
            return
        self.newest += 1
        self.put(t="heard", n=self.newest, text=match[3])
        self.carry_out(match[3].split())

    def carry_out(self, words: list[str]) -> None:
        match words[0]:
            case "bye":
                self.over = True
            case "progress":
                self.progresses = words[1] != "0"
            case "load":
                self.load(words[1:])
            case "trace" if self.scenario.get("traceless"):
                self.put(t="log", level="warn", text=f"cannot be carried out: {' '.join(words)}")
            case "limit" if self.scenario.get("roomless"):
                self.put(t="log", level="warn", text=f"cannot be carried out: {' '.join(words)}")
            case "case":
                self.last = words[1:]
                self.case(words[1:])
                self.cases += 1
            case "again" if self.scenario.get("forgets"):
                self.put(t="log", level="warn", text=f"cannot be carried out: {' '.join(words)}")
            case "again":
                self.again(int(words[1]))

    def again(self, number: int) -> None:
        """Send what concerns all cases, or the last case, once more."""
        if not number:
            self.hello()
            self.begin()
        elif self.last:
            self.case(self.last)

    def end(self) -> None:
        if self.scenario.get("fate") == "late":
            raise Ended(-signal.SIGKILL)
        self.put(t="bye", cases=self.cases)


def noted(scenario: dict[str, Any], *options: str) -> None:
    """Append a line for this start to the trace."""
    if "trace" in scenario:
        with Path(scenario["trace"]).open("a") as file:
            file.write(" ".join(options) + "\n")


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def main() -> None:
    scenario: dict[str, Any] = json.loads(os.environ.get("FAKE_AGENT", "{}"))
    agent = FakeAgent(scenario, write)

    def on_term(number: int, frame: object) -> None:
        agent.stopped = True

    signal.signal(signal.SIGTERM, on_term)
    noted(scenario, *sys.argv[1:])
    if "--sweep" in sys.argv:
        return
    try:
        if "--list" in sys.argv:
            agent.catalogue()
            return
        agent.start()
        while not (agent.stopped or agent.over) and (line := sys.stdin.readline()):
            agent.take(line)
        agent.end()
    except Ended as ended:
        sys.stderr.write(ended.words)
        sys.stderr.flush()
        if ended.status < 0:
            os.kill(os.getpid(), -ended.status)
        sys.exit(ended.status)


if __name__ == "__main__":
    main()
