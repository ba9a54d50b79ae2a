"""A critical section of 10,000 instructions, planted in FreeRTOS: ranked first, counted exactly?

The images are built from a copy of the kernel, in which a task that begins to wait masks interrupts
for that long, every 16th time.  Exits with 1 if another section is ranked first, or its length is
another than that of the loop and of what enters and leaves the section around it; or if the bound
of the time until the first switch is not raised to as much.  On RISC-V it is a section with
interrupts masked.
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
# As IMAGES, for what is not explained; `li` is two instructions.
RISCV_LOOP = "li %0, 4998\\n1:\\n\\taddi %0, %0, -1\\n\\tbnez %0, 1b\\n\\tnop"
RISCV = tuple((f"virt-rv{bits}", f"freertos-rv{bits}", RISCV_LOOP, ()) for bits in (64, 32))
# From the store that begins it up to the one that ends it, by the disassembly: the rest of
# vPortEnterCritical, the calls of the loop and of vPortExitCritical, and the begin of that.
AROUND = {"freertos-a64": 3 + 1 + 1 + 1 + 5, "freertos-m3": 2 + 1 + 1 + 1 + 3}
# The same on RISC-V from `csrc` up to `csrs`: these read the nesting, call the loop, return, and
# compare what was read.
AROUND |= {f"freertos-rv{bits}": 1 + 2 + 1 + 1 + 1 for bits in (64, 32)}
# What the bound has before and behind, while interrupts are masked by DAIF or by their priority:
# from `daifset` in vPortEnterCritical to `daifclr` in vPortExitCritical.  Cortex-M has no bound.
MASKED_AROUND = {"freertos-a64": 18 + 12, "freertos-rv64": 0, "freertos-rv32": 0}


def measured(image: str, built: Path, work: Path) -> dict[str, Any]:
    """Measure wake-ups, and return the sections."""
    rtstone = (sys.executable, "-c", RTSTONE, built)
    output(*rtstone, "run", "dk.periodic", "-p", "samples=200", "--target", f"qemu:{image}",
           "--out", work / "run", "-q")  # fmt: skip
    return dict(json.loads(output(*rtstone, "sections", work / "run", "--json")))


def bounded(image: str, bound: dict[str, Any] | None) -> bool:
    """Return whether a bound is that of the planted section, and above what was seen."""
    if image not in MASKED_AROUND or bound is None:
        return image not in MASKED_AROUND and bound is None
    terms = {term["part"]: term["longest"] for term in bound["terms"]}
    section = PLANTED + AROUND[image] + MASKED_AROUND[image]
    print(f"  {bound['sentence']}")
    return bool(
        terms["blocked"] == section
        and bound["longest"] == section + terms["timer"] + terms["interrupts"]
        and bound["seen"] <= bound["longest"]
        and not bound["above"]
    )


def main() -> None:
    """Plant, measure and print for each image."""
    wrong = False
    place = Place(DELAY, ENTERED, CALL)
    for board, image, loop, settings in (*IMAGES, *RISCV):
        with TemporaryDirectory() as name:
            work = Path(name)
            built = build(board, image, loop, settings, work, place=place)
            sections = measured(image, built, work)
        kinds = {kind["kind"]: kind["sections"] for kind in sections["kinds"]}
        section = kinds["irqs-masked" if board in {b for b, *_ in RISCV} else "critical"][0]
        fine = bounded(image, sections["bound"])
        fine &= section["longest"] == PLANTED + AROUND[image]
        fine &= "xTaskDelayUntil" in section["begin"]
        wrong |= not fine
        print(f"{image}: {section['longest']}, {section['n']} times, in",
              " > ".join(section["stack"]), "" if fine else "WRONG")  # fmt: skip
    sys.exit(wrong)


if __name__ == "__main__":
    main()
