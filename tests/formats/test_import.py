"""Files of other tools: the run has exactly what they contain; inconsistent ones are refused."""

from __future__ import annotations

import bz2
import codecs
import contextlib
import gzip
import io
import json
import lzma
import math
import re
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from types import FrameType

import pytest

from rtstone.documents.run import Result
from rtstone.errors import UsageError
from rtstone.formats import source as bounds
from rtstone.formats.cyclictest import options
from rtstone.formats.reading import Series, missed_activations
from rtstone.formats.registry import READERS, reader
from rtstone.formats.source import Meaning, Source
from rtstone.results.flags import BY_NAME
from rtstone.results.omitted import events
from tests.formats.long import DATA, LONG, read, rteval, run_of

# Their lines have no total: what is cut off in whole lines cannot be told.
LINES = {
    "cyclictest-2.4-q.txt", "cyclictest-2.4-q-ns.txt", "cyclictest-2.4-q-v-ns.txt",
    "cyclictest-2.4-v.txt", "cyclictest-2.4-running.txt",
    "cyclictest-2.4-live.txt",  # before its histogram
    "signaltest-2.4-q.txt", "cyclicdeadline-2.4-q.txt", "hwlatdetect-2.4-report.txt",
    "rtla-timerlat-top.txt", "rtla-osnoise-top.txt", "rtla-hwnoise.txt",
    "zephyr-recording.csv", "zyclictest.txt", "thread-metric.txt",
    "latmus-text.txt", "xenomai-latency.txt", "hdrhistogram.hlog",
}  # fmt: skip
FILES = sorted(path for path in DATA.iterdir() if path.name != "README")
TEXTS = [path for path in FILES if path.suffix != ".raw"]


def results(name: str) -> list[Result]:
    return run_of((DATA / name).read_bytes()).results


def held(results: list[Result]) -> list[tuple[object, ...]]:
    """Return the parts of a run that must be exact."""
    return [(r.bench, r.series, r.n, r.overflow, r.min, r.max, r.histogram) for r in results]


def refused(data: bytes, form: str | None = None) -> str:
    with pytest.raises(UsageError) as caught:
        run_of(data, form)
    text = str(caught.value)
    assert "\n" not in text and "the file" in text and "; " in text
    return text


# ---- real files ----------------------------------------------------------------------------------


def test_text_and_json_of_one_cyclictest_are_one_result() -> None:
    for text, other_form in (
        ("cyclictest-2.4-H.txt", "cyclictest-2.4-H.json"),
        ("cyclictest-2.4-duration.txt", "cyclictest-2.4-quote.json"),
    ):
        assert held(results(text)) == held(results(other_form))
        for left, other in zip(results(text), results(other_form), strict=True):
            assert [left.p50, left.p90, left.p99] == [other.p50, other.p90, other.p99]
            assert left.overflow or left.mean == other.mean  # 2.4 prints whole µs in its text


def test_versions_of_cyclictest_are_one_result() -> None:
    assert held(results("cyclictest-2.10-h.txt")) == held(results("cyclictest-2.4-h.txt"))


def test_cyclictest_text_against_awk() -> None:
    """The numbers as read from the file with awk."""
    for name in ("cyclictest-2.4-h.txt", "cyclictest-2.4-one.txt", "cyclictest-2.4-live.txt"):
        lines = (DATA / name).read_text().splitlines()
        rows = [line.split() for line in lines if re.match(r"\d{6} ", line)]
        ends = {
            word: next(line.split()[3:] for line in lines if line.startswith(f"# {word} "))
            for word in ("Min", "Max", "Histogram")
        }
        ends["Histogram"] = next(li.split()[3:] for li in lines if "Overflows:" in li)
        for thread, result in enumerate(results(name)):
            counts = [(1e3 * int(row[0]), int(row[1 + thread])) for row in rows]
            assert result.histogram == [(value, count) for value, count in counts if count]
            assert result.overflow == int(ends["Histogram"][thread])
            assert result.n == sum(count for _, count in counts) + result.overflow
            assert result.min == 1e3 * int(ends["Min"][thread])
            assert result.max == 1e3 * int(ends["Max"][thread])


OF_THREADS = ("cyclictest", "jitterdebugger")
LATENESS = [p for p in FILES if p.suffix == ".json" and p.name.startswith(OF_THREADS)]


@pytest.mark.parametrize("path", LATENESS, ids=lambda p: p.name)
def test_json_files(path: Path) -> None:
    text = path.read_text().replace('we"ird', "weird")
    whole = json.loads(text)
    threads = whole.get("thread") or whole["cpu"]
    ns = whole.get("resolution_in_ns") or whole["sysinfo"].get("resolution_in_ns", 0)
    unit = 1 if ns == 1 else 1000
    for (name, thread), result in zip(threads.items(), results(path.name), strict=True):
        n = thread.get("cycles") or thread["count"]
        within = {unit * int(value): count for value, count in thread["histogram"].items()}
        assert result.series == f"thread {name}"
        assert dict(result.histogram) == within
        assert (result.n, result.overflow) == (n, n - sum(within.values()) if within else 0)
        assert (result.min, result.max) == (unit * thread["min"], unit * thread["max"])
        assert result.mean == pytest.approx(unit * thread["avg"], abs=0.005 * unit)
        assert ("beyond" in result.flags) == (result.overflow > 0)


def test_passes_of_a_busy_loop() -> None:
    (result,) = results("oslat-2.4.json")
    assert (result.series, result.evidence["cpus"], result.flags) == (
        "cpu 0", [0], ["imported", "buckets", "beyond"]
    )  # fmt: skip
    assert (result.n, result.overflow, result.min, result.max) == (62107469, 899, 1e3, 10827e3)
    assert result.histogram[-1] == (31e3, 14)  # the last bucket holds all that is longer, too
    (biased,) = results("oslat-2.4-bias.json")
    assert (biased.min, biased.overflow, biased.max) == (None, 640, 5171e3)


def test_a_document_of_another_tool_of_the_same_family() -> None:
    text = (DATA / "cyclictest-2.4-H.json").read_bytes().replace(b': "cyclictest', b': "pi_stress')
    assert refused(text).startswith("a file of pi_stress, which rtstone does not read, in the file")


@pytest.mark.parametrize("command", ['" "', '""', "7", "[]", "null"])
def test_a_command_line_that_is_none(command: str) -> None:
    text = (DATA / "cyclictest-2.4-bare.json").read_text()
    text = re.sub(r'"cmdline:?": *"[^"]*"', f'"cmdline": {command}', text)
    with contextlib.suppress(UsageError):
        run_of(text.encode(), "cyclictest-json")


@pytest.mark.parametrize("duration", ["1e999", "-1", "1e300"])
def test_a_duration_that_cannot_be(duration: str) -> None:
    text = (DATA / "oslat-2.4.json").read_text()
    text = re.sub(r'"duration": [\d.]+', f'"duration": {duration}', text)
    assert refused(text.encode()).startswith("cpu 0: duration")


BROKEN_AT = b"""\

# Thread Ids: 00401 00402
# Break thread: 402
# Break value: 41
"""
HISTOGRAM = (DATA / "cyclictest-2.4-one.txt").read_bytes()


def test_what_a_run_broke_at_is_a_note() -> None:
    run = run_of(HISTOGRAM + BROKEN_AT)
    assert run.notes == ["Break thread: 402", "Break value: 41"]
    assert held(run.results) == held(results("cyclictest-2.4-one.txt"))


@pytest.mark.parametrize(
    "wrapped",
    [
        HISTOGRAM.replace(b"# Histogram\n", b"^C# Histogram\n"),
        codecs.BOM_UTF8 + HISTOGRAM,
        HISTOGRAM.decode().encode("utf-16"),
        codecs.BOM_UTF16_BE + HISTOGRAM.decode().encode("utf-16-be"),
        HISTOGRAM.replace(b"\n", b"\r\n"),
        gzip.compress(HISTOGRAM),
        bz2.compress(HISTOGRAM),
        lzma.compress(HISTOGRAM),
        gzip.compress(HISTOGRAM.decode().encode("utf-16")),
    ],
)  # fmt: skip
def test_what_a_file_went_through_does_not_change_it(tmp_path: Path, wrapped: bytes) -> None:
    (tmp_path / "x").write_bytes(wrapped)
    run = run_of(bounds.read(str(tmp_path / "x")).data)
    assert held(run.results) == held(results("cyclictest-2.4-one.txt"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (gzip.compress(HISTOGRAM)[:-9], "cannot unpack"),
        (lzma.compress(HISTOGRAM)[:-9], "cannot unpack"),
        (b"\x28\xb5\x2f\xfd....", "cannot unpack .*zstd.*; unpack it by hand"),
        (gzip.compress(bytes(1 << 20)) * ((bounds.LARGEST >> 20) + 1), "more than 256 MiB"),
    ],
)
def test_a_packed_file_that_is_broken_or_too_large(tmp_path: Path, data: bytes, says: str) -> None:
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(UsageError, match=says):
        bounds.read(str(tmp_path / "x"))


@pytest.mark.skipif(shutil.which("zstd") is None, reason="needs zstd")
def test_a_file_packed_by_zstd(tmp_path: Path) -> None:
    for content in (HISTOGRAM, bytes(bounds.LARGEST + 2)):
        zstd = subprocess.run(["zstd", "-c"], input=content, capture_output=True, check=True)
        (tmp_path / "x").write_bytes(zstd.stdout)
        if content == HISTOGRAM:
            run = run_of(bounds.read(str(tmp_path / "x")).data)
            assert held(run.results) == held(results("cyclictest-2.4-one.txt"))
        else:
            with pytest.raises(UsageError, match="more than 256 MiB"):
                bounds.read(str(tmp_path / "x"))
    (tmp_path / "x").write_bytes(zstd.stdout[:-3])
    with pytest.raises(UsageError, match="cannot unpack"):
        bounds.read(str(tmp_path / "x"))


def profiles(*loads: str) -> bytes:
    """Return rteval's file with its measurement once for each profile."""
    text = (DATA / "rteval.xml").read_text()
    begin, end = text.index("<Profile"), text.index("</Profile>") + len("</Profile>")
    each = (re.sub(r"<Profile[^>]*>", f'<Profile loads="{n}">', text[begin:end]) for n in loads)
    return f"{text[:begin]}{''.join(each)}{text[end:]}".encode()


def test_each_profile_of_rteval_has_its_load() -> None:
    (alone, *_), cores = results("rteval.xml"), len(results("rteval.xml"))
    both = run_of(profiles("0", "1")).results
    assert [r.load for r in both] == ["none"] * cores + ["rteval"] * cores
    assert held(both[:1]) == held(both[cores : cores + 1]) == held([alone])
    assert alone.load == "rteval"
    assert "two measurements under the same load" in refused(profiles("1", "1"))


TIMERLAT = b"""\
# RTLA timerlat histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:10
Index   IRQ-000   Thr-000
0          9000         0
1           990      7000
2            10      2999
over:         0         1
"""


def test_without_a_summary_the_rows_are_all_there_is() -> None:
    run = run_of(TIMERLAT)
    assert [(r.n, r.overflow, r.min, r.max) for r in run.results] == [
        (10000, 0, None, None), (10000, 1, None, None),
    ]  # fmt: skip
    assert run.notes[0].startswith("no summary (rtla's --no-summary, or cut")


def test_an_osnoise_without_noise_is_the_best_result_there_is() -> None:
    text = b"# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n"
    run = run_of(text + b"Index\nover:\ncount:\nmin:\navg:\nmax:\n")
    (result,) = run.results
    assert (result.bench, result.n, result.status) == ("osnoise", 0, "ok")
    assert result.evidence["section_ns"] == 60 * 10**9


def test_the_analysis_of_rtla_is_whole() -> None:
    lines = [f"## CPU 0 hit stop tracing, line {n} ##" for n in range(30)]
    run = run_of((DATA / "rtla-timerlat.txt").read_bytes() + "\n".join([*lines, ""]).encode())
    assert run.notes[-30:] == lines


def test_an_overflow_that_no_tool_told() -> None:
    left, other = results("jitterdebugger-0.3-ns.json")
    assert (left.overflow, other.overflow) == (0, 3)
    assert other.max == 2180729 and other.histogram[-1][0] < other.max


def test_raw_samples() -> None:
    data = (DATA / "jitterdebugger-0.3-samples.raw").read_bytes()
    rows = list(struct.iter_unpack("<IqqQ", data))
    measurements = results("jitterdebugger-0.3-samples.raw")
    assert sum(result.n for result in measurements) == len(rows) == 299
    for thread, result in enumerate(measurements):
        own = [row for row in rows if row[0] == thread]
        assert dict(result.histogram) == {1e3 * v: c for v, c in Counter(r[3] for r in own).items()}
        at = [row[1] * 10**9 + row[2] for row in own]
        assert result.evidence["section_ns"] == at[-1] - at[0]
        for worst in result.worst:
            assert worst.value == 1e3 * own[worst.index][3]
            assert worst.at_s == pytest.approx((at[worst.index] - at[0]) / 1e9, abs=1e-9)
        assert result.worst[0].value == result.max


def test_late_wake_ups_say_what_was_missed() -> None:
    """Threads start one after another, so that cycles that lack from the duration say nothing."""
    # 3989 and 3991 of 4000 periods of 250 µs; one sample of each is beyond the histogram.
    left, other = results("cyclictest-2.4-quote.json")
    assert [left.missed, other.missed] == [2 + 506 // 250, 1 + 2032 // 250]
    assert other.missed == 4000 - 3991  # this thread began in time: nothing else is missing
    assert left.evidence["section_ns"] == 10**9 and left.params == {"interval": 250_000}
    begun_late = run_of(cyclictest_json([{28: 10_000}, {28: 9993}, {28: 9956}])).results
    assert [(r.n, r.missed, r.status) for r in begun_late] == [
        (10_000, 0, "ok"), (9993, 0, "ok"), (9956, 0, "ok"),
    ]  # fmt: skip
    assert not any("omission" in r.flags for r in begun_late)


def test_what_late_wake_ups_hid_is_in_the_corrected_distribution() -> None:
    """At 1 ms, late by 3.25 ms hides three that would have been 2.25, 1.25 and 0.25 ms late."""
    (result,) = run_of(cyclictest_json([{28: 9000, 3250: 2, 1000: 1}])).results
    hidden = Counter({2_250_000: 2, 1_250_000: 2, 250_000: 2, 0: 1})
    seen = Counter({28_000: 9000, 3_250_000: 2, 1_000_000: 1})
    assert result.missed == hidden.total() == 7 and result.corrected is not None
    assert dict(result.corrected.histogram) == seen + hidden
    values = list((seen + hidden).elements())
    assert result.corrected.mean == pytest.approx(fmean(values), abs=1e-4)
    assert result.corrected.sd == pytest.approx(stdev(values), abs=1e-3)
    assert (result.corrected.n, result.corrected.min, result.corrected.max) == (9010, 0, 3_250_000)
    assert events(result) is not None  # so that intervals and gates include them


def test_a_period_tells_what_a_text_without_one_does_not() -> None:
    text = (DATA / "cyclictest-2.10-h.txt").read_bytes()
    source = Source("f", text, meaning=Meaning(period_ns=1_000_000))
    for bare, stated in zip(
        run_of(text).results, READERS["cyclictest"].read(source).results, strict=True
    ):
        assert (bare.missed, bare.params) == (None, {}) and "omission" in bare.flags
        assert stated.params == {"interval": 1_000_000}
        assert stated.missed is not None or "missed_most" in stated.evidence
        assert stated.histogram == bare.histogram
    live = (DATA / "cyclictest-2.4-live.txt").read_bytes()
    with pytest.raises(UsageError, match="thread 0 has a period of 1000 us, not that of --period"):
        READERS["cyclictest"].read(Source("f", live, meaning=Meaning(period_ns=2_000_000)))


def test_nothing_is_corrected_where_what_was_hidden_is_unknown() -> None:
    several = json.loads(cyclictest_json([{28: 9000}]))
    several["thread"]["0"] |= {"cycles": 9002, "max": 3250, "avg": 28.5}
    (result,) = run_of(json.dumps(several).encode()).results
    assert (result.overflow, result.missed, result.corrected) == (2, None, None)
    assert "omission" in result.flags
    assert result.evidence["missed_most"] == 2 * 3


def cyclictest_json(threads: list[dict[int, int]], **members: object) -> bytes:
    """Return a file of cyclictest -D 10 -i 1000 -h 400 with these histograms of µs."""
    document = {
        "file_version": 1, "cmdline:": "cyclictest -S -p 90 -i 1000 -D 10 -h 400",
        "rt_test_version:": "2.60", "num_threads": len(threads), "resolution_in_ns": 0,
        "thread": {
            str(number): {
                "histogram": {str(value): n for value, n in counts.items()},
                "cycles": sum(counts.values()), "min": min(counts, default=0),
                "max": max(counts, default=0),
                "avg": sum(v * n for v, n in counts.items()) / max(sum(counts.values()), 1),
            }
            for number, counts in enumerate(threads)
        },
    }  # fmt: skip
    return json.dumps(document | members).encode()


def test_a_thread_that_stopped_taking_samples_is_incomplete() -> None:
    """Starved to the end of the run, it has no late sample: only cycles are missing."""
    threads = [{8: 10_000}, {8: 8_000}, {}, {8: 9_600}]
    by_thread = run_of(cyclictest_json(threads)).results
    assert [r.status for r in by_thread] == ["ok", "incomplete", "incomplete", "ok"]
    assert "no sample after 8.00 s of 10.0 s (8 000 cycles)" in str(by_thread[1].reason)
    assert by_thread[2].reason == "no sample: the task never ran"
    line = "T: {} (  40{}) P:90 I:{} C: {:6} Min:      7 Act:   11 Avg:   12 Max:      34\n"
    alike = [(0, 1000, 60_000), (1, 1500, 40_000), (2, 1000, 50_000)]
    lines = "".join(line.format(n, n, interval, cycles) for n, interval, cycles in alike)
    assert [r.status for r in run_of(lines.encode()).results] == ["ok", "ok", "incomplete"]
    loops = "".join(line.format(n, n, 1000 + 500 * n, 60_000) for n in range(3))
    assert {r.status for r in run_of(loops.encode()).results} == {"ok"}  # -l 60000
    assert {r.status for r in run_of(cyclictest_json([{8: 20}, {8: 19}])).results} == {"ok"}


def test_a_thread_that_was_late_for_as_long_did_not_stop() -> None:
    stalled = {8: 7_500, 500_000: 5}
    late = run_of(cyclictest_json([{8: 10_000}, stalled])).results[1]
    assert (late.status, late.missed) == ("ok", 5 * 500)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_two_runs_in_one_file_are_refused(path: Path) -> None:
    """A log to which runs are appended must not lose the first of them."""
    data = path.read_bytes()
    if path.suffix == ".raw" or path.name == "lmbench.txt":
        pytest.skip("a file of several measurements by its own format")
    second = re.sub(rb"\( *(\d+)\) (?=[PI]:)", rb"(\g<1>9) ", data)
    refused(data + second, reader(None, Source("", data))[0])


def test_a_second_run_is_known_by_its_threads() -> None:
    line = "T: 0 ({:5}) P:95 I:1000 C: {:6} Min:      4 Act:    9 Avg:    8 Max:      40\n"
    same = line.format(501, 20_000) + line.format(501, 24_000)
    assert run_of(same.encode()).results[0].n == 24_000
    for second in (line.format(901, 24_000), line.format(501, 19_999)):
        text = line.format(501, 20_000) + second
        assert "a second run begins here" in refused(text.encode(), "cyclictest-statistics")
    assert run_of((line.format(0, 0) + same).encode()).results[0].n == 24_000  # before it ran


@pytest.mark.parametrize(
    ("start", "created", "note"),
    [
        ("Mon, 06 Jan 2020 10:00:00 +0200", "2020-01-06T08:00:00+00:00", ""),
        ("Mon, 06 Jan 2020 10:00:00", "2020-01-06T10:00:00+00:00", "no zone"),
        ("Thu, 01 Jan 1970 00:00:09 +0000", None, "dated by its import: the file says 1970"),
        ("Mon, 06 Jan 2220 10:00:00 +0000", None, "dated by its import: the file says 2220"),
        ("yesterday", None, "dated by its import: 'yesterday' is no time"),
    ],
)
def test_a_run_has_the_time_of_its_measurement(start: str, created: str, note: str) -> None:
    run = run_of(cyclictest_json([{8: 100}], start_time=start))
    if created:
        assert run.created == created == run.conditions["tool.measured"]
    else:
        age = datetime.now(UTC) - datetime.fromisoformat(run.created)
        assert abs(age.total_seconds()) < 3600
    assert [note in text for text in run.notes] == ([True] if note else [])


def _series(counts: dict[int, int], **members: object) -> Series:
    n = sum(counts.values()) + int(str(members.get("overflow", 0)))
    return Series(name="", n=n, counts=counts, **{"max": max(counts, default=0), **members})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("series", "missed"),
    [
        (_series({999: 5}), 0),
        (_series({20: 90, 1000: 1, 1999: 2, 2500: 3}), 9),
        (_series({20: 9}, overflow=1, max=4200), 4),  # the largest is the one beyond
        (_series({20: 9}, overflow=2, max=900), 0),
        (_series({20: 9}, overflow=2, max=4200), None),  # the other one is not known
        (_series({3999: 1}, overflow=2, max=4200), 3 + 2 * 4),
        (_series({900: 1}, width=200, max=950), 0),
        (_series({900: 1}, width=200, max=1050), None),  # on either side of the period
        (_series({20: 9}, max=1000, uncounted=True), None),
    ],
)
def test_missed_activations_follow_from_lateness(series: Series, missed: int | None) -> None:
    assert missed_activations(series, 1_000_000) == missed
    assert missed_activations(series, None) is None


def test_circumstances_of_cyclictest() -> None:
    run = run_of((DATA / "cyclictest-2.4-H.json").read_bytes())
    evidence = run.results[0].evidence
    assert (evidence["sched"], evidence["prio"], evidence["locked"]) == ("fifo", 80, True)
    assert evidence["section_ns"] == 200 * 10**6
    assert run.conditions["kernel.release"] == "6.18.44-fc-v669"
    assert str(run.conditions["tool.command"]).startswith("cyclictest -q -m -S -p 80")
    assert run.conditions["tool.measured"] == "2026-11-21T18:28:01+00:00"
    bare = results("cyclictest-2.4-bare.json")[0]
    assert bare.evidence["sched"] == "other" and "statistics_only" in bare.flags
    assert (bare.n, bare.p50, bare.overflow) == (40, None, 0)
    live = run_of((DATA / "cyclictest-2.4-live.txt").read_bytes())
    assert live.results[0].params == {"interval": 1_000_000}
    assert live.conditions["cpu_dma_latency"] == "held at 0 us"


@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("cyclictest -Smp90 -i200 -h400 -q -D 10m", (200_000, 200_000, 600, 90)),
        ("cyclictest --priority=90 --interval 200 -D1h", (200_000, 700_000, 3600, 90)),
        ("cyclictest -a 0-1 -t2 -p 90 -D 5 --distance=7", (10**6, 1_007_000, 5, 90)),
        ("cyclictest -t -a -p", (10**6, 1_500_000, None, None)),
    ],
)  # fmt: skip
def test_command_lines(command: str, row: tuple[object, ...]) -> None:
    """Without a histogram, each thread's period is longer than the last one's (cyclictest -d)."""
    parameters = options(command)
    assert (
        parameters.period_ns(),
        parameters.period_ns(1),
        parameters.duration_s,
        parameters.number("p"),
    ) == row


def test_rtla() -> None:
    by_name = {(r.bench, r.series): r for r in results("rtla-timerlat.txt")}
    assert set(by_name) == {
        (f"timerlat.{kind}", f"cpu {cpu}") for kind in ("irq", "thread", "user") for cpu in (0, 2)
    }
    assert {r.n for r in by_name.values()} == {998, 1000}
    late = by_name["timerlat.thread", "cpu 2"]
    assert (late.overflow, late.max, late.evidence["bucket_ns"]) == (1, 312_000, 1000)
    assert (late.p99, late.p999) != (None, None) and late.p9999 is None
    assert late.evidence["section_ns"] == 10 * 10**9
    noise = results("rtla-osnoise.txt")
    assert [r.series for r in noise] == ["cpu 0", "cpu 1", "cpu 3"]
    assert noise[2].overflow == 1 and noise[2].evidence["bucket_ns"] == 5000
    assert {r.bench for r in noise} == {"osnoise"}


def test_rtla_in_ns_that_missed_events() -> None:
    text = (DATA / "rtla-timerlat.txt").read_text().replace("microseconds (us)", "nanoseconds (ns)")
    text += "12 (0.20%) events missed, results might not be accurate\n"
    run = run_of(text.encode())
    assert (run.results[0].min, run.results[0].evidence["bucket_ns"]) == (1, 1)
    assert all({"samples_lost"} == {"samples_lost", "buckets"} & set(r.flags) for r in run.results)
    assert run.notes == ["12 (0.20%) events missed, results might not be accurate"]


def test_rteval() -> None:
    run = run_of((DATA / "rteval.xml").read_bytes())
    assert [(r.series, r.n, r.load) for r in run.results] == [
        ("cpu 0", 600, "rteval"), ("cpu 1", 600, "rteval"),
    ]  # fmt: skip
    assert run.conditions["kernel.realtime"] is True and run.duration_s == 60
    assert run.results[0].params == {"interval": 100_000}
    sds = re.findall(
        r"<standard_deviation unit=\"us\">([\d.]+)<", (DATA / "rteval.xml").read_text()
    )
    assert run.results[0].sd == pytest.approx(1e3 * float(sds[1]), abs=1e-3)


def test_stress_ng() -> None:
    (plain,) = results("stress-ng-0.15.txt")
    assert (plain.n, plain.min, plain.max) == (8019, 9463, 316001)
    assert (plain.p50, plain.p99, plain.p999) == (17456, 27741, None)  # 8019 < 10 000
    assert {"wall_clock", "statistics_only"} <= set(plain.flags)
    (dist,) = results("stress-ng-0.15-dist.txt")
    assert dist.overflow == dist.n - sum(count for _, count in dist.histogram) > 0
    assert (dist.n, dist.max, dist.evidence["bucket_ns"]) == (913, 7239575, 5000)
    needed = (DATA / "stress-ng-0.15.txt").read_text().replace(
        "stress-ng: info:  [", "stress-ng: info:  [1] cyclic: Note: --cyclic-samples needed to be "
        "14274 to capture all the data for this run\nstress-ng: info:  [", 1,
    )  # fmt: skip
    run = run_of(needed.encode())
    assert "samples_lost" in run.results[0].flags and "14274" in run.notes[0]


def test_statistics_of_cyclictest() -> None:
    """With -q it prints no more than a line a thread; the places of its numbers tell the unit."""
    first, second = results("cyclictest-2.4-q.txt")
    assert (first.n, first.min, first.mean, first.max) == (300, 21_000, 38_000, 119_000)
    assert (second.n, second.min, second.max, second.series) == (4, 22_000, 32_000, "thread 1")
    assert (first.histogram, first.p50, first.missed) == ([], None, 0)
    assert first.flags == ["imported", "statistics_only"]
    assert (first.params, second.params) == ({"interval": 1_000_000}, {"interval": 1_500_000})
    assert first.evidence["prio"] == 80
    (ns,) = results("cyclictest-2.4-q-ns.txt")
    assert (ns.n, ns.min, ns.max) == (200, 23_540, 14_978_800)
    assert ns.evidence["sched"] == "other"


def test_what_cyclictest_prints_while_it_runs() -> None:
    """Each status takes the place of the one before; one without a cycle has no statistics."""
    text = (DATA / "cyclictest-2.4-running.txt").read_text()
    last = re.findall(r"T: (\d) .* C: +(\d+) Min: +(\d+) .* Max: +(\d+)", text)[-2:]
    printed = [
        (r.series[-1], str(r.n), f"{r.min:.0f}", f"{r.max:.0f}")
        for r in run_of(text.encode()).results
    ]
    assert printed == [(thread, n, low + "000", high + "000") for thread, n, low, high in last]
    begun = text.split("\n\n")[1].split("\x1b")[0]
    assert [(r.n, r.min, r.max) for r in run_of(begun.encode()).results] == [(0, None, None)] * 2


def test_samples_of_cyclictest() -> None:
    """All that -v printed, in µs unless the status of a thread tells that they are ns."""
    for name, unit in (("cyclictest-2.4-v.txt", 1000), ("cyclictest-2.4-q-v-ns.txt", 1)):
        lines = re.findall(r"(?m)^ +(\d+): +\d+: +(\d+)$", (DATA / name).read_text())
        for thread, result in enumerate(results(name)):
            own = [int(value) * unit for number, value in lines if int(number) == thread]
            assert (result.n, result.min, result.max) == (len(own), min(own), max(own))
            assert result.mean == pytest.approx(sum(own) / len(own))
            assert result.histogram == sorted(Counter(own).items())
            assert ("unit_assumed" in result.flags) == (unit == 1000)
            whole = unit == 1000 or len(own) == 20  # it did not print the last ones of a thread
            assert ("samples_lost" in result.flags) == (not whole)


@pytest.mark.parametrize("seed", range(5))
def test_samples_that_are_not_in_the_file(seed: int) -> None:
    """Cycles that were not printed are counted, those at the end if the status tells how many."""
    random = Random(seed)
    values = [int(random.lognormvariate(3, 1)) for _ in range(500)]
    indices = [i for i in range(500) if random.random() < 0.9]
    lines = [f"{0:8}:{i:8}:{values[i]:8}" for i in indices]
    lost = indices[-1] + 1 - len(indices)
    plain = run_of("\n".join([*lines, ""]).encode())
    assert plain.results[0].n == len(indices)
    assert plain.notes == [f"thread 0: {lost} of {indices[-1] + 1} samples are not in the file"]
    assert "samples_lost" in plain.results[0].flags
    status = (
        f"T: 0 (  123) P:80 I:1000 C:    600 Min:{min(values):7} Act:    5 Avg:    7 "
        f"Max:{max(values):8}"
    )
    whole = run_of("\n".join([*lines, status, ""]).encode())
    assert whole.notes == [f"thread 0: {600 - len(indices)} of 600 samples are not in the file"]
    assert whole.results[0].params == {"interval": 1_000_000}


def test_stress_ng_yaml() -> None:
    run = run_of((DATA / "stress-ng-0.15.yaml").read_bytes())
    (result,) = run.results
    assert (result.bench, result.params, result.n) == (
        "stress-ng.metrics",
        {"stressor": "cyclic"},
        0,
    )
    figures = {name: (figure.value, figure.unit) for name, figure in result.figures.items()}
    assert figures == {
        "bogo ops": (15295, "ops"),
        "bogo ops per second usr sys time": (44360.206618, "/s"),
        "bogo ops per second real time": (7641.924751, "/s"),
        "wall clock time": (2.001459, "s"), "user time": (0.102582, "s"),
        "system time": (0.242209, "s"), "cpu usage per instance": (17.226982, "%"),
        "max rss": (2760, "KiB"),
    }  # fmt: skip
    assert run.conditions["tool.measured"] == "2026:11:22 20:21:59"
    assert run.conditions["kernel.name"] == "Linux"


def test_lmbench() -> None:
    measurements = results("lmbench.txt")
    times = {
        str(r.params.get("call") or (r.params["size"], r.params["procs"])): r for r in measurements
    }
    assert times["Simple syscall"].figures["time"].value == 166.8
    assert times["Select on 100 fd's"].figures["time"].value == 1402.1
    assert times["(16384, 2)"].figures["time"].value == 2610
    assert len({r.case for r in measurements}) == len(measurements) == 9


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_import_says_that_it_is_one(path: Path) -> None:
    run = run_of(path.read_bytes())
    assert run.status == "complete" and run.target.name.startswith("import:")
    for result in run.results:
        assert result.flags[0] == "imported" and set(result.flags) <= set(BY_NAME)
        assert result.load in {"unknown", "rteval"} and result.bench in {b.id for b in run.benches}
        assert result.n == sum(c for _, c in result.histogram) + result.overflow or (
            "statistics_only" in result.flags
        )


# ---- ground truth --------------------------------------------------------------------------------


def cyclictest(samples: list[list[int]], top: int, sums: bool, zeros: bool) -> str:
    """Return what cyclictest prints for these samples, a list per thread."""
    lines = ["# /dev/cpu_dma_latency set to 0us", "# Histogram"]
    counts = [Counter(own) for own in samples]
    for value in range(top):
        row = [c[value] for c in counts]
        if any(row) or zeros:
            row += [sum(row)] * sums
            lines.append(f"{value:06} " + "\t".join(f"{n:06}" for n in row))
    over = [[i for i, value in enumerate(own) if value >= top] for own in samples]
    within = [len(own) - len(out) for own, out in zip(samples, over, strict=True)]
    if zeros:
        lines.append("# Total: " + " ".join(f"{n:09}" for n in within + [sum(within)] * sums))
    most = [max(own) for own in samples]
    means = [sum(own) // len(own) for own in samples]
    beyond = [len(out) for out in over]
    for head, values in (
        ("Min Latencies", [min(own) for own in samples]), ("Avg Latencies", means),
        ("Max Latencies", most + [max(most)] * sums),
        ("Histogram Overflows", beyond + [sum(beyond)] * sums),
    ):  # fmt: skip
        lines.append(f"# {head}: " + " ".join(f"{value:05}" for value in values))
    lines.append("# Histogram Overflow at cycle number:")
    for thread, out in enumerate(over):
        rest = f" # {len(out) - 20:05} others" if len(out) > 20 else ""
        lines.append(f"# Thread {thread}:" + "".join(f" {i:05}" for i in out[:20]) + rest)
    return "\n".join([*lines, "", ""])


@pytest.mark.parametrize("seed", range(20))
def test_statistics_are_those_of_the_samples(seed: int) -> None:
    """Percentiles within the histogram are those of the samples; in the overflow there are none."""
    random = Random(seed)
    samples = [
        [int(random.lognormvariate(3, 0.4 + seed / 100)) for _ in range(random.choice([40, 3000]))]
        for _ in range(random.randint(1, 3))
    ]
    top = random.choice([25, 40, 60, 5000])
    text = cyclictest(samples, top, sums=bool(seed % 2), zeros=bool(seed % 3))
    for own, result in zip(samples, run_of(text.encode()).results, strict=True):
        within = [value for value in own if value < top]
        assert (result.n, result.overflow) == (len(own), len(own) - len(within))
        assert (result.min, result.max) == (1e3 * min(own), 1e3 * max(own))
        if result.overflow:
            assert result.mean == 1e3 * (sum(own) // len(own)) and result.sd is None
        else:
            assert result.mean == pytest.approx(1e3 * sum(own) / len(own))
        for name, q in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p999", 0.999)):
            rank = math.ceil(round(q * len(own), 6))
            enough = len(own) * (1 - q) >= 10 - 1e-9
            true = sorted(own)[rank - 1] if enough and rank <= len(within) else None
            assert getattr(result, name) == (None if true is None else 1e3 * true), name


# ---- refused files -------------------------------------------------------------------------------


def prefixes(data: bytes) -> Iterator[bytes]:
    """Return prefixes at every line, and at some bytes to keep the test cheap."""
    step = max(1, len(data) // 400)
    ends = {i + 1 for i, byte in enumerate(data) if byte == 10} | set(range(0, len(data), step))
    return (data[:end] for end in sorted(ends) if end < len(data))


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_a_file_cut_short_is_refused_or_still_whole(path: Path) -> None:
    data = path.read_bytes()
    whole = held(run_of(data).results)
    refusals = 0
    for part in prefixes(data):
        try:
            run = run_of(part)
        except UsageError as error:
            assert "\n" not in str(error)
            refusals += 1
            continue
        contents = held(run.results)
        if path.suffix == ".raw":  # it has no totals, so only incomplete records are detected
            assert sum(row[2] for row in contents) == len(part) / 28  # type: ignore[misc]
        elif path.name in LINES:
            assert part.endswith(b"\n") and len(contents) <= len(whole)
            assert all(row[2] <= most[2] for row, most in zip(contents, whole, strict=False))  # type: ignore[operator]
        elif path.name == "lmbench.txt":  # nor has this one: only incomplete lines
            assert part.endswith(b"\n") and contents == whole[: len(contents)]
        elif path.name.startswith("rtla") and "no summary" in " ".join(run.notes[:1]):
            assert [row[:4] + row[6:] for row in contents] == [row[:4] + row[6:] for row in whole]
        else:
            assert contents == whole
    assert refusals


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_bytes_changed_at_random_never_end_in_a_traceback(path: Path) -> None:
    data, random = path.read_bytes(), Random(path.name)
    form = reader(None, Source("", data))[0]
    for _ in range(150):
        bad = bytearray(data)
        for _ in range(random.randint(1, 3)):
            place = random.randrange(len(bad))
            bad[place : place + random.choice([0, 1, 1, 9])] = random.choice(
                [b"", b"-", b"x", b"9" * 40, b"\xff", b"\n", b" ", b"{", b"<", b"1e9", b"0"]
            )
        try:
            run = run_of(bytes(bad), form)
        except UsageError as error:
            assert "\n" not in str(error)
        else:
            for result in run.results:
                assert result.n >= sum(count for _, count in result.histogram) >= 0
                assert all(value >= 0 and count > 0 for value, count in result.histogram)


CONTRADICTIONS = [
    ("cyclictest-2.4-h.txt", r"(?m)^# Total: 0", "# Total: 1", "'# Total:' says"),
    ("cyclictest-2.4-h.txt", r"(?m)^(000020) 0", r"\1 1", "'# Total:' says"),
    ("cyclictest-2.4-h.txt", r"(?m)^000020 ", "000018 ", "bucket 18 is not above the one before"),
    ("cyclictest-2.4-h.txt", r"(?m)^(000020 \d+)\t\d+", r"\1", "1 counts, not as many"),
    ("cyclictest-2.4-h.txt", r"(?m)^(000020 )", r"\1-", "is not a whole number from 0"),
    ("cyclictest-2.4-h.txt", r"(?m)^(000020 )", r"\1x", "is not a whole number from 0"),
    ("cyclictest-2.4-h.txt", r"(?m)^(000020 )", r"\g<1>99999999999999999999", "too large"),
    ("cyclictest-2.4-h.txt", r"# Min Latencies: \d+", "# Min Latencies: 00001", "lowest bucket"),
    ("cyclictest-2.4-h.txt", r"# Max Latencies: \d+", "# Max Latencies: 00020", "not beyond"),
    ("cyclictest-2.4-h.txt", r"# Max Latencies: \d+ \d+", "# Max Latencies: 1", "1 numbers, but 2"),
    ("cyclictest-2.4-h.txt", r"# Avg Latencies: \d+", "# Avg Latencies: 99999", "the mean"),
    ("cyclictest-2.4-h.txt", r"(# Thread 0:)", r"\1 00001", "in the list of cycles"),
    ("cyclictest-2.4-h.txt", r"(?m)^# Thread 0:.*\n", "", "lines for 1 of 2 threads"),
    ("cyclictest-2.4-h.txt", r"(?s)# Histogram\n.*", r"\g<0>\g<0>", "a second histogram"),
    ("cyclictest-2.4-h.txt", r"000020 ", "# what 000020 ", "unknown line"),
    ("cyclictest-2.4-H.txt", r"(?m)^(000017 .*\t)\d+$", r"\g<1>000001", "do not add up to 1"),
    ("cyclictest-2.4-one.txt", r"# Avg Latencies: 0001", "# Avg Latencies: 0002", "the mean"),
    ("cyclictest-2.4-H.json", r'"cycles": 200', '"cycles": 20', "20 cycles, but 200"),
    ("cyclictest-2.4-H.json", r'"cycles": 200', '"cycles": 201', "is not beyond the histogram"),
    ("cyclictest-2.4-H.json", r'"min": 14', '"min": 15', "lowest bucket"),
    ("cyclictest-2.4-H.json", r'"max": 30', '"max": 31', "highest bucket"),
    ("cyclictest-2.4-H.json", r'"avg": 16', '"avg": 17', "is not that of the histogram"),
    ("cyclictest-2.4-H.json", r'"avg": 16.\d+', '"avg": NaN', "NaN is not a number"),
    ("cyclictest-2.4-H.json", r'"min": 14', '"min": -1', "-1 cannot be a time"),
    ("cyclictest-2.4-H.json", r'"min": 14', '"min": "14"', "Expected `int`, got `str`"),
    ("cyclictest-2.4-H.json", r'"15": (\d+)', r'"15": \1, "15": 1', "key '15' appears twice"),
    ("cyclictest-2.4-H.json", r'"15":', '"x":', "bucket 'x' is not a whole number"),
    ("cyclictest-2.4-H.json", r'"15": \d+', '"15": -3', "bucket 15 has a negative count"),
    ("cyclictest-2.4-H.json", r'"num_threads": 2', '"num_threads": 9', "2 threads, but"),
    ("cyclictest-2.4-H.json", r'"resolution_in_ns": 0', '"resolution_in_ns": 5', "neither 0 nor 1"),
    ("cyclictest-2.4-H.json", r'"file_version": 1', '"file_version": 2', "file_version 2"),
    ("cyclictest-2.4-H.json", r'"max": 30', f'"max": {2**63}', "cannot be a time"),
    ("cyclictest-2.4-H.json", r'"max": 30', '"max": ' + "9" * 5000, "no JSON"),
    ("cyclictest-2.4-H.json", r'"histogram": {', '"histogram": ' + "[" * 99999, "no JSON"),
    ("jitterdebugger-0.3.json", r'"version": 3,', '"version": 1,', "version 1"),
    ("jitterdebugger-0.3.json", r'"count": 400', '"count": 399', "count 399, but 400"),
    ("jitterdebugger-0.3.json", r'"1": {', '"7": {', "not numbered from 0"),
    ("rtla-timerlat.txt", r"count: +1000((?s:.*)count: +)2000", r"count: 1\g<1>1001", "counted"),
    ("rtla-timerlat.txt", r"over:", "under:", "in place of 'over:'"),
    ("rtla-timerlat.txt", r"Usr-002", "Usr-000", "names of the columns"),
    ("rtla-timerlat.txt", r"Index", "     ", "no 'Index'"),
    ("rtla-timerlat.txt", r"(ALL:.*\ncount: +)\d+", r"\g<1>1", "is not that of the CPUs"),
    ("rtla-timerlat.txt", r"\(us\)", "(fortnights)", "no '# Time unit'"),
    ("rtla-osnoise.txt", r"avg: +\d+", "avg:   900", "the mean"),
    ("rteval.xml", r'(<core(?s:.*?)index=")6"', r'\g<1>5"', "bucket 5 appears twice"),
    ("rteval.xml", r'(<core(?s:.*?)index="6" value=")', r"\g<1>1", "were counted"),
    ("rteval.xml", r'index="6" value="', 'index="6" value="1', "that of the system"),
    ("rteval.xml", r"<samples>1200", "<samples>1201", "do not add up to the 1201"),
    ("rteval.xml", r"<rteval ", "<!DOCTYPE a [<!ENTITY b 'c'>]><rteval ", "a document type"),
    ("rteval.xml", r"(?s)<core.*</core>", "", "no histogram"),
    ("stress-ng-0.15.txt", r"99.50%", "99.60", "percentiles in place of 9"),
    ("stress-ng-0.15.txt", r"(?s)\S+ \S+  \S+ cyclic: .* cyclic: [^\n]*\n", "",
     "stress-ng has taken no sample"),
    ("stress-ng-0.15.txt", r"min: \d+", "min: 999999999", "between the minimum and the"),
    ("stress-ng-0.15-dist.txt", r"( 15000 +)3", r"\g<1>2", "the distribution has no"),
    ("stress-ng-0.15-dist.txt", r".* 15000 .*\n", "", "bucket 20000 is not the next one"),
    ("stress-ng-0.15-dist.txt", r".* 1245000 .*\n", "", "buckets up to 1240000 of 250"),
    ("stress-ng-0.15-dist.txt", r"( 15000 +)\d", r"\1x", "is not a line of a distribution"),
    ("stress-ng-0.15.txt", r"99.99%: +\d+", "99.99%: 400000", "a percentile is not between"),
    ("stress-ng-0.15.txt", r"50.00%", "51.00%", "percentiles in place of 9"),
    ("stress-ng-0.15-dist.txt", r"( 15000 +)\d", r"\g<1>9", "does not add up to 913"),
    ("cyclictest-2.4-q.txt", r"Min: +21", "Min:    121", "the minimum 121 is larger"),
    ("cyclictest-2.4-q.txt", r"Avg: +38", "Avg:  138", "the mean 138 is not between"),
    ("cyclictest-2.4-q.txt", r"T: 0", "T: 7", "the status of threads 1, 7 only"),
    ("cyclictest-2.4-q.txt", r"Max: +119", "Max:    x19", "is not a complete line of cyclictest"),
    ("cyclictest-2.4-q.txt", r"Act: +27 Avg: +26", "Act:      27 Avg:      26", "in µs and some"),
    ("cyclictest-2.4-running.txt", r"(?s)\A.*(T: 0 .*)\Z", r"\g<0>T: 0 (1) P: 0 I:1000 C:      1 "
     "Min:      1 Act:    1 Avg:    1 Max:       1\n", "a second run begins here"),
    ("cyclictest-2.4-v.txt", r"0:       5:", "0:       3:", "cycle 3 is not after the one before"),
    ("cyclictest-2.4-v.txt", r"0:( +)5:( +)\d", r"0:\g<1>5:\g<2>-", "is not a whole number from 0"),
    ("cyclictest-2.4-q-v-ns.txt", r"(T: 0.*)Max: \d", r"\g<1>Max: 9", "but it says"),
    ("cyclictest-2.4-q-v-ns.txt", r"(T: 0.*)C: +20", r"\g<1>C:      9", "cycle 19 of 9"),
    ("stress-ng-0.15.yaml", r"(?s)    - stressor.*max-rss: \d+", "", "no metrics of a stressor"),
    ("stress-ng-0.15.yaml", r"(?s)    - stressor.*max-rss: \d+\n", r"\g<0>\g<0>", "begins no"),
    ("stress-ng-0.15.yaml", r"(?s)\A.*\Z", r"\g<0>\g<0>", "a second document"),
    ("lmbench.txt", r"0.1668", "fast", "is not a line of lat_syscall"),
    ("lmbench.txt", r"Simple read", "Simple syscall", "appears twice"),
    ("lmbench.txt", r"0.1668", "-0.1668", "is not a line of lat_syscall"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "old", "new", "says"), CONTRADICTIONS, ids=lambda text: text[:24]
)  # fmt: skip
def test_contradictions(name: str, old: str, new: str, says: str) -> None:
    data = (DATA / name).read_text()
    form = reader(None, Source("", data.encode()))[0]
    bad = re.sub(old, new, data, count=1)
    assert bad != data
    assert says in refused(bad.encode(), form)


def test_raw_samples_that_are_none() -> None:
    data = (DATA / "jitterdebugger-0.3-samples.raw").read_bytes()
    assert "not whole records of 28" in refused(data[:-5])
    rows = [bytearray(data[i : i + 28]) for i in range(0, len(data), 28)]
    rows.insert(0, rows.pop(-1))
    assert "not in the order of time" in refused(b"".join(rows))
    rows[3][27] = 1
    assert "too large" in refused(b"".join(rows))


def test_rteval_with_samples_that_it_did_not_count() -> None:
    """A maximum at the end of the histogram comes from a sample in no bucket."""
    text = (DATA / "rteval.xml").read_text()
    tops = re.findall(r"<maximum unit=\"us\">(\d+)", text)
    text = text.replace(f'<maximum unit="us">{tops[1]}', '<maximum unit="us">3500')
    first = run_of(text.encode()).results[0]
    assert "beyond" in first.flags and first.max == 3_500_000 and first.p50 is None


# ---- the command ---------------------------------------------------------------------------------


def test_a_file_that_is_not_known() -> None:
    assert "no format that rtstone knows" in refused(b"hello\n")
    assert "for numbers of your own give --format samples and --unit; known: " in refused(
        bytes(range(256))
    )
    for form in READERS:
        for data in (b"hello\n", b"\xff\xfe\0", b"{}", b"[]\n", b"<rteval/>", b"0\n", b"\n#\n"):
            refused(data, form)


def test_nothing_and_too_much(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b" \n")
    with pytest.raises(UsageError, match="nothing in the file"):
        bounds.read(str(path))
    monkeypatch.setattr(bounds, "LARGEST", 1 << 20)
    path.write_bytes(b"0" * ((1 << 20) + 1))
    with pytest.raises(UsageError, match="more than 1 MiB"):
        bounds.read(str(path))
    monkeypatch.setattr(bounds, "LONGEST", 1 << 10)
    assert "a text of more than 0 MiB" in refused(b"# Histogram\n" + b"0" * 1024)
    for name in (str(tmp_path), str(tmp_path / "none"), "a\0b"):
        with pytest.raises(UsageError):
            bounds.read(name)


def test_nothing_of_a_file_reaches_the_terminal_as_it_is() -> None:
    text = (DATA / "cyclictest-2.4-H.json").read_text()
    run = run_of(text.replace("cyclictest -q", "cyclictest \\u001b[2J\\n-q").encode())
    assert str(run.conditions["tool.command"]).startswith("cyclictest ?[2J -q -m")
    assert "\x1b" not in refused(b"# Histogram\n000001 \x1b[2J\n")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO((DATA / "lmbench.txt").read_bytes())

    monkeypatch.setattr(sys, "stdin", Stdin())
    assert len(run_of(bounds.read("-").data).results) == 9


# ---- files made to be expensive -----------------------------------------------------------------


def calls(data: bytes, form: str) -> int:
    """Return how many functions are called to read the file, including the interpreter's."""
    count = 0

    def called(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    before = sys.getprofile()
    sys.setprofile(called)
    try:
        read(data, form)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize(("make", "form"), LONG)
def test_a_file_eight_times_as_long_takes_eight_times_the_calls(
    make: Callable[[int], bytes], form: str
) -> None:
    """And not 64 times; tests.bench.imports measures the time, including regular expressions."""
    assert calls(make(2000), form) < 10 * calls(make(250), form)


def test_the_buckets_of_rteval_are_not_kept_as_elements() -> None:
    data = rteval(5_000)
    tracemalloc.start()
    try:
        assert [r.n for r in run_of(data).results] == [600, 600]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * len(data)  # a tree of the elements would take more than ten times as much


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("<a>" * 10**6, "elements 32 deep"),
        ("<kernel/>" * 200_000, "more than 100000 elements"),
        ("<a/>" * 90_000, ""),
    ],
)
def test_an_rteval_file_of_many_elements(element: str, message: str) -> None:
    text = (DATA / "rteval.xml").read_text().replace("<SystemInfo>", f"{element}<SystemInfo>")
    if message:
        assert message in refused(text.encode())
    else:
        assert held(run_of(text.encode()).results) == held(results("rteval.xml"))
