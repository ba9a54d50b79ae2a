"""`rtstone lab`, and the emulator's command line."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from random import Random

import click
import pytest

from rtstone.cli import lab_list
from rtstone.errors import TargetError
from rtstone.lab import images, ready, systems
from rtstone.lab.ready import Missing
from tests.conftest import Cli

PACKAGING = Path(__file__).parents[2] / "packaging"


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Simulate a machine on which nothing is installed, fetched or built."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(ready, "BUILT", tmp_path)
    monkeypatch.setattr(images, "mke2fs", lambda: None)
    for arch in images.AGENTS:
        monkeypatch.setitem(images.AGENTS, arch, tmp_path / f"agent-{arch}")
    return tmp_path


def test_every_lack_is_told_with_what_brings_it(bare: Path, cli: Cli) -> None:
    rows = {row["target"]: row for row in cli("lab", "list", "--json").document["systems"]}
    assert list(rows) == [f"qemu:{name}" for name in systems.SYSTEMS]
    assert not any(row["ready"] for row in rows.values())
    lacks = {lack["what"]: lack["command"] for lack in rows["qemu:q35/linux-6.1-rt"]["missing"]}
    assert lacks == {
        "qemu-system-x86_64": "apt-get install qemu-system-x86",
        "agent agent-x86_64": "rtstone lab build q35/linux-6.1-rt",
        "mke2fs": "apt-get install e2fsprogs",
        "kernel linux-6.1-rt": "rtstone lab fetch q35/linux-6.1-rt",
    }
    lacks = {lack["what"]: lack["command"] for lack in rows["qemu:freertos-m3"]["missing"]}
    assert lacks == {
        "qemu-system-arm": "apt-get install qemu-system-arm",
        "image freertos-m3.elf": "rtstone lab build freertos-m3",
    }
    lacks = {lack["what"]: lack["command"] for lack in rows["qemu:freertos-rv32"]["missing"]}
    assert lacks["qemu-system-riscv32"] == "apt-get install qemu-system-misc"
    assert rows["qemu:q35/linux-6.1"]["preempt"] == ["none", "voluntary", "full"]
    lines = cli("lab", "list", "m3").out.splitlines()
    assert any("lacks" in line and "no image freertos-m3.elf: rtstone lab build freertos-m3" in line
               for line in lines)  # fmt: skip


def test_what_is_there_is_ready(bare: Path, cli: Cli) -> None:
    for name in ("freertos-m3.elf", "qemu-system-arm"):
        (bare / name).write_text("#!/bin/sh\n")
        (bare / name).chmod(0o755)
    rows = {row["target"]: row for row in cli("lab", "list", "--json").document["systems"]}
    assert [name for name, row in rows.items() if row["ready"]] == ["qemu:freertos-m3"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("linux-6.2", "unknown lab system 'linux-6.2'; did you mean 'linux-6.1"),
        ("qemu:freertos-m3", "freertos-m3 is built, not fetched; run `rtstone lab build`"),
    ],
)
def test_what_cannot_be_fetched(cli: Cli, name: str, says: str) -> None:
    done = cli("lab", "fetch", name)
    assert done.status == 2
    assert says in done.says


def test_build_names_the_packages_of_missing_tools(bare: Path, cli: Cli) -> None:
    done = cli("lab", "build")
    assert done.status == 4
    for package in ("cmake", "gcc-aarch64-linux-gnu", "gcc-riscv64-unknown-elf", "cargo"):
        assert package in done.says
    done = cli("lab", "build", "q35/linux-6.1")
    assert "gcc-aarch64-linux-gnu" in done.says
    assert "cargo" not in done.says  # only FreeRTOS needs it
    with pytest.raises(TargetError, match=f"built in a checkout of rtstone, not in {bare}"):
        ready.build((), bare)


def test_a_failed_build_is_told(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "Makefile").write_text("agent:\n\t@echo no compiler works; false\n")
    (tmp_path / "packaging").mkdir()
    for name in ("packages", "packages.txt", "python", "step"):
        shutil.copy(PACKAGING / name, tmp_path / "packaging")
    (tmp_path / "packaging" / "packages.txt").write_text("build  make  make\n")
    with pytest.raises(TargetError, match=r"`make --silent agent` in .* failed, as shown above"):
        ready.build((), tmp_path)
    assert "no compiler works" in capfd.readouterr().err


def test_what_makes_a_run_repeatable_is_on_every_command_line() -> None:
    for system in systems.SYSTEMS.values():
        words = systems.command(
            system, image=Path("k"), initramfs=Path("i"), script=Path("s"), seed=7
        )
        assert words[words.index("-icount") + 1] == f"shift={system.board.shift},sleep=off"
        assert words[words.index("-seed") + 1] == "7"
        assert words[words.index("-rtc") + 1].endswith(",clock=vm")
        assert "-no-reboot" in words
        assert not any("virtio" in word or word.startswith("-drive") for word in words)


def test_instructions_in_a_second() -> None:
    speeds = {board.name: board.instructions_per_s for board in systems.BOARDS.values()}
    small = [name for name in speeds if name.startswith(("mps2-", "vexpress-", "virt-rv"))]
    large = {
        "virt-a53": 62_500_000,
        "virt-a53-xen": 62_500_000,
        "virt-riscv64": 62_500_000,
        "q35": 1_000_000_000,
    }
    assert speeds == large | dict.fromkeys(small, 7_812_500)
    assert len(small) == 7


def test_how_a_script_reaches_the_guest() -> None:
    m3 = systems.command(systems.find("freertos-m3"), image=Path("k"), script=Path("s"))
    assert "loader,file=s,addr=0x20300000,force-raw=on" in m3
    pc = systems.command(
        systems.find("q35/linux-6.1"), image=Path("k"), initramfs=Path("i"), preempt="full"
    )
    assert pc[pc.index("-initrd") + 1] == "i"
    line = pc[pc.index("-append") + 1].split()
    assert {"preempt=full", "rtstone.awake", "rtstone.tsc_hz=1000000000"} <= set(line)
    free = systems.command(
        systems.find("q35/linux-6.1"), image=Path("k"), initramfs=Path("i"), icount=False
    )
    assert "-icount" not in free
    assert "rtstone.awake" not in free[free.index("-append") + 1]


def test_a_build_makes_what_a_target_needs_and_says_how_far_it_is(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    goals = " ".join(f"agent-{arch}" for arch in images.AGENTS)
    all_images = " ".join(
        f"image-{Path(system.image).stem}" for system in systems.SYSTEMS.values() if system.image
    )
    (tmp_path / "Makefile").write_text(f"agent engine {goals} {all_images}:\n\t@echo $@ >>made\n")
    (tmp_path / "packaging").mkdir()
    for name in ("packages", "packages.txt", "python", "step"):
        shutil.copy(PACKAGING / name, tmp_path / "packaging")
    (tmp_path / "packaging" / "packages.txt").write_text("build  make  make\n")

    def built(*names: str) -> list[str]:
        (tmp_path / "made").unlink(missing_ok=True)
        ready.build([systems.find(name) for name in names], tmp_path)
        return (tmp_path / "made").read_text().split()

    assert built("freertos-m3") == ["image-freertos-m3"]
    assert built("linux-6.1", "linux-6.12", "q35/linux-6.1") == ["agent-aarch64", "agent-x86_64"]
    assert built("xen/freertos-a64+linux-6.1") == ["agent-aarch64", "image-freertos-a64-xen"]
    assert "2 of 2: image-freertos-a64-xen is built, after " in capfd.readouterr().out
    whole = built()
    assert whole[:2] == ["agent", "engine"]
    needed = {f"agent-{s.board.arch}" for s in systems.SYSTEMS.values() if s.kernel}
    assert {*whole} == {"agent", "engine", *needed, *all_images.split()}


LACKS = [
    [],
    [Missing("kernel", "rtstone lab fetch NAME")],
    [Missing("image", "rtstone lab build NAME")],
    [Missing("emulator", "apt-get install emulator"), Missing("image", "rtstone lab build NAME")],
]


def on_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the output of the test a terminal of 80 columns."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("PAGER", "cat")


def test_the_list_fits_a_screen_whatever_is_ready(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch)
    states = Random(1)
    for _ in range(30):
        choices = states.sample(LACKS, states.randint(1, len(LACKS)))
        monkeypatch.setattr(lab_list, "missing", lambda _, choices=choices: states.choice(choices))
        lines = click.unstyle(cli("lab", "list").out).splitlines()
        assert len(lines) <= 23
        assert all(len(line) <= 80 for line in lines)


def test_the_list_shows_every_name_and_words_choose(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_terminal(monkeypatch)
    rows = cli("lab", "list", "--json").document["systems"]
    number = sum(row["ready"] for row in rows)
    first, *lines = click.unstyle(cli("lab", "list").out).splitlines()
    assert first == f"{number} of {len(rows)} emulated targets are ready; each is qemu:NAME"
    shown = {word for line in lines if line.startswith("  ") for word in line.split()}
    assert {row["target"].removeprefix("qemu:") for row in rows} <= shown
    chosen = [
        row["target"] for row in cli("lab", "list", "q35", "rt", "--json").document["systems"]
    ]
    assert chosen == [
        row["target"] for row in rows if row["board"] == "q35" and "PREEMPT_RT" in row["title"]
    ]
    assert len(cli("lab", "list", "--all").out.splitlines()) == len(rows)
    assert (
        "no target of the lab matches 'freertos-m8'; did you mean"
        in cli("lab", "list", "freertos-m8").says
    )
