"""Targets by name: ``local`` or, of a kind that takes one, ``kind:argument``."""

from __future__ import annotations

from importlib import import_module

from rtstone.errors import UsageError, unknown
from rtstone.targets.base import Target

# name: (module of this package, class, takes an argument, what it is)
TARGETS = {
    "local": ("local", "Local", False, "this machine, through its own agent process"),
}


def find(spec: str) -> Target:
    """The target that ``spec`` names.  Raises UsageError if there is none."""
    name, colon, argument = spec.partition(":")
    if name not in TARGETS:
        raise unknown("target", name, TARGETS)
    module, kind, takes_argument, _ = TARGETS[name]
    if bool(colon) != takes_argument:
        need = "needs" if takes_argument else "takes no"
        raise UsageError(
            f"target '{name}' {need} argument, in '{spec}'; see `rtstone list targets`"
        )
    make = getattr(import_module(f"rtstone.targets.{module}"), kind)
    target: Target = make(argument) if takes_argument else make()
    return target
