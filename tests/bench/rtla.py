"""One delay in one guest, told by rtla's analysis and by rtstone's: the same culprit?

Debian 13's RT kernel on q35, instructions counted: a shell reads the kernel stack of every process
again and again, for which the kernel searches a module's symbols with preemption off.  Exits with
1 if the two name another thread, or do not both put more than half of their sample on it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rtstone.cli.main import main as run_here
from rtstone.lab import fetch, images
from rtstone.lab.kernels import Kernel

RTSTONE = Path(sys.executable).with_name("rtstone")
TARGET = "qemu:q35/linux-6.12-rt"
PACKAGES = ("rtla", "libtracefs1", "libtraceevent1", "libc6", "libgcc-s1", "busybox-static")
LIBRARIES = "usr/lib/x86_64-linux-gnu"
LOADER = f"{LIBRARIES}/ld-linux-x86-64.so.2"
NEEDED = ("libtrace", "libc.so", "libm.so", "libgcc_s")
WHERE = (*images.DIRECTORIES, "bin", "lib64", "usr", "usr/lib", LIBRARIES, "modules", "ext",
         "sys/kernel")  # fmt: skip
STOP_US = 34  # of 20 in other samples; virtual, as an instruction takes 1 ns
INIT = f"""#!/bin/busybox sh
export PATH=/bin
/bin/busybox --install -s /bin
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mount -t tracefs tracing /sys/kernel/tracing; mount -t debugfs debug /sys/kernel/debug
insmod() {{ busybox insmod "$@" $(case $1 in *brd*) echo rd_nr=1 rd_size=65536;; esac); }}
for module in /modules/*; do insmod $module; done
cat /disk >/dev/ram0 && mount -t ext4 /dev/ram0 /ext || echo no file system
(while :; do cat /proc/[0-9]*/stack; done >/dev/null 2>&1) &
rtla timerlat top --quiet --duration 60s --auto {STOP_US}
umount -l /sys/kernel/tracing; umount -l /sys/kernel/debug; umount -l /sys
umount -l /dev; umount -l /proc
exec /agent
"""


def disk(work: Path) -> bytes:
    """Return an ext4: its journal's thread is what has a module's function on its stack."""
    image, tool = work / "disk", images.mke2fs()
    if not tool:
        sys.exit("mke2fs is not installed; `apt-get install e2fsprogs` brings it")
    with image.open("wb") as file:
        file.truncate(24 << 20)
    subprocess.run([tool, "-q", "-F", "-t", "ext4", "-J", "size=4", image], check=True)
    return image.read_bytes()


def guest(root: Path, disk_image: bytes, kernel: Kernel, script: bytes) -> bytes:
    """Return the initial file system: the load, rtla, and then the agent."""
    files = {
        "init": INIT.encode(),
        "agent": images.AGENTS[kernel.arch].read_bytes(),
        "rtstone/script": script,
        "disk": disk_image,
        "bin/busybox": (root / "usr/bin/busybox").read_bytes(),
        "bin/rtla": (root / "usr/bin/rtla").read_bytes(),
        "lib64/ld-linux-x86-64.so.2": (root / LOADER).read_bytes(),
    }
    for place, module in enumerate(kernel.modules):
        files[f"modules/{place:02}-{module.name}"] = module.read_bytes()
    for library in (root / LIBRARIES).iterdir():
        if library.name.startswith(NEEDED):
            files[f"{LIBRARIES}/{library.name}"] = library.read_bytes()
    return images.archive(files, WHERE)


def by_rtla(log: str) -> tuple[str, float]:
    """Return the blocking thread in rtla's analysis, and its share of the sample in percent."""
    match = re.search(r"Blocking thread: .*\((.*) %\)\r?\n +(.*):\d+ ", log)
    if not match:
        sys.exit(f"rtla has analysed nothing; it said:\n{log}")
    return match[2], float(match[1])


def by_rtstone(run: Path) -> tuple[str, float]:
    """Return the same of rtstone's explanation of its largest sample."""
    output = subprocess.run(
        [RTSTONE, "explain", run, "--json"], check=True,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    way = json.loads(output.stdout)["way"]
    parts = [part for part in way["segments"] if part["kind"] == "blocking"]
    most = max(parts, key=lambda part: part["length"])
    share = 100 * sum(part["length"] for part in parts) / way["sample"]["raw"]
    return str(most["by"]).partition(",")[0], share


def main() -> int:
    with TemporaryDirectory() as name:
        work = Path(name)
        # Of the release that the kernel is of.
        root, disk_image = fetch.programs(PACKAGES, "amd64", "trixie", work), disk(work)
        images.linux = lambda kernel, script: guest(root, disk_image, kernel, script)
        run = work / "run"
        try:
            run_here(["run", "dk.periodic", "-p", "samples=1500", "-p", "period=2ms", "--trace",
                      "worst,stacks", "--target", TARGET, "--out", str(run), "-q"])  # fmt: skip
        except SystemExit as end:
            if end.code:
                return 1
        log = (run / "wire.log").read_text("utf-8", "replace")
        print(*(line for line in log.splitlines() if not line.startswith("#rts")), sep="\n")
        subprocess.run([RTSTONE, "explain", run], check=True)
        theirs, ours = by_rtla(log), by_rtstone(run)
        print(f"blocking thread: rtla {theirs}, rtstone {ours}")
        return 0 if theirs[0] == ours[0] and min(theirs[1], ours[1]) > 50 else 1


if __name__ == "__main__":
    sys.exit(main())
