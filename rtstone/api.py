"""The Python API: measure, load, compare and check.

rtstone.run("dk.periodic", load="heavy").p99
rtstone.compare("last~1", "last")
rtstone.check("last", limit="wakeup p999<=100us").verdict
rtstone.load("last").case("dk.periodic").histogram()
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from fractions import Fraction
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from msgspec import structs

from rtstone.documents.case_name import result_names
from rtstone.documents.check import Gate
from rtstone.documents.comparison import Comparison
from rtstone.documents.other_names import is_called
from rtstone.documents.plan import NONE
from rtstone.documents.run import LOCAL, Result, Run
from rtstone.documents.sections import SectionsOfRun
from rtstone.errors import (
    Inconclusive,
    Interrupted,
    RtstoneError,
    StoreError,
    TargetError,
    Unfit,
    UsageError,
    unknown,
)
from rtstone.interrupt import Interrupt
from rtstone.measure.exclusive import alone
from rtstone.measure.listener import Listener
from rtstone.measure.request import Request
from rtstone.measure.requirement import parse
from rtstone.measure.start import start
from rtstone.report.parts.words import observed
from rtstone.results.edges import edged, whole_line
from rtstone.results.estimates import Estimate, estimate_whole
from rtstone.results.flags import BY_NAME as FLAGS
from rtstone.results.flags import spoilt, unfit
from rtstone.results.omitted import whole
from rtstone.results.pool import percentile
from rtstone.stats.budget import load as load_budget
from rtstone.stats.comparison.compare import compare as compare_runs
from rtstone.stats.explainable import choose
from rtstone.stats.gate import check as check_run
from rtstone.stats.gate import check_requirement
from rtstone.stats.section_gate import check_limits, with_sections
from rtstone.stats.trend.baseline_gate import gate as baseline_gate
from rtstone.store.baseline import baselines
from rtstone.store.index import find
from rtstone.store.measurements import before
from rtstone.store.rundir import load as load_run
from rtstone.store.rundir import samples as load_samples
from rtstone.summary import BY_NAME, ENOUGH, ESTIMATED, PERCENTILES, SINGLE, WHOLE, least_n
from rtstone.units import Quantity, count, ms, ns, s, us
from rtstone.wire.parameters import duration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "HISTORY", "Comparison", "Gate", "Histogram", "Inconclusive", "Interrupted", "Measured",
    "Quantity", "Result", "RtstoneError", "Run", "StoreError", "TargetError", "Unfit", "UsageError",
    "check", "compare", "judge", "load", "ms", "ns", "run", "s", "us",
]  # fmt: skip

Given = str | float | bool | Quantity
Stored: TypeAlias = "Run | Measured | str | Path"  # a run, or how to find it


class Histogram(NamedTuple):
    """Counts of samples, and the edges between them, of which there is one more.

    Bucket k holds what is at least ``edges[k]`` and less than ``edges[k + 1]``.  The edges are the
    recorder's; a stretch without samples is one bucket.  The counts add up to n: what lies beyond
    the recorder's range is in a last bucket, which ends at infinity.
    """

    counts: NDArray[np.int64]
    edges: NDArray[np.float64]


class _Statistic(property):
    """A property for the statistic of its name, documented by the table of statistics."""

    if TYPE_CHECKING:

        def __get__(self, measured: Any, owner: Any = None) -> Quantity: ...  # type: ignore[override]

    def __set_name__(self, owner: type[Measured], name: str) -> None:
        super().__init__(lambda measured: measured._value(name))
        self.__doc__ = BY_NAME[name].help


class Measured:
    """A measurement: one distribution, or several ``cases`` or ``series`` to choose from.

    ``run``: the document of the whole run.  ``path``: its directory.  ``results``: the result
    documents, one per case and series.

    Statistics are a ``Quantity`` in ns, or in instructions for an emulated lab, and include omitted
    activations.  Accessing one raises UsageError if there are several cases or series, Inconclusive
    for a percentile that n does not allow, and Unfit for a result that was not measured properly
    (see ``accept``).
    """

    min = _Statistic()
    mean = _Statistic()
    sd = _Statistic()
    p50 = _Statistic()
    p90 = _Statistic()
    p99 = _Statistic()
    p999 = _Statistic()
    p9999 = _Statistic()
    max = _Statistic()

    def __init__(
        self, document: Run, path: Path, results: Sequence[Result], accepted: frozenset[str]
    ) -> None:
        self.run = document
        self.path = path
        self.results = list(results)
        self._accepted = accepted

    @property
    def cases(self) -> list[Measured]:
        """Each case by itself, in the order in which they ran."""
        numbers = dict.fromkeys(result.case for result in self.results)
        return [
            Measured(self.run, self.path, [r for r in self.results if r.case == n], self._accepted)
            for n in numbers
        ]

    def case(self, bench: str, load: str | None = None, **params: Given) -> Measured:
        """Return the one case of a bench under a load with these parameters.

        ``params``: values as in a result, times in ns.  Raises UsageError unless exactly one
        matches.
        """
        matches = [
            case
            for case in self.cases
            if is_called((first := case.results[0]).bench, bench, first.params)
            and load in {None, first.load}
            and all(first.params.get(name) == value for name, value in params.items())
        ]
        if len(matches) != 1:
            benches = {result.bench for result in self.results}
            if not any(is_called(each, bench) for each in benches):
                raise unknown("bench", bench, benches, "of what was measured")
            raise UsageError(f"{len(matches)} cases of {bench} match, not one; see .cases")
        return matches[0]

    @property
    def single(self) -> Measured:
        """The calls of a batched measurement timed one by one, which have a maximum and a tail.

        Raises UsageError if there are none.
        """
        if self.result.single is None:
            why = "it has no batches" if self.result.batch == 1 else "its agent has no room for it"
            raise UsageError(f"no single calls of {self._name}: {why}")
        return Measured(
            structs.replace(self.run, results=[self.result.single]), self.path,
            [self.result.single], self._accepted,
        )  # fmt: skip

    @property
    def series(self) -> dict[str, Measured]:
        """The distributions by name: one per CPU, for example; "" if there is only one."""
        return {
            result.series: Measured(self.run, self.path, [result], self._accepted)
            for result in self.results
        }

    @property
    def result(self) -> Result:
        """The result document.  Raises UsageError if there are several cases or series."""
        if len(self.results) == 1:
            return self.results[0]
        if (number := len(self.cases)) != 1:
            raise UsageError(f"{number} cases were measured, not one; take one of .cases")
        names = ", ".join(f"'{name}'" for name in self.series)
        raise UsageError(f"{self._name} has several series: {names}; take one of .series[…]")

    def accept(self, *flags: str) -> Measured:
        """Return the same measurement, trusted despite these flags (``no_rt``, say)."""
        for flag in flags:
            if flag not in FLAGS:
                raise unknown("flag", flag, FLAGS)
        return Measured(self.run, self.path, self.results, self._accepted.union(flags))

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.result.n

    @property
    def unit(self) -> str:
        """The unit of the statistics."""
        return self.result.unit

    @property
    def missed(self) -> int:
        """The number of missed activations.  Raises Inconclusive if they were not counted."""
        self._check_trusted()
        if self.result.missed is None:
            raise Inconclusive(f"{self._name} does not count missed activations")
        return self.result.missed

    @property
    def flags(self) -> list[str]:
        """The names of the flags of the result, which `rtstone show` explains."""
        return list(self.result.flags)

    def figure(self, name: str) -> Quantity:
        """Return a figure, such as ``breakdown utilisation``.  Raises UsageError, Inconclusive."""
        self._check_trusted()
        figures = self.result.figures
        if name not in figures:
            raise unknown("figure", name, figures, f"of {self._name}")
        figure = figures[name]
        if figure.value is None:
            raise Inconclusive(f"{name} of {self._name} is not known")
        return Quantity(figure.value, figure.unit)

    def interval(self, statistic: str) -> tuple[Quantity, Quantity]:
        """Return the 95% interval of the mean or a percentile.  Raises as the statistic does."""
        if statistic not in ESTIMATED:
            raise unknown("statistic", statistic, ESTIMATED, "of those with an interval")
        self._value(statistic)
        estimate: Estimate | None = estimate_whole([self.result], statistic)
        if estimate is None:
            stalls = "too few stalls omitted activations"
            few = stalls if self.result.missed else "n is too small"
            raise Inconclusive(f"{few} for an interval of {statistic}, of {self._name}")
        return Quantity(estimate.low, self.unit), Quantity(estimate.high, self.unit)

    def percentile(self, q: float) -> Quantity:
        """Return the value that q percent of the samples do not exceed: ``percentile(99.9)``.

        By the rule of ``p999`` and its like, from the buckets, with omitted activations counted in.
        Raises Inconclusive unless n >= 10/(1 - q/100), UsageError for a q that is none.
        """
        share = _share(q)
        named = {Fraction(part, WHOLE): name for name, part in PERCENTILES.items()}
        if share in named:
            return self._value(named[share])
        self._check_trusted()
        sampled = whole(self.result)
        needed = ceil(ENOUGH / (1 - share))
        if sampled.n < needed:
            raise Inconclusive(f"{_too_few(f'p{q:g}', needed, sampled.n)}, of {self._name}")
        means = sampled.batch > 1 and share > Fraction(SINGLE, WHOLE)
        exact = not means and (sampled.p50 is not None or sampled.n < least_n("p50"))
        value = percentile(sampled, share)
        if value is None or not exact:
            raise Inconclusive(f"{self._lack(f'p{q:g}')}, of {self._name}")
        return Quantity(value, self.unit)

    def samples(self) -> NDArray[np.float64]:
        """Return every sample, in the order in which they were taken, in ``unit``.

        They are net of the clock's overhead, as all statistics are; in a measurement that is not
        trusted, too.  Omitted activations are no samples.  Raises UsageError unless each was kept
        (``raw=True, samples=…``), Inconclusive if some were lost.
        """
        return load_samples(self.path, self.run, self.result)

    def histogram(self, *, corrected: bool = False) -> Histogram:
        """Return the samples counted in the recorder's buckets, in ``unit``.

        ``corrected``: with omitted activations counted in, as the percentiles have them.  Raises
        UsageError where there is no histogram.
        """
        import numpy as np

        sampled = whole(self.result) if corrected else self.result
        buckets = edged(self.result, sampled)
        if not buckets:
            why = "only figures" if not sampled.n else "the edges of its buckets are not known"
            raise UsageError(f"no histogram of {self._name}: {why}; see .result")
        line = whole_line(buckets)
        return Histogram(
            np.array([bucket.n for bucket in line], np.int64),
            np.array([line[0].low, *(bucket.high for bucket in line)], np.float64),
        )

    def to_frame(self) -> Any:
        """Return a pandas.DataFrame with a row for each result: its case and its statistics.

        Parameters are columns ``params.NAME``, in the units of ``attrs["units"]``.  Raises
        UsageError if pandas is not installed.
        """
        return self._part.to_frame()

    @property
    def _part(self) -> Run:
        """The document of the run with these results alone."""
        return structs.replace(self.run, results=self.results)

    def _repr_html_(self) -> str:
        from rtstone.report.run.notebook import notebook

        return notebook(self._part)

    def _value(self, name: str) -> Quantity:
        self._check_trusted()
        value = getattr(self.result if name in {"min", "max"} else whole(self.result), name)
        if value is None:
            raise Inconclusive(f"{self._lack(name)}, of {self._name}")
        return Quantity(value, self.unit)

    def _lack(self, name: str) -> str:
        n = self.n
        if not n:
            figures = ", ".join(self.result.figures)
            return f"no samples, only figures ({figures})"
        if name in BY_NAME and name != "max" and n < least_n(name):
            return _too_few(name, least_n(name), n)
        if self.result.batch > 1:
            instead = f"; .single.{name} is of calls one by one" if self.result.single else ""
            return f"no {name}, as samples are means of several operations{instead}"
        return f"no {name}, as it lies beyond what the tool recorded"

    def _check_trusted(self) -> None:
        if self.result.status != "ok":
            raise _invalid(self.results, None)
        if flag := spoilt(self.result.flags, self._accepted):
            proof = unfit(self.result.flags, self.result.n, self.result.missed)
            remark = f" (as it was run, {proof})" if proof else ""
            raise Unfit(
                f"{self._name} {flag.cause}{remark}; {flag.advice}; or .accept('{flag.name}') to "
                "use it as it is"
            )

    @property
    def _name(self) -> str:
        """The name of the case, with its series if that was chosen."""
        name = result_names(self.run)[self.run.results.index(self.results[0])]
        return (name if len(self.results) == 1 else name._replace(series="")).with_load

    def __repr__(self) -> str:
        if (number := len(self.cases)) != 1:
            return f"<{self.run.suite or 'cases'} on {self.run.target.name}: {number} cases>"
        if len(self.results) > 1:
            return f"<{self._name} on {self.run.target.name}: {len(self.results)} series>"
        result = whole(self.result)
        statistics = {name: getattr(result, name) for name in ("p50", "p99", "max")}
        parts = [
            f"{name} {Quantity(v, self.unit)}" for name, v in statistics.items() if v is not None
        ]
        time = observed(self.result)
        n = f"n {count(result.n)}" + (f" in {time}" if time else "")
        flags = f"; {' '.join(self.result.flags)}" if self.result.flags else ""
        return f"<{self._name} on {self.run.target.name}: {', '.join([n, *parts])}{flags}>"


class History:
    """The latest measurements and their total number, for the pytest plug-in."""

    def __init__(self) -> None:
        self.total = 0
        self.latest: deque[Measured] = deque(maxlen=64)

    def add(self, measured: Measured) -> None:
        """Add a measurement."""
        self.total += 1
        self.latest.append(measured)


HISTORY = History()


def run(
    bench: str,
    *,
    load: str | None = None,
    target: str = LOCAL,
    time: str | float | Quantity | None = None,
    until: str | None = None,
    limit: str | Quantity | None = None,
    name: str | None = None,
    **params: Given,
) -> Measured:
    """Measure a bench or a suite, and store the run where `rtstone list runs` finds it.

    Waits while another program of this user measures on this machine.

    ``time``, ``until``, ``limit`` and ``params`` are written as for `rtstone run`
    (``period="1ms"``, ``until="ci=2%"``; bare times are seconds), or are quantities
    (``period=rtstone.ms(1)``, ``limit=rtstone.us(100)``).  ``check`` judges the limit.
    Several values (``ballast="0,33"``) make several cases.  A suite has its own loads unless one is
    given.
    ``name``: what to call the run, which is then found by it: ``rtstone.load("tuned")``.

    Raises UsageError for an invalid request (a quantity of the wrong kind, a fraction of a ns),
    TargetError, StoreError and KeyboardInterrupt.  A single case also raises Unfit if the target
    cannot run it, and Inconclusive if it has no valid result; of several cases, each raises these
    when it is accessed.
    """
    with ExitStack() as stack:
        interrupt = _interrupt(stack)
        texts = {name: _written(value) for name, value in params.items()}
        options = [f"{name}={value}" for name, value in texts.items()]
        request = Request(
            names=[bench], target=target, loads=(load,) if load else (), params=texts,
            time=_written(time), until=until, limit=_written(limit), name=name,
            command=["rtstone.run", bench, load or NONE, *options],
        )  # fmt: skip
        try:
            stack.enter_context(alone(interrupt))
            document, directory, error = start(request, interrupt=interrupt, listener=Listener())
        except Interrupted:
            raise KeyboardInterrupt from None
    if interrupt.requested and not (error is None and document.until_stopped):
        raise KeyboardInterrupt
    results = [r for r in document.results if document.suite or is_called(r.bench, bench)]
    several = len({result.case for result in results}) > 1
    invalid = not results or any(result.status != "ok" for result in results)
    if (error and not isinstance(error, Inconclusive)) or (invalid and not several):
        raise _invalid(results, error)
    measured = Measured(document, directory.path, results, frozenset())
    HISTORY.add(measured)
    return measured


def judge(
    samples: ArrayLike,
    unit: str,
    period: float | str | None = None,
    *,
    due: ArrayLike | None = None,
    bench: str = "samples",
    load: str | None = None,
    limit: str | Quantity | None = None,
) -> Measured:
    """Judge samples that others took as if a run had: the lateness of a task, or any other times.

    ``samples``: numbers in ``unit`` ("ns", "us", "ms", "s"), in the order in which they were taken.
    ``period``: of the task, in the same unit or as "1ms"; it counts missed activations.  ``due``:
    when each activation was due; ``samples`` then are when they ran, and both of one clock.
    ``limit``: what is later is a miss, as for ``run``; ``check`` judges it.
    Nothing is stored.  Raises UsageError for what is no time.
    """
    import numpy as np

    from rtstone.formats.reading import LOAD, document
    from rtstone.formats.samples import from_array, judged, ticks
    from rtstone.formats.source import UNITS, Meaning, Source

    if unit not in UNITS:
        raise unknown("unit", unit, UNITS, "in judge()")
    arrays = [np.asarray(array) for array in ([samples] if due is None else [due, samples])]
    if isinstance(period, str):
        period_ns: int | None = duration(period, "in judge()")
    else:
        period_ns = None if period is None else round(period * UNITS[unit])
    required = parse(_written(limit), None)
    source = Source(
        "the array", b"".join(array.tobytes() for array in arrays),
        meaning=Meaning(
            UNITS[unit], period_ns or None, bench=bench,
            limit_ns=required.latency if required else None,
        ),
    )  # fmt: skip
    columns = [from_array(source, array).column(source, None) for array in arrays]
    if len({len(column) for column in columns}) > 1:
        source.refuse("not as many samples as were due", do="give one for each")
    reading = judged(source, [ticks(source, column) for column in columns])
    _, run = document(reading, source, "samples", [])
    results = [structs.replace(array, load=load or LOAD) for array in run.results]
    run = structs.replace(run, results=results, requirement=required)
    return Measured(run, Path(), results, frozenset())


def load(run: str | Path = "last") -> Measured:
    """Return what a stored run measured, given by directory, name, run id or its start, or `last`.

    ``.run`` is its document.  Raises UsageError unless exactly one run matches.
    """
    path = find(str(run)).absolute()
    document = load_run(path)
    return Measured(document, path, document.results, frozenset())


def compare(first: Stored | Sequence[Stored], *further: Stored | Sequence[Stored]) -> Comparison:
    """Compare runs with the first one, as `rtstone compare` does.

    Several runs of one system are given as a sequence.  Raises UsageError for runs that cannot be
    compared.
    """
    groups = [
        _document(group)
        if isinstance(group, Run | Measured | str | Path)
        else [_document(run) for run in group]
        for group in (first, *further)
    ]
    return compare_runs(groups, past=before)


def check(
    run: Stored,
    budget: str | Path | None = None,
    baseline: Sequence[Stored] = (),
    *,
    limit: str | Sequence[str] | None = None,
) -> Gate:
    """Check a run against a budget, as `rtstone check` does; ``.verdict`` is "passed" or not.

    ``limit``: without a budget, a limit as for `rtstone check --limit`, or several:
    ``"wakeup p999<=100us"``.  Limits of sections repeat a run of the lab.  ``baseline``: runs that
    relative limits are relative to, by default those that the budget names; without budget and
    limit the run must not be worse than these.  Without any of them it is checked against the
    ``limit`` that it was run with.

    Raises UsageError; for limits of sections also TargetError, Inconclusive and KeyboardInterrupt.
    """
    document = _document(run)
    before = [_document(stored) for stored in baseline]
    if limit is not None:
        if budget is not None:
            raise UsageError(
                "limit= is a limit without a budget; add it to the file, or check twice"
            )
        texts = [limit] if isinstance(limit, str) else list(limit)
        gate, of_sections = check_limits(document, texts, before, "limit=")
        return with_sections(gate, _sections(run, document), of_sections) if of_sections else gate
    if budget is not None:
        path = Path(budget)
        limits = load_budget(path)
        return check_run(document, limits, before or baselines(limits.baselines, path))
    if before:
        return baseline_gate(document, before, "the baseline")
    if (gate_of_run := check_requirement(document)) is None:
        raise UsageError(
            "no limit to check: the run has none; name a limit= or a budget, or run with limit="
        )
    return gate_of_run


def _sections(stored: Stored, document: Run) -> SectionsOfRun:
    """Return the sections of a stored run, which is repeated for them.  Raises as ``check``."""
    from rtstone.explain.sections import sections_of

    result = choose(document).result
    if isinstance(stored, Measured):
        directory = stored.path
    else:
        directory = find(document.run_id if isinstance(stored, Run) else str(stored)).absolute()
    with ExitStack() as stack:
        try:
            interrupt = _interrupt(stack)
            return sections_of(directory, document, result, interrupt=interrupt)
        except Interrupted:
            raise KeyboardInterrupt from None


def _interrupt(stack: ExitStack) -> Interrupt:
    """Return what Ctrl-C asks for, from now on until the stack ends."""
    interrupt = Interrupt()
    if threading.current_thread() is threading.main_thread():  # only it gets signals
        stack.enter_context(interrupt)
    return interrupt


def _document(stored: Stored) -> Run:
    if isinstance(stored, Measured):
        return stored.run
    return stored if isinstance(stored, Run) else load(stored).run


def _invalid(results: Sequence[Result], error: Exception | None) -> Exception:
    bad = next((result for result in results if result.status != "ok"), None)
    if bad is not None and bad.status == "unsupported":
        return Unfit(f"{bad.bench}, load {bad.load} is unsupported: {bad.reason}")
    if error is not None:
        return error
    return Inconclusive(f"{bad.bench}: {bad.reason or bad.status}" if bad else "no result")


def _share(q: float) -> Fraction:
    """Return a percentage as a share, exactly as it is written.  Raises UsageError."""
    share = Fraction(str(q)) / 100 if math.isfinite(q) else Fraction(0)
    if not 0 < share < 1:
        raise UsageError(f"no percentile {q:g}; write a percentage above 0 and below 100")
    if share < Fraction(1, 100):
        raise UsageError(f"a percentile of {q:g} percent; write {100 * q:g} if a share is meant")
    return share


def _too_few(name: str, needed: int, n: int) -> str:
    least = f"{name} needs n >= {count(needed)}, there are {count(n)}"
    return f"{least}; give a longer time= or more samples="


def _written(value: object) -> str | None:
    """Return the value as it would be written on the command line."""
    if value is None:
        return None
    return value.written if isinstance(value, Quantity) else str(value)
