"""Exports in other tools' formats, read back by decoders that share no code with the writers."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import struct
import subprocess
import zlib
from collections import Counter
from collections.abc import Iterator
from math import isclose
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from rtstone.documents.run import Distribution, Figure, Grid, Result, Run, Target, Worst
from rtstone.errors import UsageError
from rtstone.formats import rows as rows_module
from rtstone.formats import table_files
from rtstone.formats.registry import WRITERS, writer
from rtstone.wire.records import Bench, Param
from tests.formats.long import DATA, run_of
from tests.formats.test_import import FILES, held


def own(**members: object) -> Run:
    """Return a run with fractions of ns, an omitted activation, a figure and odd names."""
    points = [(-2.5, 1), (100.25, 3), (5000.5, 90), (123456.75, 6), (9876543.5, 1)]
    mean = round((sum(v * count for v, count in points) + 1e12 + 9e9) / 103, 4)
    periodic = Result(
        case=1, bench="dk.periodic", params={"period": 10**6, "raw": False}, load='say "\\hi"',
        status="ok", n=sum(count for _, count in points) + 2, overflow=2, histogram=points,
        min=-2.5, mean=mean, max=1e12, p50=5000.5, missed=1, negative=1,
        evidence={"section_ns": 103 * 10**6},
        corrected=Distribution(
            n=104, min=-2.5, mean=2e5, sd=None, p50=None, p90=None, p99=None, p999=None,
            p9999=None, max=1e12, histogram=[*points[:-1], (9876543.5, 2)],
        ),
    )  # fmt: skip
    figure = Result(
        case=2, bench="rheal.rate", params={}, load="none", status="ok",
        figures={"rate": Figure(value=12.5, unit="1/s"), "none": Figure(value=None, unit="ns")},
    )  # fmt: skip
    counted = Result(
        case=3, bench="sched.yield", params={}, load="none", status="ok", unit="instructions",
        n=3, min=7, mean=8.0, max=9, histogram=[(7, 1), (8, 1), (9, 1)],
    )  # fmt: skip
    absent = Result(case=4, bench="io.aio", params={}, load="none", status="unsupported")
    run = Run(
        run_id="20260102-030405.006-own-ab12", created="2026-01-02T03:04:05+00:00",
        status="complete", command=["rtstone", "run"], target=Target(name="local"),
        results=[periodic, figure, counted, absent],
    )  # fmt: skip
    return msgspec.structs.replace(run, **members)


@pytest.fixture(params=[None, *FILES], ids=lambda path: path.name if path else "own")
def run(request: pytest.FixtureRequest) -> Run:
    path: Path | None = request.param
    return run_of(path.read_bytes()) if path else own()


# ---- CSV -----------------------------------------------------------------------------------------


def rows(run: Run, form: str) -> list[dict[str, str]]:
    text = writer(form).write(run).data.decode()
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_csv_holds_every_statistic(run: Run) -> None:
    table = rows(run, "csv")
    for result in run.results:
        mine = [r for r in table if (r["case"], r["series"]) == (str(result.case), result.series)]
        by_statistic = {r["statistic"]: r for r in mine if r["variant"] == "observed"}
        for name in ("min", "mean", "p50", "p99", "max", "missed"):
            value = getattr(result, name)
            assert (name in by_statistic) == (value is not None)
            if value is not None:
                assert float(by_statistic[name]["value"]) == value
                assert by_statistic[name]["unit"] == ("count" if name == "missed" else result.unit)
        assert not result.n or int(by_statistic["overflow"]["value"]) == result.overflow
        figures = {r["statistic"]: r["value"] for r in mine if r["variant"] == "figure"}
        values = {name: figure.value for name, figure in result.figures.items()}
        assert figures == {n: "" if v is None else str(v) for n, v in values.items()}
    assert {row["run_id"] for row in table} == {run.run_id}


def test_csv_holds_every_sample(run: Run) -> None:
    table = rows(run, "csv-histogram")
    for result in run.results:
        mine = [
            row for row in table
            if (row["case"], row["series"], row["variant"])
            == (str(result.case), result.series, "observed")
        ]  # fmt: skip
        points = [(float(r["value"]), int(r["samples"])) for r in mine if r["value"]]
        assert points == [(value, count) for value, count in result.histogram]
        beyond = sum(int(r["samples"]) for r in mine if not r["value"])
        assert sum(count for _, count in points) + beyond == result.n
    assert sum(int(r["samples"]) for r in table if r["variant"] == "corrected") == sum(
        result.corrected.n for result in run.results if result.corrected
    )


def test_parquet_without_pyarrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"needs pyarrow.*rtstone\[parquet\]"):
        writer("parquet").write(own())


def test_parquet() -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(writer("parquet").write(stepped()).data))
    numbers = {"low", "high", "value", "params.share"}
    assert [
        {k: "" if v is None else rows_module.text(v) for k, v in row.items()}
        for row in table.to_pylist()
    ] == [
        {k: str(float(v)) if k in numbers and v else v for k, v in row.items()}
        for row in rows(stepped(), "csv-histogram")
    ]
    types = {field.name: str(field.type) for field in table.schema}
    assert {n: types[n] for n in types if n.startswith("params.")} == {
        "params.period": "int64", "params.raw": "bool", "params.share": "double",
        "params.policy": "string", "params.mixed": "string",
    }  # fmt: skip
    assert table.schema.field("params.period").metadata == {b"unit": b"ns"}
    assert table.schema.field("params.raw").metadata is None


# ---- parameters, edges, single samples -----------------------------------------------------------


def stepped() -> Run:
    """Return results with parameters of all types, and with buckets that have edges."""
    grid = Grid(bits=7, per_tick=0.5, overhead=20)
    points = [(40.0, 3), (490.75, 2)]  # 100 ticks, and the middle of 1000 to 1003
    observed = Distribution(
        n=6, min=40, mean=None, sd=None, p50=None, p90=None, p99=None, p999=None, p9999=None,
        max=None, histogram=[(40.0, 3), (240.0, 1), (490.75, 2)],
    )  # fmt: skip
    first = Result(
        case=1, bench="dk.periodic", load="none", status="ok", n=6, overflow=1, histogram=points,
        params={"period": 10**6, "raw": True, "share": 0.25, "mixed": 1}, grid=grid,
        corrected=observed, worst=[Worst(value=490.75, index=4, at_s=0.5)],
    )  # fmt: skip
    other = Result(
        case=2, bench="ctx.ballast", load="none", status="ok", n=1, histogram=[(7.0, 1)],
        params={"raw": False, "policy": "fifo", "mixed": "a;b=1", "share": 3},
    )  # fmt: skip
    tables = [Bench("dk.periodic", "Wake-up", params=[Param("period", "duration", "ns", 10**6)])]
    return own(results=[first, other], benches=tables)


def test_each_parameter_has_a_column() -> None:
    for form in ("csv", "csv-histogram"):
        table = rows(stepped(), form)
        names = [name for name in table[0] if name.startswith("params.")]
        assert names == [f"params.{n}" for n in ("period", "raw", "share", "mixed", "policy")]
        cells = {row["bench"]: [row[name] for name in names] for row in table}
        assert cells == {
            "dk.periodic": ["1000000", "on", "0.25", "1", ""],
            "ctx.ballast": ["", "off", "3", "a;b=1", "fifo"],
        }


FORMULAS = [
    "=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1+1", '=HYPERLINK("http://x")',
    "'=1+1", "-", "=", "+49-89",
]  # fmt: skip


@pytest.mark.parametrize("text", FORMULAS)
@pytest.mark.parametrize("form", ["csv", "csv-histogram"])
def test_no_cell_of_csv_is_a_formula(text: str, form: str) -> None:
    run = own(target=Target(name=text), run_id=text, command=[text])
    first = msgspec.structs.replace(
        run.results[0], load=text, series=text, params={text: text, "nice": -5, "at": "-1.5e3"},
        figures={text: Figure(value=-12.5, unit=text)},
    )  # fmt: skip
    run = msgspec.structs.replace(run, results=[first])
    lines = list(csv.reader(io.StringIO(writer(form).write(run).data.decode(), newline="")))
    cells = {cell for row in lines for cell in row}
    assert f"'{text}" in cells
    begins = {cell for cell in cells if cell.startswith(tuple("=+-@\t\r\n\uff1d"))}
    assert {"-5", "-1.5e3", "-2.5"} <= begins
    assert all(float(cell) for cell in begins), "only numbers begin so"
    assert (rows_module.unguarded(f"'{text}"), rows_module.unguarded("'x")) == (text, "'x")


def test_samples_of_a_case_named_like_a_formula_come_back() -> None:
    run = stepped()
    results = [msgspec.structs.replace(result, load="=1+1", series="@x") for result in run.results]
    run = msgspec.structs.replace(run, results=results)
    data = writer("samples").write(run, lambda result: np.array([1.0, 2.0])).data
    assert b"'=1+1" in data
    back = run_of(data).results[0]
    assert (back.bench, back.load, back.series) == ("dk.periodic", "=1+1", "@x")


def test_buckets_have_both_edges() -> None:
    buckets = [
        tuple(row[name] for name in ("variant", "low", "high", "value", "samples"))
        for row in rows(stepped(), "csv-histogram")
    ]
    assert buckets == [
        ("observed", "40.0", "40.5", "40.0", "3"),
        ("observed", "490.0", "492.0", "490.75", "2"),
        ("observed", "492.0", "", "", "1"),
        ("corrected", "40.0", "40.5", "40.0", "3"),
        ("corrected", "240.0", "241.0", "240.0", "1"),
        ("corrected", "490.0", "492.0", "490.75", "2"),
        ("observed", "", "", "7.0", "1"),  # of a result that does not know them
    ]
    metrics = writer("openmetrics").write(stepped()).data.decode()
    assert re.findall(r'dk.periodic".*le="([^"]+)"} (\d+)', metrics) == [
        ("0.0000000405", "3"), ("0.000000492", "5"), ("+Inf", "6"),
    ]  # fmt: skip


def test_single_samples() -> None:
    values = {1: [40.0, 40.0, 240.0, 40.0, 490.75, 1e9]}

    def samples(result: Result) -> NDArray[np.float64]:
        return np.array(values[result.case])

    written = writer("samples").write(stepped(), samples)
    records = list(csv.DictReader(io.StringIO(written.data.decode(), newline=""), strict=True))
    assert [(row["sample"], float(row["value"]), row["unit"], row["at_s"]) for row in records] == [
        (str(number), value, "ns", "0.5" if number == 4 else "")
        for number, value in enumerate(values[1])
    ]
    assert {(row["bench"], row["params.period"]) for row in records} == {("dk.periodic", "1000000")}
    assert any("samples of 1 result without raw=on" in line for line in written.lost)
    with pytest.raises(UsageError, match=r"no single samples in run .*-p raw=on -p samples=N"):
        writer("samples").write(own(), samples)


# ---- HdrHistogram --------------------------------------------------------------------------------


def decoded(text: str) -> Counter[int]:
    """Return counts by the lowest value of each bucket, from the description of the V2 encoding."""
    packed = base64.b64decode(text, validate=True)
    cookie, length = struct.unpack(">ii", packed[:8])
    assert cookie & ~0xF0 == 0x1C849304 and length == len(packed) - 8
    plain = zlib.decompress(packed[8:])
    cookie, length, offset, digits, lowest, highest, ratio = struct.unpack(">iiiiqqd", plain[:40])
    assert (cookie & ~0xF0, offset, digits, lowest, ratio) == (0x1C849303, 0, 3, 1, 1.0)
    assert length == len(plain) - 40
    counts: Counter[int] = Counter()
    place = 0
    for number in numbers(plain[40:]):
        if number < 0:
            place -= number
            continue
        bucket, sub = (place >> 10) - 1, (place & 1023) + 1024
        value = place if bucket < 0 else sub << bucket
        assert value <= highest
        counts[value] += number
        place += 1
    return counts


def numbers(data: bytes) -> Iterator[int]:
    place = 0
    while place < len(data):
        value, shift = 0, 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte if shift == 56 else byte & 0x7F) << shift
            if shift == 56 or not byte & 0x80:
                break
            shift += 7
        yield (value >> 1) ^ -(value & 1)


def test_hdr_histogram(run: Run) -> None:
    with_samples = [result for result in run.results if result.histogram]
    if not with_samples:
        with pytest.raises(UsageError, match="no histogram"):
            writer("hdrhistogram").write(run)
        return
    written = writer("hdrhistogram").write(run)
    lines = written.data.decode().splitlines()
    assert lines[0] == "#[Histogram log format version 1.3]"
    body = [line for line in lines if line.startswith("Tag=")]
    tags = set()
    for result, line in zip(with_samples, body, strict=True):
        tag, start, length, most, text = line.split(",")
        tags.add(tag)
        counts = decoded(text)
        fit = [(round(value), count) for value, count in result.histogram if value >= 0]
        assert counts.total() == sum(count for _, count in fit)
        for (value, count), (read_value, number) in zip(fit, sorted(counts.items()), strict=False):
            if len(counts) == len(fit):
                assert (
                    number == count and read_value <= value and value - read_value <= value / 1000
                )
        assert (float(start), float(most)) == (0, max(value for value, _ in fit))
        lost = [
            int(n) for n in re.findall(rf"{re.escape(tag[4:])}: (\d+)", "\n".join(written.lost))
        ]
        assert sum(lost) == result.n - counts.total()
        assert isclose(float(length), (result.evidence.get("section_ns") or 0) / 1e9, abs_tol=1e-3)  # type: ignore[operator]
    assert len(tags) == len(body)


@pytest.mark.parametrize("value", [0, 1, 2047, 2048, 4095, 4096, 10**6, 2**40 + 12345, 2**61])
def test_hdr_values_keep_three_digits(value: int) -> None:
    result = msgspec.structs.replace(own().results[0], histogram=[(value, 2**57 + 3)], n=2**57 + 3)
    text = writer("hdrhistogram").write(own(results=[result])).data.decode().rpartition(",")[2]
    ((hdr_count, count),) = [pair for pair in decoded(text.strip()).items() if pair[1]]
    assert count == 2**57 + 3 and 0 <= value - hdr_count <= value / 1000


# ---- OpenMetrics ---------------------------------------------------------------------------------

_SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\} (\S+)')
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')


def test_open_metrics(run: Run) -> None:
    """Every line matches the grammar, families are contiguous, buckets rise to the count."""
    lines = writer("openmetrics").write(run).data.decode().split("\n")
    assert lines[-2:] == ["# EOF", ""]
    kinds: dict[str, str] = {}
    upto: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    last = ""
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            last, kind = line.split()[2:]
            assert last not in kinds
            kinds[last] = kind
        elif line.startswith("# UNIT "):
            assert line.split()[2] == last and last.endswith("_" + line.split()[3])
        elif not line.startswith("# HELP "):
            match = _SAMPLE.fullmatch(line)
            assert match, line
            name, labels = match[1], dict(_LABEL.findall(match[2]))
            suffix = name.removeprefix(last)
            assert name.startswith(last) and suffix in (
                {"_bucket", "_count", "_sum"} if kinds[last] == "histogram" else {""}
            )
            if suffix == "_bucket":
                le = float(labels.pop("le"))
                upto.setdefault((last, *sorted(map(str, labels.items()))), []).append(
                    (le, int(match[3]))
                )
    measured = [result for result in run.results if result.n]
    assert len(upto) == len(measured)
    for buckets, result in zip(upto.values(), measured, strict=True):
        assert buckets == sorted(buckets) and len({le for le, _ in buckets}) == len(buckets)
        assert [count for _, count in buckets] == sorted(count for _, count in buckets)
        assert buckets[-1] == (float("inf"), result.n)
        within = buckets[-2][1] if len(buckets) > 1 else 0
        assert within == sum(count for _, count in result.histogram)


def test_open_metrics_in_base_units() -> None:
    text = writer("openmetrics").write(own()).data.decode()
    assert 'load="say \\"\\\\hi\\"",status="ok",le="0.0000050005"} 94' in text
    assert "rtstone_sample_instructions_bucket" in text and "# UNIT rtstone_min_seconds" in text
    assert "rtstone_sample_seconds_sum" not in text  # negative samples
    assert re.search(r"rtstone_sample_instructions_sum\{[^}]*\} 24\.0\n", text)
    exported = writer("openmetrics").write(run_of((DATA / "cyclictest-2.4-one.txt").read_bytes()))
    assert re.search(
        r'status="ok",le="0\.000015"} [1-9]', exported.data.decode()
    )  # from 14 to 15 µs
    with pytest.raises(UsageError, match="nothing measured"):
        writer("openmetrics").write(own(results=own().results[3:]))


# ---- cyclictest ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.name.startswith(("cyclictest", "rteval"))], ids=lambda p: p.name
)
def test_cyclictest_there_and_back(path: Path) -> None:
    first = run_of(path.read_bytes())
    data = writer("cyclictest-json").write(first).data
    json.loads(data)
    second = run_of(data, "cyclictest-json")
    thread = [row[2:] for row in held(first.results)]
    assert [row[2:] for row in held(second.results)] == thread
    assert writer("cyclictest-json").write(second).data == data
    for result, other in zip(first.results, second.results, strict=True):
        assert (result.p50, result.p99) == (other.p50, other.p99)
        assert result.mean is not None and other.mean == pytest.approx(result.mean, abs=5)
        if path.suffix == ".json":
            assert (result.params, result.missed, result.flags) == (
                other.params,
                other.missed,
                other.flags,
            )


def test_own_samples_as_cyclictest() -> None:
    written = writer("cyclictest-json").write(own())
    (result,) = run_of(written.data).results
    assert (result.n, result.overflow, result.max) == (102, 2, 1e12)
    assert result.histogram == [(100, 3), (5000, 90), (123457, 6), (9876544, 1)]
    assert (result.params, result.load) == ({"interval": 10**6}, 'say "\\hi"')
    lost = "\n".join(written.lost)
    for part in (
        "1 negative sample", "fractions of ns", "1 missed", "1 result of rheal.rate",
        "1 result of sched.yield", "1 result not valid (1 unsupported)", "thread 0 is dk.periodic",
    ):  # fmt: skip
        assert part in lost
    with pytest.raises(UsageError, match=r"no samples of cyclictest or dk\.periodic"):
        writer("cyclictest-json").write(own(results=own().results[1:]))


def test_what_was_missed_comes_back_as_it_was_counted() -> None:
    """Not from samples known to 1 part in 256, some of which lie at a whole number of periods."""
    late = [(50_000.0, 9000), (2_000_100.0, 3)]
    hidden = [(50_000.0, 9000), (1_000_100.0, 3), (1_999_900.5, 2), (2_000_100.0, 3)]
    mean = sum(v * n for v, n in late) / 9003
    whole = (sum(v * n for v, n in hidden) + 7) / 9008
    periodic = Result(
        case=1, bench="dk.periodic", params={"period": 10**6}, load="heavy", series="cpu 0",
        status="ok", n=9003, histogram=late, min=50_000.0, mean=mean, max=2_000_100.0, missed=5,
        flags=["missed", "other_run"],
        corrected=Distribution(
            n=9008, min=50_000.0, mean=whole, sd=None, p50=None, p90=None, p99=None, p999=None,
            p9999=None, max=2_000_100.0, histogram=hidden,
        ),
    )  # fmt: skip
    run = own(results=[periodic, msgspec.structs.replace(periodic, series="cpu 1", missed=None)])
    data = writer("cyclictest-json").write(run).data
    back, unknown = run_of(data).results
    assert (back.missed, back.series, back.load) == (5, "cpu 0", "heavy")
    assert "other_run" in back.flags and "omission" not in back.flags
    assert (unknown.missed, unknown.corrected) == (None, None) and "omission" in unknown.flags
    assert back.corrected is not None and back.corrected.mean == pytest.approx(whole, abs=1e-3)
    assert back.corrected.histogram == [(round(v), n) for v, n in hidden]
    assert (back.corrected.n, back.corrected.p50) == (9008, 50_000)
    document = json.loads(data)
    document["thread"]["0"]["rtstone"]["missed"] = 6
    with pytest.raises(UsageError, match="9008 corrected samples, of 9003 and 6 missed"):
        run_of(json.dumps(document).encode())


def test_cyclictest_ends_after_it_began() -> None:
    def times(run: Run) -> tuple[str, str | None]:
        document = json.loads(writer("cyclictest-json").write(run).data)
        return document["start_time"], document.get("end_time")

    assert times(own()) == ("Fri, 02 Jan 2026 03:04:05 +0000", None)
    whole = own(duration_s=61.2)
    assert times(whole) == ("Fri, 02 Jan 2026 03:04:05 +0000", "Fri, 02 Jan 2026 03:05:06 +0000")
    back = run_of(writer("cyclictest-json").write(whole).data)
    assert (back.duration_s, times(back)) == (61, times(whole))
    assert times(own(duration_s=1e60))[1] is None
    odd = own(duration_s=5.0, conditions={"tool.measured": "at noon"})
    assert times(odd) == ("at noon", None)


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.name.startswith(("cyclictest", "rteval"))], ids=lambda p: p.name
)
def test_text_of_cyclictest_there_and_back(path: Path) -> None:
    """In whole µs nothing is lost but at which cycles samples were too late."""
    first = run_of(path.read_bytes())
    if not all(r.histogram for r in first.results):
        with pytest.raises(UsageError, match="only statistics of cyclictest thread"):
            writer("cyclictest-histogram").write(first)
        return
    data = writer("cyclictest-histogram").write(first).data
    second = run_of(data)
    assert second.target.detail["format"] == "cyclictest"
    for result, other in zip(first.results, second.results, strict=True):
        assert (result.n, result.overflow) == (other.n, other.overflow)
        cut = [(value // 1000 * 1000, count) for value, count in result.histogram]
        if all(value % 1000 == 0 for value, _ in result.histogram):
            assert (cut, result.min, result.max) == (other.histogram, other.min, other.max)
        assert sum(count for _, count in other.histogram) == sum(count for _, count in cut)
    assert (
        writer("cyclictest-histogram").write(second).data.split(b"\n", 1)[1]
        == (data.split(b"\n", 1)[1])
    )


def test_text_of_cyclictest_to_the_letter() -> None:
    """As the tool wrote it, but for empty buckets at its end, and cycles that are not known."""

    def lines(text: str) -> list[str]:
        expected_lines = [line for line in text.splitlines() if not line.startswith("# Thread")]
        return expected_lines[expected_lines.index("# Histogram") :]

    for name in ("cyclictest-2.4-one.txt", "cyclictest-2.4-h.txt"):
        data = (DATA / name).read_bytes()
        ours = lines(writer("cyclictest-histogram").write(run_of(data)).data.decode())
        last = max(int(line[:6]) for line in ours if line[:1].isdigit())
        theirs = lines(data.decode())
        assert ours == [line for line in theirs if line[:1] in {"", "#"} or int(line[:6]) <= last]


def test_own_samples_as_text_of_cyclictest() -> None:
    written = writer("cyclictest-histogram").write(own())
    (result,) = run_of(written.data).results
    assert result.histogram == [(0, 3), (5000, 90), (123_000, 6), (9_876_000, 1)]
    assert (result.n, result.overflow, result.min, result.max) == (102, 2, 0, 1e12)
    lost = "\n".join(written.lost)
    for part in (
        "1 negative sample", "fractions of µs", "2 samples beyond", "1 missed activation",
        "thread 0 is dk.periodic",
    ):  # fmt: skip
        assert part in lost


@pytest.mark.parametrize("form", ["cyclictest-json", "cyclictest-histogram"])
def test_what_threads_lose_alike_is_said_once_and_they_have_short_names(form: str) -> None:
    first = own().results[0]
    params = dict(first.params) | {"prio": 98}
    results = [
        msgspec.structs.replace(first, params=params | {"period": period}, missed=missed)
        for period, missed in ((100_000, 7), (200_000, 3), (400_000, 7))
    ]
    lost = writer(form).write(own(results=results)).lost
    assert next(line for line in lost if line.startswith("thread 1")).endswith('load say "\\hi"')
    assert not any("prio" in line for line in lost)
    assert [line[: line.index(":")] for line in lost if "missed" in line] == [
        "threads 0, 2", "thread 1",
    ]  # fmt: skip
    assert sum("fractions" in line for line in lost) == 1


def test_text_that_a_script_plots(tmp_path: Path) -> None:
    """What OSADL's script takes out of the file: the maximum, and two columns for each CPU."""
    file = tmp_path / "output"
    run = run_of((DATA / "cyclictest-2.4-H.txt").read_bytes())
    file.write_bytes(writer("cyclictest-histogram").write(run).data)
    for cpu, result in enumerate(run.results):
        words = (
            "grep 'Max Latencies' \"$0\" | tr ' ' '\\n' | sort -n | tail -1;"
            f"grep -v -e '^#' -e '^$' \"$0\" | tr ' ' '\\t' | cut -f1,{cpu + 2}"
        )
        done = subprocess.run(["sh", "-c", words, file], capture_output=True, text=True, check=True)
        most, *rows = done.stdout.splitlines()
        assert int(most) * 1000 == max(r.max or 0 for r in run.results)
        points = [tuple(map(int, row.split("\t"))) for row in rows]
        assert [value for value, _ in points] == list(range(len(points)))
        assert [(v * 1000, n) for v, n in points if n] == result.histogram


@pytest.mark.parametrize("form", ["cyclictest-json", "cyclictest-histogram", "hdrhistogram"])
def test_an_invalid_result_is_in_no_file_that_cannot_say_so(form: str) -> None:
    valid = msgspec.structs.replace(own().results[0], load="none")
    starved = msgspec.structs.replace(valid, load="heavy", status="incomplete", reason="starved")
    written = writer(form).write(own(results=[valid, starved]))
    alone = writer(form).write(own(results=[valid]))
    assert written.data == alone.data
    left = f"1 result not valid (1 incomplete), see `rtstone show {own().run_id}`"
    assert written.lost == [left, *alone.lost]
    with pytest.raises(UsageError, match=r"; left out: 1 result not valid \(1 incomplete\)"):
        writer(form).write(own(results=[starved]))


def test_tables_state_the_status_of_each_result() -> None:
    starved = msgspec.structs.replace(own().results[0], status="incomplete", reason="starved")
    for form in ("csv", "csv-histogram"):
        assert {row["status"] for row in rows(own(results=[starved]), form)} == {"incomplete"}
    assert b'status="incomplete"' in writer("openmetrics").write(own(results=[starved])).data


def test_samples_of_an_invalid_result_stay_invalid() -> None:
    run = stepped()
    results = [
        msgspec.structs.replace(result, status="incomplete", reason="starved")
        for result in run.results
    ]
    run = msgspec.structs.replace(run, results=results)
    data = writer("samples").write(run, lambda result: np.array([1.0, 2.0])).data
    assert [(r.status, r.reason) for r in run_of(data).results] == [
        ("incomplete", "incomplete in the run that was exported")
    ]
    with pytest.raises(UsageError, match="no status 'odd'"):
        run_of(data.replace(b",incomplete,", b",odd,"))


def test_every_format_says_what_it_lost(run: Run) -> None:
    for form in WRITERS.keys() - {"parquet", "samples"}:
        try:
            assert all("\n" not in line for line in WRITERS[form].write(run).lost)
        except UsageError as error:
            assert run.run_id in str(error)
