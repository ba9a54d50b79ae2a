"""Campaigns: TOML files that name a matrix of runs.

    title = "Every night"
    targets = ["sim:rtai-24.1.8", "qemu:freertos-a64", "pi4"]
    measure = ["lab", "dk.periodic sched.yield"]  # each: suites and benches of one run
    loads = ["none", "heavy"]            # default: those of the suites
    seeds = [1, 2, 3]                    # of the targets that have one
    repeat = 5
    order = "interleaved"                # repeats spread over time; or "grouped": by cell
    time = "10s"                         # of each case, as in `rtstone run`

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
    "order": str, "time": str, "until": str, "cpus": str, "params": dict, "exclude": list,
    "limits": dict,
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
    def what(self) -> str:
        """What is measured, in words, without where."""
        under = [] if self.load is None else [f"load {self.load}"]
        return ", ".join([self.measure, *under, *(f"{k}={v}" for k, v in self.params.items())])


class Exclusion(msgspec.Struct, frozen=True, kw_only=True):
    """What is left out of the matrix; None matches all."""

    target: str | None = None
    measure: str | None = None
    load: str | None = None
    params: dict[str, str] = {}

    def matches(self, cell: Cell) -> bool:
        """Return whether a cell is meant."""
        pairs = [
            (self.target, cell.target), (self.measure, cell.measure), (self.load, cell.load),
            *((text, cell.params.get(name)) for name, text in self.params.items()),
        ]  # fmt: skip
        given = [(pattern, text) for pattern, text in pairs if pattern is not None]
        return all(text is not None and fnmatchcase(text, pattern) for pattern, text in given)


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
    exclude: list[Exclusion] = []
    hours: float | None = None
    runs: int | None = None

    @property
    def folder(self) -> Path:
        """Where the file lies, and what it names is looked for."""
        return self.file.parent

    def every_cell(self) -> Iterator[Cell]:
        """Yield all cells, also the excluded ones."""
        loads: list[str | None] = [*self.loads] or [None]
        for target, measure, load in product(self.targets, self.measure, loads):
            for given in product(*self.params.values()):
                yield Cell(target, measure, load, dict(zip(self.params, given, strict=True)))

    def cells(self) -> list[Cell]:
        """Return the cells to measure.

        Raises UsageError if there is none, or if an exclusion excludes nothing.
        """
        found = list(self.every_cell())
        for number, one in enumerate(self.exclude, 1):
            if not any(map(one.matches, found)):
                raise UsageError(
                    f"excludes nothing, in {self.file}, exclude {number}; correct or remove it"
                )
        kept = [cell for cell in found if not any(one.matches(cell) for one in self.exclude)]
        if not kept:
            raise UsageError(f"everything is excluded, in {self.file}; remove an [[exclude]]")
        return kept


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
        known = ", ".join(get_args(Order))
        raise UsageError(f"order is one of {known}, not '{order}', in {where}")
    found = Campaign(
        name=_name(path),
        file=path.absolute(),
        title=str(table.get("title", path.stem)),
        targets=_texts(table, "targets", where),
        measure=_measures(table, where),
        loads=_texts(table, "loads", where),
        params=_axes(table.get("params", {}), where),
        seeds=_seeds(table, where),
        repeat=_whole(table, "repeat", where) or 1,
        order=order,
        time=table.get("time"),
        until=table.get("until"),
        cpus=table.get("cpus"),
        exclude=_exclusions(table, where),
        **_limits(table.get("limits", {}), f"[limits] of {where}"),
    )
    _check_size(found)
    return found


def _name(path: Path) -> str:
    if path.suffix != ".toml" or not _NAME.fullmatch(path.stem):
        raise UsageError(
            f"the ids of a campaign's runs begin with its file's name, and '{path.name}' cannot; "
            "call it NAME.toml: up to 40 letters, digits, _ and -, a letter first"
        )
    return path.stem


def _texts(table: Mapping[str, Any], key: str, where: str) -> list[str]:
    """Return a list of texts, each once."""
    found = table.get(key, [])
    for one in found:
        if not isinstance(one, str) or not one.strip() or "\n" in one:
            raise UsageError(f"'{one}' is not text, in '{key}' of {where}; write {key} = [\"…\"]")
    _check_once(found, key, where)
    return list(found)


def _measures(table: Mapping[str, Any], where: str) -> list[str]:
    """Return what is measured, with single blanks; the words of each are as a shell's."""
    found = [" ".join(text.split()) for text in _texts(table, "measure", where)]
    for text in found:
        try:
            shlex.split(text)
        except ValueError as error:
            raise UsageError(f"{str(error).lower()}, in 'measure' of {where}: {text}") from error
    return found


def _check_once(found: Collection[object], key: str, where: str) -> None:
    seen: set[object] = set()
    for one in found:
        if one in seen:
            raise UsageError(f"'{one}' is there twice, in '{key}' of {where}; remove one")
        seen.add(one)


def _axes(params: Mapping[str, object], where: str) -> dict[str, list[str]]:
    """Return the values of each parameter as texts, as -p takes them."""
    found: dict[str, list[str]] = {}
    for name, given in params.items():
        items = given if isinstance(given, list) else [given]
        if not items:
            raise UsageError(f"no value for '{name}', in [params] of {where}; write at least one")
        found[name] = [_text(item, f"'{name}' in [params] of {where}") for item in items]
        _check_once(found[name], f"{name}' in '[params]", where)
    return found


def _text(value: object, what: str) -> str:
    match value:
        case bool():
            return "1" if value else "0"
        case int() | Decimal():
            return str(value)
        case str() if value.strip() and "\n" not in value:
            return value
    raise UsageError(f"a value is text, a number or true or false: {what}; correct it")


def _seeds(table: Mapping[str, Any], where: str) -> list[int]:
    seeds = table.get("seeds", [])
    for one in seeds:
        if not isinstance(one, int) or isinstance(one, bool) or not 0 <= one < SEEDS:
            raise UsageError(f"'{one}' is no seed, in {where}; seeds are 0 to {SEEDS - 1}")
    _check_once(seeds, "seeds", where)
    return list(seeds)


def _whole(table: Mapping[str, Any], key: str, where: str) -> int | None:
    """Return a number from 1, None if there is none."""
    number = table.get(key)
    if number is not None and not 1 <= number <= MOST_JOBS:
        raise UsageError(f"{key} is a number from 1 to {MOST_JOBS}, not {number}, in {where}")
    return number


def _exclusions(table: Mapping[str, Any], where: str) -> list[Exclusion]:
    found = []
    for number, one in enumerate(table.get("exclude", []), 1):
        place = f"{where}, exclude {number}"
        if not isinstance(one, dict):
            raise UsageError(f"an exclusion is not a table, in {place}; write [[exclude]]")
        toml.check_keys(one, _EXCLUDE, place)
        given = one.get("params", {})
        for name in given:
            if name not in table.get("params", {}):
                raise UsageError(f"'{name}' is not in [params], in {place}; name one that is")
        params = {name: _text(value, f"'{name}', in {place}") for name, value in given.items()}
        if not (params or one.keys() - {"params"}):
            raise UsageError(f"an exclusion without a condition excludes all, in {place}; name one")
        found.append(Exclusion(**{**one, "params": params}))
    return found


def _limits(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    toml.check_keys(table, _LIMITS, where)
    hours = table.get("hours")
    number = isinstance(hours, int | Decimal) and not isinstance(hours, bool)
    if hours is not None and not (number and 0 < hours <= MOST_HOURS):
        raise UsageError(f"hours is a number above 0, up to {MOST_HOURS}, in {where}")
    return {"hours": None if hours is None else float(hours), "runs": _whole(table, "runs", where)}


def _check_size(found: Campaign) -> None:
    axes = [len(found.targets), len(found.measure), len(found.loads), len(found.seeds)]
    axes += [len(values) for values in found.params.values()]
    size = prod(max(1, number) for number in axes) * found.repeat
    if size > MOST_JOBS:
        raise UsageError(
            f"{size} jobs, in {found.file}; a campaign has up to {MOST_JOBS}: part it in several"
        )
