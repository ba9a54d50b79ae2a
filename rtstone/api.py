"""Measuring from a Python program: ``rtstone.run("dk.periodic", load="heavy").p99``."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from rtstone.assemble.estimates import Estimate, estimate_whole
from rtstone.assemble.flags import BY_NAME, spoilt
from rtstone.assemble.omitted import whole
from rtstone.documents.plan import NONE, Plan
from rtstone.documents.run import Result, Run
from rtstone.errors import Inconclusive, Interrupted, Unfit, UsageError, unknown
from rtstone.inputs import suite
from rtstone.interrupt import Interrupt
from rtstone.report.parts.words import observed
from rtstone.runner.exclusive import alone
from rtstone.runner.measure import Listener, measure, measured_cpus
from rtstone.runner.request import RunRequest, build_plan
from rtstone.stats.gate import needed
from rtstone.store.rundir import RunDirectory
from rtstone.targets import LOCAL
from rtstone.units import Quantity, count, ms, ns, s, us

__all__ = ["HISTORY", "Measured", "Quantity", "ms", "ns", "run", "s", "us"]

Given = str | float | bool | Quantity


class Measured:
    """What a case showed: one distribution, or several ``series`` of which one has to be named.

    Statistics are a ``Quantity`` in ns, or instructions in an emulated lab.  Where activations were
    omitted they are counted in.  What cannot be told raises instead: Inconclusive for a percentile
    that n does not allow, Unfit for a result that was not measured as it should be (see
    ``accept``).
    """

    def __init__(
        self, document: Run, path: Path, results: Sequence[Result], accepted: frozenset[str]
    ) -> None:
        self.run = document
        self.path = path  # of the run's directory
        self.results = list(results)  # documents, one of each series
        self._accepted = accepted

    @property
    def series(self) -> dict[str, Measured]:
        """Each distribution by its name: one per CPU, say; "" if there is only one."""
        return {
            result.series: Measured(self.run, self.path, [result], self._accepted)
            for result in self.results
        }

    @property
    def result(self) -> Result:
        """The document of the result.  Raises UsageError if there are several series."""
        if len(self.results) == 1:
            return self.results[0]
        names = ", ".join(f"'{name}'" for name in self.series)
        raise UsageError(f"{self._name} has several series: {names}; take one of .series[…]")

    def accept(self, *flags: str) -> Measured:
        """The same, to be believed although it has these flags (``no_rt``, say)."""
        for flag in flags:
            _check_flag(flag)
        return Measured(self.run, self.path, self.results, self._accepted.union(flags))

    @property
    def min(self) -> Quantity:
        """The smallest sample."""
        return self._value("min")

    @property
    def mean(self) -> Quantity:
        """The mean of all samples."""
        return self._value("mean")

    @property
    def sd(self) -> Quantity:
        """The standard deviation."""
        return self._value("sd")

    @property
    def p50(self) -> Quantity:
        """The median."""
        return self._value("p50")

    @property
    def p90(self) -> Quantity:
        """The 90th percentile, for which 100 samples are needed."""
        return self._value("p90")

    @property
    def p99(self) -> Quantity:
        """The 99th percentile, for which 1000 samples are needed."""
        return self._value("p99")

    @property
    def p999(self) -> Quantity:
        """The 99.9th percentile, for which 10 000 samples are needed."""
        return self._value("p999")

    @property
    def p9999(self) -> Quantity:
        """The 99.99th percentile, for which 100 000 samples are needed."""
        return self._value("p9999")

    @property
    def max(self) -> Quantity:
        """The largest sample of this run: no bound."""
        return self._value("max")

    @property
    def n(self) -> int:
        """Samples."""
        return self.result.n

    @property
    def unit(self) -> str:
        """Of the statistics."""
        return self.result.unit

    @property
    def missed(self) -> int:
        """Activations that never happened.  Raises Inconclusive where they are not counted."""
        self._check_trusted()
        if self.result.missed is None:
            raise Inconclusive(f"{self._name} does not count missed activations")
        return self.result.missed

    @property
    def flags(self) -> list[str]:
        """Names of the flags, which `rtstone show` explains."""
        return list(self.result.flags)

    def figure(self, name: str) -> Quantity:
        """A figure that is no statistic: ``breakdown utilisation``.  Raises UsageError."""
        self._check_trusted()
        figures = self.result.figures
        if name not in figures:
            raise unknown("figure", name, figures, f"of {self._name}")
        figure = figures[name]
        if figure.value is None:
            raise Inconclusive(f"{name} of {self._name} is not known")
        return Quantity(figure.value, figure.unit)

    def interval(self, statistic: str) -> tuple[Quantity, Quantity]:
        """The 95% interval of the mean or of a percentile.  Raises as the statistic does."""
        self._value(statistic)
        found: Estimate | None = estimate_whole([self.result], statistic)
        if found is None:
            stalls = "too few stalls omitted activations"
            few = stalls if self.result.missed else "n is too small"
            raise Inconclusive(f"{few} for an interval of {statistic}, of {self._name}")
        return Quantity(found.low, self.unit), Quantity(found.high, self.unit)

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
        if name.startswith("p") and n < needed(name):
            least = f"{name} needs n >= {count(needed(name))}, there are {count(n)}"
            return f"{least}; give a longer time= or more samples="
        return f"no {name}, for several operations make a sample"

    def _check_trusted(self) -> None:
        if flag := spoilt(self.result.flags, self._accepted):
            raise Unfit(
                f"{self._name} {flag.cause}; {flag.advice}; or .accept('{flag.name}') if it has "
                "to do as it is"
            )

    @property
    def _name(self) -> str:
        first = self.results[0]
        return f"{first.bench}, load {first.load}"

    def __repr__(self) -> str:
        if len(self.results) > 1:
            return f"<{self._name} on {self.run.target.name}: {len(self.results)} series>"
        result = whole(self.result)
        told = {name: getattr(result, name) for name in ("p50", "p99", "max")}
        parts = [f"{name} {Quantity(v, self.unit)}" for name, v in told.items() if v is not None]
        time = observed(self.result)
        n = f"n {count(result.n)}" + (f" in {time}" if time else "")
        flags = f"; {' '.join(self.result.flags)}" if self.result.flags else ""
        return f"<{self._name} on {self.run.target.name}: {', '.join([n, *parts])}{flags}>"


class History:
    """What was measured, for who shows what a test has measured: the latest, and how many."""

    def __init__(self) -> None:
        self.made = 0
        self.latest: deque[Measured] = deque(maxlen=64)

    def add(self, measured: Measured) -> None:
        """Takes note of one more."""
        self.made += 1
        self.latest.append(measured)


HISTORY = History()


def run(
    bench: str,
    *,
    load: str = NONE,
    target: str = LOCAL,
    time: str | float | Quantity | None = None,
    **params: Given,
) -> Measured:
    """Measures one case and keeps the run where `rtstone list runs` finds it.

    Programs of one user that measure on this machine wait for each other.

    ``time`` and ``params`` are written as for `rtstone run` (``period="1ms"``; bare times are
    seconds), or as a quantity (``period=rtstone.ms(1)``).  Raises RtstoneError: UsageError for what
    cannot be asked (a quantity of another kind, a part of a ns), Unfit for what the target cannot
    do, Inconclusive, TargetError; and KeyboardInterrupt.
    """
    with ExitStack() as stack:
        interrupt = Interrupt()
        if threading.current_thread() is threading.main_thread():  # nobody else can have signals
            stack.enter_context(interrupt)
        asked = suite.Asked(_texts(params), _written(time), None, (load,))
        command = ["rtstone.run", bench, load, *(f"{k}={v}" for k, v in asked.params.items())]
        try:
            stack.enter_context(alone(interrupt))
            place, plan = build_plan(RunRequest([bench], target, asked, command), interrupt)
        except Interrupted:
            raise KeyboardInterrupt from None
        _single(plan, bench)
        cpus = measured_cpus(plan, place)
        directory = RunDirectory(plan)
        document, error = measure(
            plan, place, cpus=cpus, directory=directory,
            listener=Listener(), interrupt=interrupt,
        )  # fmt: skip
    if interrupt.requested:
        raise KeyboardInterrupt
    results = [result for result in document.results if result.bench == bench]
    if not results or any(result.status != "ok" for result in results):
        raise _invalid(results, error)
    measured = Measured(document, directory.path, results, frozenset())
    HISTORY.add(measured)
    return measured


def _invalid(results: Sequence[Result], error: Exception | None) -> Exception:
    bad = next((result for result in results if result.status != "ok"), None)
    if bad is not None and bad.status == "unsupported":
        return Unfit(f"{bad.bench}, load {bad.load} is unsupported: {bad.reason}")
    if error is not None:
        return error
    return Inconclusive(f"{bad.bench}: {bad.reason or bad.status}" if bad else "no result")


def _check_flag(name: str) -> None:
    if name not in BY_NAME:
        raise unknown("flag", name, BY_NAME)


def _written(given: object) -> str | None:
    """What a person would have written in the command line."""
    if given is None:
        return None
    return given.written if isinstance(given, Quantity) else str(given)


def _texts(params: Mapping[str, Given]) -> dict[str, object]:
    return {name: _written(given) for name, given in params.items()}


def _single(plan: Plan, bench: str) -> None:
    """Raises UsageError unless the plan has one case of the bench."""
    cases = [*plan.cases, *plan.absent, *plan.derived]
    number = sum(case.bench == bench for case in cases)
    if not number:
        raise UsageError(f"{bench} is not a bench but a suite; run its cases one after the other")
    if number > 1:
        raise UsageError(f"several values of a parameter, of {bench}; run one case after the other")
