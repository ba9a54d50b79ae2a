"""Loads as people name them: ``heavy``, ``heavy:disk=off,irq=external``, ``command:make -j4``."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rtstone.errors import UsageError, unknown
from rtstone.model.benches import values
from rtstone.model.documents import Value
from rtstone.wire.records import Load, Rate

NONE = "none"
NO_OTHER_WORK = "no other work than the system's own"

# Where a load runs if its caller does not say, by the configuration of the cases under it.
_PLACES = {"1cpu": "measured", "2cpu": "any"}


class Call(msgspec.Struct, frozen=True):
    """A load with the parameters that were given; the others have their defaults."""

    name: str = NONE
    params: dict[str, Value] = {}

    def beside(self, config: Value, cpus: Value, table: Load) -> Call:
        """The same, placed as cases of that configuration and with those CPUs want it."""
        placed: dict[str, Value] = {}
        if table.param("place") and str(config) in _PLACES:
            placed["place"] = _PLACES[str(config)]
        if table.param("away") and cpus:
            placed["away"] = cpus
        return Call(self.name, placed | self.params)


def name_of(spec: str) -> str:
    """``driver`` of ``driver:device=/dev/sdb``."""
    return spec.partition(":")[0]


def parse(spec: str, loads: Mapping[str, Load], where: str = "") -> Call:
    """The load that ``spec`` names.

    Behind the colon stand parameters, separated by commas, or else the text that is all a load
    needs to know (a command, a device).  Raises UsageError.
    """
    name, rest = name_of(spec), spec.partition(":")[2]
    if name == NONE and not rest:
        return Call()
    if name not in loads:
        raise unknown("load", name, [NONE, *loads], where)
    table = loads[name]
    params = {}
    for key, text in _assignments(rest.strip(), table, spec):
        several = values(table, key, text, where)
        if len(several) != 1 or key in params:
            raise UsageError(f"several values of {key}, in load '{spec}'; name the load again")
        params[key] = several[0]
    return Call(name, params)


TOLERANCE = 0.2  # of its rate that a part of a load may miss (design, rules of measuring)


def lacking(rates: list[Rate] | None) -> str | None:
    """What a load did not do while a case ran, None if it did all it should."""
    if not rates:
        return "it did not run"
    for rate in rates:
        if not rate.alive:
            return f"{rate.component} ended, {rate.why or 'it is not known why'}"
        if rate.wanted and abs(rate.achieved / rate.wanted - 1) > TOLERANCE:
            reached = f"{rate.achieved:.4g} of {rate.wanted:.4g} {rate.unit} per second"
            return f"{rate.component} missed its rate by more than {TOLERANCE:.0%}: {reached}"
        if rate.achieved <= 0:
            return f"{rate.component} did nothing"
    return None


def _assignments(text: str, table: Load, spec: str) -> list[tuple[str, str]]:
    """The parameters that ``text`` sets; a piece without a name belongs to the value before it."""
    if not text:
        return []
    free = next((param.name for param in table.params if param.type == "text"), None)
    first = text.partition("=")[0]
    if free and not ("=" in text and table.param(first)):
        return [(free, text)]
    found: list[tuple[str, str]] = []
    for piece in text.split(","):
        name, equals, value = piece.partition("=")
        if equals:
            found.append((name.strip(), value))
        elif found:
            found[-1] = (found[-1][0], f"{found[-1][1]},{piece}")
        else:
            raise UsageError(f"bad load '{spec}'; write {table.id}:name=value,name=value")
    return found
