"""Find targets: ``local``, ``kind:argument`` where the kind takes an argument, or by a name.

Names are in files of the user (``rtstone.targets.fleet_file``).
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Literal, NamedTuple

from rtstone import plugins
from rtstone.documents.run import LOCAL
from rtstone.errors import UsageError, unknown
from rtstone.targets.base import Target

if TYPE_CHECKING:
    from rtstone.targets.fleet_file import Named


class Kind(NamedTuple):
    """A kind of target: its module in this package, its class, argument and title."""

    module: str
    target: str
    argument: Literal["none", "optional", "needed"]
    title: str

    def load(self) -> type[Target]:
        """Import and return the class."""
        module = import_module(f"rtstone.targets.{self.module}")
        target: type[Target] = getattr(module, self.target)
        return target


TARGETS = {
    LOCAL: Kind("local", "Local", "none", "this machine, through its own agent process"),
    "sim": Kind("sim", "Sim", "optional", "a simulated system: the name or .toml file of a model"),
    "qemu": Kind("qemu", "Qemu", "needed", "an emulated board, counted in instructions"),
    "serial": Kind("serial", "Serial", "needed", "a board on a serial line: DEVICE[,BAUD]"),
    "ssh": Kind("ssh", "Ssh", "needed", "a machine that you can log in to: [user@]host[:port]"),
    "labgrid": Kind("labgrid", "Labgrid", "needed", "a place of a labgrid coordinator"),
    "exec": Kind("exec", "Exec", "needed", "a command whose input and output reach an agent"),
}


def fleet() -> dict[str, Named]:
    """Return the targets that the user has given names.  Raises UsageError."""
    from rtstone.targets.fleet_file import fleet as read

    return read(TARGETS)


def find(spec: str) -> Target:
    """Return the target that ``spec`` names.  Raises UsageError if there is no such target.

    A name may be followed by options of its address: ``pi4+sudo=yes``.
    """
    name, plus, words = spec.partition("+")
    if ":" in spec or name in TARGETS:
        return _by_address(spec, TARGETS)
    names = fleet()
    if name not in names:
        return _by_address(spec, [*TARGETS, *names])
    named = names[name]
    try:
        target = _by_address(named.address + plus + words, TARGETS)
    except UsageError as error:
        raise UsageError(f"target '{name}', {named.where}: {error}") from error
    target.named = named
    return target


def _by_address(spec: str, names: Iterable[str]) -> Target:
    """Return the target at an address; ``names``: what else it may have been meant to be."""
    name, colon, argument = spec.partition(":")
    if name not in TARGETS:
        plugin = plugins.find("targets", name, type)
        if plugin is None or not issubclass(plugin, Target):
            raise unknown("target", name, names)
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
