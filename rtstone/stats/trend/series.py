"""Series of results: which results of which runs are points of one line, and their values."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

from rtstone.documents.breakdown import breakdown
from rtstone.documents.case_key import ANOTHER_RUN, CaseKey, case_key, measured_apart, without
from rtstone.documents.observation import Observation
from rtstone.documents.run import BREAKDOWN, LOCAL, Distribution, Result, Run, Value, as_text
from rtstone.documents.trend import By, Metric
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled
from rtstone.results.rhealstone import NUMBERS
from rtstone.stats.comparison.conditions import counted, emulated, free, nature
from rtstone.stats.comparison.systems import SEED, SYSTEM
from rtstone.stats.worstcase.extremes import worst_case
from rtstone.summary import BY_NAME, PERCENTILES, SINGLE

# Return a result with all that its document has, and with its histogram alone.
Full = Callable[[Observation], Result]

_COMMIT = re.compile(r"-g([0-9a-f]{7,40})\b")  # as the kernel's build writes it into its release
# Of an emulated system, what makes it another one; further words for its kernel do not.
_LAB = ("board", "preempt", SEED, "icount", "beside", "beside_load", "device")
_RHEALSTONE = {number.bench.id for number in NUMBERS}
_COMPONENTS = "components"  # figure of Rhealstone's numbers
_DIGITS = 4  # of a machine's id that tell it from others of its name


class Key(NamedTuple):
    """What the results of a series share: target, its identity, the case and the unit."""

    target: str
    identity: tuple[tuple[str, str], ...]
    case: CaseKey
    unit: str


class Line(NamedTuple):
    """The results of one case on one target, by run, in the order of the runs."""

    key: Key
    params: dict[str, Value]
    runs: list[list[Observation]]

    @property
    def exact(self) -> bool:
        """Whether its runs repeat exactly: counted instructions, or a model."""
        return all(
            counted(observation.run if observation.run.clock else observation.whole)
            for observation, *_ in self.runs
        )


class Point(NamedTuple):
    """One run of a series: its results of the case, and the value of the metric."""

    observations: list[Observation]
    value: float

    @property
    def run(self) -> Run:
        """The run, without its results."""
        return self.observations[0].run

    @property
    def whole(self) -> Run:
        """The run with the first of the results."""
        return self.observations[0].whole


class Merit(NamedTuple):
    """The figure that sums up a result without samples.

    ``value``: None for the reason ``why``.  ``step``: the distance of the values that it can have.
    ``components``: of how many times it is made; another number of them makes another figure.
    """

    name: str
    unit: str
    value: float | None
    why: str = ""
    step: float = 0.0
    components: float | None = None


def merit(result: Result) -> Merit | None:
    """Return the breakdown of an experiment, or the number of Rhealstone; None of any other."""
    if result.n:
        return None
    if reached := breakdown(result):
        held, missed = reached.held, reached.missed
        if not reached.broke:
            return Merit(BREAKDOWN, "%", None, "no test missed a deadline")
        step = 0.0 if missed is None else missed - held
        return Merit(BREAKDOWN, "%", held, step=step)
    components = result.figures.get(_COMPONENTS)
    if result.bench not in _RHEALSTONE or components is None:
        return None
    name, figure = next(iter(result.figures.items()))
    return Merit(name, figure.unit, figure.value, components=components.value)


def lines(observations: Sequence[Observation], *, figures: bool = True) -> list[Line]:
    """Return the lines through results, sorted by bench, case and target as they occur.

    Left out are valid results without samples, but for those that a figure sums up, with
    ``figures``.
    """
    observations = [
        o
        for o in observations
        if o.result.n or o.result.status != "ok" or (figures and merit(o.result))
    ]
    apart = measured_apart(
        (observation.run.run_id, observation.result) for observation in observations
    )
    # A bench of another version, without a parameter, behaves like its default.
    defaults: dict[str, dict[str, Value]] = defaultdict(dict)
    for table in {
        id(observation.table): observation.table for observation in observations
    }.values():
        if table:
            own: dict[str, Value] = {param.name: param.default for param in table.params}
            defaults[table.id] = own | defaults[table.id]
    runs_of: dict[Key, dict[str, list[Observation]]] = defaultdict(lambda: defaultdict(list))
    shared: dict[Key, dict[str, Value]] = {}
    for observation in observations:
        r = observation.result
        params = without(defaults[r.bench] | r.params, ANOTHER_RUN - apart[r.bench])
        key = Key(*identity(observation.run), case_key(r.bench, params, r.series, r.load), r.unit)
        runs_of[key][observation.run.run_id].append(observation)
        shared.setdefault(key, params)
    lines_ = [Line(key, shared[key], list(runs.values())) for key, runs in runs_of.items()]
    places = {key.case.bench: n for n, key in reversed(list(enumerate(runs_of)))}
    return sorted(lines_, key=lambda line: places[line.key.case.bench])


def identity(run: Run) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the name of a target, and what distinguishes it from others.

    The kernel does not, nor its command line: a trend is to show what these change.  What is local
    has the name of its machine, as each machine has a local target.
    """
    detail = run.target.detail
    if emulated(run):
        facts = {name: detail.get(name) for name in _LAB}
        name = f"qemu:{detail.get(SYSTEM)}"
    elif nature(run) == "model":
        facts = {SEED: detail.get(SEED, run.conditions.get("model.seed"))}
        name = run.target.name
    else:
        facts = {
            "machine": detail.get("machine") or run.conditions.get("machine.host"),
            "CPU": run.conditions.get("cpu.model"),
        }
        name = run.target.called or _placed(run)
    return name, tuple((fact, str(value)) for fact, value in facts.items() if value is not None)


def _placed(run: Run) -> str:
    """Return the address of a target, that of a local one with its host and the host's id.

    Hosts that were installed from one image have one name.
    """
    if run.target.name != LOCAL:
        return run.target.name
    machine = run.target.detail.get("machine")
    name = f"{run.host}: {LOCAL}" if run.host else LOCAL
    return f"{name} ({str(machine)[:_DIGITS]})" if machine else name


def label(run: Run, by: By) -> str | None:
    """Return the name of the point that a run belongs to, None if it has none."""
    if by == "time":
        return run.run_id
    release = as_text(run.conditions.get("kernel.release")) or as_text(
        run.target.detail.get("kernel")
    )
    if by == "kernel":
        return release or (run.agent.os if run.agent else None)
    commit = _COMMIT.search(release or "")
    return commit[1] if commit else None


# ---- values -------------------------------------------------------------------------------------


def points(line: Line, metric: Metric, by: By, full: Full) -> tuple[list[Point], dict[str, int]]:
    """Return the runs of a line that have a value, and by reason how many have none.

    They are in order of time; or by kernel or commit, in the order in which these first occur.
    """
    left: Counter[str] = Counter()
    groups: dict[str, list[Point]] = {}
    for run in line.runs:
        name = label(run[0].run, by)
        results = [observation.result for observation in run]
        value, why = None, ""
        if bad := next((result for result in results if result.status != "ok"), None):
            why = bad.status
        elif free(run[0].run):
            why = "the emulator ran freely (icount off)"
        elif metric == "figure":
            value, why = _figure(line, results)
        elif metric == "bound":
            worst = worst_case([full(observation) for observation in run])
            value, why = worst.bound, "" if worst.bound is not None else f"no bound: {worst.reason}"
        else:
            value, why = _statistic(merged(run, full), results, metric)
        if name is None:
            why = f"no {by} is known of the run"
        if why or value is None or name is None:
            left[why or "no value"] += 1
            continue
        groups.setdefault(name, []).append(Point(run, value))
    return [point for group in groups.values() for point in group], dict(left)


def merits(line: Line) -> Iterator[Merit]:
    """Yield the figures that sum up the results of a line, the newest first."""
    for run in reversed(line.runs):
        for observation in run:
            figure = merit(observation.result) if observation.result.status == "ok" else None
            if figure is not None:
                yield figure


def _figure(line: Line, results: Sequence[Result]) -> tuple[float | None, str]:
    """Return the figure of the results of a run, the median of several, or why there is none.

    A sum of other components than the newest run's is another figure.
    """
    newest = next(merits(line))
    values = []
    for figure in filter(None, map(merit, results)):
        if figure.components != newest.components:
            why = f"{figure.components:g} components, where the newest run has"
            return None, f"{why} {newest.components:g}"
        if figure.value is None:
            return None, figure.why
        values.append(figure.value)
    return median(values), ""


def coarseness(results: Iterable[Result]) -> float:
    """Return the largest distance of the values that the figures of some results can have."""
    return max((figure.step for figure in filter(None, map(merit, results))), default=0.0)


def _statistic(
    samples: Distribution | Result, results: Sequence[Result], metric: Metric
) -> tuple[float | None, str]:
    if metric == "missed":
        counts = [result.missed for result in results]
        due = sum(result.n + (result.missed or 0) for result in results)
        if None in counts or not due:
            return None, "missed activations are not counted"
        return 100 * sum(count or 0 for count in counts) / due, ""
    value: float | None = getattr(samples, metric)
    if value is not None:
        return value, ""
    statistic = BY_NAME[metric]
    if any(r.batch > 1 for r in results) and (statistic.share or SINGLE + 1) > SINGLE:
        return None, "samples are means of several operations"
    return None, f"n is too small for {statistic.label}"


def merged(run: list[Observation], full: Full) -> Distribution | Result:
    """Return the samples of a run, with omitted activations where it has any, in one set."""
    return (
        whole(run[0].result)
        if len(run) == 1
        else pooled([whole(full(observation)) for observation in run])
    )


def value_of(
    samples: Distribution | Result, results: Sequence[Result], metric: Metric
) -> float | None:
    """Return the metric of merged samples, None if they do not allow it."""
    return _statistic(samples, results, metric)[0]


def usual(line: Line) -> tuple[Metric, ...]:
    """Return the metrics that are followed unless others are named.

    Where activations are counted those that were missed are among them: they are in no percentile
    of the samples, and what is lost is worse than what is late.  Where there are no samples it is
    the figure that sums up the results.
    """
    if next(merits(line), None):
        return ("figure",)
    counts = any(observation.result.missed is not None for run in line.runs for observation in run)
    return ("p50", "p99", "missed") if counts else ("p50", "p99")


def corrected(line: Line, metric: Metric) -> bool:
    """Return whether values of a metric include activations that were omitted."""
    return metric in PERCENTILES and any(
        whole(observation.result) is not observation.result
        for run in line.runs
        for observation in run
    )


def off(results: Sequence[Result], value: float | None) -> float | None:
    """Return the share by which a value may be off, as samples are known to half a bucket.

    None where the buckets are not known, as of another tool's data.
    """
    if not value or value < 0:
        return None
    shares = []
    for result in results:
        if result.grid is None:
            return None
        tick, bits = result.grid.per_tick, result.grid.bits  # docs/reference/wire.md
        fine = value < tick * 2 ** (bits + 1)
        shares.append(tick / 2 / value if fine else 2.0 ** -(bits + 1))
    return max(shares)
