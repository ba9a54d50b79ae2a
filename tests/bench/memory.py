"""Memory of the FreeRTOS images: size, and stack and heap of every bench (make freertos-memory).

Each bench runs briefly in the emulator, and the stacks and heap that it reports are printed: the
deepest stack of the case's tasks, and the maximum of the heap in use, including samples.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from rtstone.lab import systems
from rtstone.resources import BUILT
from tests.agent.speak import Json, command_lines, records

IMAGES = [name for name, system in systems.SYSTEMS.items() if system.image and not system.beside]
BRIEFLY = {"samples": "samples=20", "time": "time=1000000000", "warmup": "warmup=2"}
LIMIT_S = 600


def emulate(name: str, commands: Sequence[str]) -> list[Json]:
    """Run an image on these commands and return its records."""
    system = systems.find(name)
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "script"
        script.write_bytes(b"#rts script\n" + command_lines(*commands) + b"\0")
        command = systems.command(system, image=BUILT / str(system.image), script=script)
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=True
        )
    lines = [line for line in done.stdout.splitlines(keepends=True) if line.startswith(b"#rts ")]
    return records(b"".join(lines))


def case_of(number: int, bench: Json) -> str:
    """Return the shortest case of a bench that still uses all its memory."""
    words = [BRIEFLY[p["name"]] for p in bench["params"] if p["name"] in BRIEFLY]
    if bench["id"].startswith("hart.") and bench["id"] != "hart.raw":
        words += ["duration=100000000", "start=1000000"]
    return " ".join([f"case {number} {bench['id']}", *words])


def shown(number: int | None) -> str:
    """Format a number of bytes, or a dash if it is unknown."""
    return "-" if number is None else f"{number:,}"


def main() -> None:
    """Print sizes, and a table per image."""
    console = Console()
    for name in IMAGES:
        image = BUILT / str(systems.find(name).image)
        sizes = subprocess.run(["size", image], capture_output=True, text=True, check=True)
        console.print(sizes.stdout)
        benches = [r for r in emulate(name, ["list"]) if r["t"] == "bench"]
        records = emulate(name, [case_of(i, bench) for i, bench in enumerate(benches)])
        table = Table("bench", "status", "tasks", "stack", "heap", title=name)
        for end in (r for r in records if r["t"] == "end"):
            e = end["evidence"]
            table.add_row(
                benches[end["id"]]["id"], end["status"], shown(e.get("tasks")),
                shown(e.get("stack_bytes")), shown(e.get("heap_bytes")),
            )  # fmt: skip
        console.print(table)


if __name__ == "__main__":
    main()
