"""Parse the options of a simulation.  All functions raise UsageError."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from decimal import Decimal

from rtstone.documents.run import Run
from rtstone.documents.simulation import Cost
from rtstone.errors import UsageError, unknown
from rtstone.simulate.taskset import POLICIES, SERVERS
from rtstone.wire.parameters import duration

PPM = 1_000_000  # utilisations are whole millionths
MOST_UTILISATION = 10
MOST_POINTS = 1000
MOST_TASKS = 200
BUDGET, PERIOD = "2ms", "10ms"  # of a server: twice the aperiodic load, at the shortest period
_NUMBER = re.compile(r"\d{1,3}(\.\d{1,6})?|\.\d{1,6}")


def policies(texts: Iterable[str], choices: Iterable[str] = POLICIES) -> tuple[str, ...]:
    """Return the named policies (several joined by commas), all of them if none is named."""
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in choices:
            raise unknown("policy", name, choices, "in --policy")
    return tuple(dict.fromkeys(names)) or tuple(choices)


def counts(text: str) -> tuple[int, ...]:
    """Return numbers of tasks: ``5,10,20``."""
    parts = text.split(",")
    if not all(re.fullmatch(r"\d{1,4}", part) and 1 <= int(part) <= MOST_TASKS for part in parts):
        raise UsageError(
            f"bad number of tasks '{text}', in --tasks; write numbers of 1 to {MOST_TASKS} "
            "such as 5,10,20"
        )
    return tuple(dict.fromkeys(int(part) for part in parts))


def utilisations(text: str) -> tuple[int, ...]:
    """Return utilisations in 1e-6: ``0.1:1.5:0.05`` (first, last, step) or ``0.5,0.9``."""
    colon = ":" in text
    parts = text.split(":" if colon else ",")
    sound = all(_NUMBER.fullmatch(part) for part in parts) and (not colon or len(parts) == 3)
    numbers = [int(Decimal(part) * PPM) for part in parts] if sound else []
    if colon and sound and numbers[2] > 0 and (numbers[1] - numbers[0]) // numbers[2] < MOST_POINTS:
        numbers = list(range(numbers[0], numbers[1] + 1, numbers[2]))
    elif colon:
        numbers = []
    if not numbers or not all(0 < number <= MOST_UTILISATION * PPM for number in numbers):
        raise UsageError(
            f"bad utilisation '{text}', in --utilisation; write first:last:step such as "
            f"0.1:1.5:0.05, or 0.5,0.9, above 0 and up to {MOST_UTILISATION}"
        )
    return tuple(sorted(set(numbers)))


def server(text: str) -> tuple[str, int, int]:
    """Return a server's kind, budget and period in ns: ``sporadic``, ``polling=2ms/10ms``."""
    kind, equals, rest = text.partition("=")
    if kind not in SERVERS:
        raise unknown("server", kind, SERVERS, "in --server")
    if kind == "background":
        if equals:
            raise UsageError(f"bad server '{text}', in --server; background has no budget")
        return kind, 0, 0
    budget, slash, period = rest.partition("/") if equals else (BUDGET, "/", PERIOD)
    times = duration(budget, "in --server"), duration(period if slash else "0", "in --server")
    if not 0 < times[0] <= times[1]:
        raise UsageError(
            f"bad server '{text}', in --server; write {kind}=BUDGET/PERIOD such as "
            f"{kind}={BUDGET}/{PERIOD}, the budget not above the period"
        )
    return kind, *times


def costs(
    run: Run | None,
    switch: str | None,
    tick: str | None,
    tick_cost: str | None,
) -> Cost:
    """Return the costs as given, else as measured by a run, else none."""
    from msgspec.structs import replace

    options = {
        name: duration(text, f"in {option}")
        for name, option, text in (
            ("switch_ns", "--switch-cost", switch),
            ("tick_ns", "--tick", tick),
            ("tick_cost_ns", "--tick-cost", tick_cost),
        )
        if text is not None
    }
    if run is None:
        cost = replace(Cost(), **options)
    else:
        from rtstone.simulate.costs import of_run

        cost = of_run(run, switch_known="switch_ns" in options)
        words = [f"{name.removesuffix('_ns').replace('_', ' ')}: given" for name in options]
        sources = [text for text in cost.sources if text.partition(":")[0] + "_ns" not in options]
        cost = replace(cost, **options, sources=[*sources, *words])
    if cost.tick_cost_ns and not cost.tick_ns:
        raise UsageError("a cost of a tick without a tick, in --tick-cost; add --tick PERIOD")
    if cost.tick_ns and cost.tick_cost_ns >= cost.tick_ns:
        raise UsageError(
            f"a tick every {cost.tick_ns} ns that costs {cost.tick_cost_ns} ns leaves nothing, "
            "in --tick; make it longer"
        )
    return cost


def workers(number: int | None) -> int:
    """Return the number of processes: as given, else one per usable CPU."""
    return number or len(os.sched_getaffinity(0))
