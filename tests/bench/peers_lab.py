"""cyclictest and dk.periodic in one guest, their latencies counted in instructions.

Debian's cyclictest, unpacked into the guest's initial file system, and then the agent: the same
kernel in the same boot, priority, period and phase of the releases, and a task that keeps the CPU
from halting beside both.  Each guest is booted twice and has to print the same twice.
"""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec

from rtstone.cli.main import main as run_here
from rtstone.errors import TargetError
from rtstone.lab import fetch, images, kernels, ready, systems
from rtstone.lab.kernels import Kernel
from rtstone.lab.systems import System
from rtstone.resources import digest

GUESTS = ("linux-6.1", "linux-6.1-rt", "linux-6.12-rt",
          "q35/linux-6.1", "q35/linux-6.1-rt", "q35/linux-6.12-rt")  # fmt: skip
RELEASE = "bookworm"  # of cyclictest: 2.4
PACKAGES = ("rt-tests", "libc6", "libnuma1", "busybox-static")
LOADERS = {
    "aarch64": "lib/ld-linux-aarch64.so.1",
    "x86_64": "lib64/ld-linux-x86-64.so.2",
}
PROGRAMS = {"usr/bin/cyclictest": "bin/cyclictest", "bin/busybox": "bin/busybox"}
LIBRARIES = ("libc.so.6", "libpthread.so.0", "librt.so.1", "libnuma.so.1")
NOTE = "files.json"  # hashes of what was unpacked

PRIO, PERIOD_US, SAMPLES = 98, 1000, 2000
PHASES_US = (100, 300)  # a run each: releases from multiples of the period
# Every 48th system call of a guest, whosever it is, takes 3 000 instructions more for new random
# numbers on AArch64, and a release that meets another event as well is the largest by chance.
WORDS = "randomize_kstack_offset=off"
SETTLE_S = 10  # the self-tests of a kernel have ended
LONGEST = 20000  # of cyclictest's histogram, instructions

# The same as in agent/ports/linux/init.c.
AWAKE = """
#define _GNU_SOURCE
#include <sched.h>
int main(void)
{
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}))
        return 1;
    for (;;)
        __asm__ volatile(".rept 500\\n\\tnop\\n\\t.endr");
}
"""
# A run begins with the next second of the clock.  The main thread of cyclictest wakes up every
# 10 ms; `still` freezes it, and nothing else, before the first release.
INIT = f"""#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/shm /groups; mount -t tmpfs shm /dev/shm
mount -t cgroup -o freezer none /groups && mkdir /groups/still
awake & awake=$!
cyclic() {{
    cyclictest -q -m -N -p {PRIO} -a 0 -t 1 -i {PERIOD_US} -l {SAMPLES} -h @longest \\
        --secaligned=$1 >/tmp/out 2>&1
}}
still() {{
    until case $(cut -d. -f2 /proc/uptime) in 0*) true;; *) false;; esac; do usleep 20000; done
    cyclic $1 & usleep 300000
    pidof cyclictest >/groups/still/tasks; echo FROZEN >/groups/still/freezer.state
    sleep 5
    echo THAWED >/groups/still/freezer.state; wait $!
}}
say() {{
    echo; echo "peer $*"; grep -v ' 0*$' /tmp/out; echo "peer end"
}}
sleep {SETTLE_S}
for phase in {" ".join(map(str, PHASES_US))}; do
    cyclic $phase; say whole $phase
    still $phase; say still $phase
done
kill $awake
umount -l /groups; umount -l /dev/shm; umount -l /dev; umount -l /sys; umount -l /proc
exec /agent
"""


class Latencies(NamedTuple):
    """Latencies in instructions; ``low`` and ``high``: all but ten of 2000 are above, below it."""

    least: float
    low: float
    median: float
    mean: float
    high: float
    most: float

    @classmethod
    def from_samples(cls, values: list[int], ns: int) -> Latencies:
        """Return those of samples in ns; an instruction takes ``ns``."""
        ranked = [value / ns for value in sorted(values)]
        n = len(ranked)
        ranks = (0, n // 200, n // 2, n - 1 - n // 200, n - 1)
        least, low, median, high, most = (ranked[rank] for rank in ranks)
        return cls(least, low, median, sum(ranked) / n, high, most)


class Boot(NamedTuple):
    """What a guest printed: latencies by phase, and all text."""

    cyclictest: dict[tuple[str, int], Latencies]  # (main thread: whole, still; phase)
    periodic: dict[int, Latencies]
    text: str


# ---- the guest's files -----------------------------------------------------------------------


def programs(arch: str) -> dict[str, bytes]:
    """Return cyclictest and what it needs by their paths in the guest, fetched unless kept.

    Raises TargetError if they can be neither.
    """
    place = kernels.cache() / f"cyclictest-{arch}"
    note = place / NOTE
    if not note.exists():
        _fetch(arch, place)
    hashes = msgspec.json.decode(note.read_bytes(), type=dict[str, str])
    for path, expected_digest in hashes.items():
        if digest(place / path) != expected_digest:
            raise TargetError(f"{place / path} is not what was fetched; remove {place}")
    return {path: (place / path).read_bytes() for path in hashes}


def _fetch(arch: str, place: Path) -> None:
    debian = kernels.DEBIAN_ARCH[arch]
    print(f"fetching {', '.join(PACKAGES)} of Debian {RELEASE} for {debian}", flush=True)
    kernels.cache().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kernels.cache(), prefix="fetch-") as name:
        work = Path(name)
        root = fetch.programs(PACKAGES, debian, RELEASE, work)
        new, hashes = work / "new", {}
        for path, source in _sources(root, arch):
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            (new / path).write_bytes(source.read_bytes())
            hashes[path] = digest(new / path)
        (new / NOTE).write_bytes(msgspec.json.encode(hashes))
        new.rename(place)


def _sources(root: Path, arch: str) -> Iterator[tuple[str, Path]]:
    """Yield each path in the guest, and the unpacked file that is there."""
    for program, path in PROGRAMS.items():
        yield path, root / program
    folder = f"{arch}-linux-gnu"
    for name in LIBRARIES:
        (source,) = {
            sources_path.resolve() for part in ("lib", "usr/lib")
            if (sources_path := root / part / folder / name).exists()
        }  # fmt: skip
        yield f"lib/{name}", source
    loader = LOADERS[arch]
    yield loader, root / "lib" / folder / Path(loader).name


def awake(arch: str, work: Path) -> bytes:
    """Return the program that keeps the CPU from halting, compiled for the architecture."""
    compiler = f"{arch}-linux-gnu-gcc"
    (work / "awake.c").write_text(AWAKE)
    subprocess.run([compiler, "-O2", "-static", "-o", work / "awake", work / "awake.c"], check=True)
    return (work / "awake").read_bytes()


def guest(kernel: Kernel, script: bytes, programs_added: dict[str, bytes], ns: int) -> bytes:
    """Return the initial file system: cyclictest first, and then the agent."""
    files = {
        "init": INIT.replace("@longest", str(LONGEST * ns)).encode(),
        "agent": images.AGENTS[kernel.arch].read_bytes(),
        "rtstone/script": script,
        **programs_added,
    }
    return images.archive(files, (*images.DIRECTORIES, "bin", "lib", "lib64"))


# ---- a boot ----------------------------------------------------------------------------------


def boot(system: System, programs_added: dict[str, bytes], run: Path) -> Boot | None:
    """Boot a guest, measure in it, and return what it printed; None if the run failed."""
    ns = 1 << system.board.shift
    images.linux = lambda kernel, script: guest(kernel, script, programs_added, ns)
    align = ",".join(f"{phase}us" for phase in PHASES_US)
    said = io.StringIO()
    try:
        with contextlib.redirect_stdout(said):
            run_here(["run", "dk.periodic", "-p", f"period={PERIOD_US}us", "-p", f"align={align}",
                      "-p", f"samples={SAMPLES}", "-p", "warmup=0", "-p", "raw=on",
                      "-p", f"prio={PRIO}", "--target", f"qemu:{system.name}+append={WORDS}",
                      "--out", str(run), "-q"])  # fmt: skip
    except SystemExit as end:
        if end.code:
            print(said.getvalue())
            return None
    text = (run / "wire.log").read_text("utf-8", "replace")
    theirs = {which: Latencies.from_samples(values, ns) for which, values in _of_cyclictest(text)}
    ours = {phase: Latencies.from_samples(values, ns) for phase, values in _of_periodic(text)}
    return Boot(theirs, ours, text)


def _of_cyclictest(text: str) -> Iterator[tuple[tuple[str, int], list[int]]]:
    """Yield the latencies of each run, in ns."""
    for main, phase, body in re.findall(r"peer (whole|still) (\d+)\r?\n(.*?)peer end", text, re.S):
        counts = re.findall(r"(?m)^(\d{6}) (\d{6})\r?$", body)
        values = [int(ns) for ns, n in counts for _ in range(int(n))]
        if len(values) != SAMPLES:
            sys.exit(f"cyclictest has not printed {SAMPLES} latencies below {LONGEST} instructions,"
                     f" but:\n{body}")  # fmt: skip
        yield (main, int(phase)), values


def _of_periodic(text: str) -> Iterator[tuple[int, list[int]]]:
    """Yield the same of dk.periodic."""
    for number, phase in enumerate(PHASES_US, start=1):
        records = re.findall(rf'"t":"raw","id":{number},.*?"v":\[([\d,]*)\]', text)
        values = [int(value) for record in records for value in record.split(",")]
        if len(values) != SAMPLES:
            sys.exit(f"dk.periodic has {len(values)} samples, not {SAMPLES}")
        yield phase, values


# ---- the table -------------------------------------------------------------------------------


def compare(system: System, boot: Boot) -> bool:
    """Print the rows of a guest; return whether dk.periodic takes no more than its peer.

    That is the peer whose main thread is still, as the whole one also has the latencies of releases
    that fell into an interrupt of that thread.  The least and the largest are single samples, which
    another timer of the kernel has met.
    """
    good = True
    for phase, ours in boot.periodic.items():
        print(f"{system.name}, releases at {phase} us of each {PERIOD_US} us")
        print(f"  {'dk.periodic':30} {_row(ours, '8.1f')}")
        for main, title in (("whole", "cyclictest"), ("still", "  its main thread frozen")):
            theirs = boot.cyclictest[main, phase]
            ratios = Latencies(
                *(package / other for package, other in zip(ours, theirs, strict=True))
            )
            print(f"  {title:30} {_row(theirs, '8.1f')}")
            print(f"  {'    ratio':30} {_row(ratios, '8.4f')}", flush=True)
            good = good and (main == "whole" or max(ratios[1:-1]) <= 1)
    return good


def _row(values: Latencies, form: str) -> str:
    return " ".join(format(value, form) for value in values)


def measured(name: str) -> bool | None:
    """Boot a guest twice and print its rows; None: it is not complete here, which is printed."""
    system = systems.find(name)
    if lacking := ready.missing(system):
        print(
            *(f"{name}: not run, no {package.component}: {package.command}" for package in lacking),
            sep="\n",
        )
        return None
    with TemporaryDirectory() as folder:
        work = Path(folder)
        try:
            executables = programs(system.board.arch)
        except TargetError as error:
            print(f"{name}: not run, no cyclictest: {error}")
            return None
        executables["bin/awake"] = awake(system.board.arch, work)
        boots = [boot(system, executables, work / f"run{n}") for n in (1, 2)]
    if boots[0] is None or boots[1] is None:
        return False
    if boots[0].text != boots[1].text:
        print(f"{name}: two boots have not printed the same")
        return False
    return compare(system, boots[0])


def main(names: Sequence[str]) -> int:
    """Measure in each guest; return 1 if dk.periodic takes more somewhere, 3 if one is missing."""
    print(f"priority {PRIO}, {SAMPLES} releases, {PERIOD_US} us apart; instructions: "
          "least, tenth least, median, mean, tenth largest, largest", flush=True)  # fmt: skip
    answers = [measured(name) for name in names]
    return 1 if False in answers else 3 if None in answers else 0
