"""What is read from a RISC-V kernel's code, of code that the assembler makes here."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from rtstone.explain import masks, sstatus
from rtstone.explain.elf import EXECUTABLE, Elf
from rtstone.explain.functions import Functions
from rtstone.explain.kernel import Symbols
from rtstone.explain.symbols import as_linked
from rtstone.resources import path
from tests.explain.test_elf import run

PREFIX = "riscv64-linux-gnu-"
BASE = 0xFFFFFFFF80000000
MOVED = 0x3000000
STORES = {"sb", "sh", "sw", "sd", "fsw", "fsd"}
BRANCHES = {"beq", "bne", "blt", "bge", "bltu", "bgeu", "c.beqz", "c.bnez"}
# What a kernel does to sstatus; `keep_` and `flag_` are labels of accesses.
ACCESSES = """
access_user:
    lui a4, 0x40
keep_1: csrs sstatus, a4
    sd a0, (a1)
keep_2: csrc sstatus, a4
    ret
irqsave:
    csrrci a5, sstatus, 2
    mv s1, a5
    beqz a0, 1f
    call access_user
1:  andi s1, s1, 2
flag_1: csrs sstatus, s1
    ret
hoisted:
    lui s1, 0x40
    .rept 9
    nop
    .endr
    csrrci s2, sstatus, 2
    andi s2, s2, 2
    sd s2, 16(sp)
    bnez a1, 6f
2:  call access_user
keep_3: csrs sstatus, s1
    sd s1, 8(sp)
    mv a3, s2
flag_2: csrs sstatus, a3
    ld a2, 8(sp)
keep_4: csrs sstatus, a2
    bnez a0, 2b
    ld a1, 16(sp)
flag_5: csrs sstatus, a1
    ret
6:  mv s1, s2
    call __stack_chk_fail
    j 2b
clobbered:
    andi a4, a4, 2
    beqz a4, 3f
    call access_user
4:
keep_9: csrs sstatus, a4
    ret
3:  lui a4, 0x40
    .rept 9
    nop
    .endr
    j 4b
restored:
    andi a1, a1, 2
    j 5f
    lui a1, 0x6
    ret
5:
flag_3: csrs sstatus, a1
    ret
vector:
    li a1, 0x600
keep_5: csrs sstatus, a1
    li a0, 2
flag_4: csrrc a5, sstatus, a0
    lui t0, 0x46
    addiw t0, t0, 0x600
    lui t1, 0x800
    or t0, t0, t1
keep_6: csrrc s1, sstatus, t0
    lui a2, 6
keep_7: csrrs a3, sstatus, a2
    vsetvli zero, a2, e8, m1
keep_8: csrw sstatus, a3
    ld a3, 8(a0)
    csrw sstatus, a3
    ret
__stack_chk_fail:
    ebreak
panic:
    ebreak
"""
KERNEL = """
start_kernel:
    lui a0, 0x12345
    c.nop
    addi sp, sp, -128
    sd ra, 120(sp)
    jal panic
handle_exception:
    csrrw tp, sscratch, tp
    csrrc s1, sstatus, t0
    bgez a0, 1f
    call do_irq
    j ret_from_exception
1:  call do_page_fault
ret_from_exception:
    ld a0, 256(sp)
    ld a2, 0(sp)
    csrw sstatus, a0
    ld a0, 80(sp)
    sret
__switch_to:
    li a4, 0xe78
    add a3, a0, a4
    add a4, a1, a4
    sd ra, 0(a3)
    ld s0, 392(a4)
    ret
do_irq: ret
do_page_fault: ret
do_trap_break: ret
_raw_spin_lock_irqsave:
    csrrci a5, sstatus, 2
    lw a4, 8(tp)
    addiw a4, a4, 1
    sw a4, 8(tp)
    ret
locks:
    call _raw_spin_lock_irqsave
    sw zero, 12(tp)
    ret
masks:
    csrci sstatus, 2
    ret
preempt_schedule: sw a5, 8(tp)
    sw a5, 8(tp)
    sw a5, 8(tp)
    ret
__schedule: ret
resched_curr: ret
panic: ebreak
"""


def built(folder: Path, source: str) -> tuple[bytes, dict[str, int]]:
    """Return the code of assembly, and the places of its labels."""
    if not shutil.which(f"{PREFIX}gcc"):
        pytest.skip(f"needs {PREFIX}gcc")
    (folder / "code.s").write_text(f".option norelax\n{source}")
    run(f"{PREFIX}gcc", "-march=rv64gcv", "-c", folder / "code.s", "-o", folder / "code.o")
    run(f"{PREFIX}ld", "-Ttext=0", "-e", "0", folder / "code.o", "-o", folder / "code")
    elf = Elf((folder / "code").read_bytes())
    (text,) = (section for section in elf.sections if section.flags & EXECUTABLE)
    labels = {symbol.name: symbol.value for symbol in elf.symbols() if symbol.name}
    return elf.content(text), labels


def functions_of(labels: dict[str, int], size: int) -> Functions:
    """Return functions at labels, where they are linked."""
    marks = ("keep_", "flag_", "$", "_", ".")
    chosen = {
        name: at for name, at in labels.items()
        if not name.startswith(marks) or name in {"__switch_to", "__schedule", "__stack_chk_fail",
                                                  "_raw_spin_lock_irqsave"}
    }  # fmt: skip
    places = sorted((at, name) for name, at in chosen.items() if at < size)
    starts = [BASE + at for at, _ in places]
    return Functions(starts, [*starts[1:], BASE + size], [name for _, name in places])


def test_writes_of_other_bits_are_told_from_those_of_saved_flags(tmp_path: Path) -> None:
    """By what is nearest on any way through the function, over the stack and copies, too."""
    code, labels = built(tmp_path, ACCESSES)
    accesses = sstatus.accesses(code, functions_of(labels, len(code)), BASE)
    assert accesses.keeps == sorted(at for name, at in labels.items() if name.startswith("keep_")
                                 and name != "keep_2")  # fmt: skip
    assert labels["flag_4"] in accesses.masks
    assert len(accesses.masks) == 3


def test_instructions_are_those_of_the_disassembler() -> None:
    """Their sizes, what they change and where they jump to, of all of the agent's code."""
    if not shutil.which(f"{PREFIX}objdump"):
        pytest.skip(f"needs {PREFIX}objdump")
    agent = path("_agent", "rtstone-agent-riscv64")
    elf = Elf(agent.read_bytes())
    (text,) = (section for section in elf.sections if section.name == ".text")
    code = elf.content(text)
    listing = run(f"{PREFIX}objdump", "-d", "-j", ".text", "-M", "no-aliases,numeric", agent)
    names = {f"x{n}": n for n in range(32)}
    n = 0
    for line in listing.splitlines():
        if not (row := re.match(r" +([0-9a-f]+):\t([0-9a-f ]+?) *\t(\S+)(?:\t(\S+))?", line)):
            continue
        at, mnemonic, operands = int(row[1], 16), row[3], (row[4] or "").split(",")
        step = sstatus.instruction(code, at - text.address)
        bare = mnemonic.removeprefix("c.").removesuffix("sp")
        assert step.size == len(row[2].replace(" ", "")) // 2, line
        if mnemonic.startswith(("fence", "c.unimp", "ecall")):
            continue
        sets = 0 if mnemonic in BRANCHES or bare in STORES else names.get(operands[0], 0)
        sets = 1 if mnemonic == "c.jalr" else 0 if mnemonic == "c.jr" else sets
        assert step.sets == sets, line
        jumps = mnemonic in BRANCHES or mnemonic == "c.j" or (mnemonic == "jal" and not sets)
        target = int(operands[-1].split("#")[0], 16) - text.address if jumps else None
        assert step.to == target, line
        assert step.calls == (mnemonic in {"jal", "jalr", "c.jalr"} and sets == 1), line
        n += 1
    assert n > 10_000


def test_what_is_followed_of_a_kernel(tmp_path: Path) -> None:
    code, labels = built(tmp_path, KERNEL)
    functions = functions_of(labels, len(code))
    (area,) = as_linked(functions)._areas
    space = type(as_linked(functions))([area._replace(offset=MOVED)])
    followed = masks.of_riscv(code, functions, space)
    assert followed.kinds == ["preempt-off", "irqs-masked"]
    assert followed.composition is not None
    assert followed.masking == ["locks", "masks"]
    place = {name: BASE + MOVED + at for name, at in labels.items()}
    entries = {at: kind for word, at, kind in followed.lines if word == "entry-at"}
    assert entries == {
        place["handle_exception"]: masks.EITHER, place["do_irq"]: 1, place["do_page_fault"]: 0,
        place["do_trap_break"]: 0,
    }  # fmt: skip
    lines = {line[0]: line[1:] for line in followed.lines}
    assert lines["keep"] == (place["handle_exception"] + 4, 0)
    assert lines["restore"][0] == place["ret_from_exception"]
    assert lines["inherit"] == (place["ret_from_exception"], place["__switch_to"])
    assert lines["count"] == (masks.NUMBERS["preempt-off"], (8 - 0xE78 - 392) % (1 << 64))
    value, mask = lines["stored"]
    assert 0x00F22423 & mask == value  # sw a5, 8(tp)
    assert 0x00F22623 & mask != value  # 12(tp)
    assert 0x00F12423 & mask != value  # 8(sp)
    begin = masks.place_of_linux(code, Symbols(functions, []), "riscv64")
    assert [at - BASE for _, at, _ in begin] == [0, 4, 6, 8]
    assert begin[1] == ("kernel", BASE + 4, 1)  # as the plugin has instructions of two bytes


@pytest.mark.parametrize("name", ["do_irq", "__switch_to", "preempt_schedule"])
def test_a_kernel_without_what_is_followed_is_refused(tmp_path: Path, name: str) -> None:
    code, labels = built(tmp_path, KERNEL.replace(name, f"another_{name}"))
    functions = functions_of(labels, len(code))
    with pytest.raises(ValueError, match=r"no function|not preempted"):
        masks.of_riscv(code, functions, as_linked(functions))


def test_the_preempt_count_is_what_is_stored_most(tmp_path: Path) -> None:
    code, _ = built(tmp_path, "sw a0, 2000(tp)\n" * 7 + "sw a0, 8(tp)\n" * 2 + "ret")
    assert sstatus.preempt_count(code) == 2000
    code, _ = built(tmp_path, "sw a0, 16(tp)\n" * 3 + "sw a0, 8(tp)\n" * 2 + "ret")
    assert sstatus.preempt_count(code) is None
