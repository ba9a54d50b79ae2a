"""Suites: TOML files that list cases, and their expansion into a plan.

    title = "Quick"
    description = "One representative of every family."

    [[case]]
    bench = "ctx.ballast"
    params = { ballast = [0, 1, 33], policy = ["fifo", "rr"] }
    loads = ["none", "heavy"]

A list of values expands to a grid, in the order written, with the last one varying fastest.  For
all its cases a suite may set ``params`` (for benches that have them), ``loads``, and ``time``: a
time limit for every case, which ``--time`` overrides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from rtstone import plugins, resources, toml
from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.plan import NONE, Case, LoadSpec, UnsupportedCase, load_name
from rtstone.documents.run import HARTSTONE, Value
from rtstone.errors import UsageError, nearest, unknown
from rtstone.measure import capabilities as elsewhere
from rtstone.measure.loads import parse
from rtstone.results.derived import DERIVED
from rtstone.units import DURATION
from rtstone.wire.parameters import Benches, Catalogue, find, values
from rtstone.wire.records import Bench

RAW = 10_000_000  # the most samples that an agent stores with raw=1


class Wanted(NamedTuple):
    """A bench with its parameters as written, not yet checked.

    ``where`` names the file, for errors.  The suite's ``common`` parameters apply if the bench has
    them, and the suite's ``time`` limits the case.
    """

    bench: str
    params: Mapping[str, object]
    where: str = ""
    common: Mapping[str, object] = {}
    loads: tuple[str, ...] = ()
    time: str | None = None


class Suite(NamedTuple):
    """A suite as read from its file."""

    name: str
    title: str
    description: str
    cases: list[Wanted]


class Asked(NamedTuple):
    """Options for all cases; they override the suites.

    At least one bench must have each of ``params``; ``time`` and ``cpus`` apply to benches that
    have them.  All cases run under each of ``loads`` in turn; a load may be repeated.
    ``instead``: replacements, by name, for loads of the suites.
    """

    params: Mapping[str, object] = {}
    time: str | None = None
    cpus: str | None = None
    loads: tuple[str, ...] = ()
    instead: Mapping[str, str] = {}


class Expanded(NamedTuple):
    """The parts of a plan that follow from names and parameters.

    ``cases`` run, ``absent`` ones are unsupported, ``derived`` ones are computed.  ``calls``: loads
    by their text.  ``scale_s``: the time limit of the suites in s, None if there is none.
    """

    cases: list[Case]
    absent: list[UnsupportedCase]
    derived: list[Case]
    calls: dict[str, LoadSpec]
    scale_s: float | None


def shipped() -> dict[str, Path]:
    """Return the suites that come with rtstone, by name."""
    return resources.tables("suites")


def load(path: Path) -> Suite:
    """Read a suite.  Raises UsageError if the file is not TOML, or not a suite."""
    table = toml.read(path, "suite")
    keys = {"title": str, "description": str, "time": str, "loads": list, "params": dict}
    toml.check_keys(table, keys | {"case": list}, str(path))
    cases = [
        _wanted(case, table, f"{path}, case {k}") for k, case in enumerate(table.get("case", []), 1)
    ]
    if not cases:
        raise UsageError(f"no cases, in suite {path}; add [[case]] tables")
    return Suite(path.stem, table.get("title", path.stem), table.get("description", ""), cases)


def _wanted(case: object, suite: dict[str, Any], where: str) -> Wanted:
    if not isinstance(case, dict):
        raise UsageError(f"a case is not a table, in {where}; write [[case]]")
    toml.check_keys(case, {"bench": str, "params": dict, "loads": list}, where)
    if "bench" not in case:
        raise UsageError(f'no bench named, in {where}; add bench = "…"')
    loads = case.get("loads", suite.get("loads", []))
    if not all(isinstance(spec, str) for spec in loads):
        raise UsageError(f"a load is not text, in {where}")
    params, common = case.get("params", {}), suite.get("params", {})
    return Wanted(case["bench"], params, where, common, tuple(loads), suite.get("time"))


def select(names: list[str], benches: Benches) -> list[Wanted]:
    """Return the cases of the named suites, suite files and benches.  Raises UsageError."""
    suites = shipped()
    wanted: list[Wanted] = []
    for name in names:
        if name in benches:
            wanted.append(Wanted(name, {}))
        elif name in suites or name.endswith(".toml"):
            wanted += load(suites.get(name, Path(name))).cases
        elif _is_file(name):
            raise UsageError(f"not a suite, {name}; the name of a suite file ends in .toml")
        elif plugin := plugins.find("suites", name, Path):
            wanted += load(plugin).cases
        else:
            raise unknown("suite or bench", name, [*suites, *benches])
    return wanted


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # not a valid file name
        return False


def expand(
    wanted: list[Wanted], asked: Asked, catalogue: Catalogue, known: Catalogue | None = None
) -> Expanded:
    """Expand cases into those of a plan, numbered from 1, each once under each load.

    Cases with the same load and configuration are grouped, so that loads start as rarely as
    possible.  ``catalogue`` is the target's, ``known`` that of all targets: what only ``known`` has
    becomes ``absent``.  Raises UsageError.
    """
    known = known or catalogue
    wanted, derived = _with_needs(wanted)
    tables = [find(known.benches, want.bench, want.where) for want in [*wanted, *derived]]
    _check_known(asked, tables)
    rounds: dict[tuple[str, int], int] = {}
    scale = 0
    calls: dict[str, LoadSpec] = {}
    found: dict[tuple[object, ...], Case] = {}
    absent: dict[tuple[object, ...], UnsupportedCase] = {}
    for want in wanted:
        table = known.benches[want.bench]
        limit = _limit(want, table, asked)
        scale = max(scale, limit)
        own = catalogue.benches.get(want.bench, table)
        for turn in _turns(asked.loads or _own(want, asked)):
            spec = turn[0]
            call = parse(spec, known.loads, want.where)
            place = rounds.setdefault(turn, len(rounds))
            for params in _grid(want, table, own, asked, limit):
                _check_end(table, params, want, asked)
                if lack := elsewhere.lack(want.bench, params, call, catalogue):
                    case = UnsupportedCase(
                        len(absent), want.bench, dict(lack.params), spec, lack.reason
                    )
                    absent.setdefault((place, want.bench, str(lack)), case)
                    continue
                calls.setdefault(spec, call)
                rank = _rank(table, params.get("config"))
                whole = {param.name: param.default for param in table.params} | params
                key = (place, rank, want.bench, str(sorted(whole.items())))
                found.setdefault(key, Case(len(found), want.bench, params, spec))
    _check_endless(asked, found.values())
    ordered = sorted(found.items(), key=lambda item: (item[0][:2], item[1].id))
    cases = [structs.replace(case, id=number) for number, (_, case) in enumerate(ordered, 1)]
    lacking = [
        structs.replace(case, id=n) for n, case in enumerate(absent.values(), len(cases) + 1)
    ]
    first = len(cases) + len(lacking) + 1
    made = _made(derived, asked, known, first)
    return Expanded(cases, lacking, made, calls, scale / 1e9 or None)


def _rank(table: Bench, config: Value) -> int:
    """Return the index of a configuration among the bench's choices."""
    param = table.param("config")
    choices = (param.choices if param else None) or []
    return choices.index(str(config)) if config in choices else 0


def _with_needs(wanted: list[Wanted]) -> tuple[list[Wanted], list[Wanted]]:
    """Return the benches to run, with those that derived benches need, and the derived ones."""
    run: list[Wanted] = []
    derived: list[Wanted] = []
    for want in wanted:
        if want.bench not in DERIVED:
            run.append(want)
            continue
        derived.append(want)
        for bench, params in DERIVED[want.bench].needs:
            run.append(want._replace(bench=bench, params=params))
    return run, derived


def _made(derived: list[Wanted], asked: Asked, catalogue: Catalogue, number: int) -> list[Case]:
    """Return the derived cases without duplicates, numbered from ``number``."""
    found: dict[CaseKey, Case] = {}
    for want in derived:
        table = catalogue.benches[want.bench]
        for params in _grid(want, table, table, asked, 0):
            key = case_key(want.bench, params)
            found.setdefault(key, Case(number + len(found), want.bench, params))
    return list(found.values())


def _own(want: Wanted, asked: Asked) -> tuple[str, ...]:
    """Return the loads of the case's suite, with those in ``asked.instead`` replaced."""
    return tuple(asked.instead.get(load_name(spec), spec) for spec in want.loads or (NONE,))


def _turns(loads: tuple[str, ...]) -> list[tuple[str, int]]:
    """Pair each load with the number of its earlier occurrences."""
    return [(spec, loads[:place].count(spec)) for place, spec in enumerate(loads)]


def _check_known(asked: Asked, tables: list[Bench]) -> None:
    for name in asked.params:
        if not any(table.param(name) for table in tables):
            known = {param.name for table in tables for param in table.params}
            raise UsageError(
                f"no bench of this run has a parameter '{name}'; {nearest(name, known)}"
            )


def _grid(
    want: Wanted, table: Bench, own: Bench, asked: Asked, limit: int
) -> Iterator[dict[str, Value]]:
    """Yield the parameters of each case of a grid.

    ``own`` is the target's version of ``table``.  Parameters given for many benches apply to those
    that have them.
    """
    over = dict(asked.params)
    if asked.cpus is not None:
        over.setdefault("cpus", asked.cpus)
    if asked.time is not None and want.time is None:
        over = {"time": asked.time, "samples": 0} | over
    over, common = (
        {name: given for name, given in some.items() if own.param(name)}
        for some in (over, want.common)
    )
    grid = {
        name: values(table, name, given, "" if name in over else want.where)
        for name, given in {**common, **want.params, **over}.items()
    }
    for combination in product(*grid.values()):
        params = dict(zip(grid, combination, strict=True))
        yield params | ({"time": limit} if _longer(table, params, limit) else {})


def _limit(want: Wanted, table: Bench, asked: Asked) -> int:
    """Return the time limit of the case's suite in ns; 0: none."""
    scale = want.time if asked.time is None else asked.time
    if want.time is None or scale is None or table.param("time") is None or "time" in asked.params:
        return 0
    (limit,) = values(table, "time", [scale], want.where if asked.time is None else "")
    return limit if isinstance(limit, int) else 0


def _longer(table: Bench, params: Mapping[str, Value], limit: int) -> bool:
    """Return whether a case may take longer than its limit in ns."""
    param = table.param("time")
    own = params.get("time", param.default if param else 0)
    return limit > 0 and (not isinstance(own, int) or own <= 0 or own > limit)


def _check_end(table: Bench, params: Mapping[str, Value], want: Wanted, asked: Asked) -> None:
    """Raise UsageError for a case that would never end, or whose raw samples do not fit."""
    place = f"in bench '{table.id}'{f', {want.where}' if want.where else ''}"
    limits = [param for param in table.params if param.name in {"samples", "time"}]
    given = {limit.name: params.get(limit.name, limit.default) for limit in limits}
    raw, samples = params.get("raw"), given.get("samples")
    if raw and isinstance(samples, int) and not 0 < samples <= RAW:
        raise UsageError(
            f"raw=1 keeps every sample and needs their number, up to {RAW}, {place}; "
            "give -p samples=N, with time as a limit"
        )
    batch = params.get("batch")
    if params.get("cache") == "cold" and isinstance(batch, int) and batch > 1:
        raise UsageError(
            f"cache=cold needs batch=1, {place}: after its first operation a batch is not cold"
        )
    if limits and not any(given.values()) and not _is_endless(asked, want):
        raise UsageError(
            f"both samples and time are 0, so the case would never end, {place}; set one above 0, "
            "or measure one case until you stop it, with --time 0"
        )


def _is_endless(asked: Asked, want: Wanted) -> bool:
    """Return whether a case is to be measured until it is stopped.

    Where a publication's suite has a time limit, ``--time 0`` lifts that instead.
    """
    return want.time is None and asked.time is not None and DURATION.parse(asked.time) == 0


def _check_endless(asked: Asked, cases: Collection[Case]) -> None:
    """Raise UsageError if there is more beside a case without an end.

    An experiment of Hartstone has one: its last test.
    """
    zero = asked.time is not None and DURATION.parse(asked.time) == 0
    endless = [
        case
        for case in cases
        if (case.params.get("samples"), case.params.get("time")) == (0, 0)
        and (not case.bench.startswith(HARTSTONE) or case.bench == "hart.raw")
    ]
    if zero and endless and len(cases) > 1:
        raise UsageError(
            f"--time 0 measures one case until it is stopped, and this run has {len(cases)} cases; "
            "name one bench, or give a time"
        )
