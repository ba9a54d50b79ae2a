"""Runs with made-up samples of time; they contain only what a comparison reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rtstone.documents.run import Agent, Clock, Result, Run, Target, Turn

Samples = NDArray[np.float64]

CLOCK = Clock(source="tsc", hz=1_000_000_000, resolution_ns=1, overhead_ns=20)
AGENT = Agent(
    version="1", source="aa", port="posix", os="Linux", arch="x86_64", compiler="GNU", flags="-O2"
)
_QUANTILES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def distributions(samples: Samples) -> list[dict[str, float | int | None]]:
    """Return the distribution of each set of samples along the last axis; others are flattened."""
    rows = samples.reshape(-1, samples.shape[-1])
    n = rows.shape[1]
    quantiles = {name: q for name, q in _QUANTILES.items() if n >= 10 / (1 - q)}
    ranks = [int(np.ceil(q * n)) - 1 for q in quantiles.values()]
    ordered = np.partition(rows, [0, *ranks, n - 1], axis=1)
    columns = [ordered[:, rank].tolist() for rank in (0, *ranks, n - 1)]
    names = ["min", *quantiles, "max"]
    return [
        {"n": n} | dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)
    ]


def result(bench: str, statistics: dict[str, float | int | None], unit: str = "ns") -> Result:
    """Return a result with these members."""
    return Result(case=1, bench=bench, params={}, load="none", status="ok", unit=unit, **statistics)  # type: ignore[arg-type]


def run(
    results: Sequence[Result],
    run_id: str,
    *,
    target: str = "local",
    minute: int = 0,
    turn: tuple[Literal["A", "B"], int] | None = None,
) -> Run:
    """Return a run on this machine, so many minutes after the first."""
    return Run(
        run_id=run_id,
        created=f"2026-11-21T{minute // 60:02}:{minute % 60:02}:00+00:00",
        status="complete",
        target=Target(name=target),
        agent=AGENT,
        clock=CLOCK,
        results=list(results),
        turn=Turn(session="s", side=turn[0], pair=turn[1]) if turn else None,
    )


def session(samples: Samples, first: Sequence[int] = ()) -> list[Run]:
    """Return a session of pairs A B B A ... from an array of samples (run, case, sample).

    ``first``: the positions of the runs of A, if the order is another one.
    """
    runs, cases = samples.shape[:2]
    results_of_runs = distributions(samples)
    places = set(first or (place for place in range(runs) if place % 4 in (0, 3)))
    number = {"A": 0, "B": 0}
    session_runs = []
    for place in range(runs):
        side: Literal["A", "B"] = "A" if place in places else "B"
        number[side] += 1
        results = [
            result(f"case.{case}", results_of_runs[place * cases + case]) for case in range(cases)
        ]
        session_runs.append(run(results, f"s-{place:03}", minute=place, turn=(side, number[side])))
    return session_runs
