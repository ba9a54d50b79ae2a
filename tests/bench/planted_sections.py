"""A critical section of 10,000 instructions, planted in FreeRTOS: ranked first, counted exactly?

The images are built from a copy of the kernel, in which a task that begins to wait masks interrupts
for that long, every 16th time.  Exits with 1 if another section is ranked first, or its length is
another than that of the loop and of what enters and leaves the section around it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.bench.planted import IMAGES, PLANTED, RTSTONE, Place, build, output

ENTERED = "    traceENTER_xTaskDelayUntil( pxPreviousWakeTime, xTimeIncrement );\n"
DELAY = "    BaseType_t xTaskDelayUntil( TickType_t * const pxPreviousWakeTime,"
CALL = """    if( ( xTickCount & 15 ) == 15 )
    {
        taskENTER_CRITICAL();
        planted_loop();
        taskEXIT_CRITICAL();
    }

"""
# From the store that begins it up to the one that ends it, by the disassembly: the rest of
# vPortEnterCritical, the calls of the loop and of vPortExitCritical, and the begin of that.
AROUND = {"freertos-a64": 3 + 1 + 1 + 1 + 5, "freertos-m3": 2 + 1 + 1 + 1 + 3}


def ranked_first(image: str, built: Path, work: Path) -> dict[str, Any]:
    """Measure wake-ups, and return the first of the critical sections."""
    rtstone = (sys.executable, "-c", RTSTONE, built)
    output(*rtstone, "run", "dk.periodic", "-p", "samples=200", "--target", f"qemu:{image}",
           "--out", work / "run", "-q")  # fmt: skip
    document = json.loads(output(*rtstone, "sections", work / "run", "--json"))
    kinds = {kind["kind"]: kind["sections"] for kind in document["kinds"]}
    return dict(kinds["critical"][0])


def main() -> None:
    """Plant, measure and print for each image."""
    wrong = False
    place = Place(DELAY, ENTERED, CALL)
    for board, image, loop, settings in IMAGES:
        with TemporaryDirectory() as name:
            work = Path(name)
            built = build(board, image, loop, settings, work, place=place)
            section = ranked_first(image, built, work)
        fine = section["longest"] == PLANTED + AROUND[image]
        fine &= "xTaskDelayUntil" in section["begin"]
        wrong |= not fine
        print(f"{image}: {section['longest']}, {section['n']} times, in",
              " > ".join(section["stack"]), "" if fine else "WRONG")  # fmt: skip
    sys.exit(wrong)


if __name__ == "__main__":
    main()
