"""Files of tools beside cyclictest: what each reader takes from them, and what it refuses."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.formats import source as bounds
from rtstone.formats.pasted import plain
from rtstone.formats.reading import document
from rtstone.formats.registry import reader
from rtstone.formats.source import Source
from tests.agent.rights import realtime
from tests.formats.long import DATA, run_of
from tests.formats.test_import import TEXTS, calls, held, refused, results
from tests.formats.test_tools import output


def statistics(rows: list[Result]) -> list[tuple[object, ...]]:
    return [(r.series, r.n, r.min, r.mean, r.max) for r in rows]


def damaged(name: str, old: str, new: str) -> str:
    """Return how the file is refused with the first match of ``old`` replaced."""
    text = (DATA / name).read_text()
    form = reader(None, Source("", text.encode()))[0]
    bad = re.sub(old, new, text, count=1)
    assert bad != text
    return refused(bad.encode(), form)


# ---- rt-tests -----------------------------------------------------------------------------------


def test_pairs_of_rt_tests() -> None:
    run = run_of((DATA / "pmqtest-2.4.json").read_bytes())
    assert run.benches[0].id == "pmqtest" and run.target.name == "import:pmqtest"
    assert statistics(run.results) == [
        ("pair 0", 60, 17_000, 36_620, 70_000), ("pair 1", 56, 13_000, 75_110, 1_770_000),
    ]  # fmt: skip
    first = run.results[0]
    assert first.params == {"interval": 2_000_000} and first.flags[-1] == "statistics_only"
    assert (first.evidence["cpus"], first.evidence["prio"]) == ([1], 80)
    assert run.conditions["tool.measured"] == "2026-11-27T03:54:21+00:00"
    assert [r.bench for r in results("svsematest-2.4.json")] == ["svsematest"] * 2


def test_text_and_json_of_the_same_run_agree() -> None:
    """The text has whole us: pairs' means are rounded, those of single threads truncated."""
    for tool, rounded in (("pmqtest", True), ("signaltest", False), ("cyclicdeadline", False)):
        text, document = (results(f"{tool}-2.4{end}") for end in ("-q.txt", ".json"))
        for printed, exact in zip(text, document, strict=True):
            assert (printed.series, printed.n, printed.min, printed.max) == (
                exact.series, exact.n, exact.min, exact.max,
            )  # fmt: skip
            assert printed.params == exact.params and printed.bench == exact.bench == tool
            mean = exact.mean or 0
            assert printed.mean == 1000 * (round(mean / 1000) if rounded else mean // 1000)


def test_a_minimum_that_the_tool_forgets_is_unknown() -> None:
    run = run_of((DATA / "cyclicdeadline-2.4.json").read_bytes())
    assert [r.min for r in run.results] == [None, None] and "forgets it" in run.notes[0]
    assert [r.params["interval"] for r in run.results] == [20_000_000, 25_000_000]
    text = (DATA / "cyclicdeadline-2.4.json").read_text()
    bare = run_of(text.replace(" -i 20000", "").replace(" -s 5000", "").encode())
    assert [r.params["interval"] for r in bare.results] == [1_000_000, 1_500_000]  # its defaults
    assert run_of(text.replace("-i 20000", "-i $I").encode()).results[0].params == {}


def test_a_pair_without_a_sample_is_incomplete() -> None:
    """C prints nan for the mean of none, which is no JSON."""
    text = (DATA / "pmqtest-2.4.json").read_text()
    for sent in (0, 1):
        lost = re.sub(
            r'"samples": 56((?s:.*?))"min": 13,\s+"avg": 75.11,\s+"max": 1770',
            rf'"samples": {sent}\1"min": -1, "avg": -nan, "max": 0', text,
        )  # fmt: skip
        _, pair = run_of(lost.encode()).results
        assert (pair.n, pair.status, pair.min, pair.mean) == (0, "incomplete", None, None)
    assert "56 samples, but their mean is None" in damaged("pmqtest-2.4.json", "75.11", "nan")
    assert "0 samples, but their mean is 75.11" in damaged("pmqtest-2.4.json", ": 56", ": 0")
    bare = (DATA / "cyclictest-2.4-bare.json").read_text()
    assert "cycles without a mean" in refused(re.sub(r'"avg": [\d.]+', '"avg": nan', bare).encode())


def block(cycles: int, low: str = "Min   10, Cur   71, Avg   39, Max   71") -> str:
    """Return what a tool of pairs prints again and again."""
    return (
        f"#0: ID2491, P80, CPU1, I2000; #1: ID2492, P80, CPU0, Cycles {cycles}\n"
        f"#2: ID2493, P79, CPU0, I2500; #3: ID2494, P79, CPU1, Cycles {cycles}\n"
        f"#1 -> #0, {low}\n#3 -> #2, Min   13, Cur   32, Avg   40, Max  202\n"
    )


UP = "\x1b[4A"


def pairs(text: str, command: str | None = "/usr/bin/sigwaittest -t2") -> list[Result]:
    source = Source("the file", text.encode(), command)
    name, form = reader(None, source)
    return document(form.read(source), source, name, ["rtstone", "import"])[1].results


def test_the_last_status_of_pairs_counts() -> None:
    live = block(7) + UP + block(99, "Min    4, Cur   71, Avg   39, Max   75") + UP + "\x1b[6B"
    assert statistics(pairs(live)) == [
        ("pair 0", 99, 4_000, 39_000, 75_000), ("pair 1", 99, 13_000, 40_000, 202_000),
    ]  # fmt: skip
    empty = block(1, "(not yet ready)").replace("#0, (", "#0 (")
    assert [r.status for r in pairs(empty)] == ["incomplete", "ok"]
    assert pairs(block(1, "Min   -1, Cur    0, Avg -2147483648, Max    0"))[0].n == 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (block(7) + block(9), "a second run begins here"),
        (block(7) + UP + block(6), "a second run begins here (6 cycles after 7)"),
        (block(7) + UP + block(9).replace("ID2493", "ID5"), "run begins here (thread id 5"),
        (block(7) + UP + block(9).rpartition("#3")[0], "the statistics of 0 only"),
        (block(7).partition("#1 ->")[0], "the statistics of none only"),
        (block(7)[:-1], "the last line has no end"),
        (block(7)[:-9], "is not a complete line of rt-tests"),
        (block(7).replace("#3 -> #2", "#5 -> #4"), "no line of pair 2 is before its statistics"),
        (block(7).replace("Max  202", "Max   20"), "the mean 40 is not between"),
    ],
)  # fmt: skip
def test_pairs_that_contradict_each_other(text: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        pairs(text)
    assert says in str(caught.value)


def test_text_that_names_no_tool() -> None:
    """Three tools print the same: which one it was is told by the command line only."""
    for command, says in ((None, "does not say which"), ("cat out", "does not say which")):
        with pytest.raises(UsageError, match=says):
            pairs(block(7), command)
    assert pairs(block(7), "svsematest -q")[0].bench == "svsematest"


def test_a_tool_that_nobody_reads_is_named() -> None:
    whole = json.loads((DATA / "pmqtest-2.4.json").read_text())
    for tool, says in (
        ("rt-migrate-test -q", "a file of rt-migrate-test, which rtstone does not read"),
        ("./newtest -q", "perhaps of newtest, which rtstone does not read: Object missing"),
    ):
        text = json.dumps(whole | {"cmdline:": tool})
        assert refused(text.encode()).startswith(says)
    data = (DATA / "pmqtest-2.4.json").read_bytes()
    assert "a file of pmqtest, in the file; import it with --format rt-tests-json" in refused(
        data, "cyclictest-json"
    )
    assert "a file of oslat" in refused((DATA / "oslat-2.4.json").read_bytes(), "rt-tests-json")


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("pmqtest-2.4.json", r'"num_threads": 2', '"num_threads": 3', "2 threads, but"),
        ("pmqtest-2.4.json", r'"min": 17', '"min": 71', "is larger than the maximum"),
        ("pmqtest-2.4.json", r'"avg": 36', '"avg": 99', "the mean 99.62 is not between"),
        ("pmqtest-2.4.json", r'"samples": 60', '"samples": -60', "but their mean is"),
        ("pmqtest-2.4.json", r'"receiver"', '"taker"', "missing required field"),
        ("signaltest-2.4.json", r'"max": 4278', '"max": 9', "is larger than the maximum"),
        ("cyclicdeadline-2.4.json", r'"max": 1155', '"max": 4', "is above the maximum"),
        ("cyclicdeadline-2.4.json", r'in_ns": 0', 'in_ns": 7', "is neither 0 nor 1"),
        ("signaltest-2.4-q.txt", r"T: 0", "T: 7", "the statistics of 1, 7 only"),
        ("signaltest-2.4-q.txt", r"Max: +4278\n", "Max:", "is not a complete line of rt-tests"),
    ],
)  # fmt: skip
def test_contradictions_of_rt_tests(name: str, old: str, new: str, says: str) -> None:
    assert says in damaged(name, old, new)


# ---- hwlatdetect --------------------------------------------------------------------------------

HWLAT = (DATA / "hwlatdetect-2.4.txt").read_text()


def test_gaps_of_hwlatdetect() -> None:
    run = run_of(HWLAT.encode())
    (gaps,) = run.results
    assert gaps.histogram == [(12_000, 2), (184_000, 1), (187_000, 1)]
    assert (gaps.n, gaps.min, gaps.max, run.duration_s) == (4, 12_000, 187_000, 60)
    assert gaps.params == {"threshold": 10_000, "window": 10**9, "width": 5 * 10**8}
    assert gaps.evidence["cpus"] == [0, 1, 2, 5] and gaps.evidence["smi"] == 6
    (report,) = results("hwlatdetect-2.4-report.txt")
    assert (report.histogram, report.params) == (gaps.histogram, {})
    *head, first, second, third, fourth = HWLAT.splitlines(keepends=True)
    at = head.index("test finished\n")
    watched = "".join([*head[:at], first, second, third, fourth, *head[at:]])
    assert run_of(watched.encode()).results[0].histogram == gaps.histogram


def test_no_gap_is_the_best_result_that_hwlatdetect_can_have() -> None:
    text = re.sub(
        r"ts: .*\n", "", HWLAT.replace(": 4\n", ": 0\n").replace("187us", "Below threshold")
    )
    text = text.replace("0-2,5", "None")
    run = run_of(text.encode())
    assert (run.results[0].n, run.results[0].status, run.results[0].max) == (0, "ok", None)
    assert "cpus" not in run.results[0].evidence
    stopped = run_of(text.replace("test finished", "interrupted\ntest finished").encode())
    assert stopped.duration_s is None and "section_ns" not in stopped.results[0].evidence
    assert stopped.notes[0].startswith("it was interrupted")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (r"recorded: 4", "recorded: 5", "4 samples, but 5 samples recorded"),
        (r"threshold: 4", "threshold: 3", "4 samples, but 3 samples exceeding the threshold"),
        (r"Latency: 187", "Latency: 188", "the largest sample is 187us, but the report says 188us"),
        (r"Max Latency.*\n", "", "it has no maximum"),
        (r"\Z", HWLAT.splitlines()[0] + "\n", "a second report"),
        (r"\Z", "ts: 1740.000000000, inner:1, outer:12\n", "after a later one"),
        (r"outer:12\n", "outer:1x\n", "is not a complete sample"),
        (r"0-2,5", "2-0", "empty CPU list '2-0'"),
    ],
)
def test_contradictions_of_hwlatdetect(old: str, new: str, says: str) -> None:
    assert says in damaged("hwlatdetect-2.4.txt", old, new)


# ---- rtla ---------------------------------------------------------------------------------------

TOP = (DATA / "rtla-timerlat-top.txt").read_text()
CLEAR = "\x1bc"


def test_timerlat_top() -> None:
    run = run_of(TOP.encode())
    assert [(r.bench.partition(".")[2], *statistics([r])[0]) for r in run.results] == [
        ("irq", "cpu 0", 10_000, 0, 1_000, 14_000), ("irq", "cpu 3", 10_000, 0, 0, 9_000),
        ("thread", "cpu 0", 10_000, 4_000, 7_000, 61_000),
        ("thread", "cpu 3", 10_000, 3_000, 5_000, 312_000),
        ("user", "cpu 0", 10_000, 6_000, 9_000, 66_000),
        ("user", "cpu 3", 10_000, 5_000, 7_000, 318_000),
    ]  # fmt: skip
    assert run.duration_s == 10 and run.results[0].evidence["section_ns"] == 10**10
    assert run.notes == ["counts are of interrupts: a thread may have one sample less"]
    nano = run_of(TOP.replace("(us)", "(ns)").encode())
    assert nano.results[2].max == 61


def test_the_last_screen_counts() -> None:
    """Also with colours, and as versions before print it: without user space and all CPUs."""
    old = "\n".join(re.sub(r" \|[^|]*$", "", line) for line in TOP.splitlines()[:-2]) + "\n"
    title, head, names, *rows = old.splitlines(keepends=True)
    colour = f"\x1b[2;37;40m{title[:-1]}\x1b[0;0;0m\n{head}\x1b[2;30;47m{names[:-1]}\x1b[0;0;0m\n"
    late = "".join([colour, *rows])
    early = late.replace("00:00:10", "00:00:09").replace("#10000", "#9000 ").replace("61", "60")
    run = run_of(f"{CLEAR}{early}{CLEAR}{late}rtla timelat hit stop tracing\n".encode())
    assert [(r.n, r.max) for r in run.results] == [
        (10_000, 14_000), (10_000, 9_000), (10_000, 61_000), (10_000, 312_000),
    ]  # fmt: skip
    assert [note[:16] for note in run.notes[1:]] == ["no row of all CP", "rtla timelat hit"]
    for text, says in (
        (early + late, "a second screen that does not clear the first"),
        (f"{CLEAR}{late}{CLEAR}{early}", "a second screen that does not clear"),
        (f"{CLEAR}{early}{CLEAR}{title}", "the last screen is not whole"),
        (f"{CLEAR}{early[:-5]}", "the last line has no end"),
    ):
        assert says in refused(text.encode(), "rtla-top")


def test_a_context_without_a_sample() -> None:
    dashes = "        - " * 4
    text = TOP.replace("        5         3         5       312 ", dashes)
    rows = run_of(text.encode()).results
    assert [r.status for r in rows] == ["ok"] * 3 + ["incomplete", "ok", "ok"]
    lost = TOP + "unknown number of events missed, results might not be accurate\n"
    assert all("samples_lost" in r.flags for r in run_of(lost.encode()).results)


def test_an_analysis_alone_has_no_statistics() -> None:
    text = b"rtla timerlat hit stop tracing\n## CPU 3 hit stop tracing, analyzing it ##\n"
    assert refused(text).startswith("only an analysis of rtla, no statistics, in the file; run it")


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("timerlat-top", r"ALL #20000", "ALL #20001", "the CPUs have 20000 samples, all have"),
        ("timerlat-top", r"(?s)  3 #(.*)\nALL.*", "  0 #\\1\n", "a CPU appears twice"),
        ("timerlat-top", r"(?s)#10000 (.*)\nALL.*", "#0     \\1\n", "CPU 0 has 0 samples, and"),
        ("timerlat-top", r"(?m)^(  3 #[^|]*)\|[^|]*\|[^|]*", r"\1", "1 contexts of CPU 3"),
        ("timerlat-top", r"       312 ", "        32x ", "is not a whole number"),
        ("timerlat-top", r"       312 ", "   ", "3 numbers in place of 4"),
        ("timerlat-top", r"        61 ", "         6 ", "the mean 7 is not between"),
        ("timerlat-top", r"  3 #10000 ", "  3 #1x000 ", "is not a complete row"),
        ("timerlat-top", r"(?m)^  [03] #.*\n(?s:.*)", "", "no CPU"),
        ("osnoise-top", r" 71233 ", " 81233 ", "available is not that of run time and noise"),
        ("osnoise-top", r"  2 #", "  0 #", "CPU 0 appears twice"),
        ("osnoise-top", r" 4109 ", " 109 ", "do not decrease"),
        ("osnoise-top", r"   31\n", "     \n", "9 numbers in place of 10"),
        ("osnoise-top", r"99.80695", "99.8069", "is not a share of a CPU"),
        ("osnoise-top", r"  2 #40", "  2 #4o", "is not a complete row"),
    ],
)  # fmt: skip
def test_contradictions_of_rtla_top(name: str, old: str, new: str, says: str) -> None:
    assert says in damaged(f"rtla-{name}.txt", old, new)


def test_osnoise_top_and_hwnoise() -> None:
    run = run_of((DATA / "rtla-osnoise-top.txt").read_bytes())
    assert [(r.bench, r.series, r.n) for r in run.results] == [
        ("osnoise.top", "cpu 0", 0), ("osnoise.top", "cpu 2", 0),
    ]  # fmt: skip
    assert {name: figure.value for name, figure in run.results[0].figures.items()} == {
        "periods": 41, "runtime": 36_900_000_000, "noise": 71_233_000,
        "largest noise of a period": 4_109_000, "largest single noise": 388_000,
        "available": 99.80695, "hardware": 27, "NMIs": 1, "interrupts": 37_044, "softirqs": 902,
        "threads": 31,
    }  # fmt: skip
    quiet = results("rtla-hwnoise.txt")[1]
    assert (quiet.bench, quiet.figures["noise"].value) == ("hwnoise.top", 0)
    assert list(quiet.figures)[-1] == "NMIs"


OSNOISE = (
    "# RTLA osnoise histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\nIndex"
)
ZEROS = "\nover: 0\ncount: 0\nmin: 0\navg: 0\nmax: 0\n"


def test_histograms_of_other_versions_of_rtla() -> None:
    """One without noise has zeros in newer versions; a minimum of none is the largest number."""
    (silent,) = run_of((OSNOISE + ZEROS).encode()).results
    assert (silent.n, silent.status) == (0, "ok")
    # The column is of a CPU with samples, although the zeros deny it.
    beyond = refused((OSNOISE + "   CPU-000" + ZEROS).encode())
    assert beyond.startswith("samples only beyond the histogram, which rtla does not count")
    text = (
        "# RTLA timerlat histogram\n# Time unit is microseconds (us)\n# Duration:   0 00:01:00\n"
        "Index   IRQ-000   Thr-000\n0             5         0 \nover:         0         0 \n"
        f"count:        5         0 \nmin:          0 {2**64 - 1} \n"
        "avg:          0         - \nmax:          0         0 \n"
    )
    assert [(r.n, r.status) for r in run_of(text.encode()).results] == [
        (5, "ok"),
        (0, "incomplete"),
    ]
    many = text.replace("0             5", "0     123456789").replace(
        "count:        5", "count:123456789"
    )
    assert run_of(many.encode()).results[0].n == 123_456_789
    assert "5 samples without minimum" in refused(
        text.replace("min:          0", "min: -").encode()
    )


# ---- Zephyr and Thread-Metric -------------------------------------------------------------------


def figures(rows: list[Result], name: str) -> dict[object, object]:
    return {next(iter(r.params.values())): r.figures[name].value for r in rows}


def test_latency_measure() -> None:
    run = run_of((DATA / "zephyr-latency.txt").read_bytes())
    assert run.conditions["kernel.release"] == "v4.1.0-2-gabcdef012345"
    times = {
        "thread.yield.preemptive.ctx.k_to_k": 2591, "thread.yield.cooperative.ctx.k_to_k": 2575,
        "isr.resume.different.thread.kernel": 3350, "semaphore.give.wake+ctx.k_to_k": 4341,
    }  # fmt: skip
    *rows, failed = run.results
    assert figures(rows, "time") == times
    assert rows[0].figures["cycles"].value == 311
    assert rows[0].evidence == {"description": "Context switch via k_yield"}
    assert (failed.status, failed.reason) == ("failed", "Memory heap too small--increase it.")
    assert failed.figures["time"].value is None
    recorded = results("zephyr-recording.csv")
    assert figures(recorded, "time") == times
    assert [r.evidence for r in recorded] == [r.evidence for r in rows]
    old = figures(results("zephyr-latency-old.txt"), "time")
    assert old["Average semaphore signal time"] == 930 and len(old) == 3
    bad = (DATA / "zephyr-latency-old.txt").read_text().replace("SUCCESSFUL", "FAILED")
    assert run_of(bad.encode()).notes == ["the benchmark failed"]


def test_another_benchmark_of_zephyr_that_prints_alike() -> None:
    text = "Time Measurements for dumb wait queues\nAdd : 7 cycles , 9 ns\n"
    assert "another benchmark of Zephyr" in refused(text.encode())


def test_columns_of_a_recording() -> None:
    text = "metric,description,nanoseconds,cycles\na.b,What it is,7,3\n"
    (row,) = run_of(text.encode()).results
    assert (row.params, row.figures["time"].value) == ({"metric": "a.b"}, 7)
    assert row.evidence == {"description": "What it is"}
    for bad, says in (
        (text + "a.b,x,7,3\n", "'a.b' appears twice"),
        (text + "c.d,x,7\n", "a row without metric, cycles or nanoseconds"),
        (text + "c.d,x,7,3,4\n", "or with more"),
        (text + "c.d,x,7ns,3\n", "is not a whole number"),
        (text + ",x,7,3\n", "or has no name"),
        (text.partition("\n")[0] + "\n", "no figure"),
    ):
        assert says in refused(bad.encode())


def test_zyclictest() -> None:
    run = run_of((DATA / "zyclictest.txt").read_bytes())
    irq, thread = run.results
    assert (irq.bench, irq.n, irq.min, irq.max) == ("zyclictest.irq", 3000, 2_000, 8_000)
    assert (thread.bench, thread.min, thread.max) == ("zyclictest.thread", 5_000, 19_000)
    assert thread.histogram[-1] == (19e3, 1) and thread.params == {"interval": 400_000}
    assert run.conditions["zephyr.priority"] == -11
    text = (DATA / "zyclictest.txt").read_text()
    shell = "".join(f"\x1b[8D\x1b[J{line}\r\n" for line in text.splitlines())
    assert held(run_of(shell.encode()).results) == held(run.results)
    quiet = run_of(text.partition("\nHistogram")[0].encode())
    assert statistics(quiet.results) == [
        ("", 3000, 2_000, 2_000, 8_000), ("", 3000, 5_000, 6_000, 19_000),
    ]  # fmt: skip
    assert quiet.notes == ["no histogram (-q of stop, or cut)"]


def test_an_overflow_of_zyclictest() -> None:
    """Its mean leaves such samples out of the sum, but not of the count."""
    text = (DATA / "zyclictest.txt").read_text()
    text = text.replace("3000\n", "3004\n").replace("    19 us", "  2345 us")
    text = re.sub(r"(Overflow: .*) 0\n", r"\1 4\n", text)
    text = re.sub(r"(Overflow: +\t +)0", r"\g<1>4", text).replace("     8\t", "  1000\t", 1)
    thread = run_of(text.encode()).results[1]
    assert (thread.n, thread.overflow, thread.max, thread.mean) == (3004, 4, 2_345_000, None)


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("zephyr-latency.txt", r"(?s)PROJECT.*", "", "no 'PROJECT EXECUTION SUCCESSFUL'"),
        ("zephyr-latency.txt", r"cooperative", "preemptive", "appears twice"),
        ("zephyr-latency.txt", r"2591 ns", "25x ns", "is not a complete line of latency_measure"),
        ("zyclictest.txt", r"count: 3000", "count: 3001", "are not the 3001 that were counted"),
        ("zyclictest.txt", r"(?m)^  7 ", "  8 ", "bucket 8 in place of 7"),
        ("zyclictest.txt", r"(?m)^  7 .*", "  7 9", "is not a complete line of zyclictest"),
        ("zyclictest.txt", r"     5 us", "     4 us", "lowest bucket"),
        ("zyclictest.txt", r"Min-.*\n", "", "no minimum"),
        ("thread-metric.txt", r"Time: 60", "Time: 70", "90 s does not follow 70 s in steps of 40"),
        ("thread-metric.txt", r"Time Period Total: .*\n", "", "no 'Time Period Total' of Coop"),
        ("thread-metric.txt", r"\*\*\*\* Thread.*\n", "", "a 'Time Period Total' without its test"),
        ("thread-metric.txt", r"Total:  43", "Total:  x", "is not a complete line of Thread-"),
        ("thread-metric.txt", r"Time: 30", "Time: 0", "in steps of"),
    ],
)  # fmt: skip
def test_contradictions_of_zephyr(name: str, old: str, new: str, says: str) -> None:
    assert says in damaged(name, old, new)


def test_thread_metric() -> None:
    first, second = results("thread-metric.txt")
    assert first.params == {"test": "Cooperative Scheduling"} and second.status == "ok"
    assert {name: figure.value for name, figure in first.figures.items()} == {
        "rate": 143337.3778, "least rate": 143337.2333, "largest rate": 143337.5667, "periods": 3,
    }  # fmt: skip
    assert first.evidence["section_ns"] == 90 * 10**9
    text = (DATA / "thread-metric.txt").read_text()
    wrong = text.replace(
        "Time Period Total:  2910051", "ERROR: Invalid!\nTime Period Total:  2910051"
    )
    assert [(r.status, r.reason) for r in run_of(wrong.encode()).results] == [
        ("ok", None), ("failed", "ERROR: Invalid!"),
    ]  # fmt: skip


# ---- Xenomai and EVL ----------------------------------------------------------------------------


def test_latmus() -> None:
    run = run_of((DATA / "latmus.txt").read_bytes())
    (row,) = run.results
    assert (row.bench, row.params, row.evidence["cpus"]) == (
        "latmus.user", {"interval": 1_000_000}, [1],
    )  # fmt: skip
    assert (row.n, row.overflow, row.min, row.mean, row.max) == (19_001, 1, 1200, 2709, 34_567)
    assert row.histogram[0] == (1e3, 7827) and row.missed == 0 and row.p99 == 8000
    assert run.created == "2024-02-10T09:30:11+00:00" and run.duration_s == 19
    assert run.conditions["kernel.release"] == "6.6.15-evl"


def test_latencies_below_zero_leave_the_histogram_out() -> None:
    text = (DATA / "latmus.txt").read_text().replace("min latency: 1.200", "min latency: -0.512")
    text = text.replace("# min", "# OVERRUNS: 3\n# IN-BAND SWITCHES: 2\n# min")
    run = run_of(text.encode())
    (row,) = run.results
    assert (row.n, row.min, row.mean, row.max) == (19_001, -512, 2709, 34_567)
    assert (row.histogram, row.p50, row.missed) == ([], None, 3)
    assert "omission" in row.flags and "statistics_only" in row.flags
    assert run.notes[0].startswith("some latencies are below zero")
    assert run.notes[1] == "2 switches to in-band mode: not reliable"


def test_the_text_of_xenomai_and_latmus() -> None:
    (row,) = results("xenomai-latency.txt")
    assert (row.bench, row.n, row.min, row.mean, row.max) == (
        "xenomai.latency.user", 5000, 900, 2206, 12_118,
    )  # fmt: skip
    assert row.histogram[0] == (0e0, 359) and row.evidence["section_ns"] == 5 * 10**9
    (other,) = results("latmus-text.txt")
    assert (other.bench, other.n, other.histogram) == ("latmus.user", 5000, [])
    assert other.evidence["cpus"] == [1] and other.evidence["prio"] == 98
    text = (DATA / "latmus-text.txt").read_text()
    irq = run_of(
        text.replace("(user, 1000 us period, priority 98, ", "(irq, 1000 us period, ").encode()
    )
    assert irq.results[0].bench == "latmus.irq" and "prio" not in irq.results[0].evidence
    ended = run_of(text.partition("---|")[0].encode())
    assert ended.notes == ["no RTS line: it was ended, or cut"] and ended.results[0].n == 5000
    short = run_of(text.replace("00:00:05/", "00:01:05/").encode())
    assert short.notes[0].startswith("5 RTD lines of 65 seconds") and "samples_lost" in (
        short.results[0].flags
    )


@pytest.mark.parametrize(
    ("name", "old", "new", "says"),
    [
        ("latmus.txt", r"count: 19001", "count: 19002", "19001 samples in the cells, but 19002"),
        ("latmus.txt", r"(?m)^9 ", "10 ", "cell 10 is not the one after the last"),
        ("latmus.txt", r"(?m)^9 46", "9 4x", "is not a line of latmus"),
        ("latmus.txt", r"# context.*\n", "", "no context"),
        ("latmus.txt", r"max latency: 34", "max latency: 23", "is not beyond the last cell, 24+"),
        ("latmus.txt", r"min latency: 1", "min latency: 0", "lowest bucket"),
        ("latmus.txt", r"avg latency: 2", "avg latency: 9", "the mean"),
        ("xenomai-latency.txt", r"(0\.900\|.*)9\.982\n", r"\1 1.982\n", "are not in this order"),
        ("xenomai-latency.txt", r"1000 us period, priority 99\)\n((?s:.*?))1000 us",
         r"1000 us period, priority 99)\n\1 2000 us", "not a complete line"),
        ("xenomai-latency.txt", r"(?s)(RTT.*?) 1000 us(.*)RTT(.*?) 1000 us",
         r"\1 1000 us\2RTT\3 2000 us", "a second run begins here"),
        ("xenomai-latency.txt", r" 2499", " 1499", "4000 samples in the histogram, but 5000 in"),
        ("xenomai-latency.txt", r"RTS\|      0.900", "RTS|      0.950", "total is not that"),
        ("xenomai-latency.txt", r"1000 us period(?s:(.*?))1000 us", r"0 us period\g<1>0 us",
         "a period of 0 us"),
    ],
)  # fmt: skip
def test_contradictions_of_latmus(name: str, old: str, new: str, says: str) -> None:
    assert says in damaged(name, old, new)


def test_without_its_headings_the_period_of_latmus_is_unknown() -> None:
    text = re.sub(r"(?m)^RTT.*\n", "", (DATA / "latmus-text.txt").read_text())
    assert "no RTT or RTD line; run it without -q and -l 0" in refused(text.encode())


# ---- pasted text --------------------------------------------------------------------------------


def each_line(prefix: str) -> Callable[[str], str]:
    """Return what puts a prefix before each line, with the line's number in place of ``{}``."""
    return lambda text: "".join(
        prefix.format(number) + line for number, line in enumerate(text.splitlines(keepends=True))
    )


STAMPS = {
    "dmesg": "[   12.{:06}] ", "terminal": "[2026-01-01 10:00:00.{:03}] ", "short": "[10:00:00] ",
    "bare": "10:00:00.{:03} ", "date": "2026-01-01T10:00:00.{:03}Z ",
}  # fmt: skip
WAYS: dict[str, Callable[[str], str]] = {
    "fence": lambda text: f"```\n{text}```\n",
    "fence of a language": lambda text: f"\n``` console\n{text}```",
    "tildes": lambda text: f"~~~\n{text}~~~\n\n",
    "indented": each_line("    "),
    "indented by a tab": each_line("\t"),
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "serial": lambda text: text.replace("\n", "\r\r\n"),
    "prompt": lambda text: f"$ sudo sometool -q -l 100\n{text}",
    "root": lambda text: f"root@host:~# sometool -q\n{text}root@host:~# ",
    "path": lambda text: f"me@host:/home/me$ ./sometool >&2\n{text}me@host:/home/me$\n",
    "brackets": lambda text: f"[root@host ~]# sometool\n{text}",
    "mac": lambda text: f"me@mac ~ % sometool\n{text}me@mac ~ % ",
    **{name: each_line(stamp) for name, stamp in STAMPS.items()},
}  # fmt: skip
WAYS |= {
    "all": lambda text: WAYS["crlf"](
        WAYS["fence"](WAYS["indented"](WAYS["dmesg"](WAYS["prompt"](text))))
    ),
    "both": lambda text: WAYS["indented"](WAYS["fence"](WAYS["prompt"](text))),
}


def pasted_run(tmp_path: Path, text: str) -> Run:
    path = tmp_path / "pasted"
    path.write_bytes(text.encode())
    source = bounds.read(str(path))
    name, form = reader(None, source)
    return document(form.read(source), source, name, ["rtstone", "import"])[1]


@pytest.mark.parametrize("way", WAYS)
def test_pasted_text_reads_to_the_same_results(tmp_path: Path, way: str) -> None:
    for path in TEXTS:
        text = path.read_bytes().decode()
        if not text.endswith("\n") and "\x1b" in text.rpartition("\n")[2]:
            text += "\n"  # it ends within a screen
        whole, other = run_of(text.encode()), pasted_run(tmp_path, WAYS[way](text))
        assert other.results == whole.results, path.name
        assert other.notes == whole.notes
        assert other.target.detail["format"] == whole.target.detail["format"]


@pytest.mark.parametrize("stamp", STAMPS.values())
def test_stamps_on_some_lines_only_are_left(stamp: str) -> None:
    text = (DATA / "cyclictest-2.4-q.txt").read_text()
    stamped = each_line(stamp)(text).splitlines(keepends=True)
    for place in range(len(stamped)):
        damaged = "".join(
            [*stamped[:place], text.splitlines(keepends=True)[place], *stamped[place + 1 :]]
        )
        assert plain(damaged.encode()).data == damaged.encode()


def test_what_not_all_lines_share_is_left() -> None:
    for text in (
        "```\na\n",  # no end of the fence
        "```\na\n```\nb\n```\n",
        "a\n```\nb\n```\n",
        "  a\nb\n",
        "# /dev/cpu_dma_latency set to 0us\na\n",  # no prompt
        "$\na\n",
        "a\n$ b\n",
        "12:00 a\n12:01 b\n",
        "[1] a\n[2] b\n",
    ):
        assert plain(text.encode()) == (text.encode(), None, 0)
    assert plain(b"  a\n\n    b\n") == (b"a\n\n  b\n", None, 0)
    assert plain(b"```\n$ a -b\nc\n```\n") == (b"c\n", "a -b", 2)
    assert plain(b"$ a\n$ b\nc\n") == (b"$ b\nc\n", "a", 1)  # only one command is taken off


@pytest.mark.parametrize("seed", range(20))
def test_text_at_random_loses_nothing_but_what_all_lines_share(seed: int) -> None:
    """What is taken off is whole lines, or a prefix of each line."""
    random = Random(seed)
    for _ in range(200):
        pieces = ["a", "  ", "\t", "```", "$ ", "[ 1.5] ", "10:00:00 ", "# ", "7", "me@h:~# "]
        lines = ["".join(random.choices(pieces, k=random.randint(0, 4))) for _ in range(5)]
        text = "\n".join(lines).encode() + b"\n" * random.randint(0, 1)
        out, _, before = plain(text)
        for line, old in zip(out.split(b"\n"), text.split(b"\n")[before:], strict=False):
            assert old.endswith(line)
        assert plain(out).data == out or plain(out).command is not None


def test_lines_in_errors_are_those_of_the_pasted_text(tmp_path: Path) -> None:
    text = (DATA / "cyclictest-2.4-h.txt").read_text()
    at = 1 + text.splitlines().index(next(li for li in text.splitlines() if li[:6] == "000020"))
    bad = text.replace("\n000020 ", "\n000020 x", 1)
    with pytest.raises(UsageError, match=f"pasted line {at + 2};"):
        pasted_run(tmp_path, f"```\n$ cyclictest -h 400\n{bad}```\n")


def test_the_command_before_a_text_names_its_tool(tmp_path: Path) -> None:
    run = pasted_run(tmp_path, f"root@host:~# chrt -f 90 /usr/bin/ptsematest -q\n{block(7)}")
    assert run.results[0].bench == "ptsematest"
    assert run.conditions["tool.command"] == "chrt -f 90 /usr/bin/ptsematest -q"


# ---- files made to be expensive, and files of this machine's tools ------------------------------


def repeated(before: str, line: Callable[[int], str], after: str = "") -> Callable[[int], bytes]:
    return lambda lines: (before + "".join(map(line, range(lines))) + after).encode()


LONG = {
    "rt-tests": repeated("", lambda n: f"T: 0 (1) I:9 C:{n:7} Min:  1 Act: 1 Avg: 1 Max: 1\n"),
    "hwlatdetect": repeated("", lambda n: f"ts: {n}.000000001, inner:{n}, outer:1\n"),
    "zephyr-latency": repeated(
        "", lambda n: f"a.b{n} - c : {n} cycles , {n} ns :\n", "PROJECT EXECUTION SUCCESSFUL\n"
    ),
    "zephyr-recording": repeated("metric,cycles,nanoseconds\n", lambda n: f"a.b{n},{n},{n}\n"),
    "thread-metric": repeated(
        "", lambda n: f"**** Thread-Metric A{n} Test **** Relative Time: 30\n"
        "Time Period Total:  9\n\n",
    ),
    "rtla-osnoise-top": repeated(
        "duration:   0 00:01:00 | time is in us\n",
        lambda n: f"{n:3} #1 100 0 100.00000 0 0 0 0 0 0 0\n",
    ),
    "rtla-top": repeated(
        "  0 00:00:10   |          IRQ Timer Latency (us)        |\n",
        lambda n: f"{n:3} #1  | 1 1 1 1 | 1 1 1 1\n",
    ),
    "xenomai-latency": repeated(
        "RTT|  00:00:01  (user, 1000 us period, CPU1)\n",
        lambda n: "RTD|  0.900|  2.176|  9.982|  0|  0|  0.900|  9.982\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("form", LONG)
def test_a_file_eight_times_as_long_takes_eight_times_the_calls(form: str) -> None:
    run_of(LONG[form](250), form)  # it is not refused
    assert calls(LONG[form](2000), form) < 10 * calls(LONG[form](250), form)


@realtime
@pytest.mark.machine
@pytest.mark.parametrize(
    "tool", ["pmqtest", "ptsematest", "svsematest", "sigwaittest", "signaltest"]
)
def test_tools_of_this_machine(tmp_path: Path, tool: str) -> None:
    path = tmp_path / "out.json"  # by its path: System V's keys are made from it
    text = output(str(shutil.which(tool)), "-q", "-l20", "-t2", f"--json={path}")
    run, printed = run_of(path.read_bytes()), pasted_run(tmp_path, f"$ {tool} -q\n{text}")
    for row, text_row in zip(run.results, printed.results, strict=True):
        assert (row.bench, text_row.bench) == (tool, tool)
        assert row.params == text_row.params and 0 < row.n <= 20
        assert text_row.n <= row.n  # it prints before it stops the tasks
