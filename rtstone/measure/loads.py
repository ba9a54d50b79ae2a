"""Parse names of loads: ``heavy``, ``heavy:disk=off,irq=external``, ``command:make -j4``."""

from __future__ import annotations

from collections.abc import Mapping

from rtstone.documents.plan import NONE, LoadSpec, load_name
from rtstone.errors import UsageError, unknown
from rtstone.wire.parameters import values
from rtstone.wire.records import Load

ALLOW = "allow"  # parameter of loads that change what users of a machine notice
NO_OTHER_WORK = "no load besides the system's own work"


def parse(spec: str, loads: Mapping[str, Load], where: str = "") -> LoadSpec:
    """Return the load that ``spec`` names.

    After the colon follow parameters, separated by commas, or the value of the load's only text
    parameter (a command, a device).  Raises UsageError.
    """
    name, rest = load_name(spec), spec.partition(":")[2]
    if name == NONE and not rest:
        return LoadSpec()
    if name not in loads:
        raise unknown("load", name, [NONE, *loads], where)
    table = loads[name]
    params = {}
    for key, text in _assignments(rest.strip(), table, spec):
        several = values(table, key, text, where)
        if len(several) != 1 or key in params:
            raise UsageError(f"several values of {key}, in load '{spec}'; repeat --load instead")
        params[key] = several[0]
    return LoadSpec(name, params)


def allowed(call: LoadSpec, loads: Mapping[str, Load]) -> LoadSpec:
    """Return the load with permission to change the machine, if it asks for that and has none."""
    if call.name == NONE or loads[call.name].param(ALLOW) is None:
        return call
    return LoadSpec(call.name, {ALLOW: True, **call.params})


def _assignments(text: str, table: Load, spec: str) -> list[tuple[str, str]]:
    """Return the parameters that ``text`` sets; a piece without a name continues the last value."""
    if not text:
        return []
    free = next((param.name for param in table.params if param.type == "text"), None)
    first = text.partition("=")[0]
    if free and not ("=" in text and table.param(first)):
        return [(free, text)]
    pairs: list[tuple[str, str]] = []
    for piece in text.split(","):
        name, equals, value = piece.partition("=")
        if equals:
            pairs.append((name.strip(), value))
        elif pairs:
            pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{piece}")
        else:
            raise UsageError(f"bad load '{spec}'; write {table.id}:name=value,name=value")
    return pairs
