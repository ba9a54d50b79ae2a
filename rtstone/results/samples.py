"""The single samples of a result, from the logs of a run that kept them (parameter ``raw``)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rtstone.documents.imported import tool
from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Run
from rtstone.errors import Inconclusive, UsageError
from rtstone.results.ticks import Net, Scale
from rtstone.wire import records as wire
from rtstone.wire.reader import Reader, Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

KEEP = "-p raw=on -p samples=N"


def has_raw_samples(result: Result) -> bool:
    """Return whether the samples of a result were to be kept one by one."""
    return result.params.get("raw") is True and result.n > 0


def samples(run: Run, result: Result, plan: Plan, logs: Iterable[bytes]) -> Array:
    """Return the samples of a result in the order in which they were taken, net, in its unit.

    Raises UsageError if they were not kept, Inconclusive if the logs do not hold all of them.
    """
    import numpy as np

    where = f"of {result.bench}, in run {run.run_id}"
    if not has_raw_samples(result):
        advice = f"measure them with {KEEP}, else there is .histogram()"
        if (name := tool(run)) is not None:
            advice = f"of what {name} recorded the histogram is kept, see .histogram()"
        elif not result.n:
            advice = result.reason or "it has figures only"
        raise UsageError(f"no single samples {where}; {advice}")
    # A round that was started anew after an interruption counts from its second start.
    rounds = {round_.number: round_ for log in logs for round_ in _Log(plan, result).read(log)}
    every = [rounds[number] for number in sorted(rounds)]
    # What was stopped is part of a result, or not.
    for taken in (every, [round_ for round_ in every if round_.whole]):
        if sum(len(round_.values) for round_ in taken) == result.n:
            return np.concatenate([round_.values for round_ in taken])
    number = sum(len(round_.values) for round_ in every)
    raise Inconclusive(
        f"{number} of {result.n} samples {where} are in its logs; keep all of them with {KEEP}"
    )


class _Round(NamedTuple):
    """The samples of a round; ``number``: its wire id; ``whole``: not stopped, nor failed."""

    number: int
    whole: bool
    values: Array


class _Log:
    """The samples of one result in the log of one agent, round by round."""

    def __init__(self, plan: Plan, result: Result) -> None:
        self._plan, self._result = plan, result
        self._clock: wire.Clock | None = None
        self._ticks: dict[int, dict[int, list[int]]] = {}  # by wire id, and number of the first
        self._nets: dict[int, Net] = {}
        self._whole: set[int] = set()

    def read(self, log: bytes) -> list[_Round]:
        """Return the rounds that have a result, each sample converted as its statistics are."""
        import numpy as np

        reader = Reader()
        for line in log.splitlines(keepends=True):
            for event in reader.feed(line):
                if not isinstance(event, Record):
                    continue
                body = event.body
                if isinstance(body, wire.Clock):
                    self._clock = body
                elif (
                    not isinstance(body, wire.OfACase)
                    or self._plan.case_of(body.id) != self._result.case
                ):
                    continue
                elif isinstance(body, wire.Raw) and body.series == self._result.series:
                    self._ticks.setdefault(body.id, {})[body.at] = body.v
                elif isinstance(body, wire.Result) and body.series == self._result.series:
                    scale = Scale.for_plan(self._plan, self._clock)
                    self._nets[body.id] = scale.net(body.hz, body.overhead, body.batch)
                elif isinstance(body, wire.End) and body.status == "ok":
                    self._whole.add(body.id)
        rounds = []
        for number, net in self._nets.items():
            parts = sorted(self._ticks.get(number, {}).items())
            ticks = np.array([tick for _, part in parts for tick in part], dtype=np.uint64)
            different, places = np.unique(ticks, return_inverse=True)
            values = np.array([net.exactly(int(value)) for value in different], np.float64)
            rounds.append(_Round(number, number in self._whole, values[places]))
        return rounds
