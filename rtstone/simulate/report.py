"""From what is asked to the documents of a simulation."""

from __future__ import annotations

from typing import Any

import numpy as np

from rtstone import __version__
from rtstone.errors import UsageError
from rtstone.model.benches import duration
from rtstone.simulate import ask
from rtstone.simulate import hartstone as sets
from rtstone.simulate.documents import Hartstone, Request, Simulation
from rtstone.simulate.study import Study
from rtstone.simulate.taskset import Rules
from rtstone.simulate.workload import APERIODIC_LOAD, LONGEST, Workload

LONGEST_TIME = 600 * 10**9  # of a set


def asked(options: dict[str, Any]) -> tuple[Study, Simulation]:
    """The study that a command line asks for, and its document without an answer."""
    policies = ask.policies(options["policies"])
    kind, budget, period = ask.server(options["server"])
    cost = ask.costs(
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
        ask.counts(options["tasks"]),
        ask.utilisations(options["utilisation"]),
        options["sets"],
    )
    request = Request(
        policies=list(policies),
        tasks=list(study.tasks),
        utilisation=[ppm / ask.PPM for ppm in study.ppm],
        sets=study.sets,
        seed=options["seed"],
        time_ns=end,
        execution="nominal" if options["exact"] else "nominal times uniform(0.5, 1)",
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
    tasks: str,
    policies: tuple[str, ...],
    raw: int | None,
    costs_from: str | None,
    switch_cost: str | None,
    tick: str | None,
    tick_cost: str | None,
) -> Hartstone:
    """Simulates the experiments, beside what the run of the costs has measured of them."""
    names = tuple(name.upper().removeprefix("HART.") for name in experiments)
    chosen = ask.policies(policies, sets.POLICIES)
    cost = ask.costs(costs_from, switch_cost, tick, tick_cost)
    results = {}
    if costs_from is not None:
        from rtstone.store.index import find
        from rtstone.store.rundir import load

        results = sets.measured(load(find(costs_from)))
    found = []
    for wanted in sets.asks(names, tasks, chosen, raw):
        asked_for = wanted
        result = results.get((wanted.experiment, wanted.set, wanted.policy))
        measured = None
        if result is not None:
            measured = sets.percent(result)
            if raw is None and (speed := sets.whole(result, sets.RAW_SPEED)):
                factor = sets.whole(result, sets.FACTOR)
                asked_for = asked_for._replace(raw=speed, factor=factor)
        found.append(sets.experiment(asked_for, cost, measured))
    return Hartstone(
        version=__version__, duration_ns=sets.DURATION_NS, costs=cost, experiments=found
    )
