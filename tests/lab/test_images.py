"""The initial file system and the RAM disk: the same content gives the same bytes."""

from __future__ import annotations

import os
import stat
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from rtstone.errors import TargetError
from rtstone.lab import images, kernels
from rtstone.lab.kernels import Kernel


class Entry(NamedTuple):
    mode: int
    owner: tuple[int, int]
    mtime: int
    device: tuple[int, int]
    data: bytes


def entries(archive: bytes) -> dict[str, Entry]:
    """Return the entries of a newc archive in order; fail if it is malformed."""
    members: dict[str, Entry] = {}
    at = 0
    while True:
        assert archive[at : at + 6] == b"070701"
        head = [int(archive[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        _, mode, uid, gid, _, mtime, size, _, _, major, minor, length, _ = head
        name = archive[at + 110 : at + 110 + length - 1].decode()
        start = (at + 110 + length + 3) // 4 * 4
        if name == "TRAILER!!!":
            assert start == len(archive)
            return members
        assert name not in members
        data = archive[start : start + size]
        members[name] = Entry(mode, (uid, gid), mtime, (major, minor), data)
        at = (start + size + 3) // 4 * 4


def inputs(place: Path, when: int) -> tuple[Path, list[Path]]:
    """Make an agent and two modules with different times and permissions."""
    place.mkdir()
    files = [place / name for name in ("agent", "zeta.ko", "alpha.ko")]
    for number, file in enumerate(files):
        file.write_bytes(b"content %d" % number * (number + 1))
        file.chmod(0o600 + when % 8)
        os.utime(file, (when, when))
    return files[0], files[1:]


def test_the_same_content_gives_the_same_bytes(tmp_path: Path) -> None:
    first = images.initramfs(*_with_script(tmp_path / "one", 1), b"")
    other = images.initramfs(*_with_script(tmp_path / "other", 10**9 + 4), b"")
    assert first == other
    assert first != images.initramfs(tmp_path / "one/agent", b"bye\n", [], b"")


def _with_script(place: Path, when: int) -> tuple[Path, bytes, list[Path]]:
    agent, modules = inputs(place, when)
    return agent, b"case 1 null\nbye\n", modules


def test_what_is_in_it(tmp_path: Path) -> None:
    agent, modules = inputs(tmp_path / "in", 5)
    content = entries(images.initramfs(agent, b"bye\n", modules, b"blocks"))
    assert list(content) == sorted(content)  # a directory comes before its content
    assert content["init"].data == agent.read_bytes()
    assert content["init"].mode == stat.S_IFREG | 0o755
    assert content["rtstone/script"].data == b"bye\n"
    assert content["rtstone/modules/00-zeta.ko"].data == modules[0].read_bytes()
    assert content["rtstone/modules/01-alpha.ko"].data == modules[1].read_bytes()
    assert content["rtstone/disk"].data == b"blocks"
    assert content["dev/console"].device == (5, 1)
    assert stat.S_ISCHR(content["dev/console"].mode)
    assert all(entry.owner == (0, 0) and entry.mtime == 0 for entry in content.values())


@pytest.mark.skipif(not images.mke2fs(), reason="needs e2fsprogs")
def test_the_disk_is_the_same_at_another_time_and_is_an_ext4(tmp_path: Path) -> None:
    blocks = images.disk()
    time.sleep(1.1)  # it contains a time, which would differ
    assert images.disk() == blocks
    assert len(blocks) < 1 << 20
    image = tmp_path / "disk"
    with image.open("wb") as file:
        file.truncate(images.DISK)
        for at in range(0, len(blocks), 8 + images.BLOCK):
            file.seek(int.from_bytes(blocks[at : at + 8], "little"))
            file.write(blocks[at + 8 : at + 8 + images.BLOCK])
    tool = Path(images.mke2fs() or "").with_name("e2fsck")
    subprocess.run([tool, "-fn", image], check=True, capture_output=True)


def test_without_an_agent_it_says_what_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(images.AGENTS, "aarch64", tmp_path / "none")
    kernel = Kernel("k", "aarch64", tmp_path / "image", (), "6.1", None, "")
    with pytest.raises(TargetError, match=r"no agent for aarch64, .*none; `rtstone lab build`"):
        images.linux(kernel, b"bye\n")
    assert kernels.cache().name == "lab"
