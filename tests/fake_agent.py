"""An agent that measures nothing: it speaks the wire (docs/wire.md) after a scenario.

FAKE_AGENT holds the scenario, a JSON object:
    trace     file that gets a line for each start: its options
    at        the case at which the fate below strikes; before its result, after its `case`
    fate      "kill", "exit", "fail", "hang" (obeys SIGTERM), "deaf" (does not); or, without
              `at`, "late": it is killed after the last case
    wire      {"SEQ": "damage" | "lose" | "double" | "late" | "noise" | "cut"} by sequence number
    pause     with `at`: so many seconds pass before its result; progress is told if asked for
    quiet     no case tells of its progress unless it is asked for
    flood     records `log` that come with each case; with "endless" no end comes
    rates     members of the rates of a load's one part
    conditions  more of them, or others
    refuses   why it refuses all cases, before it measures anything
    sched, locked, missed, others, wire_version, source, extra (members of every result)
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
import zlib
from pathlib import Path
from typing import Any

scenario: dict[str, Any] = json.loads(os.environ.get("FAKE_AGENT", "{}"))


class State:
    seq = 0
    held = b""
    stopped = False
    wire: dict[str, str] = {}  # noqa: RUF012
    progress = False  # it was asked for
    load = "none"


def write(data: bytes) -> None:
    while data:
        data = data[os.write(1, data) :]


def put(**body: Any) -> None:
    covered = f"{State.seq} {json.dumps(body)}".encode()
    line = b"#rts %s %08x\n" % (covered, zlib.crc32(covered))
    match State.wire.get(str(State.seq)):
        case "damage":
            line = line[:12] + b"?" + line[13:]
        case "lose":
            line = b""
        case "double":
            line *= 2
        case "late":
            State.held, line = line, b""
        case "noise":
            line = b"[  1.5] usb 1-1: new device\n[  1.6] random: " + line
        case "cut":
            line = line[: len(line) // 2]
    write(line)
    if State.held and line:
        write(State.held)
        State.held = b""
    State.seq += 1


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


def hello() -> None:
    put(
        t="hello", wire=scenario.get("wire_version", 1), agent="0",
        source=scenario.get("source", "00ff00ff00ff00ff"),
        port="fake", os="Fake 1.0", arch="none", compiler="none", flags="-O2", caps=["heap"],
    )  # fmt: skip


def catalogue() -> None:
    hello()
    for name, (params, over) in BENCHES.items():
        put(
            t="bench", id=name, title=f"Title of {name}", source="nobody", help="it waits",
            needs=[], slope_over=over, params=params + COMMON,
        )  # fmt: skip
    for name, params in LOADS.items():
        put(t="load", id=name, title=f"Title of {name}", source="nobody", params=params)
    put(t="bye", cases=0)


def load(words: list[str]) -> None:
    State.load = words[0]
    if words[0] != "none":
        parts = [{"name": "disk", "unit": "ms", "wanted": 100.0}]
        put(t="loaded", load=words[0], status="ok", reason=None, params={}, components=parts)


def result(number: int, bench: str, params: dict[str, Any]) -> None:
    """1000 samples 100, 101, … 199, ten times over, 20 ticks of 1 ns being overhead."""
    base = 100 + 2 * int(params.get("ballast", 0))
    periodic = bench == "dk.periodic"
    values = range(base, base + 100)
    body = {
        "id": number, "series": "", "hz": 10**9, "overhead": 20, "batch": 1, "n": 1000,
        "warmup": 2, "sum": 10 * sum(values), "min": base, "max": base + 99, "negative": 0,
        "overflow": 0, "bits": 7, "hist": [[v, 10] for v in values], "worst": [[base + 99, 7, 55]],
        "trace": {"ticks": 10**9, "rows": [[0, 1000, base, 10 * sum(values), base + 99]]},
        "blocks": {"samples": 500, "max": [base + 99, base + 99]},
        "missed": scenario.get("missed", 0) if periodic else None, "omitted": None,
        "figures": [["granule", 1.0, "ns"]] if bench == "null" else [], "ended": "samples",
    }  # fmt: skip
    put(t="result", **body | scenario.get("extra", {}))


def strike() -> str:
    """The fate of the scenario; returns the end that the case comes to, if it comes to one."""
    match scenario.get("fate"):
        case "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case "exit":
            sys.exit(0)
        case "fail":
            sys.stderr.write("the clock\nhas stopped\n")
            sys.exit(3)
        case "hang" | "deaf":
            while not State.stopped or scenario["fate"] == "deaf":
                time.sleep(0.01)
    return "stopped"


def progress(number: int) -> None:
    put(
        t="progress", id=number, n=10, min=100, p50=110, p99=120, max=130, hz=10**9, overhead=20,
        batch=1, done=500,
    )  # fmt: skip


def pause(number: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(0.05)
        if State.progress:
            progress(number)


def flood() -> None:
    for number in (
        itertools.count() if scenario.get("flood") == "endless" else range(scenario.get("flood", 0))
    ):
        put(t="log", level="warn", text=f"{number} {'x' * 200}")


def case(words: list[str]) -> None:
    number, bench, pairs = int(words[0]), words[1], words[2:]
    if "refuses" in scenario:
        put(t="end", id=number, status="failed", reason=scenario["refuses"])
        return
    params = {p["name"]: p["default"] for p in BENCHES[bench][0] + COMMON}
    given = dict(pair.split("=") for pair in pairs)
    for name, value in given.items():
        params[name] = int(value) if value.isdigit() else value
    put(t="case", id=number, bench=bench, params=params)
    if not scenario.get("quiet"):
        progress(number)
    flood()
    reason = strike() if scenario.get("at") == number and "fate" in scenario else None
    if scenario.get("at") == number:
        pause(number, scenario.get("pause", 0))
    result(number, bench, params)
    evidence = {
        "section_ns": 10**6, "cpu_ns": 9 * 10**5, "minflt": 0, "majflt": 0, "nivcsw": 0, "tasks": 1,
        "sched": scenario.get("sched", "fifo"), "locked": scenario.get("locked", True),
        "others": scenario.get("others", 0),
    }  # fmt: skip
    rate = {"component": "disk", "unit": "ms", "wanted": 100.0, "achieved": 99.0, "window_s": 1.0}
    rates = None if State.load == "none" else [rate | scenario.get("rates", {})]
    status = "failed" if reason else "ok"
    put(t="end", id=number, status=status, reason=reason, evidence=evidence, load=rates)


def begin() -> None:
    put(t="clock", source="fake", hz=10**9, granule=1, overhead=20, unit="ns")
    told = {"cpu.model": "Imaginary", "kernel.release": "1.0", **scenario.get("conditions", {})}
    put(t="conditions", values=told)


def serve() -> None:
    State.wire = scenario.get("wire", {})
    hello()
    if "refuses" not in scenario:
        begin()
    cases = 0
    while not State.stopped and (line := sys.stdin.readline()):
        words = line.split()
        if words[0] == "bye":
            break
        if words[0] == "progress":
            State.progress = words[1] != "0"
        if words[0] == "load":
            load(words[1:])
        if words[0] == "case":
            case(words[1:])
            cases += 1
    if scenario.get("fate") == "late":
        os.kill(os.getpid(), signal.SIGKILL)
    put(t="bye", cases=cases)


def on_term(number: int, frame: object) -> None:
    State.stopped = True


signal.signal(signal.SIGTERM, on_term)
if "trace" in scenario:
    with Path(scenario["trace"]).open("a") as file:
        file.write(" ".join(sys.argv[1:]) + "\n")
if "--sweep" in sys.argv:
    pass
elif "--list" in sys.argv:
    catalogue()
else:
    serve()
