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

import os
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from rtstone import plugins, resources, toml
from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.other_names import OTHER_NAMES
from rtstone.documents.plan import NONE, STAND_INS, Case, LoadSpec, UnsupportedCase, load_name
from rtstone.documents.run import HARTSTONE, Value
from rtstone.errors import UsageError, nearest, unknown
from rtstone.measure.capabilities import lack
from rtstone.measure.loads import allowed, parse
from rtstone.measure.request import Request
from rtstone.results.derived import DERIVED
from rtstone.units import DURATION, NS_PER_S
from rtstone.wire.parameters import Benches, Catalogue, find, quantity, values
from rtstone.wire.records import Bench

OVER = "over"  # parameter of benches of growth: what there are n of
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
    cases = []
    for number, case in enumerate(table.get("case", []), 1):
        where = f"{path}, case {number}"
        if not isinstance(case, dict):
            raise UsageError(f"a case is not a table, in {where}; write [[case]]")
        toml.check_keys(case, {"bench": str, "params": dict, "loads": list}, where)
        if "bench" not in case:
            raise UsageError(f'no bench named, in {where}; add bench = "…"')
        loads = case.get("loads", table.get("loads", []))
        if not all(isinstance(spec, str) for spec in loads):
            raise UsageError(f"a load is not text, in {where}")
        params, common = case.get("params", {}), table.get("params", {})
        cases.append(Wanted(case["bench"], params, where, common, tuple(loads), table.get("time")))
    if not cases:
        raise UsageError(f"no cases, in suite {path}; add [[case]] tables")
    return Suite(path.stem, table.get("title", path.stem), table.get("description", ""), cases)


def select(names: Sequence[str], benches: Benches) -> list[Wanted]:
    """Return the cases of the named suites, suite files and benches.

    Benches have their ids in them, whatever they are called.  Raises UsageError.
    """
    suites = shipped()
    wanted: list[Wanted] = []
    for name in names:
        if name in benches:
            wanted.append(Wanted(name, {}))
        elif name in suites or name.endswith(".toml"):
            wanted += load(suites.get(name, Path(name))).cases
        elif name in OTHER_NAMES:
            wanted.append(Wanted(name, {}))
        elif os.path.isfile(name):  # noqa: PTH113  False for what is no valid file name
            raise UsageError(f"not a suite, {name}; the name of a suite file ends in .toml")
        elif plugin := plugins.find("suites", name, Path):
            wanted += load(plugin).cases
        else:
            raise unknown("suite or bench", name, [*suites, *benches, *OTHER_NAMES])
    return [case for want in wanted for case in _by_id(want, benches)]


def limited(wanted: Sequence[Wanted], pairs: Mapping[str, Sequence[str]]) -> list[Wanted]:
    """Return the cases of some benches, for some of their values of ``over``."""
    cases = []
    for want in wanted:
        over = want.params.get(OVER, ())
        values = over if isinstance(over, list) else [over]
        if chosen := [value for value in values if value in pairs.get(want.bench, ())]:
            cases.append(want._replace(params={**want.params, OVER: chosen}))
    return cases


def is_suite(name: str, benches: Benches) -> bool:
    """Return whether what ``select`` takes is a suite, and no bench or another name of one."""
    return name not in benches and (name not in OTHER_NAMES or OTHER_NAMES[name].family)


def _by_id(want: Wanted, benches: Benches) -> list[Wanted]:
    """Return what is measured for a bench that may have another name; of a family, its suite."""
    other = None if want.bench in benches else OTHER_NAMES.get(want.bench)
    if other is None:
        return [want]
    if other.family:
        cases = load(shipped()[want.bench]).cases
        return [want._replace(bench=c.bench, params={**c.params, **want.params}) for c in cases]
    table = find(benches, other.bench, want.where)
    params: dict[str, object] = {
        param.name: quantity(param, value)
        for name, value in {**other.params, **other.lasting}.items()
        if (param := table.param(name))
    }
    loads = want.loads or other.loads
    return [want._replace(bench=table.id, params=params | {**want.params}, loads=loads)]


def expand(
    wanted: list[Wanted],
    request: Request,
    offered: Catalogue,
    everywhere: Catalogue | None = None,
    *,
    simulated: bool = False,
) -> Expanded:
    """Expand cases into those of a plan, numbered from 1, each once under each load.

    Cases with the same load and configuration are grouped, so that loads start as rarely as
    possible.  What only ``everywhere``, the catalogue of all targets, has and not ``offered``, the
    target's own, becomes ``absent``.  ``simulated``: the target's time costs nothing, so that no
    experiment of a suite is shortened: where it ends early, it shows no breakdown and contradicts
    what it is a model of.  Nor is Rhealstone's classic form, of which a slow system would have one
    measurement, and no scatter.  Raises UsageError.
    """
    everywhere = everywhere or offered
    derived = [want for want in wanted if want.bench in DERIVED]
    measured: list[Wanted] = []  # with what the derived benches need
    for want in wanted:
        needs = DERIVED[want.bench].needs if want.bench in DERIVED else [(want.bench, want.params)]
        measured += [want._replace(bench=bench, params=params) for bench, params in needs]
    tables = [find(everywhere.benches, want.bench, want.where) for want in [*measured, *derived]]
    for name in request.params:
        if not any(table.param(name) for table in tables):
            names = {param.name for table in tables for param in table.params}
            raise UsageError(
                f"no bench of this run has a parameter '{name}'; {nearest(name, names)}"
            )
    rounds: dict[tuple[str, int], int] = {}  # of each load and its number of repetitions
    scale = 0
    calls: dict[str, LoadSpec] = {}
    cases: dict[tuple[object, ...], Case] = {}
    absent: dict[tuple[object, ...], UnsupportedCase] = {}
    for want in measured:
        table = everywhere.benches[want.bench]
        whole = simulated and want.time is not None and _is_experiment(want.bench)
        limit = 0 if whole else _limit(want, table, request)
        scale = max(scale, limit)
        own = offered.benches.get(want.bench, table)
        loads = request.loads or tuple(
            request.instead.get(load_name(spec), _available(spec, want.loads, offered))
            for spec in want.loads or (NONE,)
        )
        for index, spec in enumerate(loads):
            call = parse(spec, everywhere.loads, want.where)
            if request.yes:
                call = allowed(call, everywhere.loads)
            place = rounds.setdefault((spec, loads[:index].count(spec)), len(rounds))
            for params in _grid(want, table, own, request, limit):
                if simulated and want.time and _is_classic(want.bench, params, request):
                    params["time"] = 0
                _check_end(table, params, want, request)
                if missing := lack(want.bench, params, call, offered, everywhere):
                    absent.setdefault(
                        (place, want.bench, str(missing)),
                        UnsupportedCase(
                            len(absent), want.bench, dict(missing.params), spec, missing.reason
                        ),
                    )
                    continue
                calls.setdefault(spec, call)
                param, config = table.param("config"), params.get("config")
                choices = (param.choices if param else None) or []
                rank = choices.index(str(config)) if config in choices else 0
                settings = {param.name: param.default for param in table.params} | params
                key = (place, rank, want.bench, str(sorted(settings.items())))
                cases.setdefault(key, Case(len(cases), want.bench, params, spec))
    endless = [  # an experiment of Hartstone has an end: its last test
        case
        for case in cases.values()
        if (case.params.get("samples"), case.params.get("time")) == (0, 0)
        and not _is_experiment(case.bench)
    ]
    if _has_no_time(request) and endless and len(cases) > 1:
        raise UsageError(
            f"--time 0 measures one case until it is stopped, and this run has {len(cases)} cases; "
            "name one bench, or give a time"
        )
    ordered = sorted(cases.items(), key=lambda item: (item[0][:2], item[1].id))
    run = [structs.replace(case, id=number) for number, (_, case) in enumerate(ordered, 1)]
    lacking = [
        structs.replace(case, id=number)
        for number, case in enumerate(absent.values(), len(run) + 1)
    ]
    first = len(run) + len(lacking) + 1
    by_key: dict[CaseKey, Case] = {}
    for want in derived:
        table = everywhere.benches[want.bench]
        for params in _grid(want, table, table, request, 0):
            case = Case(first + len(by_key), want.bench, params)
            by_key.setdefault(case_key(want.bench, params), case)
    computed = list(by_key.values())
    return Expanded(run, lacking, computed, calls, scale / NS_PER_S or None)


def _available(spec: str, beside: Sequence[str], offered: Catalogue) -> str:
    """Return a suite's load, or what stands in for it on a target that has or bears no such load.

    ``beside``: all loads of the case; what is measured anyway stands in for nothing.
    """
    stand_in = STAND_INS.get(spec)
    offers = spec in offered.loads and spec not in offered.beyond
    if stand_in is None or offers or stand_in in beside:
        return spec
    return stand_in if stand_in in offered.loads else spec


def _grid(
    want: Wanted, table: Bench, own: Bench, request: Request, limit: int
) -> Iterator[dict[str, Value]]:
    """Yield the parameters of each case of a grid, none of which takes longer than ``limit`` ns.

    ``own`` is the target's version of ``table``.  Parameters given for many benches apply to those
    that have them.
    """
    over = dict(request.params)
    if request.cpus is not None:
        over.setdefault("cpus", request.cpus)
    if request.time is not None and want.time is None:
        over = {"time": request.time, "samples": 0} | over
    over, common = (
        {name: text for name, text in params.items() if own.param(name)}
        for params in (over, want.common)
    )
    grid = {
        name: values(table, name, text, "" if name in over else want.where)
        for name, text in {**common, **want.params, **over}.items()
    }
    param = table.param("time")
    for combination in product(*grid.values()):
        params = dict(zip(grid, combination, strict=True))
        time = params.get("time", param.default if param else 0)
        longer = limit > 0 and (not isinstance(time, int) or time <= 0 or time > limit)
        yield params | ({"time": limit} if longer else {})


def _limit(want: Wanted, table: Bench, request: Request) -> int:
    """Return the time limit of the case's suite in ns; 0: none."""
    scale = want.time if request.time is None else request.time
    bounded = table.param("time") is not None and "time" not in request.params
    if want.time is None or scale is None or not bounded:
        return 0
    (limit,) = values(table, "time", [scale], want.where if request.time is None else "")
    return limit if isinstance(limit, int) else 0


def _check_end(table: Bench, params: Mapping[str, Value], want: Wanted, request: Request) -> None:
    """Raise UsageError for a case that would never end, or whose raw samples do not fit."""
    place = f"in bench '{table.id}'{f', {want.where}' if want.where else ''}"
    limits = {
        param.name: params.get(param.name, param.default)
        for param in table.params
        if param.name in {"samples", "time"}
    }
    raw, samples = params.get("raw"), limits.get("samples")
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
    # Where a publication's suite has a time limit, --time 0 lifts that instead.
    endless = want.time is None and _has_no_time(request)
    if limits and not any(limits.values()) and not endless:
        raise UsageError(
            f"both samples and time are 0, so the case would never end, {place}; set one above 0, "
            "or measure one case until you stop it, with --time 0"
        )


def _is_classic(bench: str, params: Mapping[str, Value], request: Request) -> bool:
    """Return whether a case is of Rhealstone's classic form, which ends with its measurements.

    Not Kar's deadlock breaking: a task waits for ticks in each of its loops, by reading the clock.
    """
    classic = bench.startswith("rheal.") and params.get("form") == "classic"
    return classic and params.get("variant") != "kar" and "time" not in request.params


def _is_experiment(bench: str) -> bool:
    """Return whether a bench is an experiment of Hartstone, which ends with its last test."""
    return bench.startswith(HARTSTONE) and bench != "hart.raw"


def _has_no_time(request: Request) -> bool:
    """Return whether the request is for a case that is measured until it is stopped."""
    return request.time is not None and DURATION.parse(request.time) == 0
