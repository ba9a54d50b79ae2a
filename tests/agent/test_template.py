"""The template of a port, on the small system in agent/tests/template, over a serial line."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from rtstone.measure.capabilities import merge_catalogues
from rtstone.wire.parameters import Catalogue
from rtstone.wire.reader import Noise, Reader
from rtstone.wire.records import Bench
from tests.agent.speak import AGENT, BUILD, Json, command_lines, filled, records, result, talk

TEMPLATE = BUILD / "tests" / "template-agent"
CASES = "samples=50 time=2000000000"


def said(text: bytes) -> list[Json]:
    """Return all records of the answer, echoes too."""
    done = subprocess.run([TEMPLATE], input=text, capture_output=True, timeout=60, check=True)
    return [filled(json.loads(line.split(b" ", 2)[2][:-9])) for line in done.stdout.splitlines()]


def of_kind(records: list[Json], kind: str) -> list[Json]:
    return [record for record in records if record["t"] == kind]


def tables(agent: Any, command: list[str], *args: str) -> dict[str, Json]:
    return {r["id"]: r for r in of_kind(talk(command, *args, agent=agent), "bench")}


def test_the_command_list_sends_what_the_option_does() -> None:
    assert tables(AGENT, ["list"]) == tables(AGENT, [], "--list")


def test_tables_without_texts_are_completed_by_those_of_the_local_agent() -> None:
    small, full = tables(TEMPLATE, ["list"]), tables(AGENT, [], "--list")
    assert len(small) > 60
    assert small.keys() <= full.keys()
    texts = [t.get(k, "") for t in small.values() for k in ("title", "source", "help")]
    texts += [p["help"] for t in small.values() for p in t["params"]]
    assert set(texts) == {""}
    done = subprocess.run(
        [TEMPLATE], input=command_lines("list"), capture_output=True, timeout=60, check=True
    )
    here = dict(_benches(done.stdout))
    done = subprocess.run([AGENT, "--list"], capture_output=True, timeout=60, check=True)
    benches = dict(_benches(done.stdout))
    both = merge_catalogues(Catalogue(here, {}), Catalogue(benches, {})).benches
    for name, bench in here.items():
        assert (both[name].title, both[name].help) == (benches[name].title, benches[name].help)
        names = {p.name for p in benches[name].params}  # dk.schedlat has two more here
        assert all(p.help for p in both[name].params if p.name in names)
        assert [p.default for p in both[name].params][: len(bench.params)] == [
            p.default for p in bench.params
        ]


def _benches(lines: bytes) -> list[tuple[str, Bench]]:
    reader = Reader()
    items = [item for line in lines.splitlines() for item in reader.feed(line)]
    assert not any(isinstance(item, Noise) for item in items)
    records = [getattr(item, "record", item) for item in items]
    return [(b.id, b) for b in records if isinstance(b, Bench)]


def test_the_whole_catalogue_within_64_kib() -> None:
    names = tables(TEMPLATE, ["list"])
    commands = [f"case {i} {name} {CASES}" for i, name in enumerate(names)]
    done = subprocess.run(
        [TEMPLATE], input=command_lines(*commands, "bye"), capture_output=True,
        timeout=120, check=True,
    )  # fmt: skip
    ends = dict(zip(names, of_kind(records(done.stdout), "end"), strict=True))
    failed = {name: end["reason"] for name, end in ends.items() if end["status"] == "failed"}
    assert not failed
    absent = {name for name, end in ends.items() if end["status"] == "unsupported"}
    assert len(names) - len(absent) >= 55
    needed = re.compile(
        r"needs (cpu_time|deadline|round_robin|event|irq_timer|children|soft_irq|footprint|rwlock"
        r"|barrier|spin|smp): "
        r"|memory|heap|no clock"
    )
    assert all(needed.search(ends[name]["reason"]) for name in absent)
    peak = re.search(r"heap: (\d+) of (\d+)", done.stderr.decode())
    assert peak
    assert 40_000 < int(peak[1]) <= int(peak[2]) == 57344


@pytest.mark.parametrize(
    ("bench", "ticks"),
    [("null", 1), ("sem.post.nowait", 6), ("sem.wait.free", 6), ("sched.yield", 6)],
)
def test_nothing_but_the_call_lies_between_the_stamps(bench: str, ticks: int) -> None:
    """On this system a clock reading takes one tick, a call five."""
    measured = result(f"{bench} samples=100 batch=1" if bench != "null" else f"{bench} samples=100",
                   agent=TEMPLATE)  # fmt: skip
    assert (measured["n"], measured["min"], measured["max"]) == (100, ticks, ticks)


def test_every_run_sends_the_same_bytes() -> None:
    commands = command_lines(f"case 1 sync.test3 {CASES}", f"case 2 dk.nanosleep {CASES}", "bye")
    runs = [
        subprocess.run([TEMPLATE], input=commands, capture_output=True, timeout=60, check=True)
        for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout


def test_inheritance_shows_in_the_inversion() -> None:
    by_protocol = {
        how: result(f"sync.test3 protocol={how} {CASES}", agent=TEMPLATE)
        for how in ("none", "inherit")
    }
    assert by_protocol["none"]["min"] > 100 * by_protocol["inherit"]["max"]


def test_a_host_ends_the_case_and_another_one_comes() -> None:
    endless = "case 1 dk.nanosleep samples=0 time=3600000000000"
    first = command_lines("alive 60000", endless, "stop", "bye")
    second = command_lines("hello", "case 1 null samples=5", "bye", first=700)
    records = said(first + second)
    assert [(e["id"], e.get("reason")) for e in of_kind(records, "end")] == [
        (1, "stopped"), (1, None),
    ]  # fmt: skip
    assert [hello["n"] for hello in of_kind(records, "hello")] == [0, 700]
    clock, same = of_kind(records, "clock")
    assert clock == same
    assert of_kind(records, "bye") == 2 * [{"t": "bye", "cases": 1}]


def test_the_serial_line_forgives_what_terminals_do() -> None:
    first, second = (command_lines(f"case {n} null samples=5", first=n) for n in (1, 2))
    records = said(b"\r\n" + first.replace(b"\n", b"\r\n\n") + b"x" * 600 + b"\n?" + second)
    assert [(e["id"], e["status"]) for e in of_kind(records, "end")] == [(1, "ok"), (2, "ok")]
    assert [h["n"] for h in of_kind(records, "heard") if not h.get("text")] == [1]


def test_a_load_runs_beside_a_case() -> None:
    records = said(command_lines("load min", f"case 1 dk.nanosleep {CASES}", "load none", "bye"))
    first, none = of_kind(records, "loaded")
    assert (first["status"], none["load"]) == ("ok", "none")
    [end] = of_kind(records, "end")
    assert end["status"] == "ok"
    [spin] = end["load"]
    assert spin["alive"]
    assert spin["achieved"] > 0
