"""Find targets by name: ``local``, or ``kind:argument`` where the kind takes an argument."""

from __future__ import annotations

from importlib import import_module
from typing import Literal, NamedTuple

from rtstone import plugins
from rtstone.documents.run import LOCAL
from rtstone.errors import UsageError, unknown
from rtstone.targets.base import Target


class Kind(NamedTuple):
    """A kind of target: its module in this package, its class, argument and title."""

    module: str
    target: str
    argument: Literal["none", "optional", "needed"]
    title: str

    def load(self) -> type[Target]:
        """Import and return the class."""
        found: type[Target] = getattr(import_module(f"rtstone.targets.{self.module}"), self.target)
        return found


TARGETS = {
    LOCAL: Kind("local", "Local", "none", "this machine, through its own agent process"),
    "sim": Kind("sim", "Sim", "optional", "a simulated system: the name or .toml file of a model"),
    "qemu": Kind("qemu", "Qemu", "needed", "an emulated board, counted in instructions"),
}


def find(spec: str) -> Target:
    """Return the target that ``spec`` names.  Raises UsageError if there is no such target."""
    name, colon, argument = spec.partition(":")
    if name not in TARGETS:
        plugin = plugins.find("targets", name, type)
        if plugin is None or not issubclass(plugin, Target):
            raise unknown("target", name, TARGETS)
        return plugin(argument) if colon else plugin()
    kind = TARGETS[name]
    if colon and kind.argument == "none":
        raise _misused(name, "takes no argument", spec)
    if not argument and (colon or kind.argument == "needed"):
        raise _misused(name, "needs an argument", spec)
    make = kind.load()
    return make(argument) if colon else make()


def _misused(name: str, how: str, spec: str) -> UsageError:
    return UsageError(f"target '{name}' {how}, in '{spec}'; see `rtstone list targets`")
