"""One RTOS on all processors of the lab: the tables of docs/studies/processors.md.

    .venv/bin/python -m tests.bench.processors

Prints the same benches on each processor, in instructions; how much of the catalogue
runs there, and why the rest does not; and the sizes of the images.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from rtstone.lab import systems
from rtstone.resources import BUILT
from tests.agent.speak import Json
from tests.bench.memory import case_of, emulate

RTSTONE = Path(sys.executable).parent / "rtstone"
PROCESSORS = [
    name for name, system in systems.SYSTEMS.items()
    if system.image and not system.beside and not name.endswith("-hart")
]  # fmt: skip
# What a kernel is asked for most, with what it says: (bench, series, title).
ROWS = [
    ("sched.yield", "", "yield, nobody else ready"),
    ("sched.yield.pair", "", "yield that switches"),
    ("sem.try.free", "", "try a free semaphore"),
    ("sem.post.nowait", "", "give, nobody waits"),
    ("sem.post.higher", "", "give to a higher-priority task"),
    ("rheal.pt", "", "preemption by a task made ready"),
    ("sync.test2", "", "ping-pong, two semaphores"),
    ("ipc.send", "", "send to a lower-priority task"),
    ("mq.latency", "", "message to a waiting task"),
    ("rheal.db", "", "mutex with inheritance"),
    ("rheal.il", "", "software interrupt to its handler"),
    ("int.latency.self", "handler", "timer to its handler"),
    ("int.latency.self", "task", "handler to a task"),
    ("dk.periodic", "", "wake-up from the tick, 1 ms"),
]  # fmt: skip
SAMPLES = 1000


def results(name: str) -> dict[tuple[str, str], Json]:
    """Return the results of the benches of the table on a system, by bench and series."""
    benches = list(dict.fromkeys(bench for bench, _, _ in ROWS))
    words = [str(RTSTONE), "run", *benches, "--target", f"qemu:{name}", "-p", f"samples={SAMPLES}"]
    done = subprocess.run([*words, "--json"], stdout=subprocess.PIPE, text=True, check=True)
    return {(r["bench"], r.get("series") or ""): r for r in json.loads(done.stdout)["results"]}


def shown(result: Json | None) -> str:
    """Format minimum, median and maximum."""
    if result is None or result["status"] != "ok":
        return "unsupported" if result else "-"
    return " / ".join(f"{result[key]:,.0f}".replace(",", " ") for key in ("min", "p50", "max"))


def catalogue(name: str) -> tuple[Counter[str], Counter[str]]:
    """Run every bench of a system briefly; return how many end how, and the reasons."""
    benches = [r for r in emulate(name, ["list"]) if r["t"] == "bench"]
    run = emulate(name, [case_of(i, bench) for i, bench in enumerate(benches)])
    ends = [r for r in run if r["t"] == "end"]
    reasons = [str(end["reason"]) for end in ends if end["status"] != "ok"]
    return Counter(end["status"] for end in ends), Counter(reasons)


def sizes(name: str) -> tuple[int, ...]:
    """Return the bytes of text, data and zeroed data of an image."""
    image = BUILT / str(systems.find(name).image)
    output = subprocess.run(["size", image], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, output.splitlines()[1].split()[:3]))


def table(first: str, columns: list[str], rows: list[tuple[str, list[Any]]]) -> None:
    """Print a table as Markdown."""
    print("|", " | ".join([first, *columns]), "|")
    print("|---" * (len(columns) + 1) + "|")
    for title, cells in rows:
        print("|", " | ".join([title, *map(str, cells)]), "|")
    print()


def main() -> None:
    """Print the tables."""
    measured = {name: results(name) for name in PROCESSORS}
    rows = [
        (title, [shown(measured[name].get((bench, series))) for name in PROCESSORS])
        for bench, series, title in ROWS
    ]
    table("", PROCESSORS, rows)
    ran = {name: catalogue(name) for name in PROCESSORS}
    ways = sorted({status for statuses, _ in ran.values() for status in statuses})
    table("", PROCESSORS, [(way, [ran[name][0][way] for name in PROCESSORS]) for way in ways])
    why = sorted({reason for _, reasons in ran.values() for reason in reasons})
    table(
        "", PROCESSORS, [(reason, [ran[name][1][reason] for name in PROCESSORS]) for reason in why]
    )
    kinds = enumerate(("text", "data", "zeroed data"))
    measures = {name: sizes(name) for name in PROCESSORS}
    table("", PROCESSORS, [(kind, [measures[n][i] for n in PROCESSORS]) for i, kind in kinds])


if __name__ == "__main__":
    main()
