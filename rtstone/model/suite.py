"""Suites: TOML files that name cases.

    title = "Quick"
    description = "One representative of every family."

    [[case]]
    bench = "ctx.ballast"
    params = { ballast = [0, 1, 33], policy = ["fifo", "rr"] }

A list of values expands to a grid, in the order written, the last one fastest.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import UsageError, nearest, unknown
from rtstone.model.benches import Benches, find, values
from rtstone.model.documents import Value
from rtstone.model.plan import Case
from rtstone.wire.records import Bench

SHIPPED = Path(__file__).parent.parent.parent / "suites"


class Wanted(NamedTuple):
    """A bench and what was written for its parameters, not yet looked at; ``where`` a file."""

    bench: str
    params: Mapping[str, object]
    where: str = ""


class Suite(NamedTuple):
    """A suite as it was read."""

    name: str
    title: str
    description: str
    cases: list[Wanted]


def shipped() -> dict[str, Path]:
    """The suites that come with rtstone."""
    return {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}


def load(path: Path) -> Suite:
    """Reads a suite.  Raises UsageError for what is not TOML, or not a suite."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read suite {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"not a TOML file, {path}: {error}") from error
    except RecursionError as error:
        raise UsageError(f"not a suite, {path}: nested too deeply") from error
    _check_keys(table, {"title": str, "description": str, "case": list}, str(path))
    cases = [_wanted(case, f"{path}, case {k}") for k, case in enumerate(table.get("case", []), 1)]
    if not cases:
        raise UsageError(f"no cases, in suite {path}; add [[case]] tables")
    return Suite(path.stem, table.get("title", path.stem), table.get("description", ""), cases)


def _wanted(case: object, where: str) -> Wanted:
    if not isinstance(case, dict):
        raise UsageError(f"a case is not a table, in {where}; write [[case]]")
    _check_keys(case, {"bench": str, "params": dict}, where)
    if "bench" not in case:
        raise UsageError(f'no bench named, in {where}; add bench = "…"')
    return Wanted(case["bench"], case.get("params", {}), where)


_KINDS: dict[type, str] = {str: "text", dict: "a table", list: "a list of tables"}


def _check_keys(table: dict[str, object], known: dict[str, type], where: str) -> None:
    for key, value in table.items():
        if key not in known:
            raise unknown("key", key, known, f"in {where}")
        if not isinstance(value, known[key]):
            raise UsageError(f"'{key}' is not {_KINDS[known[key]]}, in {where}")


def select(names: list[str], benches: Benches) -> list[Wanted]:
    """The cases that suites, suite files and bench ids name.  Raises UsageError."""
    suites = shipped()
    wanted: list[Wanted] = []
    for name in names:
        if name in benches:
            wanted.append(Wanted(name, {}))
        elif name in suites or name.endswith(".toml"):
            wanted += load(suites.get(name, Path(name))).cases
        elif Path(name).is_file():
            raise UsageError(f"not a suite, {name}; the name of a suite file ends in .toml")
        else:
            raise unknown("suite or bench", name, [*suites, *benches])
    return wanted


def expand(
    wanted: list[Wanted],
    given: Mapping[str, object],
    defaults: Mapping[str, object],
    benches: Benches,
) -> list[Case]:
    """The cases of a plan, numbered from 1, each once.

    ``given`` (the user's -p) goes before what a suite says and must be known to one bench at
    least; ``defaults`` (--time, --cpus) does so too but applies only where it is known.
    Raises UsageError.
    """
    tables = [find(benches, want.bench, want.where) for want in wanted]
    for name in given:
        if not any(table.param(name) for table in tables):
            known = {param.name for table in tables for param in table.params}
            raise UsageError(
                f"no bench of this run has a parameter '{name}'; {nearest(name, known)}"
            )
    found: dict[str, tuple[str, dict[str, Value]]] = {}
    for want, table in zip(wanted, tables, strict=True):
        asked = {**defaults, **given}
        over = {name: text for name, text in asked.items() if table.param(name)}
        grid = {
            name: values(table, name, text, "" if name in over else want.where)
            for name, text in {**want.params, **over}.items()
        }
        for combination in product(*grid.values()):
            params = dict(zip(grid, combination, strict=True))
            _check_end(table, params, want.where)
            found.setdefault(f"{want.bench} {sorted(params.items())}", (want.bench, params))
    return [Case(number, *case) for number, case in enumerate(found.values(), 1)]


def _check_end(table: Bench, params: Mapping[str, Value], where: str) -> None:
    """Raises UsageError for a case that nothing would end."""
    limits = [param for param in table.params if param.name in {"samples", "time"}]
    if limits and not any(params.get(limit.name, limit.default) for limit in limits):
        place = f"in bench '{table.id}'{f', {where}' if where else ''}"
        raise UsageError(f"neither samples nor time sets an end, {place}; give one above 0")
