"""The identity of a case: what makes two results, slopes or requests of one case.

A case is a bench with its parameters, under a load; of a bench that gives several results each
series is one.  Within a run all parameters count.  Between runs those that say how long and where
was measured make no other case, but its numbers may differ for them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import NamedTuple

from rtstone.documents.comparison import Grade
from rtstone.documents.run import Value

# Parameters that say how a case was measured, with what a difference in them is worth.
MEASURING: dict[str, Grade] = {
    "samples": "care", "time": "care", "warmup": "care", "prio": "note", "cpus": "note",
}  # fmt: skip
KEEPING = frozenset({"raw"})  # whether samples were kept as well
# What makes no other case of a case of another run.
ANOTHER_RUN = KEEPING.union(MEASURING)
# What makes no other case where a guarantee takes runs together: under other priorities or on
# other CPUs nothing is guaranteed.
GUARANTEED = KEEPING | {"samples", "time", "warmup"}
# What is told of a case only where it differs within a run.
SELDOM_TOLD = ANOTHER_RUN | {"config", "batch"}


class CaseKey(NamedTuple):
    """Equal for results of the same case; parameters by name, lists as tuples."""

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

    ``ignoring``: parameters that make no other case here.  A caller for whom the series or the load
    makes none either leaves it out.
    """
    kept = sorted(without(params, ignoring).items())
    return CaseKey(bench, tuple((name, _hashable(v)) for name, v in kept), series, load)


def without(params: Mapping[str, Value], ignoring: Collection[str]) -> dict[str, Value]:
    """Return the parameters that make a case."""
    return {name: value for name, value in params.items() if name not in ignoring}


def differing(cases: Iterable[tuple[Hashable, Mapping[str, Value]]]) -> set[tuple[Hashable, str]]:
    """Return (group, name) of each parameter with several values among the cases of a group."""
    values: dict[tuple[Hashable, str], set[str]] = defaultdict(set)
    for group, params in cases:
        for name, value in params.items():
            values[group, name].add(str(value))
    return {place for place, seen in values.items() if len(seen) > 1}


def may_be(params: Mapping[str, Value], wanted: Mapping[str, Value]) -> bool:
    """Return whether a case has these values; an unsupported case may not have all parameters."""
    return all(params.get(name, value) == value for name, value in wanted.items())


def _hashable(value: Value) -> object:
    return tuple(value) if isinstance(value, list) else value
