"""Search for the breakdown of a task set on a target, beside that of its analysis."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import ceil

from rtstone.documents.breakdown_curve import (
    AnalysedBreakdown,
    BreakdownCurve,
    Breakpoint,
    BreakTest,
    Counted,
)
from rtstone.documents.tasks import Costs, Task, TaskSet, Work
from rtstone.documents.tasks_run import TasksRun
from rtstone.errors import Inconclusive, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.stats.breakdown_curve import Design
from rtstone.tasks.analysis.check import PARTS, at, margin, needs
from rtstone.tasks.breakdown_search import Subject, search
from rtstone.tasks.costs import timed
from rtstone.tasks.run import measure
from rtstone.tasks.scaling import HEAVIEST, RATES, WORK, check_scale, times
from rtstone.units import NS_PER_S

LIMITS: dict[Counted, float] = {"jobs": 0.01, "tests": 0.5}
RESOLUTION = 0.005  # utilisation
JOBS = 500  # due in a test of the whole set
PERIODS = 10  # of the rarest task in a test
LEAST_NS, MOST_NS = NS_PER_S, 60 * NS_PER_S  # duration of a test


def break_down(
    tasks: TaskSet,
    *,
    file: str,
    target: str,
    scale: str,
    load: str,
    exact: bool,
    interrupt: Interrupt,
    listener: Listener,
    command: Sequence[str] = (),
) -> Iterator[BreakdownCurve]:
    """Yield what is known of the breakdown after each level, each test of which is a stored run.

    ``exact``: tests on the target have no noise.  Raises as ``run.measure`` does.
    """
    tasks = timed(tasks, None)
    check_scale(tasks, scale)
    exact = exact and not random(tasks)
    counted = what_counts(tasks, exact=exact)
    design = level_design(tasks, scale, counted, exact=exact)
    length = duration(tasks)

    def test(level: int, seed: int) -> BreakTest:
        measured = measure(
            times(tasks, scale, Fraction(level, PARTS)), file=file, target=target, load=load,
            duration_ns=length, seed=seed, interrupt=interrupt, listener=listener,
            command=command,
        )  # fmt: skip
        return outcome(measured.document, counted, scale, seed)

    subject = Subject(
        file=file, title=tasks.title, target=target, load=load, scale=scale,
        counted=counted, duration_ns=length, parts=PARTS,
        analysed=analysed(tasks, scale),
    )  # fmt: skip
    yield from search(subject, design, test)


def level_design(tasks: TaskSet, scale: str, counted: Counted, *, exact: bool) -> Design:
    """Return the search of a task set: levels are ten-thousandths of what it demands.

    Raises UsageError if no factor can hold.
    """
    own, fixed = utilisation(tasks, scale), 0.0
    if scale not in {WORK, RATES}:
        whole, own = own, _share(tasks, tasks.task(scale))
        fixed = whole - own
    if own <= 0 or fixed >= HEAVIEST:
        raise UsageError(
            f"--scale {scale}: the other tasks of its CPU demand more than any system bears; "
            "give them less work"
        )
    high = ceil((HEAVIEST - fixed) / own * PARTS)
    limit = 0.0 if exact else LIMITS[counted]
    resolution = 1 if exact else max(1, round(RESOLUTION / own * PARTS))
    return Design(0, high, resolution, limit, exact)


def utilisation(tasks: TaskSet, scale: str) -> float:
    """Return what jobs take on average, as a share of the CPUs on which most is scaled."""
    shares: dict[tuple[int, ...], float] = {}
    for task in tasks.tasks:
        cpus = tuple(task.cpus)
        shares[cpus] = shares.get(cpus, 0.0) + _share(tasks, task)
    if scale not in {WORK, RATES}:
        return shares[tuple(tasks.task(scale).cpus)]
    return max(shares.values())


def _share(tasks: TaskSet, task: Task) -> float:
    """Return what the jobs of a task take on average, as a share of its CPUs."""
    return _mean_work(task.work) * _rate(tasks.source(task.name)) / len(task.cpus)


def _mean_work(work: Work) -> float:
    """Return the mean execution time of a job in ns."""
    if work.histogram:
        jobs = sum(number for _, number in work.histogram)
        return sum(time * number for time, number in work.histogram) / jobs
    return ((work.least_ns or 0) + (work.most_ns or 0)) / 2


def _rate(task: Task) -> float:
    """Return how many jobs of a task arrive per ns: a sporadic one waits twice its least distance
    on average (arrivals.py)."""
    period = task.period_ns or 1
    return 1 / (2 * period) if task.arrival == "sporadic" else 1 / period


def what_counts(tasks: TaskSet, *, exact: bool) -> Counted:
    """Return whether jobs that miss tell whether the needs of a set hold, or whole tests do.

    Where nothing has noise, the first miss tells that only if no need allows misses.  Raises
    UsageError if nothing is needed.
    """
    every = [need for task in tasks.tasks for need in needs(tasks, task)]
    late = {"deadline", "missed", "weakly_hard"}
    chained = any(chain.deadline_ns is not None for chain in tasks.chains)
    if not every and not chained:
        raise UsageError("nothing needs anything in this set; give a task a deadline or needs")
    if chained or any(need.measure not in late for need in every):
        return "tests"
    lenient = any(need.measure != "deadline" and need.limit > 0 for need in every)
    return "tests" if exact and lenient else "jobs"


def random(tasks: TaskSet) -> bool:
    """Return whether arrivals, releases or work of a set are drawn."""
    return any(
        task.arrival in {"sporadic", "poisson"}
        or task.jitter_ns
        or task.work.histogram
        or task.work.least_ns != task.work.most_ns
        for task in tasks.tasks
    )


def duration(tasks: TaskSet) -> int:
    """Return how long a test is in ns: so many jobs are due in it, and so many of the rarest."""
    rates = [_rate(tasks.source(task.name)) for task in tasks.tasks]
    return min(MOST_NS, max(LEAST_NS, ceil(JOBS / sum(rates)), ceil(PERIODS / min(rates))))


def outcome(document: TasksRun, counted: Counted, scale: str, seed: int) -> BreakTest:
    """Return what a test of a task set says.  Raises Inconclusive if it does not say that."""
    watched = [each for each in document.tasks if needs(document.set, document.set.task(each.task))]
    names = [task.task for task in watched if task.missed or task.outcome == "fails"]
    if counted == "jobs":
        missed, due = sum(task.missed for task in watched), sum(task.jobs for task in watched)
    elif document.outcome == "inconclusive":
        raise Inconclusive(
            f"a test of {document.duration_ns / NS_PER_S:g} s does not say whether the needs hold: "
            f"{document.sentence}"
        )
    else:
        missed, due = int(document.outcome == "fails"), 1
    return BreakTest(
        seed=seed, missed=missed, due=due, names=names, run=document.run_id,
        utilisation=utilisation(document.set, scale),
    )  # fmt: skip


# ---- the analysis -------------------------------------------------------------------------------


def analysed(tasks: TaskSet, scale: str) -> AnalysedBreakdown:
    """Return up to which factor all needs hold by analysis, on a system without costs."""
    costs = Costs()
    state = at(tasks, costs, Fraction(1))
    holds = all(item.verdict == "holds" for part in state for item in part)
    factor, first = margin(
        lambda factor: at(times(tasks, scale, factor), costs, Fraction(1)), holds
    )
    if factor is None:
        return AnalysedBreakdown(at=None, first=first)
    share = utilisation(times(tasks, scale, Fraction(factor).limit_denominator(PARTS)), scale)
    return AnalysedBreakdown(at=Breakpoint(factor=factor, utilisation=share), first=first)
