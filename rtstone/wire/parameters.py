"""Parse and format parameters: units, ranges, lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rtstone.cpus import ALL, cpu_set
from rtstone.errors import UsageError, unknown
from rtstone.units import DURATION, SIZE, TIMES, WHOLE
from rtstone.wire.records import Bench, Load, Param, Table, Value

Benches = Mapping[str, Bench]


class Catalogue(NamedTuple):
    """The benches and loads of an agent: tables by id.

    ``apart``: for prefixes of bench ids, why those benches are missing, where a reason is known.
    ``source``: the hash of the source of the agent that listed them.  ``capabilities``: of its
    system, by the names on the wire; None: not known.  ``beyond``: why its CPU is too slow for some
    of the loads while they have all their parts.
    """

    benches: dict[str, Bench]
    loads: dict[str, Load]
    apart: Mapping[str, str] = {}
    source: str | None = None
    capabilities: frozenset[str] | None = None
    beyond: Mapping[str, str] = {}


_SCALES = {"duration": DURATION, "size": SIZE, "int": WHOLE}
_BOOLS = {"on": True, "true": True, "1": True, "off": False, "false": False, "0": False}


def find(benches: Benches, name: str, where: str = "") -> Bench:
    """Return the bench with that id.  Raises UsageError naming the nearest one."""
    if name not in benches:
        raise unknown("bench", name, benches, where)
    return benches[name]


def values(table: Table, name: str, value: object, where: str = "") -> list[Value]:
    """Parse the values of a parameter and return them in base units; several form a grid.

    ``value`` is text (in which commas separate values, except for CPU lists and text parameters), a
    number, a boolean, or a list of these.  Raises UsageError with the bench or load, the parameter
    and the allowed values; ``where`` names the file.
    """
    param = table.param(name)
    if param is None:
        within = f"in {table.noun} '{table.id}'{f', {where}' if where else ''}"
        raise unknown("parameter", name, (p.name for p in table.params), within)
    whole = not isinstance(value, str) or param.type in {"cpus", "text"}
    several = value if whole else str(value).split(",")
    items = several if isinstance(several, list) else [several]
    if not items:
        raise _bad(table, param, "[]", where)
    return [_value(table, param, item, where) for item in items]


def duration(text: str, where: str) -> int:
    """Parse a time and return it in ns; without a unit it is in seconds.  Raises UsageError."""
    value = DURATION.parse(text)
    if value is None or not 0 <= value <= TIMES["h"]:
        units = ", ".join(DURATION.units)
        raise UsageError(
            f"bad time '{text}', {where}; write a whole number of ns up to 1h, with a unit "
            f"({units}; no unit: {DURATION.bare})"
        )
    return value


def quantity(param: Param, value: Value) -> str:
    """Format a value in base units as one would write it."""
    if isinstance(value, bool) or param.type == "bool":
        return "on" if value else "off"
    scale = _SCALES.get(param.type)
    if scale is None or param.type == "int" or not isinstance(value, int):
        return "" if value is None else str(value)
    return scale.format(value)


def _value(table: Table, param: Param, item: object, where: str) -> Value:
    text = item.strip() if isinstance(item, str) else str(item)
    if param.type in _SCALES and not isinstance(item, bool):
        number = _SCALES[param.type].parse(text)
        low, high = param.min, param.max
        below = low is not None and number is not None and number < low
        above = high is not None and number is not None and number > high
        if number is None or below or above:
            raise _bad(table, param, text, where)
        return number
    if param.type == "bool" and text.lower() in _BOOLS:
        return _BOOLS[text.lower()]
    if param.type == "choice" and text in (param.choices or []):
        return text
    if param.type == "cpus":
        if text != ALL:
            cpu_set(text)
        return text
    if param.type == "text" and 0 < len(text.encode()) <= (param.max or 0):
        return text
    raise _bad(table, param, text, where)


def allowed(param: Param) -> str:
    """Describe the allowed values of a parameter."""
    match param.type:
        case "choice":
            return "one of " + ", ".join(param.choices or [])
        case "bool":
            return "on or off"
        case "cpus":
            return "a CPU list such as 0-2,4, or all"
        case "text":
            return f"a text of up to {param.max} bytes"
    low, high = (
        None if end is None else quantity(param, int(end)) for end in (param.min, param.max)
    )
    units = [unit for unit in _SCALES[param.type].units if unit] if param.type in _SCALES else []
    kind = f" ({', '.join(units)}; no unit: {_SCALES[param.type].bare})" if units else ""
    if low is None and high is None:
        return "a whole number" if not units else f"a {param.type}{kind}"
    return f"{low if low is not None else '…'} to {high if high is not None else '…'}{kind}"


def _bad(table: Table, param: Param, text: str, where: str) -> UsageError:
    place = f", {where}" if where else ""
    return UsageError(
        f"bad value '{text}' of {param.name}, in {table.noun} '{table.id}'{place}; "
        f"it may be {allowed(param)}"
    )
