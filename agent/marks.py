#!/usr/bin/env python3
"""Print where in a program the marked lines of the sources are: what a replay in the lab looks for.

A line is marked by a comment, "marked: NAME".  The compiler's table of lines has the
instructions that were made of it, wherever it was inlined, so that a mark changes none of them.

    marks.py READELF PROGRAM >FILE     a line "NAME FROM TO" for each stretch of code, in decimal
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
    for mark in found:
        print(*mark)


if __name__ == "__main__":
    main()
