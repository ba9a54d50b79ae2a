"""Models of simulated systems: TOML files with the cost of every operation (docs/guides/sim.md).

    title = "RTAI-22.2.4"
    label = "modelled from published figures"
    slice = "10ms"
    [cost]
    sem_give = "0.2us"
    switch = { fixed = "0.4us", ready = [[1, 0], [34, "0.5us"]] }
    add = { amount = "0.5ns" }  # for each
    [load.heavy]
    switch = "0.9us"  # while that load runs
    [load.heavy.with.disk]
    sem_give = "5us"  # in addition, while that part of it runs; with."disk+cpu": while both do

The agent defines which costs there are; a model becomes its command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from rtstone import resources, toml
from rtstone.errors import UsageError, unknown
from rtstone.units import CLOCK, spelt

_KEYS = {
    "title": str,
    "label": str,
    "source": str,
    "config": str,
    "seed": int,
    "tick": str,
    "slice": str,
    "lacks": list,
    "stalls": list,
    "cost": dict,
    "load": dict,
}
_WITH = "with"  # in a load's table: costs that its parts add
_STALL = {"first": str, "length": str, "period": str}
_NS = 1000  # ps
_PS = {name: factor * _NS for name, factor in spelt(CLOCK).items()}
_DURATION = re.compile(r"([+-]?\d{1,18}(?:\.\d{1,18})?)\s*([a-zµμ]{1,2})")
_LONGEST = 3600 * 10**12  # ps; upper limit of any cost
_EACH = 1000  # a cost for each is passed on for this many, as it may be less than a ps for one
_RANDOM = 10**9  # the agent's scale for a random number of 1


class Words(NamedTuple):
    """The vocabulary of models, as the agent lists it: names, and the limits on their number."""

    costs: Sequence[str]
    parts: Sequence[str]
    lacks: Sequence[str]
    loads: Sequence[str]
    components: Sequence[str]  # of the loads
    most: dict[str, int]


class System(NamedTuple):
    """A model as read from its file; only its names have been checked."""

    name: str
    path: Path
    title: str
    label: str
    source: str
    config: str  # the configuration of a publication that it models; "": none
    table: dict[str, Any]


def shipped() -> dict[str, Path]:
    """Return the models that come with rtstone, by name."""
    return resources.tables("models")


def find(name: str) -> System:
    """Return the model by name or .toml file.  Raises UsageError naming the nearest one."""
    if name.endswith(".toml"):
        return read(Path(name))
    models = shipped()
    if name not in models:
        raise unknown("model", name, models)
    return read(models[name])


def read(path: Path) -> System:
    """Read a model's file.  Raises UsageError if it is not TOML, or not a model."""
    table = toml.read(path, "model")
    toml.check_keys(table, _KEYS, f"model {path}")
    for key in ("title", "label"):
        if not table.get(key):
            raise UsageError(
                f"no {key}, in model {path}; it is shown with every result of the model"
            )
    for key in ("title", "label", "source"):
        if not table.get(key, "").isprintable():
            raise UsageError(f"'{key}' has characters that cannot be printed, in model {path}")
    source, config = table.get("source", ""), table.get("config", "")
    return System(path.stem, path, table["title"], table["label"], source, config, table)


def arguments(system: System, words: Words) -> list[str]:
    """Return the command line of the agent that simulates it.  Raises UsageError."""
    return list(_Reader(system, words).arguments())


class _Reader:
    def __init__(self, system: System, words: Words) -> None:
        self._table = system.table
        self._where = f"model {system.path}"
        self._words = words

    def arguments(self) -> Iterator[str]:
        for key, argument in (("title", "name"), ("label", "label")):
            text = self._table[key]
            if len(text.encode()) > self._words.most[key]:
                most = self._words.most[key]
                raise UsageError(f"'{key}' is longer than {most} bytes, in {self._where}")
            yield f"{argument}={text}"
        seed = self._table.get("seed", 0)
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"bad seed {seed}, in {self._where}; it may be 0 to 2^63-1")
        yield f"seed={seed}"
        for key in ("tick", "slice"):
            if key in self._table:
                yield f"{key}={self._ns(self._table[key], key)}"
        for lack in self._table.get("lacks", []):
            if lack not in self._words.lacks:
                raise unknown("lack", str(lack), self._words.lacks, f"in {self._where}")
            yield f"lacks={lack}"
        stalls = self._table.get("stalls", [])
        if len(stalls) > (most := self._words.most["stalls"]):
            raise UsageError(f"more than {most} stalls, in {self._where}")
        for number, stall in enumerate(stalls, 1):
            place = f"stall {number}"
            if not isinstance(stall, dict) or "length" not in stall:
                raise self._bad(place, "a table with first, length and period")
            toml.check_keys(stall, _STALL, f"{self._where}, {place}")
            first, length, period = (self._ns(stall.get(name, 0), place) for name in _STALL)
            if not length or 0 < period <= length:
                raise self._bad(
                    place,
                    "a table whose length is above 0 and whose period is 0 or longer than that",
                )
            yield f"stall={first}:{length}:{period}"
        yield from self._costs("cost", self._table.get("cost", {}))
        for load, costs in self._table.get("load", {}).items():
            if load not in self._words.loads:
                raise unknown("load", load, self._words.loads, f"in {self._where}")
            if not isinstance(costs, dict):
                raise self._bad(f"load.{load}", "a table of costs")
            yield from self._costs(load, {k: v for k, v in costs.items() if k != _WITH})
            yield from self._additions(load, costs.get(_WITH, {}))

    def _additions(self, load: str, by_parts: object) -> Iterator[str]:
        """Yield what parts of a load add to costs while all of them run."""
        where = f"load.{load}.{_WITH}"
        if not isinstance(by_parts, dict):
            raise self._bad(where, "a table of parts of the load")
        pairs = 0
        for names, costs in by_parts.items():
            for name in names.split("+"):
                if name not in self._words.components:
                    lead = f"in {self._where}, {where}"
                    raise unknown("part of the load", name, self._words.components, lead)
            if not isinstance(costs, dict):
                raise self._bad(f"{where}.{names}", "a table of costs")
            pairs += len(costs)
            if pairs > (most := self._words.most["additions"]):
                raise UsageError(f"more than {most} costs of parts, in {self._where}, {where}")
            yield from self._costs(f"{load}.{_WITH}.{names}", costs)

    def _costs(self, key: str, costs: dict[str, Any]) -> Iterator[str]:
        for name, cost in costs.items():
            where = f"{key}.{name}"
            if name not in self._words.costs:
                raise unknown("cost", name, self._words.costs, f"in {self._where}")
            for part, value in (cost if isinstance(cost, dict) else {"fixed": cost}).items():
                if part not in self._words.parts:
                    raise unknown(
                        "part of a cost", part, self._words.parts, f"in {self._where}, {where}"
                    )
                place = f"{where}.{part}"
                if part == "fixed":
                    yield f"{place}={self._ps(value, place)}"
                elif isinstance(value, list):
                    scale = _RANDOM if part == "random" else 1
                    yield f"{place}={self._points(place, value, scale)}"
                elif part == "random":
                    raise self._bad(place, "a list of [x, duration] with x from 0 to 1")
                else:
                    yield f"{place}=0:0,{_EACH}:{self._ps(value, place, _EACH)}"

    def _points(self, key: str, points: list[Any], scale: int) -> str:
        """Return points [x, duration] as the agent takes them; ``scale``: of an x of 1."""
        most = self._words.most["points"]
        if not 0 < len(points) <= most:
            raise self._bad(key, f"1 to {most} points [x, duration]")
        pairs: list[tuple[int, int]] = []
        for point in points:
            if not isinstance(point, list) or len(point) != 2:
                raise self._bad(key, "a list of [x, duration]")
            x = point[0]
            whole = isinstance(x, int) and not isinstance(x, bool)
            if scale > 1 and (
                not (whole or isinstance(x, Decimal)) or not 0 <= x <= 1 or x * scale % 1
            ):
                raise self._bad(key, "a list of [x, duration] with x from 0 to 1, 9 digits long")
            if scale == 1 and (not whole or not 0 <= x < 1 << 62):
                raise self._bad(key, "a list of [x, duration] with x a whole number from 0")
            x = int(x * scale)
            if pairs and x <= pairs[-1][0]:
                raise self._bad(key, "a list of [x, duration] in rising order of x")
            pairs.append((x, self._ps(point[1], key)))
        return ",".join(f"{x}:{ps}" for x, ps in pairs)

    def _ns(self, text: object, key: str) -> int:
        """Return a duration in whole ns, not below 0."""
        ps = self._ps(text, key)
        if ps < 0 or ps % _NS:
            raise self._bad(key, f"whole nanoseconds, not {text}")
        return ps // _NS

    def _ps(self, text: object, key: str, times: int = 1) -> int:
        """Return so many times a duration, in whole ps.  A bare 0 is one."""
        if text == 0 and not isinstance(text, bool):
            return 0
        match = _DURATION.fullmatch(text.strip()) if isinstance(text, str) else None
        if match is None or match[2] not in _PS:
            raise self._bad(key, f'a duration such as "0.25us" (ns, us, ms, s), not {text}')
        number, point, digits = match[1].partition(".")
        ps = Decimal(number + point + digits) * _PS[match[2]] * times
        if ps % 1 or abs(ps) > _LONGEST * times:
            raise self._bad(key, f"whole picoseconds up to an hour, not {text}")
        return int(ps)

    def _bad(self, key: str, form: str) -> UsageError:
        return UsageError(f"bad {key}, in {self._where}; it is {form}")
