"""The pytest plug-in: shows what a failed test measured; sets target and budget for all tests.

Every pytest of an environment with rtstone loads it, so it imports nothing else of rtstone until a
test uses it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import pytest

if TYPE_CHECKING:
    from rtstone.api import Measured
    from rtstone.documents.check import Gate
    from rtstone.documents.run import Run
    from rtstone.stats.budget import Budget

_T = TypeVar("_T")
_BEFORE = pytest.StashKey[int]()  # measurements before the test and its fixtures
_REPORTED = pytest.StashKey[set[str]]()  # runs whose ids are in the report already
_CHECKED = pytest.StashKey["Checked"]()
_SHARED = pytest.StashKey[dict[tuple[str, object], "list[Measured]"]]()  # by fixtures: name, scope
_WORKERS = pytest.StashKey[list[dict[str, list[str]]]]()  # entries of the budget: all, and used
_LIMIT = "--rtstone-limit "  # what stands before a limit
_OUTPUT = "rtstone_budget"  # where a worker of pytest-xdist puts them


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the plug-in."""
    group = parser.getgroup("rtstone", "measuring how real-time a system is (rtstone)")
    group.addoption(
        "--rtstone-target", metavar="T", default="local",
        help="where the fixture rtstone_run measures; default local",
    )  # fmt: skip
    group.addoption(
        "--rtstone-budget", metavar="FILE", type=Path,
        help="budget that everything the fixture rtstone_run measures is checked against",
    )  # fmt: skip
    group.addoption(
        "--rtstone-limit", metavar="'BENCH p999<=100us'", action="append", default=[],
        help="a limit on what rtstone_run measures, without a budget; repeat it for several",
    )  # fmt: skip
    group.addoption(
        "--rtstone-baseline", metavar="URL",
        help="runs of a results server that measurements of rtstone_run must not be worse than: "
        "https://HOST/p/PROJECT/series/KEY, those of a series since its last change",
    )  # fmt: skip
    group.addoption(
        "--rtstone-unfit", choices=("fail", "skip"), default="fail",
        help="outcome of a test whose target cannot do what it measures, or lacks the rights to do "
        "it in real time; default fail",
    )  # fmt: skip


class Checked:
    """A budget, or limits without one, and the entries that have been checked."""

    def __init__(self, path: Path | None, limits: Sequence[str]) -> None:
        from rtstone.errors import UsageError
        from rtstone.stats.budget import load, stated
        from rtstone.stats.section_gate import limits_of
        from rtstone.store.baseline import baselines

        if path is not None and limits:
            raise UsageError("--rtstone-limit is a limit without a budget; add it to the file")
        of_sections, _ = limits_of(limits, _LIMIT)
        if of_sections:
            raise UsageError(
                "a limit of sections repeats the run; check it in a test, by rtstone.check(…, "
                "limit=…)"
            )
        self.budget: Budget = stated(limits, _LIMIT) if path is None else load(path)
        self.baselines: list[Run] = [] if path is None else baselines(self.budget.baselines, path)
        self.used: set[str] = set()

    def check(self, run: Run) -> Gate | None:
        """Return the verdicts of the entries that concern a run, None if none does."""
        from rtstone.stats.gate import check, concerning

        part = concerning(self.budget, run)
        self.used |= {entry.where for entry in part.entries}
        return check(run, part, self.baselines) if part.entries else None

    @property
    def places(self) -> list[str]:
        """The places of all entries."""
        return [entry.where for entry in self.budget.entries]


class Compared:
    """Runs of a results server that others must not be worse than."""

    def __init__(self, url: str) -> None:
        from tempfile import TemporaryDirectory

        from rtstone.server.client.fetch import earlier
        from rtstone.store.rundir import load

        self._url = url
        with TemporaryDirectory(prefix="rtstone-baseline-") as folder:
            fetched = earlier(url, Path(folder))
            self._runs, self._remark = list(map(load, fetched.runs)), fetched.remark

    def check(self, run: Run) -> Gate | None:
        """Return the verdicts on the cases of a run, None if the others have none of these."""
        from rtstone.stats.trend.baseline_gate import gate

        benches = {result.bench for run in self._runs for result in run.results}
        if not any(result.bench in benches for result in run.results):
            return None
        return gate(run, self._runs, self._url, self._remark)


class Runner:
    """Measures, and checks results against the budget and earlier runs, if any are named."""

    def __init__(self, target: str, gates: Sequence[Checked | Compared]) -> None:
        self._target = target
        self._gates = gates

    def __call__(self, bench: str, **options: Any) -> Measured:
        """Measure as rtstone.run does, on the session's target.  Fails the test beyond a limit."""
        import rtstone

        measured = rtstone.run(bench, **{"target": self._target, **options})
        for limits in self._gates:
            gate = limits.check(measured.run)
            if gate is not None and gate.exit_code:
                from rtstone.report.check import text as checked

                texts = checked.gate_lines(gate, measured.run.benches)
                lines = "\n".join(line.plain for line in texts)
                pytest.fail(lines, pytrace=False)
        return measured


@pytest.fixture(scope="session")
def rtstone_run(request: pytest.FixtureRequest) -> Runner:
    """rtstone.run on --rtstone-target: ``rtstone_run("dk.periodic", load="heavy")``.

    With --rtstone-budget or --rtstone-limit the test fails unless the limits that concern the case
    are kept; with --rtstone-baseline unless it is shown that it is not worse.
    """
    config = request.config
    path: Path | None = config.getoption("--rtstone-budget")
    limits: list[str] = config.getoption("--rtstone-limit")
    if (path is not None or limits) and _CHECKED not in config.stash:
        option = "--rtstone-limit" if path is None else "--rtstone-budget"
        config.stash[_CHECKED] = _named(option, lambda: Checked(path, limits))
    gates: list[Checked | Compared] = [config.stash[_CHECKED]] if _CHECKED in config.stash else []
    url: str | None = config.getoption("--rtstone-baseline")
    if url is not None:
        gates.append(_named("--rtstone-baseline", lambda: Compared(url)))
    return Runner(config.getoption("--rtstone-target"), gates)


def _named(option: str, constructor: Callable[[], _T]) -> _T:
    """Return what an option names.  Raises pytest.UsageError."""
    from rtstone.errors import RtstoneError

    try:
        return constructor()
    except RtstoneError as error:
        raise pytest.UsageError(f"{option}: {error}") from error


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skip a test whose fixtures found the target unfit, if requested."""
    item.stash[_BEFORE] = _total()
    item.stash[_REPORTED] = set()
    return (yield from _skipping(item))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skip a test whose target is unfit for it, if requested."""
    return (yield from _skipping(item))


def _skipping(item: pytest.Item) -> Generator[None, Any, Any]:
    try:
        return (yield)
    except Exception as error:
        errors = sys.modules.get("rtstone.errors")
        unfit = errors is not None and isinstance(error, errors.Unfit)
        if unfit and item.config.getoption("--rtstone-unfit") == "skip":
            pytest.skip(str(error))
        raise


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    """Record what a fixture measures, for all tests that use it."""
    before = _total()
    try:
        return (yield)
    finally:
        if number := _total() - before:
            shared = request.config.stash.setdefault(_SHARED, {})
            shared[fixturedef.argname, request.node] = _latest(number)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the ids of its runs to a test's report, and their results if it failed."""
    report = yield
    reported = item.stash.setdefault(_REPORTED, set())
    for measured in _of_test(item):
        if measured.run.run_id not in reported:
            reported.add(measured.run.run_id)
            item.user_properties.append(("rtstone run", measured.run.run_id))
        if report.failed:
            from rtstone.report.run.excerpt import excerpt
            from rtstone.stats.evaluate import evaluate_run
            from rtstone.store.layout import run_name

            path, evaluated = measured.path, evaluate_run(measured.run)
            excerpted = excerpt(
                evaluated, measured.results, path, run_name(path, measured.run.name)
            )
            report.sections.append((f"rtstone {measured!r}", excerpted))
    return report


def _of_test(item: pytest.Item) -> list[Measured]:
    """Return what a test and its fixtures have measured."""
    names, scopes = getattr(item, "fixturenames", ()), item.listchain()
    shared = item.config.stash.get(_SHARED, {})
    by_fixtures = [
        measured for (name, node), measurements in shared.items()
        if name in names and node in scopes for measured in measurements
    ]  # fmt: skip
    by_test = _latest(_total() - item.stash.get(_BEFORE, _total()))
    return list({id(measured): measured for measured in [*by_fixtures, *by_test]}.values())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Have a pytest-xdist worker report which entries of the budget it checked."""
    checked = session.config.stash.get(_CHECKED, None)
    output = getattr(session.config, "workeroutput", None)
    if checked is not None and output is not None:
        output[_OUTPUT] = {"all": checked.places, "used": sorted(checked.used)}


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Collect the report of a worker at its end."""
    if places := getattr(node, "workeroutput", {}).get(_OUTPUT):
        node.config.stash.setdefault(_WORKERS, []).append(places)


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """List entries of the budget that no test has measured: they may be typing errors."""
    outputs: list[dict[str, list[str]]] = config.stash.get(_WORKERS, []).copy()
    if checked := config.stash.get(_CHECKED, None):
        outputs.append({"all": checked.places, "used": sorted(checked.used)})
    used = {where for output in outputs for where in output["used"]}
    for where in dict.fromkeys(where for output in outputs for where in output["all"]):
        if where not in used:
            terminalreporter.write_line(f"rtstone: nothing was measured for {where}", yellow=True)


def _total() -> int:
    """Return the number of measurements, 0 if rtstone was not used."""
    api = sys.modules.get("rtstone.api")
    return cast(int, api.HISTORY.total) if api else 0


def _latest(number: int) -> list[Measured]:
    api = sys.modules.get("rtstone.api")
    return list(api.HISTORY.latest)[-number:] if api and number else []
