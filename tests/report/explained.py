"""Explanations that look real, made by hand or from a seeded generator; nothing was run."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

import rtstone.explain.explain
from rtstone.documents.explanation import (
    AllSamples,
    Ending,
    Explanation,
    Function,
    Sample,
    Segment,
    Span,
    Stack,
    Way,
)
from rtstone.documents.run import Result, Run, Target
from rtstone.interrupt import Interrupt
from tests.report.synthetic import HOSTILE, Maker, run

TASK, LOAD = ["el0_svc", "sys_nanosleep"], ["el0_svc", "sys_recvfrom", "tcp_recvmsg", "copy [tcp]"]
IRQ = [*LOAD, "el1_interrupt"]
SENTENCE = "990 instr late: `copy [tcp]` ran 700 instr with preemption off"


@cache
def explained_run() -> Run:
    """Return a run of an emulated target: a wake-up under two loads, and other benches."""
    make = Maker(5, 2000)
    for load, median in (("none", 4000), ("syscalls", 9000)):
        make.timed("dk.periodic", median, 0.2, unit="instructions", missed=0, load=load)
    make.timed("sem.wait.busy", 700, unit="instructions")
    make.timed("null", 4, unit="instructions")
    make.add("posix.options")
    target = Target(name="qemu:linux-6.1", detail={"icount": True})
    return run(results=make.results, target=target, slopes=[], conditions={}, notes=[])


def late(run: Run) -> Result:
    """Return the result of a run of which a sample is explained."""
    return next(r for r in run.results if r.load == "syscalls")


def small(run: Run, **changes: Any) -> Explanation:
    """Return an explanation of 1000 instructions, every part of which is known."""
    kinds = {"irq-delay": 100, "handler": 50, "softirq": 30, "wakeup": 20, "blocking": 700,
             "irq": 40, "switch": 40, "return": 20}  # fmt: skip
    starts = dict(zip(kinds, [0, 100, 150, 180, 200, 900, 940, 980], strict=True))
    who = {"blocking": ("stress-ng in recvfrom", LOAD), "irq": ("irq 27", [*IRQ, "timer"])}
    segments = [
        Segment(kind=kind, start=starts[kind], length=length, by=by, stack=stack)  # type: ignore[arg-type]
        for kind, length in kinds.items()
        for by, stack in [who.get(kind, (None, []))]
    ]
    stacks = [Stack(frames=LOAD, cost=800), Stack(frames=IRQ, cost=60),
              Stack(frames=[*IRQ, "wake_up"], cost=80), Stack(frames=TASK, cost=60)]  # fmt: skip
    spans = [Span(0, 940, 0, "el0_svc"), Span(0, 940, 1, "sys_recvfrom"), Span(100, 140, 2, "irq"),
             Span(940, 60, 0, "el0_svc"), Span(945, 50, 1, "sys_nanosleep")]  # fmt: skip
    worst = Sample(index=1733, at_s=8.5, value=990, raw=1000)
    middle = Sample(index=12, at_s=0.06, value=190, raw=200)
    beside = Way(
        sample=middle,
        segments=[Segment(kind="handler", start=0, length=150),
                  Segment(kind="switch", start=150, length=50)],
        stacks=[Stack(frames=TASK, cost=120), Stack(frames=["idle"], cost=80)],
    )  # fmt: skip
    way = Way(sample=worst, segments=segments, stacks=stacks, spans=spans, shortest=3)
    return _explanation(run, way, beside, **{"sentence": SENTENCE} | changes)


Asked = list[tuple[Path, Result, str, str]]


def in_place(monkeypatch: pytest.MonkeyPatch, builder: Callable[[Result], Explanation]) -> Asked:
    """Put explanations made by hand in place of real ones; return what is asked for."""
    explanation: Asked = []

    def explain(
        directory: Path, run: Run, result: Result, sample: str, against: str, *,
        interrupt: Interrupt,
    ) -> Explanation:  # fmt: skip
        assert not interrupt.requested
        explanation.append((directory, result, sample, against))
        return builder(result)

    monkeypatch.setattr(rtstone.explain.explain, "explain", explain)
    return explanation


def hostile(run: Run) -> Explanation:
    """Return an explanation whose names are markup."""
    explanation = small(run)
    named = [Segment(kind="blocking", start=0, length=1000, by=HOSTILE, stack=[HOSTILE, "a;b 12"])]
    way = structs.replace(
        explanation.way, segments=named, stacks=[Stack(frames=[HOSTILE, "a;b 12"], cost=1000)],
        spans=[Span(0, 1000, 0, HOSTILE)],
    )  # fmt: skip
    return structs.replace(
        explanation, way=way, sentence=HOSTILE, notes=[HOSTILE], functions=functions(way, None)
    )


def drawn(run: Run, number: int = 500, seed: int = 1, unit: str = "instructions") -> Explanation:
    """Return an explanation with so many functions, and calls some 20 deep."""
    rng = random.Random(seed)
    names = [f"{rng.choice(WORDS)}_{rng.choice(WORDS)}_{n}" for n in range(number)]
    way = _way(rng, names, Sample(index=1733, at_s=8.5, value=1_285_100, raw=1_285_130))
    middle = Sample(index=12, at_s=0.06, value=5210, raw=5240)
    beside = _way(rng, names[: number // 4], middle)
    worst = Counter(rng.choice(names[:9]) for _ in range(20))
    all_samples = AllSamples(
        n=2000, cost=61_000_000, worst=20,
        functions=[(name, 20_000_000 // (place + 2)) for place, name in enumerate(names[:30])],
        endings=[Ending(name=name, samples=n) for name, n in worst.most_common()],
    )  # fmt: skip
    sentence = (
        f"1.29 M instr late: {way.segments[4].stack[-1]} under {way.segments[4].stack[1]} of load "
        "syscalls ran 0.90 M instr with preemption off"
    )
    notes = ["Kernel symbols are those of the image; 2 addresses have none."]
    return _explanation(
        run, way, beside, sentence=sentence, unit=unit, all_samples=all_samples, notes=notes
    )


WORDS = ("tcp", "copy", "page", "alloc", "skb", "timer", "sched", "irq", "ext4", "slab", "rcu",
         "user", "read", "lock", "queue", "wake")  # fmt: skip
ENTRY = 9  # calls of which each hardly does more than call the next, as those of a system call
SHARES = {"irq-delay": 0.02, "handler": 0.01, "softirq": 0.03, "wakeup": 0.002, "blocking": 0.7,
          "irq": 0.05, "switch": 0.1, "return": 0.0005}  # fmt: skip


def _way(rng: random.Random, names: list[str], sample: Sample) -> Way:
    spans, stacks, left = list[Span](), Counter[tuple[str, ...]](), list(names)

    def call(begin: int, end: int, frames: tuple[str, ...]) -> None:
        """Spend a time in the last of the frames and what it calls."""
        own, at = 0, begin
        while at < end:
            stop = min(end, at + 1 + int((end - begin) * rng.uniform(0.05, 0.5)))
            entry = len(frames) < ENTRY and at == begin
            if entry:
                stop = end - (end - begin) // 100
            if stop - at > sample.raw / 4000 and (entry or rng.random() < 0.8):
                name = left.pop() if left else rng.choice(names)
                spans.append(Span(at, stop - at, len(frames), name))
                call(at, stop, (*frames, name))
            else:
                own += stop - at
            at = stop
        if own:
            stacks[frames or ("swapper",)] += own

    call(0, int(sample.raw), ())
    segments, start = [], 0
    for kind, share in {**SHARES, "task": 1}.items():
        length = min(int(share * sample.raw), int(sample.raw) - start) if share < 1 else (
            int(sample.raw) - start)  # fmt: skip
        stack = rng.choices(names, k=6) if kind in {"blocking", "softirq"} else []
        by = "stress-ng in recvfrom, preemption off" if kind == "blocking" else None
        segments.append(Segment(kind=kind, start=start, length=length, by=by, stack=stack))  # type: ignore[arg-type]
        start += length
    longest = sorted((s for s in spans if s.length >= 40), key=lambda s: (s.start, s.depth))
    counted = [Stack(frames=[*frames], cost=cost) for frames, cost in stacks.items()]
    return Way(sample=sample, segments=segments, stacks=counted, spans=longest, shortest=40)


def functions(way: Way, against: Way | None) -> list[Function]:
    """Return what each function cost, the costliest first."""
    own, total = _costs(way)
    other_own, other_total = _costs(against) if against else (Counter(), Counter())
    return [
        Function(
            name=name, own=own[name], total=total[name],
            against_own=other_own[name] if against else None,
            against_total=other_total[name] if against else None,
        )
        for name in sorted(total, key=lambda n: (-own[n], -total[n], n))
    ]  # fmt: skip


def _costs(way: Way) -> tuple[Counter[str], Counter[str]]:
    own, total = Counter[str](), Counter[str]()
    for stack in way.stacks:
        own[stack.frames[-1]] += int(stack.cost)
        for name in set(stack.frames):
            total[name] += int(stack.cost)
    return own, total


def _explanation(run: Run, way: Way, against: Way, **changes: Any) -> Explanation:
    result = late(run)
    members: dict[str, Any] = {
        "run_id": run.run_id, "target": run.target.name, "case": result.case, "bench": result.bench,
        "params": result.params, "load": result.load, "series": result.series,
        "unit": "instructions", "source": "replay", "way": way,
        "against": against, "functions": functions(way, against),
    }  # fmt: skip
    return Explanation(**members | changes)
