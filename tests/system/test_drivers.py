from __future__ import annotations

from pathlib import Path

from rtstone.system.drivers import drivers
from rtstone.system.facts import System
from tests.conftest import Cli


def test_drivers_that_hold_a_device_and_modules(tmp_path: Path) -> None:
    bus = tmp_path / "sys/bus"
    for name in ("pci/drivers/ahci", "pci/drivers/idle", "mdio/drivers/Generic PHY"):
        (bus / name).mkdir(parents=True)
        (bus / name / "bind").write_text("")
        (bus / name / "module").symlink_to(tmp_path)
    (bus / "pci/drivers/ahci/0000:00:1f.2").symlink_to(tmp_path)
    (bus / "mdio/drivers/Generic PHY/phy0").symlink_to(tmp_path)
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/modules").write_text("xfs 1 0 - Live 0x0\nahci 2 1 xfs, Live 0x0\n")
    assert drivers(System(tmp_path)) == {
        "drivers": "mdio:Generic PHY, pci:ahci",
        "modules": "ahci, xfs",
    }


def test_what_cannot_be_read_is_unknown_and_a_kernel_without_modules_has_none(
    tmp_path: Path,
) -> None:
    assert drivers(System(tmp_path)) == {"drivers": None, "modules": None}
    (tmp_path / "proc/sys/kernel").mkdir(parents=True)
    assert drivers(System(tmp_path))["modules"] == ""


def test_a_run_of_this_machine_names_them(cli: Cli) -> None:
    done = cli("run", "null", "-p", "samples=1000", "--json")
    conditions = done.document["conditions"]
    assert {"drivers", "modules"} <= conditions.keys()
    assert conditions["drivers"] == drivers(System())["drivers"]
