"""Run clang-tidy over what builds compile, but not again over what was clean and is unchanged.

    python agent/tidy.py [--all] [--flag=WORD]... [--without=FLAG]... BUILD [FILE...]

A file stands in BUILD/compile_commands.json once for each program it is part of.  It is looked
at as it is in the first of them; with --all in every one, and in more depth.  Text that was clean
is known by its digest after the preprocessor, so a changed header counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

TIDY = str(Path(sys.executable).parent / "clang-tidy")
ROOT = Path(__file__).resolve().parent.parent
CLEAN = ROOT / "build" / "tidy"  # an empty file for each text that was clean
# Nodes of a function's graph that the analyzer explores, unless --all: a twentieth of its default
# takes a third of the time.
NODES = ["-Xclang", "-analyzer-config", "-Xclang", "max-nodes=10000"]


class Unit(NamedTuple):
    """A file as one program has it."""

    file: str
    directory: str
    compiler: str
    flags: list[str]  # without what is read and written


def units(build: Path, files: set[str], every: bool, without: set[str]) -> list[Unit]:
    """What the build compiles of these files, each once unless every time is asked for."""
    found: dict[tuple[str, int], Unit] = {}
    for number, entry in enumerate(json.loads((build / "compile_commands.json").read_text())):
        file = str(Path(entry["file"]).resolve())
        if files and file not in files:
            continue
        words = shlex.split(entry["command"])
        first = next(i for i, word in enumerate(words) if word.startswith("-"))
        flags, out = words[first:], words[first:].index("-o")
        left = {"-c", entry["file"], *without}
        flags = [flag for flag in flags[:out] + flags[out + 2 :] if flag not in left]
        unit = Unit(file, entry["directory"], words[first - 1], flags)
        found.setdefault((file, number if every else 0), unit)
    return list(found.values())


def digest(unit: Unit, salt: bytes) -> str:
    """What the verdict on a unit depends on, as a hexadecimal number."""
    command = [unit.compiler, *unit.flags, "-E", "-C", unit.file]
    text = subprocess.run(command, cwd=unit.directory, stdout=subprocess.PIPE, check=True).stdout
    return hashlib.sha256(salt + shlex.join(unit.flags).encode() + text).hexdigest()


def tidy(unit: Unit, extra: list[str], salt: bytes) -> bool:
    """Return whether the unit is clean, and print what is not."""
    known = CLEAN / digest(unit, salt)
    if known.exists():
        return True
    command = [TIDY, "--quiet", unit.file, "--", *unit.flags, *extra]
    done = subprocess.run(command, cwd=unit.directory, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stdout or done.stderr, end="", flush=True)
        return False
    known.touch()
    return True


def main() -> int:
    """Exit with 1 if anything is not clean."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--flag", action="append", default=[])
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("build", type=Path)
    parser.add_argument("files", nargs="*")
    asked = parser.parse_args()
    CLEAN.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], stdout=subprocess.PIPE, check=True).stdout
    extra = [*asked.flag, *([] if asked.all else NODES)]
    salt = version + (ROOT / ".clang-tidy").read_bytes() + shlex.join(extra).encode()
    files = {str(Path(file).resolve()) for file in asked.files}
    there = units(asked.build, files, asked.all, set(asked.without))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        clean = list(pool.map(lambda unit: tidy(unit, extra, salt), there))
    print(f"clang-tidy: {asked.build.name}: {clean.count(True)} of {len(there)} files clean")
    return 0 if all(clean) else 1


if __name__ == "__main__":
    sys.exit(main())
