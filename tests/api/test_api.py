"""``rtstone.run`` on a system with known costs, and on agents that fail."""

from __future__ import annotations

import math
import operator
import pickle
import pydoc
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

import rtstone
import rtstone.api
from rtstone import Quantity, ms, ns, s, us
from rtstone.errors import Inconclusive, RtstoneError, Unfit, UsageError
from rtstone.statistics import NAMES
from rtstone.store.index import find
from rtstone.store.rundir import load
from rtstone.wire.reader import Noise, Reader, Record
from tests.conftest import Fake


def sim(bench: str = "sem.wait.free", samples: int = 1000, **more: object) -> rtstone.Measured:
    return rtstone.run(bench, target="sim", samples=samples, **more)  # type: ignore[arg-type]


def test_what_the_model_says_is_measured_and_kept() -> None:
    measured = sim()
    kept = load(find("last"))
    (result,) = kept.results
    assert measured.run == kept
    assert measured.path == find("last").absolute()
    assert (measured.n, measured.unit, measured.flags) == (1000, "ns", [])
    assert float(measured.p50) == result.p50
    assert measured.min <= measured.p50 <= measured.p99 <= measured.max < rtstone.us(1)
    assert measured.interval("p50")[0] <= measured.p50 <= measured.interval("p50")[1]
    assert "n 1 000" in repr(measured)
    assert "load none on sim" in repr(measured)


def test_parameters_loads_and_times_are_as_in_the_command_line() -> None:
    for period in ("2ms", rtstone.ms(2), 0.002):
        measured = sim("dk.periodic", 20, period=period, load="rt200")
        assert measured.result.params["period"] == 2_000_000
        assert measured.result.load == "rt200"
        assert measured.missed == 0
    timed = rtstone.run("dk.periodic", target="sim", time=rtstone.ms(50))
    assert (timed.result.params["samples"], timed.result.params["time"]) == (0, 50_000_000)


def test_a_quantity_is_written_with_its_unit_and_all_its_digits() -> None:
    for given, written in [
        (ms(0.1), "100000ns"), (s(1.1), "1100000000ns"), (s(3599.999999999), "3599999999999ns"),
        (ns(0.4), "0.4ns"), (Quantity(64, "B"), "64B"), (us(2) - us(1), "1000.0"),
    ]:  # fmt: skip
        assert rtstone.api._written(given) == written


def test_ctrl_c_is_one_at_any_time(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both while the agent lists its benches and while it measures."""
    listing = Reader.feed
    for at in ("catalogue", "measuring"):

        def feed(self: Reader, line: bytes, at: str = at) -> Iterator[Record | Noise]:
            if at == "catalogue" or b'"t": "case"' in line:
                signal.raise_signal(signal.SIGINT)
            return listing(self, line)

        monkeypatch.setattr(Reader, "feed", feed)
        with pytest.raises(KeyboardInterrupt):
            rtstone.run("null")


def test_a_percentile_that_n_does_not_allow_is_no_number() -> None:
    measured = sim()
    with pytest.raises(Inconclusive, match="p9999 needs n >= 100 000, there are 1 000"):
        assert measured.p9999 < rtstone.us(50)
    with pytest.raises(Inconclusive, match="sd needs n >= 2, there are 1"):
        _ = sim(samples=1).sd
    with pytest.raises(Inconclusive, match="does not count missed activations"):
        _ = measured.missed
    with pytest.raises(UsageError, match=r"unknown figure 'did not hav'.*did not have to wait"):
        sim("sem.wait.busy").figure("did not hav")


@pytest.mark.parametrize(
    ("asked", "kind", "says"),
    [
        ({"bench": "dk.periodik"}, UsageError, "did you mean 'dk.periodic'?"),
        ({"bench": "dk.periodic", "target": "sin"}, UsageError, "did you mean 'sim'?"),
        ({"bench": "dk.periodic", "sampels": 3}, UsageError, "did you mean 'samples'?"),
        ({"bench": "dk.periodic", "load": "hevy"}, UsageError, "did you mean 'heavy'?"),
        ({"bench": "dk.periodic", "time": "soon"}, UsageError, "bad value 'soon' of time"),
        (
            {"bench": "dk.periodic", "period": Quantity(10**6, "instructions")},
            UsageError,
            "bad value '1000000instructions' of period",
        ),
        ({"bench": "dk.periodic", "samples": us(5)}, UsageError, "bad value '5000ns' of samples"),
        ({"bench": "dk.periodic", "time": ns(0.4)}, UsageError, "bad value '0.4ns' of time"),
        ({"bench": "dk.periodic", "period": us(1.2345678)}, UsageError, "bad value '1234.5678ns'"),
        ({"bench": "dk.periodic", "period": ns(math.inf)}, UsageError, "bad value 'infns'"),
        ({"bench": "posix.options"}, Unfit, "this target has no bench posix.options"),
        ({"bench": "dk.periodic", "load": "heavy"}, Unfit, "the model says nothing of this load"),
    ],
)
def test_what_cannot_be_measured(
    asked: dict[str, object], kind: type[RtstoneError], says: str
) -> None:
    with pytest.raises(kind) as raised:
        rtstone.run(**{"target": "sim", **asked})  # type: ignore[arg-type]
    assert says in str(raised.value)


def test_without_rights_there_is_no_number_unless_that_is_accepted(fake: Fake) -> None:
    fake(sched="other", locked=False)
    measured = rtstone.run("ctx.ballast")
    assert {"no_rt", "no_mlock"} <= set(measured.flags)
    for name in ("p50", "max", "missed"):
        with pytest.raises(Unfit, match="ran without real-time scheduling; run as root"):
            getattr(measured, name)
    assert measured.accept("no_rt").p50 > 0
    with pytest.raises(UsageError, match="did you mean 'no_rt'"):
        measured.accept("no_rtt")


def test_an_agent_that_dies_or_loses_a_case(fake: Fake) -> None:
    fake(at=1, fate="kill")
    with pytest.raises(RtstoneError, match="was killed by SIGKILL"):
        rtstone.run("null")
    assert load(find("last")).status == "incomplete"
    fake(wire={"5": "damage"})
    with pytest.raises(Inconclusive):
        rtstone.run("null")


def test_off_the_main_thread() -> None:
    found: list[rtstone.Measured] = []
    thread = threading.Thread(target=lambda: found.append(sim(samples=30)))
    thread.start()
    thread.join()
    assert found[0].n == 30


def test_quantities_know_their_unit() -> None:
    assert rtstone.us(50) == rtstone.ns(50_000) == 50_000
    assert rtstone.ms(1) > rtstone.us(999.9)
    assert rtstone.s(2) >= 2 * rtstone.s(1)
    assert not rtstone.us(1) <= 999
    assert repr(rtstone.us(61.23)) == str(rtstone.us(61.23)) == "61.2 µs"
    assert pickle.loads(pickle.dumps(rtstone.Quantity(5, "%"))).unit == "%"
    with pytest.raises(UsageError, match="instructions and ns cannot be compared"):
        assert rtstone.Quantity(5, "instructions") < rtstone.us(50)
    assert not operator.ne(us(50), 50_000.0)
    for one, other in [(us(50), Quantity(50_000, "instructions")), (Quantity(1, "%"), ns(5))]:
        for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
            with pytest.raises(UsageError, match="cannot be compared"):
                compare(one, other)
    assert us(50) != us(51) and us(50) != 3
    assert rtstone.ns(5) != "5"
    assert len({rtstone.ns(5), rtstone.ns(5.0)}) == 1


def test_importing_it_loads_nothing() -> None:
    code = "import rtstone, sys; print(*(m for m in sys.modules if m.startswith('rtstone.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
    with pytest.raises(AttributeError, match="no attribute 'rnu'"):
        _ = rtstone.rnu


# ---- suites, stored runs, tables ----------------------------------------------------------------

SUITE = """
[[case]]
bench = "sem.wait.free"
params = { samples = 1000 }
[[case]]
bench = "dk.periodic"
params = { samples = 20, period = ["1ms", "2ms"] }
[[case]]
bench = "posix.options"
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(SUITE)
    return path


def test_a_suite_has_cases(suite: Path) -> None:
    measured = rtstone.run(str(suite), target="sim")
    assert len(measured.cases) == 4
    assert measured.case("sem.wait.free").p50 > 0
    assert measured.case("dk.periodic", period=2_000_000).result.params["period"] == 2_000_000
    assert repr(measured).endswith("on sim: 4 cases>")
    with pytest.raises(UsageError, match=r"4 cases were measured, not one; take one of \.cases"):
        _ = measured.p50
    with pytest.raises(UsageError, match=r"2 cases of dk\.periodic match, not one"):
        measured.case("dk.periodic")
    with pytest.raises(UsageError, match=r"did you mean 'dk\.periodic'"):
        measured.case("dk.periodik")
    with pytest.raises(Unfit, match=r"no bench posix\.options"):
        _ = measured.case("posix.options").p50


def test_several_values_of_a_parameter_are_several_cases() -> None:
    measured = sim("dk.periodic", 20, period="1ms,2ms")
    assert [case.result.params["period"] for case in measured.cases] == [10**6, 2 * 10**6]
    assert measured.run.suite is None


def test_a_load_takes_the_place_of_those_of_a_suite(suite: Path) -> None:
    suite.write_text('loads = ["rt200"]\n' + SUITE)
    for given, found in ((None, "rt200"), ("none", "none")):
        cases = rtstone.run(str(suite), target="sim", load=given).cases
        assert {case.results[0].load for case in cases} == {found}


def test_a_case_is_measured_until_it_is_known() -> None:
    measured = rtstone.run("sem.wait.free", target="sim", until="ci=5%")
    assert measured.result.until is not None
    assert measured.result.ended == "ci"
    with pytest.raises(UsageError, match="--time and --until both end a case"):
        rtstone.run("sem.wait.free", target="sim", until="ci=5%", time=1)


def test_stored_runs_are_loaded_compared_and_checked(tmp_path: Path) -> None:
    first, other = sim(), sim(samples=2000)
    assert rtstone.load() == rtstone.load("last") == rtstone.load(other.path) == other.run
    assert rtstone.load("last~1") == first.run
    with pytest.raises(UsageError, match="no run 'nothing'"):
        rtstone.load("nothing")
    by_name = rtstone.compare("last~1", "last")
    assert by_name == rtstone.compare(first, other) == rtstone.compare(first.run, other.path)
    assert [column.runs for column in by_name.columns] == [[first.run.run_id], [other.run.run_id]]
    joined = rtstone.compare([first, other], sim("sem.wait.free", 500))
    assert len(joined.columns) == 2
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "sem.*"\np50 = "1us"\n')
    assert rtstone.check(other, budget).verdict == "passed"
    budget.write_text('[[case]]\nbench = "sem.*"\np50 = "+10%"\n')
    with pytest.raises(UsageError, match="there is no baseline"):
        rtstone.check("last~1", str(budget))
    assert rtstone.check("last~1", budget, baseline=["last~2"]).baselines == [first.run.run_id]


def test_a_result_is_an_array_of_its_histogram() -> None:
    result = sim().result
    array = result.to_numpy()
    assert array.dtype.names == ("value", "count")
    assert array["count"].sum() == result.n
    assert array.tolist() == result.histogram
    assert (array["value"][0], array["value"][-1]) == (result.min, result.max)


class Frame(NamedTuple):
    """Stands in for pandas.DataFrame and keeps its arguments."""

    rows: Any


def test_tables_for_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=Frame))
    measured = sim()
    assert measured.result.to_frame().rows.tolist() == measured.result.histogram
    (row,) = measured.run.to_frame().rows
    assert (row["bench"], row["p50"], row["n"]) == ("sem.wait.free", measured.result.p50, 1000)
    assert (row["params.samples"], row["flags"]) == (1000, "")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"needs pandas; install it with: pip install 'rtstone\["):
        measured.result.to_frame()


def test_what_is_public_is_there() -> None:
    assert set(dir(rtstone)) >= {"__all__"}
    assert sorted(rtstone.__all__) == sorted(set(rtstone.__all__))
    for name in rtstone.__all__:
        assert getattr(rtstone, name) is not None
    assert {*rtstone.api.__all__} - {"HISTORY"} == {*rtstone.__all__} - {"__version__"}
    raised = {kind.__name__ for kind in RtstoneError.__subclasses__()} | {"RtstoneError", "Unfit"}
    assert raised <= {*rtstone.__all__}


CLASSES = [one for name in rtstone.__all__ if isinstance(one := getattr(rtstone, name), type)]


@pytest.mark.parametrize("kind", CLASSES)
def test_help_explains_every_attribute(kind: type) -> None:
    assert kind.__doc__
    for field in getattr(kind, "__struct_fields__", ()):
        if field not in NAMES:  # as a statistic, explained at Measured
            assert f"``{field}``" in kind.__doc__, field
    for attribute, value in vars(kind).items():
        if not attribute.startswith("_") and (isinstance(value, property) or callable(value)):
            assert value.__doc__, attribute


def test_help_says_how_many_samples_a_statistic_needs() -> None:
    assert vars(rtstone.Measured).keys() >= set(NAMES)
    shown = pydoc.render_doc(rtstone.Measured)
    assert "The value that 99.9% of the samples do not exceed; needs n >= 10 000." in shown
