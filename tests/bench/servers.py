"""What the kernel takes from a busy SCHED_FIFO task beside SCHED_OTHER ones on the only CPU.

`python -m tests.bench.servers [KERNEL...]` boots guests of the lab, one at a time, and prints the
table of docs/guides/environment.md.  `hw.latency` reads the counter without a rest; a load
competes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

RTSTONE = Path(sys.executable).with_name("rtstone")
KERNELS = ("linux-6.1", "linux-6.12", "linux-6.12-rt", "linux-unstable", "linux-unstable-rt")
SPIN = ("hw.latency", "-p", "window=1s", "-p", "width=1s", "-p", "time=4s", "-p", "threshold=1ms",
        "--load", "urandom")  # fmt: skip
PER_MS = 62_500  # instructions of the board
UNLIMITED = "sysctl.kernel.sched_rt_runtime_us=-1"
SERVER = "rtstone.fair_server="  # its runtime in ns

# Words of the kernel's command line by what they set; a kernel without servers refuses SERVER.
SETTINGS = {
    "as it comes": "",
    "server set to 50 ms": f"{SERVER}50000000",
    "server 200 ms": f"{SERVER}200000000",
    "server 0": f"{SERVER}0",
    "RT throttling off": UNLIMITED,
    "RT throttling off, server 0": f"{UNLIMITED} {SERVER}0",
}


class Spun(NamedTuple):
    """What a busy task saw: gaps, the longest in instructions, its share of the CPU, and flags."""

    release: str
    gaps: int
    longest: int | None
    share: float
    flags: list[str]


def spun(kernel: str, words: str) -> Spun:
    """Boot a guest with these words and return what the task saw."""
    target = f"qemu:{kernel}" + (f"+append={words}" if words else "")
    with TemporaryDirectory() as home:
        done = subprocess.run(
            [RTSTONE, "run", *SPIN, "--target", target, "--json"],
            env={**os.environ, "RTSTONE_HOME": home}, stdout=subprocess.PIPE, check=True,
            timeout=300,
        )  # fmt: skip
    document: dict[str, Any] = json.loads(done.stdout)
    (case,) = document["results"]
    assert case["status"] == "ok", case["reason"]
    return Spun(
        release=document["conditions"]["kernel.release"],
        gaps=case["n"],
        longest=None if case["max"] is None else round(case["max"]),
        share=case["evidence"]["cpu_ns"] / case["evidence"]["section_ns"],
        flags=[flag for flag in case["flags"] if flag in ("server", "throttled")],
    )


def main() -> None:
    """Print the table."""
    print("| kernel | set | gaps in 4 s | longest (instructions) | ms | CPU time | flag |")
    print("|---|---|---|---|---|---|---|")
    for kernel in sys.argv[1:] or KERNELS:
        for name, words in SETTINGS.items():
            if kernel == "linux-6.1" and SERVER in words:
                continue
            result = spun(kernel, words)
            longest = (
                f"{result.longest:,} | {result.longest / PER_MS:.1f}" if result.longest else "- | -"
            )
            print(
                f"| {result.release} | {name} | {result.gaps} | {longest} | {result.share:.1%} | "
                f"{', '.join(result.flags) or '-'} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
