"""Call stacks and counts are those of a guest that is made up, instruction by instruction."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest

from rtstone.explain import stacks
from rtstone.explain.instructions import ARCHITECTURES, Flow
from rtstone.explain.recording import BLOCK, RECORD, Kind, Recording, Span
from rtstone.explain.roles import LINUX
from rtstone.explain.segments import segments

NOP = 0xD503201F
RET, ERET, SVC, BRANCH = 0xD65F03C0, 0xD69F03E0, 0xD4000001, 0x14000001
CALL = 0x94000001
AARCH64 = ARCHITECTURES["aarch64"]

# Functions of the guest: 0x100 bytes each.
NAMES = ["task", "vectors", "el1h_64_irq", "try_to_wake_up", "load", "__schedule", "cpu_switch_to",
         "finish_task_switch", "sleep", "memcpy", "tramp_vectors",
         "__x86_indirect_thunk_rax", "__pi___x86_indirect_thunk_rax"]  # fmt: skip
AT = {name: 0x1000 + 0x100 * number for number, name in enumerate(NAMES)}


def place(pc: int) -> tuple[str, int]:
    """Return the function at an address, and its begin."""
    return NAMES[(pc - 0x1000) // 0x100], pc & ~0xFF


class Guest:
    """Records blocks as the plugin does: `begun` counts an instruction that faults once more."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int]] = []
        self.blocks: list[tuple[int, int, int, bytes, int]] = []
        self.begun = 1000

    def run(self, pc: int, n: int, last: int = NOP, begun: int | None = None) -> int:
        """Execute a block of n instructions, or begin only some; return the address behind it."""
        self.rows.append((self.begun, len(self.blocks), 0, Kind.RAN))
        self.blocks.append((pc, n, 4 * n, struct.pack("<I", last), 4))
        self.begun += n if begun is None else begun
        return pc + 4 * n

    def followed(self) -> stacks.Followed:
        """Return what follows from it."""
        padded = [(*row[:3], row[3].ljust(15, b"\0"), row[4]) for row in self.blocks]
        blocks = np.array(padded, BLOCK)
        recording = Recording(np.array([tuple(map(int, row)) for row in self.rows], RECORD), blocks)
        return stacks.follow(recording, Span(0, self.begun + 1), AARCH64, place, LINUX)


def stack_lines(
    followed: stacks.Followed, slices: Sequence[stacks.Slice] | None = None
) -> list[str]:
    """Return stacks and counts as text."""
    rows = followed.slices if slices is None else slices
    return [f"{'>'.join(followed.tree.frames(part.node))} {part.n}" for part in rows]


def test_calls_and_returns() -> None:
    guest = Guest()
    back = guest.run(AT["task"], 3, CALL)
    guest.run(AT["memcpy"], 5, RET)
    guest.run(back, 2, CALL)
    guest.run(AT["memcpy"], 4, BRANCH)
    guest.run(AT["memcpy"] + 0x40, 4, RET)
    assert stack_lines(guest.followed()) == ["task 3", "task>memcpy 5", "task 2", "task>memcpy 8"]


@pytest.mark.parametrize("thunk", NAMES[-2:])
def test_a_call_by_a_return_is_one(thunk: str) -> None:
    """A thunk calls within itself, and returns to the function that it stands for a call of."""
    guest = Guest()
    back = guest.run(AT["task"], 3, CALL)
    guest.run(AT[thunk], 1, CALL)
    guest.run(AT[thunk] + 0x40, 2, RET)
    guest.run(AT["memcpy"], 5, RET)
    guest.run(back, 2)
    rows = stack_lines(guest.followed())
    assert [rows[0], *rows[-2:]] == ["task 3", "task>memcpy 5", "task 2"]


def test_an_interrupt_goes_back_to_where_it_came() -> None:
    guest = Guest()
    back = guest.run(AT["task"], 3, CALL)  # interrupted before the first instruction of memcpy
    guest.run(AT["vectors"] + 0x80, 1, BRANCH)
    guest.run(AT["el1h_64_irq"], 6, ERET)
    guest.run(AT["memcpy"], 5, RET)
    guest.run(back, 2)
    assert stack_lines(guest.followed()) == [
        "task 3", "task>vectors 1", "task>el1h_64_irq 6", "task>memcpy 5", "task 2",
    ]  # fmt: skip


def test_a_vector_that_jumps_to_another_is_one_exception() -> None:
    """While the kernel is hidden, a call and a return in its vector are only jumps."""
    guest = Guest()
    back = guest.run(AT["task"], 3, CALL)
    guest.run(AT["memcpy"], 2, SVC)
    guest.run(AT["tramp_vectors"], 1, CALL)
    guest.run(AT["tramp_vectors"] + 0x40, 4, RET)
    guest.run(AT["vectors"] + 0x80, 2, BRANCH)
    guest.run(AT["el1h_64_irq"], 6, ERET)
    guest.run(AT["memcpy"] + 8, 2, RET)
    guest.run(back, 2)
    assert stack_lines(guest.followed()) == [
        "task 3", "task>memcpy 2", "task>memcpy>tramp_vectors 5", "task>memcpy>vectors 2",
        "task>memcpy>el1h_64_irq 6", "task>memcpy 2", "task 2",
    ]  # fmt: skip


def test_an_instruction_that_faults_is_counted_once() -> None:
    guest = Guest()
    guest.run(AT["memcpy"], 8, RET, begun=3)  # the third faults
    guest.run(AT["vectors"], 1, BRANCH)
    guest.run(AT["el1h_64_irq"], 6, ERET)
    guest.run(AT["memcpy"] + 8, 6, NOP)
    followed = guest.followed()
    assert [part.n for part in followed.slices] == [2, 1, 6, 6]
    assert sum(part.n for part in stacks.within(followed.slices, guest.begun, 15)) == 15
    assert (
        stack_lines(followed, stacks.within(followed.slices, guest.begun, 8))[0]
        == "memcpy>el1h_64_irq 2"
    )


def switched() -> tuple[Guest, int]:
    """A task sleeps, another runs into an interrupt that wakes it, and is switched from."""
    guest = Guest()
    back = guest.run(AT["task"], 2, CALL)
    in_sleep = guest.run(AT["sleep"], 2, CALL)
    in_schedule = guest.run(AT["__schedule"], 3, CALL)
    guest.run(AT["cpu_switch_to"], 4, RET)
    # The load was left elsewhere, before the recording.
    guest.run(AT["finish_task_switch"], 2, RET)
    back_in_load = guest.run(AT["load"], 1, CALL)
    due = guest.begun
    guest.run(AT["memcpy"], 7)
    guest.run(AT["vectors"] + 0x80, 1, BRANCH)
    in_irq = guest.run(AT["el1h_64_irq"], 6, CALL)
    guest.run(AT["try_to_wake_up"], 9, RET)
    guest.run(in_irq, 2, ERET)
    guest.run(AT["memcpy"] + 28, 20, RET)
    guest.run(back_in_load, 1, CALL)
    guest.run(AT["__schedule"], 3, CALL)
    guest.run(AT["cpu_switch_to"], 4, RET)
    guest.run(in_schedule, 1, RET)
    guest.run(in_sleep, 1, RET)
    guest.run(back, 3)
    return guest, due


def test_a_task_is_taken_up_where_it_was_left() -> None:
    guest, _ = switched()
    followed = guest.followed()
    assert stack_lines(followed)[-3:] == ["task>sleep>__schedule 1", "task>sleep 1", "task 3"]
    assert len(followed.switches) == 2
    assert "load>memcpy>el1h_64_irq>try_to_wake_up 9" in stack_lines(followed)


def test_segments_are_the_sample() -> None:
    guest, due = switched()
    followed = guest.followed()
    way = stacks.within(followed.slices, guest.begun, guest.begun - due)
    parts = segments(followed.tree, way, followed.switches, LINUX, stamped=False)
    assert [(part.kind, part.length, part.by) for part in parts] == [
        ("irq-delay", 8, "memcpy"), ("handler", 6, None), ("wakeup", 9, None), ("handler", 2, None),
        ("blocking", 21, "memcpy"), ("switch", 7, None), ("return", 5, None),
    ]  # fmt: skip
    assert sum(part.length for part in parts) == guest.begun - due
    assert parts[4].stack[:1] == ["load"]


def test_the_lookalike_is_not_mistaken() -> None:
    """Two tasks were left in the same function; which one goes on is told by its caller."""
    guest = Guest()
    in_schedule = 0
    returns = {}
    for task in ("task", "load"):
        returns[task] = guest.run(AT[task], 2, CALL)
        in_schedule = guest.run(AT["__schedule"], 3, CALL)
        guest.run(AT["cpu_switch_to"], 4, RET)
        guest.run(AT["finish_task_switch"], 2, RET)
    guest.run(AT["sleep"], 2, CALL)
    guest.run(AT["__schedule"], 3, CALL)
    guest.run(AT["cpu_switch_to"], 4, RET)
    guest.run(in_schedule, 1, RET)
    guest.run(returns["task"], 5)
    assert stack_lines(guest.followed())[-2:] == ["task>__schedule 1", "task 5"]


@pytest.mark.parametrize(
    ("arch", "code", "flow"),
    [
        ("aarch64", "00003fd6", Flow.CALL), ("aarch64", "c0035fd6", Flow.RETURN),
        ("aarch64", "e0039fd6", Flow.LEAVE), ("aarch64", "00000014", Flow.JUMP),
        ("armv7m", "00f001f8", Flow.CALL), ("armv7m", "9847", Flow.CALL),
        ("armv7m", "7047", Flow.RETURN), ("armv7m", "10bd", Flow.RETURN),
        ("armv7m", "bde8f087", Flow.RETURN), ("armv7m", "fee7", Flow.JUMP),
        ("x86_64", "e810000000", Flow.CALL), ("x86_64", "ffd0", Flow.CALL),
        ("x86_64", "41ffd3", Flow.CALL), ("x86_64", "ffe0", Flow.JUMP),
        ("x86_64", "c3", Flow.RETURN), ("x86_64", "f3c3", Flow.RETURN),
        ("x86_64", "48cf", Flow.LEAVE), ("x86_64", "480f07", Flow.LEAVE),
        ("x86_64", "eb05", Flow.JUMP),
        ("riscv64", "ef00a000", Flow.CALL), ("riscv64", "6f00a000", Flow.JUMP),
        ("riscv64", "e7800700", Flow.CALL), ("riscv64", "67800000", Flow.RETURN),
        ("riscv64", "0295", Flow.CALL), ("riscv64", "8280", Flow.RETURN),
        ("riscv64", "8287", Flow.JUMP), ("riscv64", "0290", Flow.JUMP),
        ("riscv64", "0524", Flow.JUMP), ("riscv32", "0524", Flow.CALL),
        ("riscv32", "73002030", Flow.LEAVE), ("riscv64", "73000000", Flow.JUMP),
    ],
)  # fmt: skip
def test_what_an_instruction_does_to_the_stack(arch: str, code: str, flow: Flow) -> None:
    assert ARCHITECTURES[arch].flow(bytes.fromhex(code)) is flow
