"""Samples that users measured themselves are judged as the instrument's own are."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rtstone
from rtstone.documents.run import Result
from rtstone.errors import UsageError
from rtstone.formats.registry import READERS
from rtstone.formats.source import UNITS, Meaning, Source
from rtstone.results import recorded
from rtstone.summary import PERCENTILES
from tests.agent.speak import pick, talk
from tests.conftest import Cli

N = 20_000
PERIOD = 1_000_000  # ns
START = 1_764_000_000_000_000_000  # ns, of a clock that a double cannot hold


BLANK = Result(case=1, bench="own", params={}, load="none", status="ok")


def lateness(seed: int = 1) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.random.default_rng(seed).lognormal(10, 0.3, N).astype(np.int64)


def table(head: str, columns: Sequence[Iterable[object]], separator: str = ",") -> bytes:
    rows = [head.split(",")] if head else []
    rows += [list(map(str, row)) for row in zip(*columns, strict=True)]
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def read(data: bytes, form: str = "samples", **meaning: Any) -> Result:
    meaning.setdefault("unit_ns", 1)
    reading = READERS[form].read(Source("the file", data, meaning=Meaning(**meaning)))
    (own,) = reading.results
    return own


def refused(data: bytes, form: str = "samples", **meaning: Any) -> str:
    with pytest.raises(UsageError) as caught:
        read(data, form, **meaning)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---- the recorder -------------------------------------------------------------------------------


@pytest.mark.parametrize("samples", [7, 500, 20_000])
def test_it_records_as_the_agents_recorder_does(samples: int) -> None:
    """The agent sends its samples, and what its recorder made of them."""
    answers = talk([f"case 1 sys.getpid raw=1 samples={samples} warmup=0", "bye"])
    (own,) = pick(answers, "result")
    values = np.array([v for record in pick(answers, "raw") for v in record["v"]], np.int64)
    assert len(values) == own["n"] == samples
    buckets = recorded._buckets(values)
    assert own["bits"] == recorded.BITS
    assert [list(pair) for pair in recorded._counts(buckets)] == own["hist"]
    batches = recorded._batches(values, buckets)
    assert batches.lines == own["batches"]["lines"]
    assert batches.rows == own["batches"]["rows"]
    blocks = recorded._blocks(values)
    assert (blocks.samples, blocks.max) == (own["blocks"]["samples"], own["blocks"]["max"])
    assert recorded._sum(values) == own["sum"]
    worst = recorded._worst(values, np.zeros(samples, np.int64))
    assert sorted(value for value, *_ in worst) == sorted(value for value, *_ in own["worst"])


def test_batches_are_counted_for_the_percentiles_that_the_agent_has_lines_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any other percentile would take the place of the next one, which goes by its name."""
    values = lateness()
    plain = recorded.recorded(BLANK, values).batches
    shares = sorted([*PERCENTILES.values(), 9950])
    names = {share: name for name, share in PERCENTILES.items()} | {9950: "p995"}
    monkeypatch.setattr(recorded, "PERCENTILES", {names[share]: share for share in shares})
    assert recorded.recorded(BLANK, values).batches == plain
    assert plain and [*plain.above] == ["p50", "p90", "p99", "p999"]


def test_sums_beyond_64_bits_are_exact() -> None:
    values = np.full(100, recorded.LARGEST - 1, np.int64)
    assert recorded._sum(values) == 100 * (recorded.LARGEST - 1)


# ---- what they say ------------------------------------------------------------------------------


def test_statistics_are_those_of_the_samples() -> None:
    late = lateness()
    own = read(table("", [[f"{value / 1000:.3f}" for value in late]]), unit_ns=1000)
    assert (own.n, own.min, own.max) == (N, late.min(), late.max())
    assert own.mean == pytest.approx(late.mean(), abs=1e-3)
    for name, q in (("p50", 0.5), ("p99", 0.99), ("p999", 0.999)):
        exact = np.sort(late)[-(-int(N * q * 10**4) // 10**4) - 1]
        assert getattr(own, name) == pytest.approx(exact, rel=1 / 200)
        low, high = own.ci95[name] or (0, 0)
        assert low <= getattr(own, name) <= high
    assert own.missed is None and own.trace is None and own.worst == []  # when is not known
    assert own.flags == ["imported"] and own.load == "unknown"


def test_every_unit_is_its_own() -> None:
    for unit_ns in UNITS.values():
        assert read(b"1.5\n2\n", unit_ns=unit_ns).max == 2 * unit_ns
    assert read(b"1e-3\n2e-3\n", unit_ns=10**9).min == 10**6


def test_a_late_sample_hides_the_activations_that_were_due_meanwhile() -> None:
    late = lateness()
    late[700] = 3 * PERIOD + 400_000
    own = read(table("", [late]), period_ns=PERIOD)
    assert own.missed == 3
    assert own.corrected and own.corrected.n == N + 3
    hidden = [400_000, PERIOD + 400_000, 2 * PERIOD + 400_000]
    added = dict(own.corrected.histogram)
    for value, count in own.histogram:
        added[value] -= count
    assert [count for value, count in sorted(added.items()) if count] == [1, 1, 1]
    assert [v for v, count in sorted(added.items()) if count] == pytest.approx(hidden, rel=1 / 200)
    assert own.worst[0].value == late[700]
    assert own.worst[0].at_s == pytest.approx(700e-3 + late[700] / 1e9)
    assert own.section_s == pytest.approx((N + 3) * PERIOD / 1e9, abs=2e-3)


def test_a_loop_that_catches_up_leaves_no_activation_out() -> None:
    late = lateness()
    for step in range(4):
        late[700 + step] = (3 - step) * PERIOD + 400_000
    source = Source("f", table("", [late]), meaning=Meaning(unit_ns=1, period_ns=PERIOD))
    reading = READERS["samples"].read(source)
    (own,) = reading.results
    assert own.missed == 3  # of them three did not start within their period
    assert own.corrected is None
    assert "catches up" in reading.notes[0]


def test_what_is_not_to_be_seen_is_not_claimed() -> None:
    late = lateness()
    late[700] = 3 * PERIOD  # left out
    late[800], late[801], late[802] = 3 * PERIOD, 2 * PERIOD, PERIOD  # caught up
    source = Source("f", table("", [late]), meaning=Meaning(unit_ns=1, period_ns=PERIOD))
    reading = READERS["samples"].read(source)
    assert reading.results[0].missed is None
    assert "give --due and --at" in reading.notes[0]


@pytest.mark.parametrize("separator", [",", ";", "\t", " "])
def test_when_activations_were_due_says_exactly_which_ran(separator: str) -> None:
    late, cycle = lateness(), np.arange(N)
    late[700] = 3 * PERIOD + 400_000
    late[800], late[801] = 2 * PERIOD + 5000, PERIOD + 6000  # it caught up here
    skipped = np.where(cycle > 700, 3, 0)
    skipped[cycle > 900] += 1  # one left out for no reason to be seen
    due = START + (cycle + skipped) * PERIOD
    data = table("cycle,due,woke", [cycle, due, due + late], separator)
    own = read(data, period_ns=PERIOD, due="due", at="woke")
    assert own.missed == 3 + 1 + 2
    assert own.max == late[700]
    assert read(data, period_ns=PERIOD, due="2", at="3") == own


def test_a_column_by_name_or_number_or_the_only_one() -> None:
    data = b"a,b\n1,10\n2,20\n"
    assert read(data, column="b").max == 20
    assert read(data, column="1").max == 2
    assert "2 columns: a, b" in refused(data)
    assert "no column 'c'" in refused(data, column="c")
    assert read(b"# by my tool\n\nlate\n5\n\n7\n").n == 2


def test_arrays_and_parquet_say_the_same(tmp_path: Path) -> None:
    late = lateness()
    text = read(table("", [late]), period_ns=PERIOD)
    array = io.BytesIO()
    np.save(array, late)
    assert read(array.getvalue(), period_ns=PERIOD) == text
    arrow = pytest.importorskip("pyarrow")
    tables = pytest.importorskip("pyarrow.parquet")
    tables.write_table(arrow.table({"late": late}), tmp_path / "late.parquet")
    assert read((tmp_path / "late.parquet").read_bytes(), period_ns=PERIOD) == text


# ---- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "meaning", "says"),
    [
        (b"1\n-2\n", {}, "sample 2, -2, is negative"),
        (b"1\nnan\n", {}, "'nan' is not a number, in the file line 2"),
        (b"# x\n1\ninf\n", {}, "'inf' is not a number, in the file line 3"),
        (b"1\n1e99\n", {}, "'1e99' is not a number, in the file line 2"),
        (b"1\n1e999999999\n", {}, "is not a number, in the file line 2"),
        (b"1\n3000000\n", {"unit_ns": 10**9}, "sample 2, 3e+06, is longer than 26 days"),
        (b"1,2\n3\n", {"column": "1"}, "1 cells for 2 columns, in the file line 2"),
        (b"late\n", {}, "a head without a row"),
        (b"1\n2", {}, "the last line has no end"),
        (b"1\n", {"unit_ns": None}, "give --unit"),
        (b"1,2\n", {"due": "1"}, "--due and --at"),
        (b"1,2\n1,3\n", {"due": "1", "at": "2", "period_ns": 5}, "no later than the one before"),
        (b"0,2\n7,9\n", {"due": "1", "at": "2", "period_ns": 5}, "no whole periods"),
        (b"0,2\n90000000000000,90000000000001\n", {"due": "1", "at": "2", "period_ns": 5},
         "more than 10 000 000 activations are missing"),
        (b"\x93NUMPY\x01\x00nothing", {}, "no array of NumPy"),
        (b"PAR1nothing", {}, "no Parquet"),
    ],
)  # fmt: skip
def test_no_absurd_value_is_taken(data: bytes, meaning: dict[str, Any], says: str) -> None:
    assert says in refused(data, **meaning)


def array_of(shape: tuple[int, ...], data: bytes = b"") -> bytes:
    """Return a file of NumPy whose head has that shape."""
    file = io.BytesIO()
    head = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, head)
    return file.getvalue() + data


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (array_of((10**12,), bytes(64)), "the file is cut short, its shape is (1000000000000,)"),
        (array_of((10**6, 10**6, 10**6)), "the file is cut short"),
        (array_of((0,)), "no sample"),
        (array_of((0, 5)), "no sample"),
        (array_of((), bytes(8)), "an array of 0 dimensions"),
        (b"a,b\n1,2\n" + b"1" * 300_000 + b",2\n", "field limit (131072), in the file line 3"),
        (b'a,b\n"1,2\n3,4\n', "a cell of several lines"),
        (b"1\n" * 10_000_001, "10000001 rows, more than 10000000"),
    ],
)  # fmt: skip
def test_a_hostile_file_takes_no_memory(data: bytes, says: str) -> None:
    assert says in refused(data, column="1")


def test_a_parquet_file_is_not_unpacked_beyond_what_it_may_hold(tmp_path: Path) -> None:
    arrow, tables = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "bomb.parquet"
    zeros = arrow.table({"a": arrow.array(np.zeros(5_000_001, np.int8))})
    with tables.ParquetWriter(file, zeros.schema, compression="zstd") as writer:
        writer.write_table(zeros)
        writer.write_table(zeros)
    assert file.stat().st_size < 100_000  # of 10 MB
    assert "10000002 rows, more than 10000000" in refused(file.read_bytes())
    tables.write_table(arrow.table({"a": ["x", "y"]}), file)
    assert "no column of numbers" in refused(file.read_bytes())


def test_an_array_of_objects_is_not_loaded() -> None:
    array = io.BytesIO()
    np.save(array, np.array([{}], object), allow_pickle=True)
    assert "no array of NumPy" in refused(array.getvalue())


# ---- histograms ---------------------------------------------------------------------------------


def test_a_histogram_of_ones_own() -> None:
    own = read(b"value,count\n3,10\n5,2\n4,0\n", "histogram", unit_ns=1000)
    assert (own.n, own.min, own.max) == (12, 3000, 5000)
    assert own.mean == pytest.approx(1000 * 40 / 12)
    assert own.flags == ["imported", "buckets"]
    assert "value 3 for the second time, in the file line 2" in refused(b"3 1\n3 2\n", "histogram")
    assert "'1.5' is not a whole number" in refused(b"1.5 1\n", "histogram")
    assert "count '-1'" in refused(b"1 -1\n", "histogram")


# ---- from the command line and Python -----------------------------------------------------------


def test_the_command_takes_what_a_person_says(cli: Cli, tmp_path: Path) -> None:
    late = lateness()
    late[3] = 2 * PERIOD
    file = tmp_path / "loop.csv"
    file.write_bytes(table("late", [late]))
    words = ["import", "--format", "samples", str(file), "--unit", "ns", "--period", "1ms"]
    done = cli(*words, "--bench", "control", "--load", "busy", "--name", "mine")
    assert done.status == 0, done.err
    assert cli("show", "mine").status == 0
    shown = cli("show", "mine").out
    assert "Not fit for a period of 1 ms: 2 of 20 002 activations missed, under load busy" in shown
    assert "control" in shown and "measured by another tool with its own procedure" in shown
    for wrong in ("0", "soon"):
        assert "--period" in cli(*words[:-1], wrong).says
    assert cli("import", str(file), "--unit", "ns").status == 2  # nobody's format


def test_what_says_nothing_of_a_format_is_refused(cli: Cli) -> None:
    data = Path(__file__).parent / "data" / "cyclictest-2.4-h.txt"
    done = cli("import", str(data), "--unit", "us")
    assert done.status == 2
    assert "--unit does not apply to format cyclictest" in done.says


def test_an_export_of_samples_reads_back(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "samples.csv"
    run = cli("run", "dk.periodic", "--target", "sim", "-p", "raw=on", "-p", "samples=2000",
              "--json").document  # fmt: skip
    (before,) = run["results"]
    assert cli("export", run["run_id"], "--format", "samples", "-o", str(out)).status == 0
    (after,) = cli("import", str(out), "--json").document["results"]
    for name in ("bench", "load", "n", "min", "max", "missed"):
        assert after[name] == before[name]
    assert after["params"]["period"] == before["params"]["period"]
    assert after["mean"] == pytest.approx(before["mean"], abs=1e-3)
    assert after["p99"] == pytest.approx(before["p99"], rel=1 / 100)
    data = out.read_bytes().splitlines(keepends=True)
    out.write_bytes(b"".join([*data[:5], *data[6:]]))
    assert "sample 5 does not follow 3" in cli("import", str(out)).says


def most_in(missed: list[bool], length: int) -> int:
    """Return the most misses in so many successive activations, by counting each of them."""
    return max(sum(missed[k : k + length]) for k in range(max(len(missed) - length, 0) + 1))


@pytest.mark.parametrize("part", range(5))
def test_misses_of_ones_own_samples_agree_with_brute_force(part: int) -> None:
    """What lies in any successive activations, and the requirement; 50 random series each."""
    random = np.random.default_rng(40 + part)
    verdicts = set()
    for _ in range(50):
        late = random.integers(100, 20_000, int(random.integers(20, 200)))
        for place in random.choice(np.arange(0, len(late) - 9, 10), int(random.integers(0, 5))):
            late[place] = int(random.exponential(3 * PERIOD))
            late[place + 1 : place + int(random.integers(1, 9))] = 18_000
        limit = int(random.choice([15_000, 19_999, 2 * PERIOD]))
        missed = []
        for value in map(int, late):  # it hides what was due until it ran
            missed += [value > limit, *[True] * (value // PERIOD)]
        own = rtstone.judge(late, "ns", PERIOD, limit=f"{limit}ns")
        misses = own.result.misses
        assert misses is not None and misses.limit == limit
        assert (misses.n, misses.late) == (sum(missed), int((late > limit).sum()))
        bursts = [len(list(group)) for is_miss, group in groupby(missed) if is_miss]
        assert misses.squares == sum(length**2 for length in bursts)
        gate = rtstone.check(own)
        assert gate.verdict == ("failed" if any(missed) else "passed")
        for _ in range(5):
            length = int(random.integers(2, 60))
            most = int(random.integers(0, min(length, 10)))
            (check,) = rtstone.check(own, limit=f"samples missed<={most} in {length}").checks
            if len(missed) >= length:
                expected = "failed" if most_in(missed, length) > most else "passed"
                assert check.verdict == expected
                verdicts.add(expected)
    assert verdicts == {"passed", "failed"}


def test_a_limit_on_ones_own_samples() -> None:
    late = np.arange(1, 101)
    own = rtstone.judge(late, "us", bench="control", limit=rtstone.us(99))
    (check,) = rtstone.check(own).checks
    assert (check.verdict, check.observed) == ("failed", 1)
    assert check.reason is not None and "1 later than 99 µs, 0 never" in check.reason
    assert rtstone.check(rtstone.judge(late, "us", limit="100us")).verdict == "passed"
    assert rtstone.judge(late, "us").result.misses is None
    with pytest.raises(UsageError, match="no unit, in --limit 100"):
        rtstone.judge(late, "us", limit="100")


def test_a_loop_that_catches_up_missed_what_ran_late() -> None:
    late = lateness()[:1000]
    for step in range(4):
        late[700 + step] = (3 - step) * PERIOD + 400_000
    own = rtstone.judge(late, "ns", PERIOD, limit="1500us")
    misses = own.result.misses
    assert misses is not None and (misses.n, misses.late, misses.windows) == (3, 3, [1, 2, 3])
    late[800] = 3 * PERIOD  # left out: which were cannot be seen any more
    unclear = rtstone.judge(late, "ns", PERIOD, limit="1500us")
    assert unclear.result.misses is None
    assert rtstone.check(unclear).verdict == "inconclusive"


def test_python_judges_an_array_as_a_run() -> None:
    late = lateness()
    late[3] = 2 * PERIOD + 10
    judged = rtstone.judge(late / 1000, "us", "1ms", bench="control")
    (own,) = judged.results
    text = read(table("", [late]), period_ns=PERIOD, bench="control")
    assert (own.n, own.max, own.missed, own.batches) == (N, late[3], 2, text.batches)
    assert judged.p99 < rtstone.us(100)
    assert rtstone.compare(judged, rtstone.judge(lateness(2), "ns", 1e6, bench="control"))
    due = START + np.arange(N) * PERIOD
    with pytest.raises(UsageError, match="no whole periods"):
        rtstone.judge(due + 5, "ns", 3e6, due=due)
    assert rtstone.judge(due + 5, "ns", PERIOD, due=due).max == rtstone.ns(5)
    with pytest.raises(UsageError, match="as many"):
        rtstone.judge(due, "ns", due=due[1:])
    with pytest.raises(UsageError, match="unknown unit"):
        rtstone.judge(due, "cycles")


def test_a_document_of_them_says_what_it_is() -> None:
    run = rtstone.judge([1, 2, 3], "us").run
    assert run.target.name == "import:samples"
    assert json.dumps(run.target.detail)
