"""The drivers in use, which a latency guarantee has to name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rtstone.system.facts import System


def drivers(system: System | None = None) -> dict[str, str | None]:
    """Drivers that hold a device, and modules that are loaded, for a run's conditions.

    Names with commas between them, a driver after its bus; "" if there are none, None if that
    cannot be read.
    """
    system = system or System()
    return {"drivers": _bound(system), "modules": _modules(system)}


def _bound(system: System) -> str | None:
    buses = system.path("sys/bus")
    if not buses.is_dir():
        return None
    held = [path for path in sorted(buses.glob("*/drivers/*")) if _holds_device(path)]
    return ", ".join(f"{path.parent.parent.name}:{path.name}" for path in held)


def _holds_device(driver: Path) -> bool:
    """A device is a link in its driver's folder; so is the module that the driver comes from."""
    with suppress(OSError):
        return any(entry.is_symlink() and entry.name != "module" for entry in driver.iterdir())
    return False


def _modules(system: System) -> str | None:
    """A kernel built without modules has no such file."""
    text = system.raw("proc/modules")
    if text is None:
        return "" if system.path("proc/sys/kernel").is_dir() else None
    return ", ".join(sorted(line.split()[0] for line in text.splitlines() if line.strip()))
