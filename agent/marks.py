#!/usr/bin/env python3
"""Print where in a program the marked lines of the sources are: what a replay in the lab looks for.

A line is marked by a comment, "marked: NAME".  The compiler's table of lines has the
instructions that were made of it, wherever it was inlined, so that a mark changes none of them.
Of those that count a sample, what keeps a value on the stack is left out: a replay takes each store
for a count.

    marks.py READELF PROGRAM >FILE     a line "NAME FROM TO" for each stretch of code, in decimal

The disassembler is the one beside READELF.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCES = Path(__file__).parent
MARK = re.compile(r"/\* marked: (\w+) \*/")
ROW = re.compile(r"^(\S+)\s+(\d+|-)\s+(0x[0-9a-f]+|0)\b")
INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+(.*)")
STACK = re.compile(r"\[sp\b|\(sp\)|\(%[er]sp\)")  # of ARM, RISC-V, x86


def marked() -> dict[tuple[str, int], str]:
    """Return the name of each marked line, by file name and number."""
    found = {}
    for path in (*SOURCES.glob("core/*.h"), *SOURCES.glob("boards/*/*.h")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            if mark := MARK.search(line):
                found[path.name, number] = mark[1]
    return found


def stretches(table: str) -> Iterator[tuple[str, int, int, int]]:
    """Yield file name, line, and the addresses from and up to which code is of that line.

    A function that the linker has left out begins at 0, where none is.
    """
    before, left_out = None, False
    for text in table.splitlines():
        row = ROW.match(text)
        if row is None:
            continue
        address = int(row[3], 16)
        left_out = not address if before is None else left_out
        if before and before[2] < address and not left_out:
            yield *before, address
        before = None if row[2] == "-" else (row[1], int(row[2]), address)


def without_stack(code: dict[int, str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a stretch between its instructions that are of the stack.

    ``code``: the instructions of the program by address.
    """
    places = [at for at in sorted(code) if start <= at < end]
    for at, after in zip(places, [*places[1:], end], strict=True):
        if STACK.search(code[at]):
            if start < at:
                yield start, at
            start = after
    if start < end:
        yield start, end


def disassembled(objdump: str, program: str, start: int, end: int) -> dict[int, str]:
    """Return the instructions of a stretch by address."""
    text = subprocess.run(
        [objdump, "-d", "--no-show-raw-insn", f"--start-address={start}", f"--stop-address={end}",
         program], check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    rows = filter(None, map(INSTRUCTION.match, text.splitlines()))
    return {int(row[1], 16): row[2] for row in rows}


def main() -> None:
    """Print the marks of a program.  Fails if there are none."""
    readelf, program = sys.argv[1:]
    table = subprocess.run(
        [readelf, "--debug-dump=decodedline", program], check=True, capture_output=True, text=True
    ).stdout
    names = marked()
    found = sorted(
        {(names[name, line], start, end) for name, line, start, end in stretches(table)
         if (name, line) in names}
    )  # fmt: skip
    if not found:
        sys.exit(f"marks.py: none of {len(names)} marked lines is in {program}")
    stores = [(start, end) for name, start, end in found if name == "sample"]
    objdump = readelf.removesuffix("readelf") + "objdump"
    code = disassembled(objdump, program, stores[0][0], stores[-1][1]) if stores else {}
    for name, start, end in found:
        parts = without_stack(code, start, end) if name == "sample" else [(start, end)]
        for part in parts:
            print(name, *part)


if __name__ == "__main__":
    main()
