"""Devices that a board has on request: what they add, to which boards, and a guest with one."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

from rtstone.errors import TargetError
from rtstone.lab import device_tree, devices, systems
from rtstone.targets import find
from rtstone.targets.qemu import Qemu
from tests.conftest import Cli
from tests.lab.boards import needs
from tests.lab.test_xen import parsed

PLAIN, SCREEN = "qemu:linux-6.1", "qemu:linux-6.1+device=screen"
# Of the plain target, word for word: what a device adds is not there without it.
COMMAND = (
    "qemu-system-aarch64 -M virt,gic-version=2 -cpu cortex-a53 -smp 1 -m 512 -nodefaults "
    "-display none -monitor none -serial file:console -no-reboot -seed 0 "
    "-rtc base=2026-01-01,clock=vm -icount shift=4,sleep=off -kernel image -initrd initramfs "
    "-append console=ttyAMA0 rdinit=/init quiet panic=-1 rtstone.seed=0 rtstone.awake"
)
emulated = pytest.mark.skipif(
    not shutil.which("qemu-system-aarch64"), reason="no qemu-system-aarch64"
)


def qemu(name: str) -> Qemu:
    target = find(name)
    assert isinstance(target, Qemu)
    return target


def test_every_device_is_for_boards_that_are_there() -> None:
    assert devices.DEVICES
    for name, device in devices.DEVICES.items():
        assert (device.name, bool(device.boards)) == (name, True)
        assert device.boards.keys() <= systems.BOARDS.keys()
        assert all(any(addition) for addition in device.boards.values())


def test_a_tree_is_the_same_after_a_way_through_its_blob() -> None:
    tree: device_tree.Node = {
        "model": "m", "none": None, "words": [1, 2**32 - 1], "odd": b"abc", "list": ["a", "bc"],
        "node@1": {"reg": [1], "inner": {"deep": {}, "model": "other"}}, "last": {},
    }  # fmt: skip
    blob = device_tree.flatten(tree)
    assert device_tree.unflatten(blob) == parsed(blob)
    assert device_tree.flatten(device_tree.unflatten(blob)) == blob
    with pytest.raises(ValueError, match="no flattened device tree"):
        device_tree.unflatten(b"\x7fELF" + blob)
    with pytest.raises(ValueError, match="unknown token 0"):
        device_tree.unflatten(blob[:56] + bytes(len(blob)))


def test_what_is_added_to_a_tree_replaces_nothing_beside_it() -> None:
    old: device_tree.Node = {"chosen": {"a": b"1", "b": b"2"}, "cpus": {}}
    new: device_tree.Node = {"chosen": {"b": b"3", "c": {}}, "memory": {}}
    both = {"chosen": {"a": b"1", "b": b"3", "c": {}}, "cpus": {}, "memory": {}}
    assert device_tree.merged(old, new) == both
    assert old == {"chosen": {"a": b"1", "b": b"2"}, "cpus": {}}


@emulated
@pytest.mark.parametrize("mebibytes", [128, 512, 4096])
def test_the_screen_is_the_end_of_the_memory_and_the_board_is_as_it_was(mebibytes: int) -> None:
    target = qemu(f"{SCREEN}+mem={mebibytes}")
    tree = parsed(target._tree())
    end = 0x40000000 + (mebibytes << 20)
    at = end - 1024 * 768 * 4
    name = f"framebuffer@{at:x}"
    assert tree["reserved-memory"].pop(name) == {
        "reg": struct.pack(">4I", at >> 32, at % 2**32, 0, 1024 * 768 * 4), "no-map": b"",
    }  # fmt: skip
    screen = tree["chosen"].pop(name)
    assert screen["compatible"] == b"simple-framebuffer\0"
    assert struct.unpack(">4I", screen["reg"]) == (at >> 32, at % 2**32, 0, 1024 * 768 * 4)
    assert [struct.unpack(">I", screen[key])[0] for key in ("width", "height", "stride")] == [
        1024, 768, 4096,
    ]  # fmt: skip
    cells = {"#address-cells", "#size-cells", "ranges"}
    assert tree.pop("reserved-memory").keys() == cells
    for key in cells:
        del tree["chosen"][key]
    assert tree == own_tree(f"{PLAIN}+mem={mebibytes}")


def own_tree(name: str) -> dict[str, Any]:
    """Return the board's own tree, by a device that adds one property and nothing else."""
    target = qemu(name)
    mark = devices.Addition(nodes=lambda _: {"mark": None})
    device = devices.Device("mark", "", {target.system.board.name: mark})
    target.system = target.system._replace(device=device)
    tree = parsed(target._tree())
    assert tree.pop("mark") == b""
    assert {"memory@40000000", "pl011@9000000", "timer", "psci"} <= tree.keys()
    return tree


@emulated
def test_an_emulator_that_dumps_no_tree_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    target = qemu(SCREEN)
    machine = ("-M", "virt", "-cpu", "no-such-processor")
    board = target.system.board._replace(arguments=machine)
    target.system = target.system._replace(board=board)
    with pytest.raises(TargetError, match=r"prints no device tree of virt-a53: .*no-such-proc"):
        target._tree()


def test_a_target_without_a_device_is_as_it_was() -> None:
    assert qemu(PLAIN)._words() == COMMAND
    assert qemu(SCREEN)._words() == COMMAND.replace(" -initrd", " -dtb tree -initrd")


def test_a_device_of_the_emulator_and_of_the_command_line() -> None:
    """A made-up one, as each of the three ways must reach the guest."""
    addition = devices.Addition(("-device", "edu"), ("edu.debug",))
    edu = devices.Device("edu", "a device to learn from", {"virt-a53": addition})
    system = systems.find("linux-6.1")._replace(device=edu)
    words = systems.command(system, image=Path("k"), initramfs=Path("i"), append=["last"])
    assert words[words.index("-device") + 1] == "edu"
    assert words[-1].endswith(" edu.debug last")
    assert "-dtb" not in words


def test_the_list_says_what_devices_there_are(cli: Cli) -> None:
    rows = {row["target"]: row for row in cli("lab", "list", "--json").document["systems"]}
    with_screen = {name for name, row in rows.items() if "screen" in row["devices"]}
    assert {"qemu:linux-6.1", "qemu:q35/linux-6.12-rt"} <= with_screen
    assert not any("freertos" in name or "riscv" in name for name in with_screen)
    text = " ".join(cli("lab", "list").out.split())
    assert "+device=screen a frame buffer of 1024x768 pixels" in text
    assert "for Linux on virt-a53 and q35" in text


# ---- a guest -------------------------------------------------------------------------------------


REFUSED = (
    "load scroll: this machine has no screen: its virtual consoles are of the dummy device, which "
    "draws nothing"
)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("system", "without"),
    [
        pytest.param("linux-6.1", REFUSED, marks=needs("linux-6.1")),
        # The memory of a PC's text screen is there, and scrolled.
        pytest.param("q35/linux-6.1", None, marks=needs("q35/linux-6.1")),
    ],
)
def test_a_console_scrolls_where_there_is_a_screen_and_masks_interrupts(
    cli: Cli, system: str, without: str | None
) -> None:
    def irqs_off(target: str) -> dict[str, Any]:
        words = ("--load", "none", "--load", "scroll", "-p", "samples=200", "--json")
        return cli("run", "dk.irqsoff", "--target", f"qemu:{target}", *words).document

    plain, screen = irqs_off(system), irqs_off(f"{system}+device=screen")
    assert plain["results"][1]["reason"] == without
    assert "device" not in plain["target"]["detail"]
    quiet, scrolled = screen["results"]
    assert [quiet["status"], scrolled["status"]] == ["ok", "ok"]
    (rate,) = scrolled["load_rates"]
    assert (rate["component"], rate["unit"], rate["alive"]) == ("scroll", "lines", True)
    assert rate["achieved"] > 0
    assert scrolled["max"] > 3 * max(quiet["max"], *(r["max"] or 0 for r in plain["results"]))
    assert screen["target"]["detail"]["device"] == "screen"
    # To compare they are two systems, and the same again is the same to the instruction.
    assert irqs_off(f"{system}+device=screen")["results"] == screen["results"]
    compared = cli("compare", plain["run_id"], screen["run_id"], "--json").document
    first, second = (column["label"] for column in compared["columns"])
    assert second == f"{first} device=screen"
    (device,) = [d for d in compared["differences"] if d["aspect"] == "device"]
    assert [value["value"] for value in device["values"]] == ["none", "screen"]
