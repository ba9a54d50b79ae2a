"""The drivers in use, which a latency guarantee has to name."""

from __future__ import annotations

from rtstone.system.facts import System

# A device is a link in its driver's directory; so is the module that the driver comes from.
DEVICES = "sys/bus/*/drivers/*/*"


def drivers(system: System | None = None) -> dict[str, str | None]:
    """Drivers that hold a device, and modules that are loaded, for a run's conditions.

    Names with commas between them, a driver after its bus; "" if there are none, None if that
    cannot be read.
    """
    system = system or System()
    return {"drivers": _bound(system), "modules": _modules(system)}


def _bound(system: System) -> str | None:
    if not system.files.exists("sys/bus"):
        return None
    links = [link.split("/") for link in system.files.links(DEVICES)]
    held = {(bus, driver) for _, _, bus, _, driver, device in links if device != "module"}
    return ", ".join(f"{bus}:{driver}" for bus, driver in sorted(held))


def _modules(system: System) -> str | None:
    """A kernel built without modules has no such file."""
    text = system.raw("proc/modules")
    if text is None:
        return "" if system.files.exists("proc/sys/kernel") else None
    return ", ".join(sorted(line.split()[0] for line in text.splitlines() if line.strip()))
