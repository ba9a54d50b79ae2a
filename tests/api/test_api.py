"""``rtstone.run`` on a system with known costs, and on agents that fail."""

from __future__ import annotations

import json
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
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec import structs

import rtstone
import rtstone.api
from rtstone import Quantity, ms, ns, s, us
from rtstone.documents.run import Distribution, Figure, Grid, Requirement, Result, Run, Target
from rtstone.documents.sections import SectionsOfRun
from rtstone.errors import Inconclusive, RtstoneError, Unfit, UsageError
from rtstone.results.pool import percentiles
from rtstone.stats.explainable import Choice
from rtstone.store.index import find, latest
from rtstone.store.rundir import load
from rtstone.summary import NAMES, PERCENTILES
from rtstone.wire.reader import Noise, Reader, Record
from tests.conftest import Cli, Fake
from tests.stats.test_gate import result
from tests.stats.test_gate import run as synthetic_run
from tests.stats.test_section_gate import DOCUMENT


def sim(bench: str = "sem.wait.free", samples: int = 1000, **members: object) -> rtstone.Measured:
    return rtstone.run(bench, target="sim", samples=samples, **members)  # type: ignore[arg-type]


def test_what_the_model_says_is_measured_and_kept() -> None:
    measured = sim()
    run = load(find("last"))
    (result,) = run.results
    assert measured.run == run
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
        assert repr(measured).startswith("<dk.periodic period=2ms, load rt200 on sim: ")
        assert measured.missed == 0
    timed = rtstone.run("dk.periodic", target="sim", time=rtstone.ms(50))
    assert (timed.result.params["samples"], timed.result.params["time"]) == (0, 50_000_000)


def test_a_quantity_is_written_with_its_unit_and_all_its_digits() -> None:
    for quantity, written in [
        (ms(0.1), "100000ns"), (s(1.1), "1100000000ns"), (s(3599.999999999), "3599999999999ns"),
        (ns(0.4), "0.4ns"), (Quantity(64, "B"), "64B"), (us(2) - us(1), "1000ns"),
    ]:  # fmt: skip
        assert rtstone.api._written(quantity) == written


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
    ("options", "kind", "says"),
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
        ({"bench": "posix.options"}, Unfit, "needs calls of POSIX, which this system"),
        ({"bench": "dk.periodic", "load": "heavy"}, Unfit, "the model says nothing of this load"),
    ],
)
def test_what_cannot_be_measured(
    options: dict[str, object], kind: type[RtstoneError], says: str
) -> None:
    with pytest.raises(kind) as raised:
        rtstone.run(**{"target": "sim", **options})  # type: ignore[arg-type]
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
    path = latest()
    assert path
    assert load(path).status == "incomplete"
    fake(wire={"result 1": "damage"}, forgets=True)
    with pytest.raises(Inconclusive):
        rtstone.run("null")


def test_off_the_main_thread() -> None:
    measured: list[rtstone.Measured] = []
    thread = threading.Thread(target=lambda: measured.append(sim(samples=30)))
    thread.start()
    thread.join()
    assert measured[0].n == 30


def test_quantities_know_their_unit() -> None:
    assert rtstone.us(50) == rtstone.ns(50_000)
    assert rtstone.ms(1) > rtstone.us(999.9)
    assert rtstone.s(2) >= 2 * rtstone.s(1)
    assert not rtstone.us(1) <= ns(999)
    assert repr(rtstone.us(61.23)) == str(rtstone.us(61.23)) == "61.2 µs"
    assert pickle.loads(pickle.dumps(rtstone.Quantity(5, "%"))).unit == "%"
    with pytest.raises(UsageError, match="instructions and ns cannot be compared"):
        assert rtstone.Quantity(5, "instructions") < rtstone.us(50)
    assert not operator.ne(us(50), ns(50_000))
    for left, other in [(us(50), Quantity(50_000, "instructions")), (Quantity(1, "%"), ns(5))]:
        for compare in (operator.eq, operator.ne, operator.lt, operator.ge):
            with pytest.raises(UsageError, match="cannot be compared"):
                compare(left, other)
    assert us(50) != us(51)
    assert rtstone.ns(5) != "5"
    assert len({rtstone.ns(5), rtstone.ns(5.0)}) == 1


COMPARING = (operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne)


@pytest.mark.parametrize("compare", COMPARING)
def test_a_quantity_is_not_compared_with_a_bare_number(compare: Any) -> None:
    says = r"50\.0 µs and the bare number 50 cannot be compared; compare with us\(50\), ms\(50\)"
    for left, other in ((us(50), 50), (50, us(50)), (50.0, us(50))):
        with pytest.raises(TypeError, match=says):
            compare(left, other)
    with pytest.raises(TypeError, match=r"compare with Quantity\(7, 'instructions'\)"):
        compare(Quantity(5, "instructions"), 7)
    # What is the same in every unit.
    assert compare(us(50), 0) == compare(50, 0)
    assert compare(us(50), math.inf) == compare(50, math.inf)
    assert us(50) == pytest.approx(us(51), rel=0.1)
    assert max(us(5), us(7)) == us(7)


def test_sums_and_multiples_of_quantities_have_a_unit() -> None:
    assert us(1) + us(2) == us(3) == 3 * us(1) == us(1) * 3 == us(6) / 2
    assert -us(1) < us(0) < abs(us(1) - us(3)) == us(2)
    assert type(us(6) / us(2)) is float and us(6) / us(2) == 3
    assert type(us(6) * us(2)) is type(us(1) + 5) is type(us(1) + Quantity(5, "%")) is float
    assert (us(1) * np.array([1, 2])).tolist() == [1000, 2000]
    assert float(sum([us(1), us(2)])) == 3000


def test_an_array_is_compared_with_a_quantity() -> None:
    array = np.array([40_000.0, 60_000.0])
    assert (array > us(50)).tolist() == [False, True]
    assert (us(50) < array).tolist() == [False, True]


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
    with pytest.raises(Unfit, match="needs calls of POSIX"):
        _ = measured.case("posix.options").p50


def test_several_values_of_a_parameter_are_several_cases() -> None:
    measured = sim("dk.periodic", 20, period="1ms,2ms")
    assert [case.result.params["period"] for case in measured.cases] == [10**6, 2 * 10**6]
    assert measured.run.suite is None


def test_a_load_takes_the_place_of_those_of_a_suite(suite: Path) -> None:
    suite.write_text('loads = ["rt200"]\n' + SUITE)
    for load_option, load_name in ((None, "rt200"), ("none", "none")):
        cases = rtstone.run(str(suite), target="sim", load=load_option).cases
        assert {case.results[0].load for case in cases} == {load_name}


def test_a_case_is_measured_until_it_is_known() -> None:
    measured = rtstone.run("sem.wait.free", target="sim", until="ci=5%")
    assert measured.result.until is not None
    assert measured.result.ended == "ci"
    with pytest.raises(UsageError, match="--time and --until both end a case"):
        rtstone.run("sem.wait.free", target="sim", until="ci=5%", time=1)


def test_a_latency_that_is_required_is_stored_and_judged() -> None:
    met = rtstone.run("dk.periodic", target="sim", time=1, limit="100us")
    assert met.run.requirement == Requirement(latency=100_000)
    assert rtstone.check(met).verdict == "passed"
    assert rtstone.check("last").checks[0].what == "missed"
    late = rtstone.run("dk.periodic", target="sim", time=1, limit=ns(100))
    assert rtstone.check(late).verdict == "failed"
    assert late.result.misses is not None
    assert late.result.misses.late == late.n
    with pytest.raises(UsageError, match="no limit to check: the run has none"):
        rtstone.check(sim())


def test_a_limit_needs_no_budget(cli: Cli) -> None:
    measured = rtstone.run("wakeup", target="sim", samples=1000)
    limits = ["wakeup max<=901ns", "dk.* p99.9<=1us"]
    gate = rtstone.check(measured, limit=limits)
    assert [check.verdict for check in gate.checks] == ["passed", "inconclusive"]
    as_commanded = cli("check", "last", *(f"--limit={limit}" for limit in limits), "--json")
    assert as_commanded.document == json.loads(msgspec.json.encode(gate))
    assert rtstone.check("last", limit="wakeup max<=899ns").verdict == "failed"
    assert rtstone.check(measured.run, limit="wakeup missed<=0").verdict == "passed"
    earlier = [sim("wakeup"), sim("wakeup")]
    relative = rtstone.check(measured, limit="wakeup p50<=+10%", baseline=earlier)
    assert (relative.verdict, len(relative.baselines)) == ("passed", 2)


def test_samples_of_ones_own_have_limits() -> None:
    late = np.arange(1, 101) * 1000
    gate = rtstone.check(rtstone.judge(late, "ns", bench="control"), limit="control max<=100us")
    assert gate.verdict == "passed"
    gate = rtstone.check(rtstone.judge(late, "ns", bench="control"), limit="control max<=99us")
    assert gate.verdict == "failed"


def test_a_limit_in_instructions() -> None:
    counted = synthetic_run(result([1990.0, 2000.0], unit="instructions"))
    assert rtstone.check(counted, limit="dk.periodic max<=2k instr").verdict == "passed"
    assert rtstone.check(counted, limit="dk.periodic max<=1999instr").verdict == "failed"
    with pytest.raises(UsageError, match="the samples are instructions"):
        rtstone.check(counted, limit="dk.periodic max<=2us")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limit": "wakeup"}, "no limit, in limit='wakeup'; write one such as"),
        ({"limit": "sections critical"}, "no limit, in limit='sections critical'"),
        ({"limit": "wakeup p50<=1s", "budget": "b.toml"}, "limit= is a limit without a budget"),
        ({"limit": "sections critical<=9"}, "cannot be explained: no system ran"),
    ],
)
def test_limits_that_are_refused(options: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        rtstone.check(sim("wakeup"), **options)


def test_a_limit_of_sections_repeats_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    repeated: list[Path] = []

    def sections(directory: Path, *_: object, **__: object) -> SectionsOfRun:
        repeated.append(directory)
        return DOCUMENT

    monkeypatch.setattr("rtstone.explain.sections.sections_of", sections)
    monkeypatch.setattr("rtstone.api.choose", lambda run: Choice(run.results[0], 1))
    measured = rtstone.run("wakeup", target="sim", samples=1000)
    limits = ["sections irqs-masked<=299", "wakeup max<=1s"]
    for stored in (measured, measured.run, "last", measured.path):
        gate = rtstone.check(stored, limit=limits)
        assert [check.verdict for check in gate.checks] == ["passed", "failed"]
    assert repeated == 4 * [measured.path]


def test_a_run_must_not_be_worse_than_a_baseline() -> None:
    earlier = [sim("wakeup") for _ in range(3)]
    gated = sim("wakeup")
    gate = rtstone.check(gated, baseline=[*earlier, gated])
    assert (gate.verdict, len(gate.baselines)) == ("passed", 3)
    worse = structs.replace(gated.run, run_id="worse", results=[
        structs.replace(own, p50=(own.p50 or 0.0) * 100) for own in gated.results
    ])  # fmt: skip
    assert rtstone.check(worse, baseline=earlier).verdict == "failed"
    with pytest.raises(UsageError, match="no earlier run, in the baseline: it names only the run"):
        rtstone.check(gated, baseline=[gated])
    with pytest.raises(UsageError, match="no bench in common"):
        rtstone.check(sim(), baseline=earlier)


def test_stored_runs_are_loaded_compared_and_checked(tmp_path: Path) -> None:
    first, other = sim(), sim(samples=2000)
    for name in ("last", other.path, other.run.run_id):
        assert rtstone.load(name).run == rtstone.load().run == other.run
        assert rtstone.load(name).path == other.path
    assert rtstone.load("last~1").run == first.run
    assert (rtstone.load().p50, rtstone.load().n) == (other.p50, 2000)
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


def test_tables_for_pandas(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured = sim()
    frame = measured.result.to_frame()
    assert list(frame.itertuples(index=False, name=None)) == measured.result.histogram
    assert frame.attrs["units"] == {"value": "ns"}
    (row,) = measured.to_frame().to_dict("records")
    assert (row["bench"], row["p50"], row["n"]) == ("sem.wait.free", measured.result.p50, 1000)
    assert (row["params.samples"], row["flags"], row["unit"]) == (1000, "", "ns")
    whole = rtstone.run(str(suite), target="sim")
    frame = whole.to_frame()
    assert frame["params.period"].tolist()[1:3] == [10**6, 2 * 10**6]
    assert frame.attrs["units"]["params.period"] == "ns"
    assert len(whole.case("dk.periodic", period=10**6).to_frame()) == 1
    assert whole.run.to_frame().equals(frame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UsageError, match=r"needs pandas; install it with: pip install 'rtstone\["):
        measured.result.to_frame()


# ---- samples, histograms, percentiles -----------------------------------------------------------


def test_samples_of_a_run_are_an_array() -> None:
    measured = sim("ctx.ballast", 1500, raw=True)
    array = measured.samples()
    assert array.dtype == np.float64 and len(array) == measured.n
    assert (array.min(), array.max()) == (measured.result.min, measured.result.max)
    assert array.mean() == pytest.approx(float(measured.mean), abs=1e-3)
    assert rtstone.load("last").samples().tolist() == array.tolist()
    counts, edges = measured.histogram()
    assert np.histogram(array, edges)[0].tolist() == counts.tolist()
    assert counts.sum() == measured.n
    with pytest.raises(UsageError, match=r"-p raw=on -p samples=N, else there is \.histogram"):
        sim().samples()
    with pytest.raises(UsageError, match="4 cases were measured, not one"):
        sim("dk.periodic", 20, period="1ms,2ms,3ms,4ms").samples()


def measured_by_hand(**members: Any) -> rtstone.Measured:
    """What was measured, by hand."""
    least = {"case": 1, "bench": "dk.periodic", "params": {}, "load": "none", "status": "ok"}
    whole: dict[str, Any] = least | members
    run = Run(
        run_id="20260102-030405.006-own-ab12", created="2026-01-02T03:04:05+00:00",
        status="complete", target=Target(name="local"), results=[Result(**whole)],
    )  # fmt: skip
    return rtstone.Measured(run, Path(), run.results, frozenset())


def counted(points: list[tuple[float, int]], **members: Any) -> dict[str, Any]:
    n = sum(count for _, count in points)
    expected = percentiles(points, n, 0)
    return {"n": n, "histogram": points, "max": points[-1][0], **expected, **members}


def test_any_percentile_is_of_the_same_rule_as_those_of_the_document() -> None:
    draw = np.random.default_rng(3)
    values = sorted(float(v) for v in draw.integers(100, 5000, 20_000))
    points = sorted((value, values.count(value)) for value in set(values))
    measured = measured_by_hand(**counted(points))
    for name, share in PERCENTILES.items():
        if getattr(measured.result, name) is not None:
            assert measured.percentile(share / 100) == getattr(measured, name)
    for q, rank in ((1, 200), (12.5, 2500), (99.5, 19_900), (99.95, 19_990), (33.3, 6660)):
        assert measured.percentile(q) == ns(values[rank - 1])
    with pytest.raises(Inconclusive, match=r"p99\.951 needs n >= 20 409, there are 20 000; give a"):
        measured.percentile(99.951)
    with pytest.raises(Inconclusive, match="p9999 needs n >= 100 000"):
        measured.percentile(99.99)
    for q in (0, 100, -1, 101, math.nan, math.inf):
        with pytest.raises(UsageError, match="write a percentage above 0 and below 100"):
            measured.percentile(q)
    with pytest.raises(UsageError, match=r"write 99\.9 if a share is meant"):
        measured.percentile(0.999)


def test_omitted_activations_count_in_percentiles_and_in_a_corrected_histogram() -> None:
    seen = [(1000.0, 990), (50_000.0, 10)]
    longer = [(1000.0, 990), (20_000.0, 40), (50_000.0, 10)]
    rest = {"min": 1000.0, "mean": None, "sd": None}
    members: dict[str, Any] = rest | counted(longer)
    corrected = Distribution(**members)
    grid = Grid(bits=7, per_tick=1.0, overhead=0)
    measured = measured_by_hand(**counted(seen, missed=40, corrected=corrected, grid=grid))
    assert measured.percentile(97) == ns(20_000)
    assert (measured.histogram().counts.sum(), measured.n) == (1000, 1000)
    counts, edges = measured.histogram(corrected=True)
    assert counts.tolist() == [990, 0, 40, 0, 10]
    assert edges.tolist() == [1000, 1004, 19_968, 20_096, 49_920, 50_176]


def test_what_a_tool_did_not_tell_is_no_percentile() -> None:
    points = [(1000.0, 9000), (2000.0, 950)]
    members = counted(points) | {"n": 10_000, "overflow": 50, "max": 9e6, "p99": 2000.0}
    tool = measured_by_hand(**members, evidence={"bucket_ns": 1000}, flags=["imported", "beyond"])
    assert tool.percentile(99.4) == us(2)
    with pytest.raises(Inconclusive, match=r"no p99\.6, as it lies beyond what the tool recorded"):
        tool.percentile(99.6)
    own = measured_by_hand(**members)  # whose agent knows no more of them than the maximum
    with pytest.raises(Inconclusive, match=r"no p99\.6"):
        own.percentile(99.6)
    assert tool.histogram().edges.tolist() == [1000, 2000, 3000, math.inf]


def test_means_of_several_operations_have_no_extreme_percentiles() -> None:
    points = [(10.0, 99_000), (20.0, 1000)]
    batched = measured_by_hand(
        **counted(points) | {"batch": 100, "p999": None, "p9999": None, "max": None}
    )
    assert batched.percentile(98.5) == ns(10)
    for q in (99.5, 99.9):
        with pytest.raises(Inconclusive, match="samples are means of several operations"):
            batched.percentile(q)


def test_figures_alone_have_no_histogram() -> None:
    figures = {"rate": Figure(value=12.5, unit="1/s")}
    with pytest.raises(UsageError, match=r"no histogram of dk\.periodic.*only figures"):
        measured_by_hand(figures=figures).histogram()
    with pytest.raises(UsageError, match=r"the edges of its buckets are not known"):
        measured_by_hand(**counted([(1.0, 5)])).histogram()


def test_an_interval_of_nothing_known() -> None:
    with pytest.raises(UsageError, match=r"unknown statistic 'p99\.9'.*did you mean 'p999'\?"):
        sim().interval("p99.9")
    with pytest.raises(UsageError, match=r"unknown statistic 'foo'.*known: mean, p50"):
        sim().interval("foo")


def test_a_notebook_shows_a_table_and_no_markup_of_others(suite: Path) -> None:
    measured_run = rtstone.run(str(suite), target="sim")._repr_html_()
    assert measured_run.count("<tr>") == 1 + 4
    assert "Fit for a period of 1 ms" in measured_run
    assert "900 ns" in measured_run
    evil = "<script>alert(1)</script>"
    measured = measured_by_hand(
        **counted([(1000.0, 100)]), series=evil, flags=[evil], unit=evil, reason=evil
    )
    run = msgspec.structs.replace(measured.run, run_id=evil, target=Target(name=evil))
    run = msgspec.structs.replace(
        run,
        results=[
            msgspec.structs.replace(measured.result, bench=evil, load=evil, params={evil: evil})
        ],
    )
    measured_run = rtstone.Measured(run, Path(), run.results, frozenset())._repr_html_()
    assert "<script" not in measured_run and "&lt;script&gt;" in measured_run


def test_what_is_public_is_there() -> None:
    assert set(dir(rtstone)) >= {"__all__"}
    assert sorted(rtstone.__all__) == sorted(set(rtstone.__all__))
    for name in rtstone.__all__:
        assert getattr(rtstone, name) is not None
    assert {*rtstone.api.__all__} - {"HISTORY"} == {*rtstone.__all__} - {"__version__"}
    raised = {kind.__name__ for kind in RtstoneError.__subclasses__()} | {"RtstoneError", "Unfit"}
    assert raised <= {*rtstone.__all__}


CLASSES = [member for name in rtstone.__all__ if isinstance(member := getattr(rtstone, name), type)]


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
