"""Explanations for other programs: files that follow the rules of their readers."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.explanation import Explanation, Span, Stack
from rtstone.formats.folded import folded
from rtstone.formats.trace_event import trace_events
from tests.report.explained import drawn, explained_run, small

RUN = explained_run()

# What the readers accept: flamegraph.pl (a number before the last makes it a differential), and
# speedscope.
FLAMEGRAPH = re.compile(r"^(.*)\s+?(\d+(?:\.\d*)?)$")
SPEEDSCOPE = re.compile(r"^(.*) (\d+)$")


def stacks(explanation: Explanation) -> Counter[tuple[str, ...]]:
    counts: Counter[tuple[str, ...]] = Counter()
    for line in folded(explanation).decode().splitlines():
        read = FLAMEGRAPH.match(line)
        assert read
        assert not FLAMEGRAPH.match(read[1]), "taken for a second column"
        other = SPEEDSCOPE.match(line)
        assert other
        assert other.groups() == read.groups()
        counts[tuple(read[1].split(";"))] += int(read[2])
    return counts


def test_folded_stacks_are_those_of_the_sample() -> None:
    explanation = drawn(RUN)
    assert stacks(explanation) == {
        tuple(stack.frames): stack.cost for stack in explanation.way.stacks
    }
    assert sum(stacks(explanation).values()) == explanation.way.sample.raw
    assert folded(small(RUN)).decode().splitlines()[0] == (
        "el0_svc;sys_nanosleep 60"
    )  # in the order of names


@pytest.mark.parametrize(
    ("frame", "read"),
    [("a;b", "a:b"), ("f 12", "f_12"), ("f 1.5", "f_1.5"), ("copy [tcp]", "copy [tcp]"),
     (" ", "?"), ("12", "12")],
)  # fmt: skip
def test_a_name_that_readers_would_take_for_something_else(frame: str, read: str) -> None:
    explanation = small(RUN)
    way = structs.replace(
        explanation.way,
        stacks=[Stack(frames=["main", frame], cost=7), Stack(frames=["main"], cost=0.2)],
    )
    assert stacks(structs.replace(explanation, way=way)) == {("main", read): 7}


# ---- trace events -------------------------------------------------------------------------------


# How readers understand a time and a duration: Perfetto rounds each to ns, speedscope adds them up.
READERS: list[Callable[[float, float], tuple[float, float]]] = [
    lambda time, length: (round(time * 1000), round(time * 1000) + round(length * 1000)),
    lambda time, length: (time, time + length),
]


def checked(explanation: Explanation) -> dict[str, Any]:
    """Return the document, which follows the rules of the trace event format.

    These are: an object with ``traceEvents``; each event with name, phase, process and thread;
    complete events with a time and a duration, metadata with its argument; metadata of ``other``
    as it likes; and complete events of a thread that nest.
    """
    document: dict[str, Any] = json.loads(trace_events(explanation))
    assert document["displayTimeUnit"] in {"ms", "ns"}
    assert all(isinstance(value, str) for value in document["otherData"].values())
    threads: dict[tuple[int, int], list[dict[str, Any]]] = defaultdict(list)
    arguments = {"process_name": "name", "thread_name": "name",
                 "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}  # fmt: skip
    named = set()
    for event in document["traceEvents"]:
        assert isinstance(event["name"], str)
        assert type(event["pid"]) is type(event["tid"]) is int
        assert 0 <= event["tid"] < 2**31
        if event["ph"] == "M":
            assert event["args"].keys() == {arguments[event["name"]]}
            named.add((event["name"], event["pid"], event["tid"]))
        else:
            assert event["ph"] == "X"
            assert event["cat"]
            assert min(event["ts"], event["dur"]) >= 0
            threads[event["pid"], event["tid"]].append(event)
    for process, thread in threads:
        assert ("process_name", process, 0) in named
        assert ("thread_name", process, thread) in named
    for events in threads.values():
        for reader in READERS:
            nested([reader(event["ts"], event["dur"]) for event in events])
    return document


def nested(events: list[tuple[float, float]]) -> None:
    """Fail if an event begins within another and ends after it; outer ones come first."""
    assert [begin for begin, _ in events] == sorted(begin for begin, _ in events)
    ends: list[float] = []
    for begin, end in events:
        while ends and ends[-1] <= begin:
            ends.pop()
        assert not ends or end <= ends[-1], "not within the one around it"
        ends.append(end)


def test_instructions_are_shown_as_microseconds_which_is_said() -> None:
    explanation = small(RUN)
    document = checked(explanation)
    assert document["otherData"]["time"] == "1 µs stands for 1 instruction"
    names = [e["args"]["name"] for e in document["traceEvents"] if e["name"] == "process_name"]
    assert names == [
        f"sample {n} of dk.periodic (1 µs stands for 1 instruction)" for n in (1733, 12)
    ]
    parts = [e for e in document["traceEvents"] if e.get("cat") == "segment" and e["pid"] == 1]
    assert [(e["ts"], e["dur"]) for e in parts] == [
        (s.start, s.length) for s in explanation.way.segments
    ]
    assert parts[4]["name"] == "blocking thread"
    assert parts[4]["args"]["by"] == "stress-ng in recvfrom"
    assert parts[4]["args"]["stack"] == "el0_svc > sys_recvfrom > tcp_recvmsg > copy [tcp]"
    calls = [(e["ts"], e["dur"], e["name"]) for e in document["traceEvents"]
             if e.get("cat") == "call"]  # fmt: skip
    assert calls == [(s.start, s.length, s.name) for s in explanation.way.spans]


@pytest.mark.parametrize("unit", ["instructions", "ns"])
def test_calls_nest_with_500_functions(unit: str) -> None:
    explanation = drawn(RUN, unit=unit)
    document = checked(explanation)
    calls = [e for e in document["traceEvents"] if e.get("cat") == "call" and e["pid"] == 1]
    assert len(calls) == len(explanation.way.spans)
    assert len({e["tid"] for e in calls}) == 1  # they are of one task, and nest as they are


def test_times_are_right_to_the_ns() -> None:
    rng = random.Random(3)
    spans = [Span(rng.randrange(10**12), rng.randrange(10**5), 0, "f") for _ in range(3000)]
    explanation = small(RUN, unit="ns", source="trace")
    explanation = structs.replace(explanation, way=structs.replace(explanation.way, spans=spans))
    document = checked(explanation)
    calls = [e for e in document["traceEvents"] if e.get("cat") == "call" and e["pid"] == 1]
    read = Counter(READERS[0](e["ts"], e["dur"]) for e in calls)
    assert read == Counter((s.start, s.start + s.length) for s in spans)
    assert document["displayTimeUnit"] == "ns"


def test_calls_that_overlap_are_in_several_threads() -> None:
    """As those of two tasks: one is switched away from, and returned to later."""
    explanation = small(RUN)
    spans = [Span(0, 60, 0, "a"), Span(40, 60, 0, "b"), Span(45, 10, 1, "c"), Span(60, 5, 0, "d")]
    document = checked(
        structs.replace(explanation, way=structs.replace(explanation.way, spans=spans))
    )
    threads: dict[int, list[str]] = defaultdict(list)
    for event in document["traceEvents"]:
        if event.get("cat") == "call" and event["pid"] == 1:
            threads[event["tid"]].append(event["name"])
    assert [*threads.values()] == [["a", "c", "d"], ["b"]]
