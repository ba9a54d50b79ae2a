"""A demonstration store: a year of five targets, simulated first and varied then.

A few runs are really measured on the simulated system.  The others are copies of them with other
values, times and conditions, and say so in their notes: their documents do not follow from their
logs, which is impossible for a run that is pushed.  Values of a model stay what they are; those of
a machine are drawn from a mixture (`_Tail`), as a simulated system has the same cost every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from math import erf, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from time import time
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from rtstone import structures
from rtstone.documents.campaign import CampaignCell, CampaignState, Counts
from rtstone.documents.plan import Plan
from rtstone.documents.run import Clock, Result, Run, Target, Value
from rtstone.errors import UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.request import Request
from rtstone.measure.start import start
from rtstone.results.pool import percentiles
from rtstone.server.database import Database
from rtstone.server.projects import Places
from rtstone.server.reconcile import reconcile
from rtstone.server.uploads import note_campaign
from rtstone.store.layout import LOG, PLAN, RUN

PROJECT = "demo"
_DAY = 86_400.0
_SEED = 20261101
_BENCHES = ("dk.periodic", "sem.post.higher", "sched.yield.pair", "sync.test2")
_MEASURES = (_BENCHES[:2], _BENCHES[2:])  # of the campaign
_MODELS = ("sim", "sim:rtai-24.1.8")
_SCATTER = 0.03  # of the values of a machine's runs
_SAMPLES = 10_000  # of a case, so that there is a p99.9
_HEAVY = "heavy"  # the load under which a machine's wake-ups are measured, too
_CAMPAIGN, _REPEATS = "release", 3  # with a job that is still to come
_NOTE = "Generated for the demonstration from a simulated run: its values are made up."
_BITS = 6  # a bucket is 1/64 of its value wide

Floats = npt.NDArray[np.float64]


_EDGES: Floats = np.array(  # of the buckets, from half the median to a thousand times as much
    [2.0**e * (1 + n / 2**_BITS) for e in range(-1, 10) for n in range(2**_BITS)]
)


def _normal(value: Floats) -> Floats:
    """Return the share of a normal distribution up to some values."""
    return np.array([erf(each / sqrt(2)) / 2 + 0.5 for each in value.tolist()])


class _Phase(NamedTuple):
    """A part of a target's year: from ``day`` (before today) on, values and conditions."""

    day: float
    factor: float
    conditions: dict[str, Value]


class _Tail(NamedTuple):
    """A distribution of latencies, in multiples of their median.

    Most are log-normal with the deviation ``body`` of the logarithm.  A share ``shoulder``, which
    other interrupts delay, is log-normal around twice the median; a share ``tail``, which waits for
    whoever holds a lock, is a Pareto distribution from twice the median on, of exponent ``alpha``.
    """

    body: float
    shoulder: float
    tail: float
    alpha: float

    def upto(self, value: Floats) -> Floats:
        """Return the share of latencies up to some multiples of the median."""
        main = 1 - self.shoulder - self.tail
        far = 1 - (np.maximum(value, 2.0) / 2.0) ** -self.alpha
        parts = ((main, _normal(np.log(value) / self.body)),
                 (self.shoulder, _normal(np.log(value / 2.0) / 0.2)), (self.tail, far))  # fmt: skip
        return np.asarray(sum(share * part for share, part in parts))


class _Target(NamedTuple):
    """A target of the demonstration.

    ``tails``: of its latencies without load and under _HEAVY, which also makes them longer so many
    times; None: a model, whose runs repeat exactly.  ``until``: days before today of its last run.
    """

    name: str
    model: int
    gap: float
    phases: tuple[_Phase, ...]
    tails: tuple[_Tail, _Tail, float] | None = None
    until: float = 0.2


_RT = _Tail(0.08, 0.02, 0.0004, 3.0), _Tail(0.15, 0.08, 0.002, 2.5), 1.8
_STOCK = _Tail(0.15, 0.04, 0.002, 1.6), _Tail(0.3, 0.1, 0.02, 1.1), 2.5
_PI: dict[str, Value] = {
    "kernel.release": "6.1.0-31-rt-arm64", "kernel.cmdline": "quiet isolcpus=3",
    "cpu.model": "Cortex-A72", "cpu.governor": "performance",
}  # fmt: skip
_PC: dict[str, Value] = {
    "kernel.release": "6.1.0-31-rt-amd64", "kernel.cmdline": "quiet nohz_full=2-3",
    "cpu.model": "Atom x6425E", "cpu.governor": "performance",
}  # fmt: skip
_PLC: dict[str, Value] = {
    "kernel.release": "5.10.0-33-rt-amd64", "kernel.cmdline": "quiet",
    "cpu.model": "Celeron J1900",
}  # fmt: skip
_TARGETS = (
    _Target("pi4-rt", 0, 1.0, (
        _Phase(365, 1.0, _PI),
        _Phase(9, 1.35, _PI | {"kernel.cmdline": "quiet isolcpus=3 skew_tick=1"}),
    ), _RT),
    _Target("gateway-x6425", 1, 1.0, (
        _Phase(365, 1.3, _PC),
        _Phase(110, 1.0, _PC | {"kernel.release": "6.12.9-rt-amd64"}),
        _Phase(4, 1.22, _PC | {"kernel.release": "6.12.9-rt-amd64",
                               "cpu.governor": "schedutil"}),
    ), _RT),
    _Target("plc-j1900", 0, 2.0, (_Phase(365, 1.6, _PLC),), _RT, until=12.0),
    _Target("pi4-stock", 1, 2.0, (_Phase(365, 2.4, _PI | {
        "kernel.release": "6.1.0-31-arm64"}),), _STOCK),
    _Target("model", 0, 7.0, (_Phase(365, 1.0, {}), _Phase(160, 0.9, {}))),
)  # fmt: skip


def fill(
    database: Database, places: Places, steps: Callable[[int, int], None] = lambda done, total: None
) -> None:
    """Fill the project `demo`.  Raises UsageError if the store has runs.

    ``steps`` gets how many of how many targets have their runs; the last one is the index.
    """
    if any(places.runs(name).exists() and any(places.runs(name).iterdir())
           for name in places.projects()):  # fmt: skip
        raise UsageError(f"the store has runs, {places.store}; give --demo an empty --store DIR")
    steps(0, len(_TARGETS) + 1)
    folder = places.runs(PROJECT)
    folder.mkdir(parents=True, mode=0o700)
    with TemporaryDirectory(dir=places.store, prefix=".demo-") as scratch:
        templates = [_measured(model, Path(scratch)) for model in _MODELS]
        chance = np.random.default_rng(_SEED)
        for place, target in enumerate(_TARGETS, 1):
            for number, (day, phase) in enumerate(_days(target)):
                begun = datetime.fromtimestamp(time() - day * _DAY, UTC).replace(microsecond=0)
                path = folder / f"{begun:%Y%m%d-%H%M%S}.{target.name}-{number:03}"
                run = _varied(target, phase, templates[target.model].run, chance)
                _write(path, begun, run, templates[target.model])
            steps(place, len(_TARGETS) + 1)
        state = _campaign(folder, templates, chance)
    reconcile(database, places)
    note_campaign(database, PROJECT, state)


class _Template(NamedTuple):
    run: Run
    plan: Plan
    path: Path


def _measured(model: str, scratch: Path) -> _Template:
    """Measure on a simulated system."""
    words = ["rtstone", "run", *_BENCHES, "--target", model]
    path = scratch / model.replace(":", "-")
    params = {"samples": _SAMPLES}
    request = Request(names=_BENCHES, target=model, params=params, command=words)
    done = start(request, interrupt=Interrupt(), listener=Listener(), out=path, listed=False)
    if done.error:
        raise done.error
    plan = structures.decode((path / PLAN).read_bytes(), Plan)
    return _Template(done.run, plan, path)


def _days(target: _Target) -> Iterator[tuple[float, _Phase]]:
    """Yield the days before today on which a target was measured, weekly until half a year ago."""
    day = target.phases[0].day
    while day > target.until:
        phase = next(phase for phase in reversed(target.phases) if phase.day >= day)
        yield day, phase
        day -= target.gap if day < 120 else max(target.gap, 7.0)


def _campaign(
    folder: Path, templates: Sequence[_Template], chance: np.random.Generator
) -> CampaignState:
    """Write the runs of a campaign that is nearly over, on the machines that report."""
    begun, cells = datetime.fromtimestamp(time() - 3600, UTC).replace(microsecond=0), []
    for target in (target for target in _TARGETS if target.until < 1 and target.tails):
        template = templates[target.model]
        for measure in _MEASURES:
            done = _REPEATS - (target is _TARGETS[-2] and measure is _MEASURES[-1])
            run_ids = []
            for number in range(done):
                job = blake2b(f"{target.name} {measure} {number}".encode(), digest_size=8)
                path = folder / f"{_CAMPAIGN}.{job.hexdigest()}"
                run = _varied(target, target.phases[-1], template.run, chance)
                results = [result for result in run.results if result.bench in measure]
                _write(path, begun, msgspec.structs.replace(run, results=results), template)
                run_ids.append(path.name)
            jobs = Counts(done=done, planned=_REPEATS - done)
            cells.append(CampaignCell(
                target=target.name, measure=" ".join(measure), jobs=jobs, runs=run_ids
            ))  # fmt: skip
    total = Counts(done=sum(cell.jobs.done for cell in cells), planned=1)
    return CampaignState(name=_CAMPAIGN, title="Before the release", jobs=total, cells=cells)


def _varied(target: _Target, phase: _Phase, template: Run, chance: np.random.Generator) -> Run:
    """Return a run of a target in a phase of its year, without its time."""
    if target.tails is None:
        results = [_scaled(result, phase.factor) for result in template.results]
        return msgspec.structs.replace(template, results=results, notes=[_NOTE])
    idle, heavy, longer = target.tails
    results = [_drawn(result, phase.factor, idle, chance) for result in template.results]
    results += [
        _drawn(msgspec.structs.replace(result, load=_HEAVY, case=result.case + len(_BENCHES)),
               phase.factor * longer, heavy, chance)
        for result in template.results if result.bench == _BENCHES[0]
    ]  # fmt: skip
    # Of a machine, whose runs never repeat exactly, instead of a model.
    where = Target(name="ssh:lab", called=target.name, detail={"machine": target.name})
    agent = template.agent and msgspec.structs.replace(template.agent, port="linux", os="Linux")
    clock = Clock(source="tsc", hz=1_000_000_000, resolution_ns=1.0, overhead_ns=20.0)
    return msgspec.structs.replace(
        template, results=results, notes=[_NOTE], target=where, conditions=phase.conditions,
        agent=agent, clock=clock,
    )  # fmt: skip


def _write(path: Path, begun: datetime, run: Run, template: _Template) -> None:
    """Write a run begun at that time to a new directory, with the log of its template."""
    same = {"run_id": path.name, "created": begun.isoformat(), "target": run.target}
    path.mkdir(mode=0o700)
    (path / PLAN).write_bytes(msgspec.json.encode(msgspec.structs.replace(template.plan, **same)))
    os.link(template.path / LOG, path / LOG)
    (path / RUN).write_bytes(msgspec.json.encode(msgspec.structs.replace(run, **same)))


def _scaled(result: Result, factor: float) -> Result:
    """Return a result with all of its values multiplied."""
    scaled = {
        name: getattr(result, name) * factor
        for name in ("min", "mean", "p50", "p90", "p99", "p999", "p9999", "max")
        if getattr(result, name) is not None
    }
    histogram = [(value * factor, n) for value, n in result.histogram]
    ends = {
        name: pair and (pair[0] * factor, pair[1] * factor) for name, pair in result.ci95.items()
    }
    return msgspec.structs.replace(
        result, **scaled, histogram=histogram, ci95=ends, worst=[], trace=None, blocks=None,
        batches=None, corrected=None, grid=None,
    )  # fmt: skip


@cache
def _shares(tail: _Tail) -> Floats:
    """Return the share of a distribution in each bucket."""
    shares = np.diff(tail.upto(_EDGES), prepend=0.0)
    return np.asarray(shares / shares.sum())


def _drawn(result: Result, factor: float, tail: _Tail, chance: np.random.Generator) -> Result:
    """Return a result with samples drawn around its median, times ``factor`` and a scatter."""
    middle = (result.p50 or 1.0) * factor * chance.normal(1.0, _SCATTER)
    counts = chance.multinomial(_SAMPLES, _shares(tail))
    taken = counts.nonzero()[0]
    values = (_EDGES[taken] * middle).round(1)
    histogram = list(zip(values.tolist(), counts[taken].tolist(), strict=True))
    top = float(values[-1])
    mean = float(np.average(values, weights=counts[taken]))
    spread = float(np.sqrt(np.average((values - mean) ** 2, weights=counts[taken])))
    period = result.params.get("period")
    missed = result.missed
    if missed is not None and isinstance(period, int):
        missed = int((counts[taken] * (values // period)).sum())
    return msgspec.structs.replace(
        result, histogram=histogram, mean=round(mean, 1), sd=round(spread, 1), min=float(values[0]),
        max=top, **percentiles(histogram, _SAMPLES, 0), missed=missed, ci95={}, worst=[],
        trace=None, blocks=None, batches=None, corrected=None, grid=None,
    )  # fmt: skip
