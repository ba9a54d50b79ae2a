"""Choose the results of a figure, and name each by what distinguishes it from the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from rtstone.documents.case_name import CaseName, case_names, setting
from rtstone.documents.imported import PLACE, tool
from rtstone.documents.other_names import is_called
from rtstone.documents.plan import NONE
from rtstone.documents.run import HARTSTONE, Result, Run, Value
from rtstone.errors import UsageError, unknown
from rtstone.results.rhealstone import COMPONENTS

RAW = "hart.raw"  # the speed of the machine, no experiment
MOST = 8  # curves that can be distinguished in one figure, in grey too

# How late a task wakes up, of rtstone and of each tool that is imported; the first is drawn.
WAKE_UPS = (
    "dk.periodic", "cyclictest", "timerlat.thread", "jitterdebugger", "stress-ng.cyclic",
)  # fmt: skip


class Curve(NamedTuple):
    """A result to draw, and its name in the legend."""

    run: Run
    result: Result
    name: str


class Chosen(NamedTuple):
    """The curves of a figure; ``invalid``, ``smaller``: how many results were left out, and why.

    ``common``: parameters, series and load that all curves have, which their names leave out.
    """

    curves: list[Curve]
    common: str
    invalid: int
    smaller: int


def choose(
    runs: Sequence[Run], bench: str | None, loads: Sequence[str], most: int | None = MOST
) -> Chosen:
    """Return what to draw of these runs: by default the wake-up latency, of everything else one.

    More than ``most`` are reduced to those with the largest maxima.  Raises UsageError where there
    is nothing to draw, or more than one bench to choose from.
    """
    pairs = [pair for run in runs for pair in _of_bench(run, bench)]
    present = {result.load for _, result in pairs}
    for load in loads:
        if load not in present:
            raise unknown("load", load, present, "of what could be drawn, in --load")
    wanted = [pair for pair in pairs if pair[1].load in loads] if loads else pairs
    pairs = [pair for pair in wanted if pair[1].status == "ok"]
    if not pairs:
        result = wanted[0][1]
        raise UsageError(f"no valid result of {result.bench}: {result.reason or result.status}")
    largest = sorted(range(len(pairs)), key=lambda k: -(pairs[k][1].max or 0))[:most]
    drawn = [pairs[k] for k in sorted(largest)]
    common, texts = names(drawn)
    curves = [Curve(*pair, name) for pair, name in zip(drawn, texts, strict=True)]
    return Chosen(curves, common, len(wanted) - len(pairs), len(pairs) - len(drawn))


def subject(
    runs: Sequence[Run], publications: Collection[str], bench: str | None, loads: Sequence[str]
) -> str:
    """Return the kind of figure that shows what runs are about.

    Of a publication's suite its figures; else the wake-up latency, Hartstone's breakdowns or
    Rhealstone's components, the first that all runs have.  ``bench``, ``loads``: what the user
    named, of whose samples a histogram is drawn.
    """
    if bench is not None:
        return "histogram"
    suites = {run.suite for run in runs}
    if not loads and len(suites) == 1 and suites <= {*publications}:
        return "publication"
    for kind, wanted in (("histogram", WAKE_UPS.__contains__), *_SUBJECTS):
        if all(any(wanted(r.bench) and _has_number(r) for r in run.results) for run in runs):
            return kind
    return "histogram"


def _has_number(result: Result) -> bool:
    return result.n > 0 or bool(result.figures)


_SUBJECTS: tuple[tuple[str, Callable[[str], bool]], ...] = (
    ("breakdown", lambda bench: bench.startswith(HARTSTONE) and bench != RAW),
    ("components", lambda bench: bench in {f"rheal.{name}" for name in COMPONENTS}),
)


def experiments(runs: Sequence[Run]) -> list[tuple[str, list[tuple[Result, CaseName]]]]:
    """Return the Hartstone results of each run, with the run's name and theirs.

    Raises UsageError.
    """
    by_run = []
    for run in runs:
        results = [r for r in run.results if r.bench.startswith(HARTSTONE) and r.bench != RAW]
        if not results:
            raise UsageError(
                f"no Hartstone experiment in run {run.run_id}; measure them with "
                "`rtstone run hartstone`"
            )
        cases = [(r.bench, r.params, r.series, r.load) for r in results]
        by_run.append(list(zip(results, case_names(cases, run.benches), strict=True)))
    return list(zip(systems(runs), by_run, strict=True))


def _of_bench(run: Run, bench: str | None) -> list[tuple[Run, Result]]:
    benches = {result.bench for result in run.results if result.n}
    if bench is not None:
        named = [r for r in run.results if is_called(r.bench, bench, r.params)]
        if not named:
            raise unknown("bench", bench, benches, f"of run {run.run_id}, in --bench")
        if not any(result.n for result in named):
            raise UsageError(
                f"no samples of {bench} in run {run.run_id}, in --bench; figures of Hartstone are "
                "drawn by --kind breakdown"
            )
        return [(run, result) for result in named if result.n]
    wanted = next((name for name in WAKE_UPS if name in benches), None)
    if wanted is None and len(benches) == 1:
        wanted = min(benches)
    if wanted is None:
        names = ", ".join(sorted(benches)) or "none has samples"
        raise UsageError(f"no wake-up latency in run {run.run_id}; choose with --bench: {names}")
    return [(run, result) for result in run.results if result.bench == wanted and result.n]


# ---- names --------------------------------------------------------------------------------------


def names(pairs: Sequence[tuple[Run, Result]]) -> tuple[str, list[str]]:
    """Return what results have in common, and for each what distinguishes it from the others.

    That is its system, its bench, its parameters, its series and its load, as far as they differ;
    where nothing does, its load.
    """
    runs = {run.run_id: run for run, _ in pairs}
    of_run = dict(zip(runs, systems(list(runs.values())), strict=True))
    tables = [table for run in runs.values() for table in run.benches]
    results = [result for _, result in pairs]
    benches, series, loads = (
        {getattr(result, name) for result in results} for name in ("bench", "series", "load")
    )
    shared = _shared(results) if len(benches) == 1 else {}
    cases = [
        (r.bench, {name: v for name, v in r.params.items() if name not in shared}, r.series, r.load)
        for r in results
    ]
    texts = []
    for (run, _), name in zip(pairs, case_names(cases, tables), strict=True):
        system = of_run[run.run_id] if len(runs) > 1 else ""
        bench = name.bench if len(benches) > 1 and not system.startswith(name.bench) else ""
        case = f"{bench} {name.params if len(series) == 1 else name.within_bench}".strip()
        under = words_of(name.load) if len(loads) > 1 else ""
        texts.append(", ".join(filter(None, (system, case, under))) or words_of(name.load))
    common = [
        _settings(results[0].bench, shared, pairs[0][0]),
        *(series if len(series) == 1 else ()), *(map(words_of, loads) if len(loads) == 1 else ()),
    ]  # fmt: skip
    return ", ".join(filter(None, common)), texts


def _shared(results: Sequence[Result]) -> dict[str, Value]:
    """Return the parameters that have the same value in all results, of one bench."""
    return {
        name: value
        for name, value in results[0].params.items()
        if all(name in r.params and r.params[name] == value for r in results)
    }


def _settings(bench: str, params: Mapping[str, Value], run: Run) -> str:
    """Return parameters as users write them: the period, and those that are no default."""
    (name,) = case_names([(bench, params, "", NONE)], run.benches)
    table = next((table for table in run.benches if table.id == bench), None)
    period = "period" if table and table.param("period") and "period" in params else ""
    if not period or f"{period}=" in name.params:
        return name.params
    return f"{period}={setting(table, period, params[period])} {name.params}".rstrip()


def words_of(load: str) -> str:
    """Return a load in words."""
    return "no load" if load == NONE else f"load {load}"


def systems(runs: Sequence[Run]) -> list[str]:
    """Return a short name for each run: the first kind of name that distinguishes them."""
    kinds: list[Callable[[Run], str]] = [
        _name, _kernel, lambda run: f"{_name(run)} {_kernel(run)}",
    ]  # fmt: skip
    for kind in kinds:
        texts = [kind(run) for run in runs]
        if all(texts) and len(set(texts)) == len(texts):
            return texts
    return [f"{_name(run)} {run.run_id}" for run in runs]


def _name(run: Run) -> str:
    """Return the name that its user gave it, else that of its target."""
    return run.name or tool(run) or run.target.name.removeprefix(PLACE)


def _kernel(run: Run) -> str:
    release = run.conditions.get("kernel.release")
    return f"Linux {release}" if isinstance(release, str) and release else ""
