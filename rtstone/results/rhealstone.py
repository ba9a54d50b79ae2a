"""Combine the six Rhealstone components into its figures of merit (Kar).

Golatowski calls the sum of theoretical value only: the components matter more.  A component that
is not evaluable on a system (``n.e.``) is named, and the figure over the others is flagged
``partial``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.run import LOST_STATUSES, Figure, Result, Value
from rtstone.wire.records import Bench, Param, TextTable

COMPONENTS = {
    "il": "interrupt latency",
    "ts": "task switch",
    "pt": "preemption",
    "im": "message latency",
    "ss": "semaphore shuffling",
    "db": "deadlock breaking",
}
PARTIAL = "partial"
# What stands for an interrupt on a system that lets programs request none: no interrupt latency,
# so that no number has it among its components; a second figure does.
STAND_INS = {"signal": "a signal", "eventfd": "an eventfd"}

FORMS = ["sampled", "classic"]
# Variant kar takes a tick per sample: as many samples as fit in the default of `time`.
NEEDS: list[tuple[str, Mapping[str, object]]] = [
    *[(f"rheal.{name}", {"form": FORMS}) for name in COMPONENTS if name != "db"],
    ("rheal.db", {"form": FORMS, "variant": "rtems"}),
    ("rheal.db", {"form": FORMS, "variant": "kar", "samples": 5000}),
]
_WEIGHTS = [
    Param(f"weight_{name}", "int", None, 1, 0, 10**6, help=f"weight of {title}")
    for name, title in COMPONENTS.items()
]

Times = dict[str, float]  # by component, above 0
Weights = dict[str, int]


class Unit(NamedTuple):
    """Units of times and rates; ``time`` and ``second`` convert from the clock's unit."""

    name: str
    time: float
    rate: str
    second: float


# ---- the formulas -------------------------------------------------------------------------------


def _sum_time(t: Times, _: Weights, unit: Unit) -> dict[str, Figure]:
    return {"sum of times": Figure(value=sum(t.values()) * unit.time, unit=unit.name)}


def _weighted_time(t: Times, w: Weights, unit: Unit) -> dict[str, Figure]:
    total = sum(w[name] * time for name, time in t.items())
    return {"weighted sum of times": Figure(value=total * unit.time, unit=unit.name)}


def _rate(t: Times, _: Weights, unit: Unit) -> dict[str, Figure]:
    total = sum(unit.second / time for time in t.values())
    return {"sum of rates": Figure(value=total, unit=unit.rate)}


def _weighted_rate(t: Times, w: Weights, unit: Unit) -> dict[str, Figure]:
    total = sum(w[name] * unit.second / time for name, time in t.items())
    return {"weighted sum of rates": Figure(value=total, unit=unit.rate)}


def _mean_rate(t: Times, w: Weights, unit: Unit) -> dict[str, Figure]:
    """Return the generic rate, and the application-specific one if the weights differ."""
    generic = unit.second * len(t) / sum(t.values())
    figures = {"rate of the mean time": Figure(value=generic, unit=unit.rate)}
    frequency = sum(w[name] for name in t)
    if len(set(w.values())) > 1 and frequency:
        mean = sum(w[name] * time for name, time in t.items()) / frequency
        own = Figure(value=unit.second / mean, unit=unit.rate)
        figures["application-specific rate of the mean time"] = own
    return figures


class Number(NamedTuple):
    """A combination of the components."""

    bench: Bench
    compute: Callable[[Times, Weights, Unit], dict[str, Figure]]


def _number(
    name: str,
    title: str,
    formula: str,
    compute: Callable[[Times, Weights, Unit], dict[str, Figure]],
    *,
    weighted: bool = False,
) -> Number:
    text = (
        f"{formula}, over the means of rheal.il, ts, pt, im, ss and db, for each load, form and "
        "variant of rheal.db; computed, not measured. Components that are not evaluable on the "
        "system are listed as n.e., and the figure over the others is flagged partial. A signal "
        "is not an interrupt: where one stands for it, that component is n.e., and a second figure "
        "counts the signal."
    )
    params = _WEIGHTS if weighted else []
    bench = Bench(f"rheal.{name}", title, "Golatowski, Rhealstone", text, params=params)
    return Number(bench, compute)


NUMBERS = [
    _number("sum_time", "Rhealstone: sum of times", "t1 + ... + t6 in us", _sum_time),
    _number(
        "weighted_time",
        "Rhealstone: weighted sum of times",
        "c1 t1 + ... + c6 t6 in us",
        _weighted_time,
        weighted=True,
    ),
    _number("rate", "Rhealstone: sum of rates", "1/t1 + ... + 1/t6, t in s", _rate),
    _number(
        "weighted_rate",
        "Rhealstone: weighted sum of rates",
        "c1/t1 + ... + c6/t6, t in s",
        _weighted_rate,
        weighted=True,
    ),
    _number(
        "mean_rate",
        "Rhealstone: rate of the mean time",
        "1 / mean(t) in 1/s, and 1 / weighted mean if weights are given",
        _mean_rate,
        weighted=True,
    ),
]


class Component(NamedTuple):
    """The mean time of a component, in ns; None: it has none, and why."""

    mean_ns: float | None
    lack: str = ""


class Components(NamedTuple):
    """What a run has measured of Rhealstone, by component, under one load in one form."""

    load: str
    form: str
    times: dict[str, Component]


def components(measured: list[Result]) -> Components | None:
    """Return the first measurement of the components; None: the run has none.

    A signal that stands for an interrupt is none.
    """
    first = next(_sets(measured), None)
    if first is None:
        return None
    times = {}
    for name, result in first.results.items():
        lack = _lack(result)
        if result and lack is None and result.unit != "ns":
            lack = f"it is in {result.unit}"
        if name == "il" and lack is None and (stood_in := _stand_in(result)):
            lack = f"{stood_in} stood in the interrupt's place"
        mean = result.mean if result and lack is None else None
        times[name] = Component(mean, lack or "")
    return Components(first.load, str(first.params.get("form", FORMS[0])), times)


# ---- what belongs together ----------------------------------------------------------------------


class _Set(NamedTuple):
    """The components of one number: a result each, None where the bench did not run."""

    load: str
    params: dict[str, Value]
    results: dict[str, Result | None]


def _sets(measured: list[Result]) -> Iterator[_Set]:
    """Group results by load, configuration and form, and by variant and lock of rheal.db.

    If a load is repeated, the first results under it form one set, the second ones another, and so
    on.  If a component other than rheal.db has several cases (two forms of interrupt, say), the
    first one counts.
    """
    groups: dict[_Circumstances, dict[str, _Cases]] = {}
    for result in measured:
        group, _, name = result.bench.partition(".")
        if group == "rheal" and name in COMPONENTS:
            form, config = result.params.get("form", FORMS[0]), result.params.get("config")
            cases = groups.setdefault((result.load, form, config), {}).setdefault(name, {})
            cases.setdefault(case_key(result.bench, result.params), []).append(result)
    for (load, form, config), by_component in groups.items():
        repeatable = {
            name: next(iter(by_component[name].values())) for name in by_component if name != "db"
        }
        for turn in range(max(map(len, repeatable.values()), default=1)):
            chosen = {name: _at(repeatable[name], turn) for name in repeatable}
            for repeated in by_component.get("db", {None: []}).values():
                last = _at(repeated, turn)
                own: Mapping[str, Value] = (
                    last.params if last else {"variant": "rtems", "lock": "inherit"}
                )
                params: dict[str, Value] = {"form": form}
                params |= {name: own[name] for name in ("variant", "lock") if name in own}
                params |= {} if config is None else {"config": config}
                results = chosen | {"db": last}
                yield _Set(load, params, {name: results.get(name) for name in COMPONENTS})


_Circumstances = tuple[str, Value, Value]  # load, form, configuration
_Cases = dict[CaseKey | None, list[Result]]  # by parameters: the results of each repetition


def _at(repeated: list[Result], turn: int) -> Result | None:
    """Return the result of that repetition, or the last one there is."""
    return repeated[min(turn, len(repeated) - 1)] if repeated else None


def _lack(result: Result | None) -> str | None:
    """Return why a component has no time, None if it has one."""
    if result is None:
        return "it did not run"
    if result.status != "ok":
        return f"{result.status}: {result.reason}".removeprefix("unsupported: ")
    if result.mean is None:
        return "no samples"
    return None if result.mean > 0 else "mean not above 0"


def _stand_in(result: Result | None) -> str | None:
    """Return what stood for the interrupt of rheal.il, None if it was one."""
    return STAND_INS.get(str(result.params.get("irq"))) if result else None


def combine(number: Number, blank: Result, measured: list[Result]) -> list[Result]:
    """Return the results of one combination for everything measured in the run."""
    combined = []
    for components in _sets(measured):
        weights = {name: int(str(blank.params.get(f"weight_{name}", 1))) for name in COMPONENTS}
        lacks = {name: _lack(components.results[name]) for name in COMPONENTS}
        times = {
            name: result.mean
            for name, result in components.results.items()
            if result and lacks[name] is None and result.mean is not None
        }
        clock = next((r.unit for r in components.results.values() if r and r.n), "ns")
        unit = Unit("us", 1e-3, "1/s", 1e9) if clock == "ns" else Unit(clock, 1, f"1/{clock}", 1)
        stood_in = _stand_in(components.results["il"]) if "il" in times else None
        figures: dict[str, Figure] = {}
        own = {name: time for name, time in times.items() if name != "il" or not stood_in}
        if stood_in:
            lacks["il"] = f"{stood_in} stood in the interrupt's place"
            figures = {
                f"{name}, with {stood_in} in the interrupt's place": figure
                for name, figure in number.compute(times, weights, unit).items()
            }
        figures = (number.compute(own, weights, unit) if own else {}) | figures
        count = Figure(value=len(own), unit=f"of {len(COMPONENTS)}")
        result = structs.replace(
            blank,
            params=components.params | blank.params,
            load=components.load,
            unit=unit.name,
            figures=figures | {"components": count},
            flags=["derived"] + ([PARTIAL] if len(own) < len(COMPONENTS) else []),
        )
        reasons = dict.fromkeys(why for why in lacks.values() if why)
        lacking = "; ".join(
            f"n.e.: {', '.join(COMPONENTS[name] for name in lacks if lacks[name] == why)}, {why}"
            for why in reasons
        )
        if lacking or number is NUMBERS[0]:
            rows = []
            for name, title in COMPONENTS.items():
                mean = f"{times[name] * unit.time:.4g}" if name in times else "n.e."
                component = components.results[name]
                n = str(component.n if component else 0)
                rows.append([f"rheal.{name}", title, mean, n, lacks[name] or ""])
            heads = ["bench", "component", f"mean ({unit.name})", "n", "n.e."]
            table = TextTable("components", heads, rows)
            result = structs.replace(result, tables=[table], reason=lacking or None)
        # What the system cannot have leaves a number that is good as far as it goes; a loss does
        # not.
        had = [components.results[name] for name, why in lacks.items() if why]
        if any(result is None or result.status in LOST_STATUSES for result in had):
            result = structs.replace(result, status="incomplete")
        elif not own:
            result = structs.replace(result, status="unsupported")
        combined.append(result)
    none = structs.replace(blank, status="incomplete", reason="none of its components ran")
    return combined or [none]
