"""Sections of runs in the lab, against a count of another kind.

It goes from block to block, and has nothing of the state that the plugin follows.
"""

from __future__ import annotations

import os
import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from rtstone.documents.run import Run
from rtstone.explain import masks
from rtstone.explain.elf import Elf, functions
from rtstone.explain.lab import machine_of, samples_of
from rtstone.explain.recording import Span
from rtstone.explain.replay import replay, target_of
from rtstone.interrupt import Interrupt
from rtstone.lab import ready, systems
from rtstone.store.rundir import load, logs
from rtstone.store.sections import stored
from tests.bench import planted_linux
from tests.conftest import Cli

pytestmark = pytest.mark.lab

AROUND = 5_000  # instructions, in which every section ends
VECTOR = 16  # instructions from an exception's vector to the first of its handler


def measured(cli: Cli, place: Path, system: str, *words: str, status: int = 0) -> dict[str, Any]:
    """Measure wake-ups, and return the sections of the run, which end with that status."""
    if lacking := ready.missing(systems.find(system.partition("+")[0])):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    run = cli("run", "dk.periodic", "-p", "samples=40", *words, "--target", f"qemu:{system}",
              "--out", place)  # fmt: skip
    assert run.status in {0, 3}, run.err
    done = cli("sections", place, "--json")
    assert done.status == status, done.err
    return dict(done.document)


class Executed:
    """What ran between the first and the last sample, block by block, and the program."""

    def __init__(self, directory: Path) -> None:
        plan, _ = logs(directory)
        run: Run = load(directory)
        machine = machine_of(target_of(plan))
        interrupt = Interrupt()
        every, _ = samples_of(plan, run, run.results[0], machine, interrupt)
        first, last = every.moment(0), every.moment(len(every.buckets) - 1)
        self.during = Span(first.end - first.length, last.end)
        self.window = Span(self.during.start - AROUND, self.during.end + AROUND)
        request = machine.request._replace(stamps=(), stores=(), windows=[self.window])
        self.recording = replay(plan, machine.target, run, request, interrupt).recording
        data = machine.elf.read_bytes()
        self.elf, self.functions = Elf(data), functions(data)
        self.wide = machine.arch.name == "aarch64"

    def code(self, name: str) -> list[tuple[int, bytes]]:
        """Return the addresses of a function's instructions, and the bytes from there on."""
        at = self.functions.names.index(name)
        start, end = self.functions.starts[at], self.functions.ends[at]
        section = next(s for s in self.elf.sections if s.address <= start < s.address + s.size)
        content = self.elf.content(section)[start - section.address : end - section.address]
        step = 4 if self.wide else 2
        return [(start + i, content[i : i + 4]) for i in range(0, end - start, step)]

    def sections(self, effects: dict[int, int]) -> list[int]:
        """Return the lengths of the sections between instructions of these effects."""
        lengths, depth, since = [], 0, 0
        ran = self.recording.ran(self.window)
        counts, numbers = ran["count"].tolist(), ran["what"].tolist()
        ends = [*counts[1:], counts[-1]]
        blocks = self.recording.blocks
        sizes = {n: self._offsets(blocks[n].item()) for n in set(numbers)}
        inside = {
            n: [(i, effects[pc]) for i, pc in enumerate(pcs) if pc in effects]
            for n, pcs in sizes.items()
        }
        for count, end, number in zip(counts, ends, numbers, strict=True):
            for place, effect in inside[number]:
                if place >= end - count:
                    break
                before, depth = depth, max(0, depth + effect)
                when = count + place
                if not before and depth:
                    since = when
                elif before and not depth and self.during.start <= since < self.during.end:
                    lengths.append(when - since)
        return lengths

    def _offsets(self, block: tuple[int, int, int, bytes, int]) -> list[int]:
        """Return the addresses of a block's instructions."""
        pc, n, size, _, _ = block
        if self.wide:
            return [pc + 4 * i for i in range(n)]
        section = next(s for s in self.elf.sections if s.address <= pc < s.address + s.size)
        content = self.elf.content(section)[pc - section.address :][:size]
        return [pc + at for at in _thumb(content)]


def _thumb(code: bytes) -> Iterator[int]:
    """Yield where instructions begin; those that begin with 0b111(01|10|11) have four bytes."""
    at = 0
    while at < len(code):
        yield at
        at += 4 if struct.unpack_from("<H", code, at)[0] >> 11 in (0x1D, 0x1E, 0x1F) else 2


def changes(executed: Executed, names: Iterable[str]) -> dict[int, int]:
    """Return the stores to a variable in functions, by address: whether 1 was added or taken away.

    It is what the first of the functions counts first.
    """
    places: dict[int, tuple[int, int]] = {}
    for name in names:
        for (_, before), (at, after) in pairwise(executed.code(name)):
            size = 4 if executed.wide else 2
            first, second = (int.from_bytes(part[:size], "little") for part in (before, after))
            if executed.wide:  # add or sub xN, xN, #1; str xN, [xM, #offset]
                counts = first & 0xBFFFFC00 == 0x91000400 and second & 0xFFC00000 == 0xF9000000
                if counts and first & 31 == second & 31:
                    places[at] = second >> 10 & 0xFFF, -1 if first >> 30 & 1 else 1
            elif (first & 0xF0FF, second & 0xF800, first >> 8 & 7) == (0x3001, 0x6000, second & 7):
                places[at] = 0, -1 if first & 0x0800 else 1  # adds or subs rN, #1; str rN, [rM]
                break
    offset = next(iter(places.values()))[0]
    return {at: change for at, (where, change) in places.items() if where == offset}


def compare(sections: dict[str, Any], kind: str, lengths: list[int]) -> None:
    """The document has the same sections."""
    (each,) = (entry for entry in sections["kinds"] if entry["kind"] == kind)
    assert each["n"] == len(lengths) > 10
    assert each["total"] == sum(lengths)
    assert each["longest"] == max(lengths)
    assert sum(section["n"] for section in each["sections"]) == each["n"]


def skip_long(system: str, *quick: str) -> None:
    """Skip a system that is none of these, unless all are to be run."""
    if system not in quick and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("takes long: RTSTONE_LAB=all runs it")


@pytest.mark.parametrize("system", ["freertos-a64", "freertos-m3"])
def test_sections_are_those_of_another_count(cli: Cli, tmp_path: Path, system: str) -> None:
    place = tmp_path / "run"
    sections = measured(cli, place, system, "--load", "heavy/reduced")
    executed = Executed(place)
    names = ["vTaskSuspendAll", "xTaskResumeAll"]
    if system == "freertos-a64":
        names += ["xTaskDelayUntil"]  # in which the compiler puts what the first does
    compare(sections, "suspended", executed.sections(changes(executed, names)))
    if system == "freertos-m3":  # on AArch64 a section may end in another task
        effects = changes(executed, ["vPortEnterCritical", "vPortExitCritical"])
        compare(sections, "critical", executed.sections(effects))
    assert sections["while_masked"] == 0
    assert sections["instructions"] == executed.during.end - executed.during.start


def without_stacks(document: Any) -> Any:
    """Return a document without its call stacks."""
    if isinstance(document, dict):
        return {k: without_stacks(v) for k, v in document.items() if k != "stack"}
    return [without_stacks(v) for v in document] if isinstance(document, list) else document


@pytest.mark.parametrize(
    "system", ["freertos-a64", "freertos-m3", "linux-6.1-rt", "riscv/linux-unstable"]
)
def test_a_watched_run_is_the_same_and_its_sections_those_of_replays(
    cli: Cli, tmp_path: Path, system: str
) -> None:
    skip_long(system, "freertos-a64", "freertos-m3", "linux-6.1-rt")
    if lacking := ready.missing(systems.find(system)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    words = ("run", "dk.periodic", "-p", "samples=40", "--target", f"qemu:{system}", "--json")
    plain = cli(*words, "--out", tmp_path / "plain")
    watched = cli(*words, "--sections", "--out", tmp_path / "watched")
    assert (plain.status, watched.status) == (0, 0), watched.err
    assert watched.document["results"] == plain.document["results"]
    run = load(tmp_path / "watched")
    (sections,), damaged = stored(tmp_path / "watched", run.run_id)
    assert not damaged
    assert sum(kind.n for kind in sections.kinds) > 10
    done = cli("sections", tmp_path / "watched", "--json")
    assert without_stacks(to_builtins(sections)) == without_stacks(done.document)


def below_its_bound(cli: Cli, place: Path, sections: dict[str, Any]) -> None:
    """No wake-up of a run is above the bound, and the longest is as explain divides it."""
    bound = sections["bound"]
    added = [term["longest"] for term in bound["terms"] if term["added"]]
    assert bound["longest"] == sum(added)
    assert bound["above"] == 0
    assert 0 < bound["seen"] <= bound["longest"]
    assert bound["switched"] + bound["running"] == 40
    assert bound["seen"] <= sections["max"] <= bound["seen"] + bound["after"]
    if any(part in sections["target"] for part in ("-rv", "riscv/")):
        return  # explain refuses it
    done = cli("explain", place, "--sample", bound["sample"], "--json")
    assert done.status == 0, done.err
    (switch,) = (s for s in done.document["way"]["segments"] if s["kind"] == "switch")
    assert switch["start"] < bound["seen"] <= switch["start"] + switch["length"]


@pytest.mark.parametrize("system", ["freertos-a64", "freertos-rv32", "freertos-rv64"])
def test_no_wake_up_is_above_the_bound(cli: Cli, tmp_path: Path, system: str) -> None:
    place = tmp_path / "run"
    sections = measured(cli, place, system, "--load", "heavy/reduced")
    assert sections["interrupts"] > 30
    assert sections["while_masked"] == 0
    below_its_bound(cli, place, sections)
    allowed = sections["bound"]["longest"]
    for limit, status in ((allowed, 0), (allowed - 1, 1)):
        assert cli("check", place, "--limit", f"sections bound<={limit}").status == status


def test_a_fault_of_the_model_shows_as_interrupts_while_masked(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task's mstatus is loaded by is left out, so that it is held to mask."""
    monkeypatch.setattr(masks, "RESTORING", ())
    sections = measured(cli, tmp_path / "run", "freertos-rv64", status=3)
    assert sections["while_masked"] > 10


def test_without_what_it_needs_there_is_no_bound(cli: Cli, tmp_path: Path) -> None:
    sections = measured(cli, tmp_path / "run", "freertos-m3")
    assert sections["bound"] is None
    assert "is not followed on this system" in sections["no_bound"]


def test_the_longest_has_its_callers(cli: Cli, tmp_path: Path) -> None:
    sections = measured(cli, tmp_path / "run", "freertos-m3", "--load", "heavy/reduced")
    callers = Counter(
        caller for kind in sections["kinds"] for section in kind["sections"]
        for caller in section["stack"][-1:]
    )  # fmt: skip
    assert callers["vPortEnterCritical"] > 2
    assert callers["vTaskSuspendAll"]  # how many come in 40 wake-ups depends on the compiler
    assert sections["sentence"].startswith("Longest in a critical section: ")
    done = cli("sections", tmp_path / "run")
    assert done.status == 0
    assert done.out.splitlines()[0] == sections["sentence"]


@pytest.mark.parametrize(
    "system",
    ["linux-6.1", "linux-6.1-rt", "q35/linux-6.1-rt", "q35/linux-6.1+preempt=full",
     "q35/linux-6.1+preempt=none", "riscv/linux-unstable"],
)  # fmt: skip
def test_no_interrupt_comes_while_they_are_masked(cli: Cli, tmp_path: Path, system: str) -> None:
    """A fault of the model would let one come; what explain says of a sample fits the sections."""
    skip_long(system, "linux-6.1", "q35/linux-6.1-rt")
    place = tmp_path / "run"
    sections = measured(cli, place, system, "--load", "syscalls")
    assert sections["interrupts"] > 30
    assert sections["while_masked"] == 0
    kinds = {kind["kind"]: kind for kind in sections["kinds"]}
    counted = system.endswith(("-rt", "=full")) or system.startswith("riscv/")
    other = "preempt-off" if counted else "unbroken"
    assert kinds.keys() == {"irqs-masked", other}
    for kind in kinds.values():
        assert kind["n"] > 100
        assert 1000 < kind["longest"] < kind["total"] < sections["instructions"]
        assert kind["longest"] == kind["sections"][0]["longest"]
    below_its_bound(cli, place, sections)
    if system.startswith("q35/"):
        assert sections["unseen"] is None
    else:
        assert sections["unseen"]["functions"] > sections["unseen"]["unseen"] > 0
    done = cli("explain", place, "--json")
    if system.startswith("riscv/"):
        assert done.status == 2
        return
    assert done.status == 0, done.err
    parts = done.document["way"]["segments"]
    late = sum(part["length"] for part in parts if part["kind"] == "irq-delay")
    assert late <= kinds["irqs-masked"]["longest"] + VECTOR
    if other == "preempt-off":
        return  # where threads of a higher priority may block for longer
    blocking = max((part["length"] for part in parts if part["kind"] == "blocking"), default=0)
    assert blocking <= kinds[other]["longest"]


@pytest.mark.parametrize(
    "name", ["linux-6.1", "linux-6.1-rt", "q35/linux-6.1-rt", "riscv/linux-unstable"]
)
def test_planted_sections_are_first_and_exact(tmp_path: Path, name: str) -> None:
    """Loops of 10,000 instructions in a thread of the kernel, as of a module."""
    skip_long(name, "linux-6.1-rt")
    if lacking := ready.missing(systems.find(name)):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    kernel = planted_linux.kernel_of(name)
    module = planted_linux.build(kernel, tmp_path)
    sections = planted_linux.measured(name, module, tmp_path)
    assert [planted_linux.fine(kind, kernel.arch) for kind in sections["kinds"]] == [True, True]
    assert sections["while_masked"] == 0
    assert sections["bound"]["above"] == 0
