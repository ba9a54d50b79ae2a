"""A Linux guest on the AArch64 board boots, measures and ends, also in a broken environment."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rtstone.errors import TargetError
from rtstone.interrupt import bound
from rtstone.lab import images, kernels, ready, systems
from rtstone.lab.kernels import Kernel
from rtstone.wire.reader import Noise, Reader
from tests.agent.speak import command_lines

pytestmark = pytest.mark.lab

SYSTEM = systems.find("linux-6.1")
LIMIT_S = 120
SCRIPT = command_lines(
    "case 1 boot samples=200",
    "case 2 null samples=1000",
    "case 3 sem.post.higher samples=200",
    "case 4 posix.sio.fsync samples=20",
    "case 5 dk.periodic period=5000000 samples=50",
    "case 6 boot samples=20",
    "bye",
)


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """Return the stock kernel, if everything to boot it is available."""
    if lacking := ready.missing(SYSTEM):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    return kernels.find("linux-6.1", "aarch64")


def boot(kernel: Kernel, archive: bytes, place: Path) -> bytes:
    """Boot a guest with that initial file system and return its output."""
    place.mkdir()
    initramfs, console = place / "initramfs", place / "console"
    initramfs.write_bytes(archive)
    command = systems.command(
        SYSTEM, image=kernel.image, initramfs=initramfs, serial=f"file:{console}"
    )
    subprocess.run(bound(command), check=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    return console.read_bytes()


def records(console: bytes) -> list[dict[str, Any]]:
    """Return all records in the output; fail on a damaged one."""
    reader, records = Reader(), []
    for line in console.splitlines():
        for item in reader.feed(line):
            if not isinstance(item, Noise):
                records.append(json.loads(line.split(b"#rts ", 1)[1].split(b" ", 1)[1][:-9]))
    assert not reader.defects
    return records


@pytest.fixture(scope="module")
def measured(kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what a guest prints that measures its start and then itself."""
    place = tmp_path_factory.mktemp("measured") / "guest"
    return records(boot(kernel, images.linux(kernel, SCRIPT), place))


def test_a_guest_measures(kernel: Kernel, measured: list[dict[str, Any]]) -> None:
    assert measured[0]["os"] == f"Linux {kernel.release}"
    assert measured[0]["arch"] == "aarch64"
    assert measured[-1] == {"t": "bye", "cases": 6}
    ends = [record for record in measured if record["t"] == "end"]
    assert [(end["id"], end["status"], end.get("reason")) for end in ends[:-1]] == [
        (number, "ok", None) for number in range(1, 6)
    ]
    clock = next(record for record in measured if record["t"] == "clock")
    assert (clock["source"], clock["hz"]) == ("cntvct", SYSTEM.board.instructions_per_s)
    null = next(r for r in measured if r["t"] == "result" and r["id"] == 2)
    assert null["min"] == null["max"] == clock["overhead"]  # counts are not disturbed


def test_an_init_that_cannot_go_on_says_why_and_ends(kernel: Kernel, tmp_path: Path) -> None:
    block = (0).to_bytes(8, "little") + bytes(images.BLOCK)  # no file system
    archive = images.initramfs(
        images.AGENTS["aarch64"], command_lines("bye"), kernel.modules, block
    )
    console = boot(kernel, archive, tmp_path / "one")
    assert b"rtstone: init: cannot mount /dev/ram0 on /var/tmp: Invalid argument\n" in console
    assert records(console) == []


def test_a_users_kernel_boots_without_modules_and_measures_no_start_under_load(
    kernel: Kernel, tmp_path: Path
) -> None:
    image = tmp_path / "mine"
    shutil.copy(kernel.image, image)
    mine = kernels.from_file(image)
    assert (mine.arch, mine.release) == (kernel.arch, kernel.release)
    script = command_lines(
        "load tcp", "case 1 boot samples=20", "load none", "case 2 null samples=10",
        "case 3 posix.sio.fsync", "bye",
    )  # fmt: skip
    read_records = records(boot(mine, images.linux(mine, script), tmp_path / "one"))
    statuses = [r["status"] for r in read_records if r["t"] == "end"]
    assert statuses == ["unsupported", "ok", "unsupported"]
    (conditions,) = (record["values"] for record in read_records if record["t"] == "conditions")
    assert conditions["guest.settled_ms"] == 1000
    with pytest.raises(TargetError, match="has not been fetched"):
        kernels.find("mine", "aarch64")


def test_the_start_is_measured_before_the_guest_settles(measured: list[dict[str, Any]]) -> None:
    ends = {record["id"]: record for record in measured if record["t"] == "end"}
    assert ends[1]["status"] == "ok"
    assert ends[6]["status"] == "unsupported"
    assert "first case of a run" in ends[6]["reason"]
    (conditions,) = (record["values"] for record in measured if record["t"] == "conditions")
    assert conditions["guest.settled_ms"] == 0
    first = next(record for record in measured if record["t"] == "result")
    values = {name: value for name, value, _ in first["figures"]}
    init, timely = values["reset to init"], values["reset to the first timely wake-up"]
    section_s = ends[1]["evidence"]["section_ns"] / 1e9
    assert 0 < init < timely < init + 2e9  # ns of virtual time: in two seconds nobody settles
    assert section_s == pytest.approx(200 * 0.001, rel=0.1)
    assert values["late by a period or more"] == 0
