"""Turn requests into simulation documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtstone import __version__
from rtstone.documents.run import Run
from rtstone.documents.simulation import EXACT, Hartstone, Request, Simulation
from rtstone.errors import UsageError
from rtstone.simulate import parsing
from rtstone.simulate.hartask import Choice, asks, measured
from rtstone.simulate.hartengine import POLICIES
from rtstone.simulate.hartstone import experiment
from rtstone.simulate.study import Study
from rtstone.simulate.taskset import Rules
from rtstone.simulate.workload import APERIODIC_LOAD, LONGEST, Workload
from rtstone.units import NS_PER_S
from rtstone.wire.parameters import duration

LONGEST_TIME = 600 * NS_PER_S  # ns simulated per set


def requested(options: dict[str, Any]) -> tuple[Study, Simulation]:
    """Return the study for these options, and its document without results.  Raises UsageError."""
    policies = parsing.policies(options["policies"])
    kind, budget, period = parsing.server(options["server"])
    cost = parsing.costs(
        options["costs_from"], options["switch_cost"], options["tick"], options["tick_cost"]
    )
    end, quantum = (
        duration(options["time"], "in --time"),
        duration(options["quantum"], "in --quantum"),
    )
    if not LONGEST < end <= LONGEST_TIME:
        raise UsageError(
            f"bad simulated time '{options['time']}', in --time; it has to be more than the "
            "longest period, 1s, and at most 10min"
        )
    if quantum < 1000:
        raise UsageError(f"bad quantum '{options['quantum']}', in --quantum; 1us is the shortest")
    protocol = options["protocol"]
    rules = tuple(
        Rules(
            policy,
            protocol=protocol or "none",
            server=kind,
            server_budget=budget,
            server_period=period,
            quantum=quantum,
            switch_cost=cost.switch_ns,
            tick=cost.tick_ns,
            tick_cost=cost.tick_cost_ns,
        )
        for policy in policies
    )
    study = Study(
        Workload(
            seed=options["seed"],
            end=end,
            constrained=options["deadlines"] == "constrained",
            exact=options["exact"],
            resources=protocol is not None,
        ),
        rules,
        parsing.counts(options["tasks"]),
        parsing.utilisations(options["utilisation"]),
        options["sets"],
    )
    request = Request(
        policies=list(policies),
        tasks=list(study.tasks),
        utilisation=[ppm / parsing.PPM for ppm in study.ppm],
        sets=study.sets,
        seed=options["seed"],
        time_ns=end,
        execution=EXACT if options["exact"] else "nominal times uniform(0.5, 1)",
        deadlines="uniform in [C, T]" if study.workload.constrained else "period",
        aperiodic_load=APERIODIC_LOAD,
        server=kind,
        server_budget_ns=budget or None,
        server_period_ns=period or None,
        protocol=protocol,
        quantum_ns=quantum,
        costs=cost,
    )
    empty = Simulation(
        version=__version__, numpy=np.__version__, request=request, points=[], breakdown=[]
    )
    return study, empty


def hartstone(
    experiments: tuple[str, ...],
    *,
    tasks: str | None,
    policies: tuple[str, ...],
    form: str | None,
    raw: int | None,
    costs_from: Run | None,
    switch_cost: str | None,
    tick: str | None,
    tick_cost: str | None,
) -> Hartstone:
    """Simulate experiments, compared with those measured by the run that costs come from."""
    choice = Choice(
        tuple(name.upper().removeprefix("HART.") for name in experiments),
        tasks,
        parsing.policies(policies, POLICIES) if policies else (),
        form,
        raw,
    )
    beside = None if costs_from is None else measured(costs_from)
    wanted = list(asks(choice, beside))
    cost = parsing.costs(costs_from, switch_cost, tick, tick_cost)
    return Hartstone(
        version=__version__,
        costs=cost,
        left_out=list(beside.left_out) if beside else [],
        experiments=[experiment(ask, cost, measurement) for ask, measurement in wanted],
    )
