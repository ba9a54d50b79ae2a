"""The drivers in use, which a latency guarantee has to name."""

from __future__ import annotations

from rtstone.system.facts import System

# A device is a link in its driver's directory; so is the module that the driver comes from.
DEVICES = "sys/bus/*/drivers/*/*"


def drivers(system: System) -> dict[str, str | None]:
    """Return the drivers that hold a device, and the loaded modules, for a run's conditions.

    Names with commas between them, a driver after its bus; "" if there are none, None if that
    cannot be read.
    """
    bound = modules = None
    if system.files.exists("sys/bus"):
        links = [link.split("/") for link in system.files.links(DEVICES)]
        held = {(bus, driver) for _, _, bus, _, driver, device in links if device != "module"}
        bound = ", ".join(f"{bus}:{driver}" for bus, driver in sorted(held))
    if (text := system.raw("proc/modules")) is not None:
        modules = ", ".join(sorted(line.split()[0] for line in text.splitlines() if line.strip()))
    elif system.files.exists("proc/sys/kernel"):
        modules = ""  # the kernel was built without any
    return {"drivers": bound, "modules": modules}
