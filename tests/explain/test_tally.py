"""What masks interrupts on AArch64, by the plugin's own code, which is given what ran.

Of the emulator there are only the functions that it calls.
"""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtstone.explain.recording import SECTION

SOURCES = Path(__file__).parents[2] / "rtstone/explain"
PROVIDED = """
#include <string.h>
#include "sections.h"
#include "tally.h"
static uint64_t now;
static executed effect;
static void *effect_data;
uint64_t instructions(void) { return now; }
void write_record(uint64_t when, uint64_t what, uint32_t size, uint32_t kind)
{
    (void)when, (void)what, (void)size, (void)kind;
}
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn, executed call, int flags,
                                            void *data)
{
    (void)insn, (void)flags;
    effect = call;
    effect_data = data;
}
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn, accessed call, int flags,
                                      int kind, void *data)
{
    (void)insn, (void)call, (void)flags, (void)kind, (void)data;
}
bool qemu_plugin_mem_is_store(uint32_t info) { return info; }
unsigned qemu_plugin_mem_size_shift(uint32_t info) { return info; }
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t info, uint64_t address)
{
    (void)info, (void)address;
    return NULL;
}
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *address) { return address; }
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *address)
{
    return address != NULL;
}
void execute(uint64_t pc, uint32_t code)
{
    effect = NULL;
    encoding c = {.size = sizeof code};
    memcpy(c.bytes, &code, sizeof code);
    sections_look_at(NULL, pc, &c, true);
    if (effect)
        effect(0, effect_data);
    now++;
}
"""
SAVE, MASK, UNMASK, RESTORE, NOP = 0xD53B4220, 0xD50342DF, 0xD50342FF, 0xD51B4220, 0xD503201F
COMMAND, SERIES, DONE = range(3)  # functions of the agent
CASE = 254


class Plugin:
    """The plugin's code for sections; `now`: how many instructions have run."""

    def __init__(self, folder: Path, *lines: tuple[str, int, int]) -> None:
        (folder / "provided.c").write_text(PROVIDED)
        names = (
            "sections.c",
            "tally.c",
            "delays.c",
            "masks_x86.c",
            "masks_riscv.c",
            "masks_supervisor.c",
        )
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", f"-I{SOURCES}", *(SOURCES / n for n in names),
             folder / "provided.c", "-o", folder / "plugin.so"],
            check=True,
        )  # fmt: skip
        self._library: Any = ctypes.CDLL(str(folder / "plugin.so"))
        self._rows = folder / "rows"
        for word, a, b in lines:
            assert self._library.sections_take(
                word.encode(), ctypes.c_uint64(a), ctypes.c_uint64(b)
            )
        assert self._library.sections_argument(b"sections", bytes(self._rows))
        self.now = 0

    def run(self, codes: Iterable[int], start: int = 0) -> None:
        """Execute instructions, which are at these addresses."""
        for place, code in enumerate(codes):
            self._library.execute(ctypes.c_uint64(start + 4 * place), ctypes.c_uint32(code))
            self.now += 1

    def enter(self, function: int) -> None:
        self._library.tally_entry(ctypes.c_uint64(function), ctypes.c_uint64(self.now))

    def sample(self) -> None:
        self._library.tally_sample(ctypes.c_uint64(self.now))

    def rows(self) -> Any:
        """Return what was written, once it has ended."""
        self._library.tally_end()
        return np.frombuffer(self._rows.read_bytes(), SECTION)


def lock(n: int) -> list[int]:
    """Return a section of so many instructions, which restores what was before."""
    return [SAVE, MASK, *[NOP] * (n - 1), RESTORE]


def test_flags_that_were_saved_once_are_restored_twice(tmp_path: Path) -> None:
    """As timers of a softirq do: they let go of their lock around each function that is due."""
    save = ("save", 0, 0)
    plugin = Plugin(tmp_path, ("during", 0, 1000), ("masks", 0, 0), save)
    plugin.run([*lock(4), *[NOP] * 5, MASK, *[NOP] * 2, RESTORE, *[NOP] * 50, UNMASK])
    rows = plugin.rows()
    assert sorted(rows[rows["kind"] == 0]["longest"].tolist()) == [3, 4]


def test_masked_ones_that_are_masked_again_stay_so(tmp_path: Path) -> None:
    """As timers of an interrupt's handler do."""
    plugin = Plugin(tmp_path, ("during", 0, 1000), ("masks", 0, 0), ("save", 4, 0))
    plugin.run([MASK, *lock(4), NOP, MASK, NOP, RESTORE, *[NOP] * 20, UNMASK])
    rows = plugin.rows()
    assert rows[rows["kind"] == 0]["longest"].tolist() == [31]


@pytest.mark.parametrize("warmup", [0, 4])
def test_of_a_case_each_section_counts_once(tmp_path: Path, warmup: int) -> None:
    """Those near the first and the last sample are rows of their own, the others are summed up."""
    plugin = Plugin(tmp_path, ("case", 2, warmup), ("masks", 0, 0))
    begun: list[int] = []

    def sections() -> None:
        for _ in range(7):
            begun.append(plugin.now)
            plugin.run([MASK, NOP, UNMASK, NOP])

    plugin.enter(COMMAND)
    sections()
    plugin.enter(DONE)
    begun.clear()
    plugin.enter(COMMAND)
    sections()
    begun.clear()
    plugin.enter(SERIES)
    taken = []
    for _ in range(warmup + 3000):
        sections()
        plugin.sample()
        taken.append(plugin.now)
    plugin.enter(DONE)
    sections()
    rows = plugin.rows()
    assert rows["kind"][-1] == CASE
    end = rows[-1]
    assert end["n"] == 2
    masked = rows[rows["kind"] == 0]
    first, last = taken[warmup], taken[-1]
    if warmup:
        assert end["at"] < taken[warmup - 1]
    assert end["ended"] < last
    since = int(end["at"])
    counted = [at for at in begun if since <= at < last]
    chosen = masked[masked["at"] >= since]
    assert int(chosen["n"].sum()) == len(counted)
    assert int(chosen["sum"].sum()) == 2 * len(counted)
    single = masked[(masked["at"] < first) | (masked["at"] >= end["ended"])]
    assert set(single["n"].tolist()) == {1}
    assert len(masked) < len(counted) / 2
