"""Build the initramfs of a Linux guest, with the agent and its script.

Equal inputs give equal bytes: times, owners and the order of directories do not matter.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from rtstone.errors import TargetError
from rtstone.lab.kernels import Kernel
from rtstone.resources import architectures

AGENTS = {architecture.name: architecture.agent for architecture in architectures()}

# Mount points of init, and directories that programs expect.
DIRECTORIES = ("dev", "proc", "sys", "tmp", "var", "var/tmp", "rtstone", "rtstone/modules")
CONSOLE = 5, 1  # the device number of /dev/console


def linux(kernel: Kernel, script: bytes) -> bytes:
    """Return the initial file system for a kernel, with the agent of its architecture.

    Raises TargetError if the agent has not been built.
    """
    agent = AGENTS[kernel.arch]
    if not agent.exists():
        raise TargetError(f"there is no agent for {kernel.arch}, {agent}; `rtstone lab build`")
    return initramfs(agent, script, kernel.modules, disk() if kernel.disk else b"")


def initramfs(
    agent: Path, script: bytes, modules: Sequence[Path] = (), disk_blocks: bytes = b""
) -> bytes:
    """Return the archive in which the agent is init.

    It loads `modules` in this order and writes `disk_blocks` to a RAM disk.
    """
    files = {"init": agent.read_bytes(), "rtstone/script": script}
    for number, module in enumerate(modules):
        files[f"rtstone/modules/{number:02}-{module.name}"] = module.read_bytes()
    if disk_blocks:
        files["rtstone/disk"] = disk_blocks
    return archive(files, DIRECTORIES)


def archive(files: Mapping[str, bytes], directories: Iterable[str]) -> bytes:
    """Return an archive for the kernel to unpack (Documentation/driver-api/early-userspace)."""
    entries = [(name, stat.S_IFDIR | 0o755, b"", (0, 0)) for name in directories]
    entries += [(name, stat.S_IFREG | 0o755, data, (0, 0)) for name, data in files.items()]
    entries.append(("dev/console", stat.S_IFCHR | 0o600, b"", CONSOLE))
    content = bytearray()
    for inode, (name, mode, data, device) in enumerate(sorted(entries), start=1):
        _add(content, inode, name, mode, data, device)
    _add(content, 0, "TRAILER!!!", 0, b"", (0, 0))
    return bytes(content)


def _add(  # noqa: PLR0917  in the order of the format
    archive: bytearray, inode: int, name: str, mode: int, data: bytes, device: tuple[int, int]
) -> None:
    """Append an entry in the newc format of cpio."""
    links = 2 if stat.S_ISDIR(mode) else 1
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, links, 0, len(data), 0, 0, *device, len(encoded), 0)
    archive += b"070701" + b"".join(b"%08X" % field for field in fields) + encoded
    archive += bytes(-len(archive) % 4) + data
    archive += bytes(-len(archive) % 4)


# ---- the RAM disk ------------------------------------------------------------------------------

DISK = 64 << 20  # bytes; as in agent/ports/linux/init.c
BLOCK = 4096
ZEROS = bytes(BLOCK)
# Every choice that mkfs would otherwise derive from its configuration, version, time or chance.
FEATURES = (
    "none,has_journal,ext_attr,dir_index,filetype,extent,64bit,flex_bg,sparse_super,large_file,"
    "huge_file,dir_nlink,extra_isize,metadata_csum"
)
IDENTITY = "7274732d-746f-4e65-8000-000000000001"
MKFS = (
    "-q", "-F", "-t", "ext4", "-O", FEATURES, "-b", str(BLOCK), "-I", "256",
    "-N", "16384", "-m", "0", "-J", "size=8", "-U", IDENTITY, "-L", "rtstone",
    "-E", f"hash_seed={IDENTITY},lazy_itable_init=0,lazy_journal_init=0,nodiscard,root_owner=0:0",
)  # fmt: skip


def mke2fs() -> str | None:
    """Return the tool that makes the RAM disk's file system, None if it is not installed."""
    return shutil.which("mke2fs", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin")


def disk() -> bytes:
    """Return an empty ext4 of `DISK` bytes: of each non-zero block its offset and its bytes.

    Offsets have 8 bytes, little-endian.  Raises TargetError if it cannot be made.
    """
    if not (tool := mke2fs()):
        raise TargetError("mke2fs is not installed; `apt-get install e2fsprogs` brings it")
    with tempfile.TemporaryDirectory() as work:
        image = Path(work) / "disk"
        with image.open("wb") as file:
            file.truncate(DISK)
        done = subprocess.run(
            [tool, *MKFS, str(image)], check=False, capture_output=True, text=True,
            env={**os.environ, "LC_ALL": "C", "MKE2FS_CONFIG": os.devnull,
                 "E2FSPROGS_FAKE_TIME": "1767225600", "SOURCE_DATE_EPOCH": "1767225600"},
        )  # fmt: skip
        if done.returncode:
            raise TargetError(f"mke2fs failed and said: {done.stderr.strip()}")
        blocks = bytearray()
        with image.open("rb") as file:
            for at in range(0, DISK, BLOCK):
                block = file.read(BLOCK)
                if block != ZEROS:
                    blocks += at.to_bytes(8, "little") + block
        return bytes(blocks)
