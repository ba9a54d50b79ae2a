"""Select Hartstone experiments to simulate: as requested, or as a run measured them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from rtstone.documents.breakdown import breakdown
from rtstone.documents.run import HARTSTONE, Result, Run
from rtstone.errors import UsageError, unknown
from rtstone.results.flags import spoilt
from rtstone.simulate import hartsets
from rtstone.simulate.hartengine import FORMS, POLICIES
from rtstone.simulate.hartstone import DURATION_NS, RAW, STOP_MISSES, Ask, Measured
from rtstone.units import NS_PER_S

# Figures in the results of a measured run.
RAW_SPEED = "raw speed"  # in KWIPS
FACTOR = "factor of all loads"  # of a scaled set
DURATION = "duration of a test"  # in s
DISTURBANCES = ("steal", "smi", "suspended", "not_monotone")  # flags
DIGITS = 6  # significant digits kept of a raw speed, as time is counted in fractions of a KWI


@dataclass(frozen=True)
class Choice:
    """The requested options; None or empty: as measured, else all of them or the default."""

    experiments: tuple[str, ...] = ()
    set: str | None = None
    policies: tuple[str, ...] = ()
    form: str | None = None
    raw: int | None = None


class Beside(NamedTuple):
    """The Hartstone results of a run.

    ``left_out``: those that cannot be simulated, and why.  ``raw``: raw speed in KWIPS.
    """

    experiments: tuple[Measured, ...] = ()
    left_out: tuple[str, ...] = ()
    raw: int | None = None


def measured(run: Run) -> Beside:
    """Return the experiments that a run measured without a load."""
    results = [r for r in run.results if r.bench.removeprefix(HARTSTONE) in hartsets.EXPERIMENTS]
    lacking = {id(result): _why_not(result) for result in results}
    speeds = [
        speed
        for r in sorted(run.results, key=lambda r: (r.bench != "hart.raw", r.load != "none"))
        if r.bench.startswith(HARTSTONE) and r.status == "ok" and (speed := _figure(r, RAW_SPEED))
    ]
    return Beside(
        tuple(as_measured(result) for result in results if not lacking[id(result)]),
        tuple(f"{_name(r)}: {why}" for r in results if (why := lacking[id(r)])),
        speeds[0] if speeds else None,
    )


def _name(result: Result) -> str:
    words = [f"{name}={result.params[name]}" for name in ("set", "policy", "form")
             if name in result.params]  # fmt: skip
    return " ".join([result.bench, *words])


def _why_not(result: Result) -> str | None:
    if result.status != "ok":
        return f"not simulated, its result is {result.status}"
    if result.load != "none":
        return f"not simulated, measured under load {result.load}"
    if flag := spoilt(result.flags):
        return f"not simulated, {flag.spoils}"
    if breakdown(result) is None:
        return "not simulated, it shows no breakdown"
    ask = as_measured(result).ask
    if ask.policy == "edf" and ask.form == "server":
        return "not simulated, under edf the server is a task without a deadline"
    return None


def as_measured(result: Result) -> Measured:
    """Return what a result that shows a breakdown measured, and how to simulate it."""
    params = result.params
    duration = result.figures.get(DURATION)
    misses = params.get("stop_misses")
    if not isinstance(misses, int):
        misses = STOP_MISSES
    ask = Ask(
        result.bench.removeprefix(HARTSTONE),
        set=_one_of(hartsets.SETS, params.get("set")),
        policy=_one_of(POLICIES, params.get("policy")),
        form=_one_of(FORMS, params.get("form")),
        gaps=str(params.get("gaps", "shortest")),  # as it was before there was a choice
        raw=_figure(result, RAW_SPEED) or RAW[_one_of(hartsets.SETS, params.get("set"))],
        factor=_figure(result, FACTOR),
        duration_ns=round((duration.value or 0) * NS_PER_S) if duration else DURATION_NS,
        stop_misses=1 if params.get("stop") == "first" else int(misses),
    )
    at = breakdown(result)
    disturbed = tuple(name for name in DISTURBANCES if name in result.flags)
    return Measured(ask, at.held if at else 0.0, at.missed if at else None, disturbed)


def _one_of(values: tuple[str, ...], value: object) -> str:
    """Return a parameter if its value is known, else the first known value."""
    return str(value) if value in values else values[0]


def _figure(result: Result, name: str) -> int | None:
    """Return a figure as a whole number of DIGITS significant digits, None without the figure."""
    figure = result.figures.get(name)
    if not figure or not figure.value:
        return None
    value = round(figure.value)
    return max(1, round(value, DIGITS - len(str(value))) if value >= 10**DIGITS else value)


# ---- what is simulated --------------------------------------------------------------------------


def asks(choice: Choice, beside: Beside | None) -> Iterator[tuple[Ask, Measured | None]]:
    """Yield the experiments to simulate, each with its measurement.  Raises UsageError.

    ``beside``: results of a run; None without a run, which simulates both policies.
    """
    for name in choice.experiments:
        if name not in hartsets.EXPERIMENTS:
            raise unknown("experiment", name, hartsets.EXPERIMENTS)
    for name in choice.experiments or hartsets.EXPERIMENTS:
        sets = hartsets.sets_of(name.split(".")[0])
        if choice.set is not None and choice.set not in sets:
            if choice.experiments:
                raise UsageError(
                    f"experiment '{name}' has no set '{choice.set}', in --set; "
                    f"known: {', '.join(sets)}"
                )
            continue
        yield from _of_experiment(name, choice, beside)


def _of_experiment(
    name: str, choice: Choice, beside: Beside | None
) -> Iterator[tuple[Ask, Measured | None]]:
    measurements = [
        m for m in (beside.experiments if beside else ())
        if m.ask.experiment == name and choice.set in (None, m.ask.set)
        and (choice.form in (None, m.ask.form) or not hartsets.is_served(name))
    ]  # fmt: skip
    policies = choice.policies
    if not policies:
        measured_so = tuple(dict.fromkeys(m.ask.policy for m in measurements))
        both = beside is None and choice.form != "server"
        policies = POLICIES if both else measured_so or POLICIES[:1]
    for policy in policies:
        of_policy = [m for m in measurements if m.ask.policy == policy]
        for m in of_policy:
            yield (m.ask if choice.raw is None else replace(m.ask, raw=choice.raw)), m
        if not of_policy:
            yield _default(name, policy, choice, beside.raw if beside else None), None


def _default(name: str, policy: str, choice: Choice, raw: int | None) -> Ask:
    which = choice.set or "auto"
    form = choice.form if choice.form and hartsets.is_served(name) else FORMS[0]
    if policy == "edf" and form == "server":
        raise UsageError(
            f"form 'server' of {name} is not simulated under edf, in --form; add --policy rm"
        )
    scaled = raw if which in hartsets.SCALED else None
    return Ask(name, which, policy, choice.raw or scaled or RAW[which],
               form=form)  # fmt: skip
