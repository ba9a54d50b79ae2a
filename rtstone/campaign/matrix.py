"""Campaigns: TOML files that name a matrix of runs.

    title = "Every night"
    targets = ["sim:rtai-24.1.8", "qemu:freertos-a64", "pi4"]
    measure = ["lab", "dk.periodic sched.yield"]  # each: suites and benches of one run
    loads = ["none", "heavy"]            # default: those of the suites
    seeds = [1, 2, 3]                    # of the targets that have one
    repeat = 5
    order = "interleaved"                # repeats spread over time; or "grouped": by cell
    time = "10s"                         # of each case, as in `rtstone run`
    limit = "100us"                      # the latency that is required, likewise

    [params]                             # of the cases that have them
    period = ["1ms", "5ms"]              # a run with each; "1ms,5ms": both in one run

    [[exclude]]                          # what matches all of this; * and ? match anything
    target = "qemu:*"
    load = "heavy"

    [limits]                             # of one `rtstone campaign run`; the next one goes on
    hours = 8
    runs = 500

Every combination is a cell of the matrix; a run of it with a seed, and with a repeat's number, is a
job.  Suite files, models and `rtstone-targets.toml` are looked for beside the file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, Literal, get_args

import msgspec

from rtstone import toml
from rtstone.errors import UsageError

Order = Literal["interleaved", "grouped"]

MOST_JOBS = 1_000_000
MOST_HOURS = 8760  # a year
SEEDS = 2**31  # as emulated boards take them

_NOUN = "campaign"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)  # begins the ids of its runs
_KEYS = {
    "title": str, "targets": list, "measure": list, "loads": list, "seeds": list, "repeat": int,
    "order": str, "time": str, "until": str, "cpus": str, "limit": str, "params": dict,
    "exclude": list, "limits": dict,
}  # fmt: skip
_EXCLUDE = {"target": str, "measure": str, "load": str, "params": dict}
_LIMITS = {"hours": object, "runs": int}


class Cell(msgspec.Struct, frozen=True):
    """A place in the matrix; ``load`` is None where the suites' own loads apply."""

    target: str
    measure: str
    load: str | None = None
    params: dict[str, str] = {}

    @property
    def title(self) -> str:
        """The suites, benches, load and parameters, in words, without the target."""
        under = [] if self.load is None else [f"load {self.load}"]
        return ", ".join([self.measure, *under, *(f"{k}={v}" for k, v in self.params.items())])


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out of the matrix; None matches all."""

    target: str | None = None
    measure: str | None = None
    load: str | None = None
    params: dict[str, str] = {}

    def matches(self, cell: Cell) -> bool:
        """Return whether it excludes a cell."""
        pairs = [
            (self.target, cell.target), (self.measure, cell.measure), (self.load, cell.load),
            *((text, cell.params.get(name)) for name, text in self.params.items()),
        ]  # fmt: skip
        conditions = [(pattern, text) for pattern, text in pairs if pattern is not None]
        return all(text is not None and fnmatchcase(text, pattern) for pattern, text in conditions)


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign as its file has it.

    ``name``: its file's, without the ending.  ``hours``, ``runs``: limits, None if there is none.
    """

    name: str
    file: Path
    title: str
    targets: list[str]
    measure: list[str]
    loads: list[str] = []
    params: dict[str, list[str]] = {}
    seeds: list[int] = []
    repeat: int = 1
    order: Order = "interleaved"
    time: str | None = None
    until: str | None = None
    cpus: str | None = None
    limit: str | None = None
    exclude: list[Exclusion] = []
    hours: float | None = None
    runs: int | None = None

    @property
    def folder(self) -> Path:
        """The directory of the file, where the files that it names are looked for."""
        return self.file.parent

    def every_cell(self) -> Iterator[Cell]:
        """Yield all cells, also the excluded ones."""
        loads: list[str | None] = [*self.loads] or [None]
        for target, measure, load in product(self.targets, self.measure, loads):
            for values in product(*self.params.values()):
                yield Cell(target, measure, load, dict(zip(self.params, values, strict=True)))

    def cells(self) -> list[Cell]:
        """Return the cells to measure.

        Raises UsageError if there is none, or if an exclusion excludes nothing.
        """
        cells = list(self.every_cell())
        for number, exclusion in enumerate(self.exclude, 1):
            if not any(map(exclusion.matches, cells)):
                raise UsageError(
                    f"excludes nothing, in {self.file}, exclude {number}; correct or remove it"
                )
        rest = [cell for cell in cells if not any(e.matches(cell) for e in self.exclude)]
        if not rest:
            raise UsageError(f"everything is excluded, in {self.file}; remove an [[exclude]]")
        return rest


def read(path: Path) -> Campaign:
    """Read a campaign.  Raises UsageError if the file is not TOML, or not a campaign."""
    table = toml.read(path, _NOUN)
    where = str(path)
    toml.check_keys(table, _KEYS, where)
    for name in ("targets", "measure"):
        if not table.get(name):
            raise UsageError(f'no {name}, in {where}; write {name} = ["…"]')
    order = table.get("order", "interleaved")
    if order not in get_args(Order):
        choices = ", ".join(get_args(Order))
        raise UsageError(f"order is one of {choices}, not '{order}', in {where}")
    if path.suffix != ".toml" or not _NAME.fullmatch(path.stem):
        raise UsageError(
            f"the ids of a campaign's runs begin with its file's name, and '{path.name}' cannot; "
            "call it NAME.toml: up to 40 letters, digits, _ and -, a letter first"
        )
    measures = [" ".join(text.split()) for text in _texts(table, "measure", where)]
    for text in measures:
        try:
            shlex.split(text)
        except ValueError as error:
            raise UsageError(f"{str(error).lower()}, in 'measure' of {where}: {text}") from error
    seeds = table.get("seeds", [])
    for seed in seeds:
        if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < SEEDS:
            raise UsageError(f"'{seed}' is no seed, in {where}; seeds are 0 to {SEEDS - 1}")
    _check_once(seeds, "seeds", where)
    campaign = Campaign(
        name=path.stem,
        file=path.absolute(),
        title=str(table.get("title", path.stem)),
        targets=_texts(table, "targets", where),
        measure=measures,
        loads=_texts(table, "loads", where),
        params=_axes(table.get("params", {}), where),
        seeds=list(seeds),
        repeat=_count(table, "repeat", where) or 1,
        order=order,
        time=table.get("time"),
        until=table.get("until"),
        cpus=table.get("cpus"),
        limit=table.get("limit"),
        exclude=_exclusions(table, where),
        **_limits(table.get("limits", {}), f"[limits] of {where}"),
    )
    axes = [len(campaign.targets), len(campaign.measure), len(campaign.loads), len(campaign.seeds)]
    axes += [len(values) for values in campaign.params.values()]
    size = prod(max(1, number) for number in axes) * campaign.repeat
    if size > MOST_JOBS:
        raise UsageError(
            f"{size} jobs, in {campaign.file}; a campaign has up to {MOST_JOBS}: part it in several"
        )
    return campaign


def _texts(table: Mapping[str, Any], key: str, where: str) -> list[str]:
    """Return a list of texts, each once."""
    texts = table.get(key, [])
    for text in texts:
        if not isinstance(text, str) or not text.strip() or "\n" in text:
            raise UsageError(f"'{text}' is not text, in '{key}' of {where}; write {key} = [\"…\"]")
    _check_once(texts, key, where)
    return list(texts)


def _check_once(items: Collection[object], key: str, where: str) -> None:
    """Raise UsageError for an item that is in a list twice."""
    seen: set[object] = set()
    for item in items:
        if item in seen:
            raise UsageError(f"'{item}' is there twice, in '{key}' of {where}; remove one")
        seen.add(item)


def _axes(params: Mapping[str, object], where: str) -> dict[str, list[str]]:
    """Return the values of each parameter as texts, as -p takes them."""
    axes: dict[str, list[str]] = {}
    for name, values in params.items():
        items = values if isinstance(values, list) else [values]
        if not items:
            raise UsageError(f"no value for '{name}', in [params] of {where}; write at least one")
        axes[name] = [_text(item, f"'{name}' in [params] of {where}") for item in items]
        _check_once(axes[name], f"{name}' in '[params]", where)
    return axes


def _text(value: object, place: str) -> str:
    """Return the value of a parameter as -p takes it.  Raises UsageError."""
    match value:
        case bool():
            return "1" if value else "0"
        case int() | Decimal():
            return str(value)
        case str() if value.strip() and "\n" not in value:
            return value
    raise UsageError(f"a value is text, a number or true or false: {place}; correct it")


def _count(table: Mapping[str, Any], key: str, where: str) -> int | None:
    """Return a number from 1 to MOST_JOBS, None if the key is absent.  Raises UsageError."""
    number = table.get(key)
    if number is not None and not 1 <= number <= MOST_JOBS:
        raise UsageError(f"{key} is a number from 1 to {MOST_JOBS}, not {number}, in {where}")
    return number


def _exclusions(table: Mapping[str, Any], where: str) -> list[Exclusion]:
    """Return the [[exclude]] tables.  Raises UsageError."""
    exclusions = []
    for number, conditions in enumerate(table.get("exclude", []), 1):
        place = f"{where}, exclude {number}"
        if not isinstance(conditions, dict):
            raise UsageError(f"an exclusion is not a table, in {place}; write [[exclude]]")
        toml.check_keys(conditions, _EXCLUDE, place)
        values = conditions.get("params", {})
        for name in values:
            if name not in table.get("params", {}):
                raise UsageError(f"'{name}' is not in [params], in {place}; name one that is")
        params = {name: _text(value, f"'{name}', in {place}") for name, value in values.items()}
        if not (params or conditions.keys() - {"params"}):
            raise UsageError(f"an exclusion without a condition excludes all, in {place}; name one")
        exclusions.append(Exclusion(**{**conditions, "params": params}))
    return exclusions


def _limits(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return hours and runs of [limits], None for one that is not there.  Raises UsageError."""
    toml.check_keys(table, _LIMITS, where)
    hours = table.get("hours")
    number = isinstance(hours, int | Decimal) and not isinstance(hours, bool)
    if hours is not None and not (number and 0 < hours <= MOST_HOURS):
        raise UsageError(f"hours is a number above 0, up to {MOST_HOURS}, in {where}")
    return {"hours": None if hours is None else float(hours), "runs": _count(table, "runs", where)}
