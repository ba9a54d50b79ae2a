"""Rhealstone: the mean of each component, and its maximum, as bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.documents.case_name import CaseName, case_names
from rtstone.documents.plan import NONE
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.plot import bars
from rtstone.plot.axes import Scale, scale_of
from rtstone.plot.choose import MOST, systems, words_of
from rtstone.results.rhealstone import COMPONENTS
from rtstone.units import rounded

BENCHES = {f"rheal.{name}": title for name, title in COMPONENTS.items()}


class Components(NamedTuple):
    """The bars of some runs: ``series``: a run under a load each."""

    groups: list[bars.Group]
    series: list[str]
    scale: Scale


def components(runs: Sequence[Run], loads: Sequence[str]) -> Components:
    """Return the components of Rhealstone in these runs.  Raises UsageError without any."""
    rows: dict[tuple[str, str], dict[tuple[int, str], Result]] = {}
    for number, run in enumerate(runs):
        own = [r for r in run.results if r.bench in BENCHES and (not loads or r.load in loads)]
        if not any(r.n for r in own):
            under = f" under load {', '.join(loads)}" if loads else ""
            raise UsageError(
                f"no component of Rhealstone in run {run.run_id}{under}; measure them with "
                "`rtstone run rhealstone`"
            )
        cases = [(r.bench, r.params, r.series, r.load) for r in own]
        for result, name in zip(own, case_names(cases, run.benches), strict=True):
            row = rows.setdefault((result.bench, _label(name)), {})
            row.setdefault((number, result.load), result)  # of a repetition the first
    present = {key for row in rows.values() for key in row}
    keys = [
        (number, load)
        for number, run in enumerate(runs)
        for load in sorted({r.load for r in run.results}, key=lambda load: (load != NONE, load))
        if (number, load) in present
    ]
    if len(keys) > MOST:
        raise UsageError(
            f"{len(keys)} runs and loads are too many to distinguish in a figure: {MOST} at most; "
            "choose with --load"
        )
    measured = [result for row in rows.values() for result in row.values() if result.n]
    scale = scale_of(measured)
    order = list(BENCHES)
    groups = [
        bars.Group(label, [_bar(row.get(key), scale) for key in keys])
        for (_, label), row in sorted(rows.items(), key=lambda item: order.index(item[0][0]))
    ]
    return Components(groups, _names(runs, keys), scale)


def _label(name: CaseName) -> str:
    return f"{BENCHES[name.bench]} {name.within_bench}".rstrip()


def _names(runs: Sequence[Run], keys: Sequence[tuple[int, str]]) -> list[str]:
    """Return the name of each series: its system if there are several, its load if there are."""
    named = systems(runs)
    several = len({load for _, load in keys}) > 1
    names = []
    for number, load in keys:
        under = [words_of(load)] if several or len(runs) == 1 else []
        names.append(", ".join([*([named[number]] if len(runs) > 1 else []), *under]))
    return names


def _bar(result: Result | None, scale: Scale) -> bars.Bar | None:
    """Return the bar of a component; one that the system cannot have is n.e., as Golatowski's."""
    if result is None:
        return None
    if result.status != "ok" or result.mean is None:
        return bars.Bar(None, "n.e." if result.status == "unsupported" else result.status)
    most = result.single.max if result.single else result.max
    value = result.mean / scale.factor
    return bars.Bar(value, rounded(value), most and most / scale.factor)
