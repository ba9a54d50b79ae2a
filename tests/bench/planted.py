"""A loop of 10,000 instructions, planted in FreeRTOS's tick: named, and counted within 1%?

The images are built from a copy of the kernel with the loop.  Exits with 1 if an explanation names
something else.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

AGENT = Path(__file__).parents[2] / "agent"
PLANTED = 10_000
# Board, image, instruction set's mov, further settings: the loop does not fit into 96 kB of flash.
IMAGES = (
    ("virt-a53", "freertos-a64", "mov %w0, #4999\\n1:\\n\\tsubs %w0, %w0, #1\\n\\tb.ne 1b", ()),
    ("mps2-an385", "freertos-m3", "movw %0, #4999\\n1:\\n\\tsubs %0, %0, #1\\n\\tbne 1b",
     ("-DCMAKE_EXE_LINKER_FLAGS=-Wl,--defsym=board_flash=0x18400",)),
)  # fmt: skip
TICK = "BaseType_t xTaskIncrementTick( void )\n{"
ENTERED = "    traceENTER_xTaskIncrementTick();\n"
LOOP = """void planted_loop( void );
__attribute__( ( noinline ) ) void planted_loop( void )
{
    unsigned long left;
    __asm volatile ( "%s\\n\\tnop" : "=&r" ( left ) : : "cc" );
}

"""
CALL = "    if( ( xTickCount & 63 ) == 63 )\n    {\n        planted_loop();\n    }\n\n"
# rtstone, with images from another directory.
RTSTONE = """
import sys
from pathlib import Path
from rtstone.cli.main import main
from rtstone.targets import qemu
qemu.BUILT = Path(sys.argv.pop(1))
main()
"""


def output(*command: str | Path) -> str:
    """Return the output of a command that must succeed."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Place(NamedTuple):
    """Where the loop is planted: the begin of a function, a line of it, and what is put before."""

    function: str
    line: str
    call: str


IN_THE_TICK = Place(TICK, ENTERED, CALL)


def build(
    board: str, image: str, loop: str, settings: Sequence[str], work: Path,
    *, place: Place = IN_THE_TICK,
) -> Path:  # fmt: skip
    """Build an image with the loop, and return its directory."""
    kernel = output(sys.executable, AGENT / "ports/freertos/kernel/find.py").strip()
    copy, built = work / "kernel", work / "built"
    shutil.copytree(kernel, copy)
    tasks = copy / "tasks.c"
    text = tasks.read_text("utf-8")
    if not text.count(place.function) == text.count(place.line) == 1:
        sys.exit(f"{tasks} is another version: there is no place for the loop")
    tasks.chmod(0o644)
    text = text.replace(place.line, place.call + place.line)
    text = text.replace(place.function, LOOP % loop + place.function)
    tasks.write_text(text, "utf-8")
    output("cmake", "-S", AGENT, "-B", built, f"-DFREERTOS_KERNEL_PATH={copy}", *settings,
           f"-DCMAKE_TOOLCHAIN_FILE={AGENT / 'boards' / board}.cmake")  # fmt: skip
    output("cmake", "--build", built)
    cache = (built / "CMakeCache.txt").read_text("utf-8")
    (readelf,) = re.findall(r"^CMAKE_READELF:FILEPATH=(.+)$", cache, re.MULTILINE)
    marks = output(sys.executable, AGENT / "marks.py", readelf, built / f"{image}.elf")
    (built / f"{image}.marks").write_text(marks, "ascii")
    return built


def explained(image: str, built: Path, work: Path) -> dict[str, Any]:
    """Measure wake-ups, and return the explanation of the worst."""
    rtstone = (sys.executable, "-c", RTSTONE, built)
    output(*rtstone, "run", "dk.periodic", "-p", "samples=200", "--target", f"qemu:{image}",
           "--out", work / "run", "-q")  # fmt: skip
    return dict(json.loads(output(*rtstone, "explain", work / "run", "--json")))


def good(explanation: dict[str, Any]) -> bool:
    """Return whether the loop is named and counted, and all that is told adds up."""
    raw = explanation["way"]["sample"]["raw"]
    first = explanation["functions"][0]
    return bool(
        first["name"] == "planted_loop"
        and abs(first["own"] - PLANTED) <= PLANTED // 100
        and sum(part["length"] for part in explanation["way"]["segments"]) == raw
        and sum(function["own"] for function in explanation["functions"]) == raw
    )


def main() -> None:
    """Plant, measure, explain and print for each image."""
    wrong = False
    for board, image, loop, settings in IMAGES:
        with TemporaryDirectory() as name:
            work = Path(name)
            explanation = explained(image, build(board, image, loop, settings, work), work)
        first, fine = explanation["functions"][0], good(explanation)
        wrong |= not fine
        print(f"{image}: {first['name']} {first['own']} of {explanation['way']['sample']['raw']}",
              "" if fine else "WRONG")  # fmt: skip
        print(f"  {explanation['sentence']}")
    sys.exit(wrong)


if __name__ == "__main__":
    main()
