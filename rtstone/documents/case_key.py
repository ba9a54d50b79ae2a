"""The identity of a case: when two results, slopes or requests belong to the same case.

A case is a bench with its parameters under a load; each series of a bench with several results is a
case.  Within a run all parameters count.  Between runs, parameters that only say how long and where
to measure do not distinguish cases, though numbers may differ because of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import NamedTuple

from rtstone.documents.comparison import Grade
from rtstone.documents.other_names import is_called
from rtstone.documents.run import Result, Value

# Parameters that say how a case was measured, each with how serious a difference in it is.
MEASURING: dict[str, Grade] = {
    "samples": "care", "time": "care", "warmup": "care", "prio": "note", "cpus": "note",
}  # fmt: skip
KEEPING = frozenset({"raw"})  # whether single samples were stored as well
# Do not distinguish cases of different runs.
ANOTHER_RUN = KEEPING.union(MEASURING)
# Do not distinguish cases that a guarantee pools; priority and CPUs do, as a guarantee holds only
# for those that were measured.
GUARANTEED = KEEPING | {"samples", "time", "warmup"}


class CaseKey(NamedTuple):
    """A key that is equal for results of the same case; parameters are sorted by name."""

    bench: str
    params: tuple[tuple[str, object], ...]
    series: str = ""
    load: str = ""


def case_key(
    bench: str,
    params: Mapping[str, Value],
    series: str = "",
    load: str = "",
    *,
    ignoring: Collection[str] = (),
) -> CaseKey:
    """Return the identity of a case.

    ``ignoring``: parameters that do not distinguish cases here.  Callers for whom series or load do
    not distinguish them either leave these out.
    """
    distinguishing = sorted(without(params, ignoring).items())
    return CaseKey(bench, tuple((name, hashable(v)) for name, v in distinguishing), series, load)


def without(params: Mapping[str, Value], ignoring: Collection[str]) -> dict[str, Value]:
    """Return the parameters without those to ignore."""
    return {name: value for name, value in params.items() if name not in ignoring}


def differing(cases: Iterable[tuple[Hashable, Mapping[str, Value]]]) -> set[tuple[Hashable, str]]:
    """Return (group, name) of each parameter that has several values within a group of cases."""
    values: dict[tuple[Hashable, str], set[str]] = defaultdict(set)
    for group, params in cases:
        for name, value in params.items():
            values[group, name].add(str(value))
    return {place for place, seen in values.items() if len(seen) > 1}


def measured_apart(results: Iterable[tuple[Hashable, Result]]) -> dict[str, set[str]]:
    """Return by bench the measuring parameters that a single run varies: these identify cases.

    ``results``: each with what its run is known by.
    """
    by_run: dict[tuple[Hashable, str], list[Result]] = defaultdict(list)
    for run, result in results:
        by_run[run, result.bench].append(result)
    varied: dict[str, set[str]] = defaultdict(set)
    for (_, bench), several in by_run.items():
        seen: dict[CaseKey, Result] = {}
        for r in several if len(several) > 1 else ():
            key = case_key(r.bench, r.params, r.series, r.load, ignoring=MEASURING)
            other = seen.setdefault(key, r)
            varied[bench] |= {
                name for name in MEASURING if other.params.get(name) != r.params.get(name)
            }
    return varied


def family(bench: str) -> str:
    """Return the family of a bench: what comes before the dot of its id."""
    return bench.partition(".")[0]


def is_named(bench: str, names: Collection[str], params: Mapping[str, Value] | None = None) -> bool:
    """Return whether one of these names is the bench's id, its family or another name of it.

    ``params``: of a result of it; without them, whether a result of it can be meant.
    """
    return family(bench) in names or any(is_called(bench, name, params) for name in names)


def may_be(params: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    """Return whether a case can have these values; an unsupported one may lack parameters."""
    return all(params.get(name, value) == value for name, value in wanted.items())


def hashable(value: object) -> object:
    """Return a value of a parameter, its lists as tuples."""
    return tuple(map(hashable, value)) if isinstance(value, list) else value
