"""Measurements of RTEMS' test framework: what is printed of samples reads back to the samples."""

from __future__ import annotations

import re
from collections import Counter
from itertools import groupby
from random import Random

import pytest

from tests.formats.long import DATA, run_of
from tests.formats.test_import import calls, refused, results

TEXT = (DATA / "rtems.txt").read_text()


def time(ticks: int, tick_ns: float) -> int:
    """Return the sbintime of a tick counter's difference."""
    return int(ticks * tick_ns * 2**32 / 1e9)


def seconds(sbt: int) -> str:
    """Return a sbintime as T_time_to_string_ns prints it."""
    sbt += 2
    return f"{sbt >> 32}.{10**9 * (sbt & 0xFFFFFFFF) >> 32:09}"


def bins(samples: list[int], tick_ns: float) -> list[tuple[int, str]]:
    """Return the bins as RTEMS prints them since November 2021."""
    texts = [seconds(time(value, tick_ns)) for value in samples]
    return [(len(list(group)), text) for text, group in groupby(texts)]


def old_bins(samples: list[int], tick_ns: float) -> list[tuple[int, str]]:
    """Return the bins as RTEMS printed them before: a loop that counts before it compares."""
    rows, last, count = [], 2**32 - 1, 0
    for value in samples:
        count += 1
        if value != last:
            now, before = (seconds(time(v, tick_ns)) for v in (value, last))
            if now != before:
                rows.append((count, now))
                count = 0
            last = value
    return [*rows, (count, seconds(time(last, tick_ns)))] if count else rows


def measurement(
    samples: list[int], *, name: str = "Empty", variant: str = "HotCache", tick_ns: float = 10.0,
    printed: object = bins,
) -> str:  # fmt: skip
    """Return what T_measure_runtime prints of samples in ticks."""
    samples, n = sorted(samples), len(samples)
    at = {
        "MI": 0, "P1": n // 100, "Q1": n // 4, "Q2": n // 2, "Q3": 3 * n // 4, "P99": 99 * n // 100,
        "MX": n - 1,
    }  # fmt: skip
    apart = sorted(abs(value - samples[n // 2]) for value in samples)
    total = sum(time(value, tick_ns) for value in samples)
    lines = [f"M:B:{name}", f"M:V:{variant}", f"M:N:{n}"]
    if printed:
        lines += [f"M:S:{count}:{text}" for count, text in printed(samples, tick_ns)]  # type: ignore[operator]
    lines += [f"M:{key}:{seconds(time(samples[rank], tick_ns))}" for key, rank in at.items()]
    lines += [f"M:MAD:{seconds(time(apart[n // 2], tick_ns))}", f"M:D:{seconds(total)}"]
    return "\n".join([*lines, f"M:E:{name}:D:{seconds(total + 12345678)}", ""])


def points(samples: list[int], tick_ns: float) -> list[tuple[float, int]]:
    """Return the histogram of samples in ticks, as printed to ns."""
    texts = (seconds(time(value, tick_ns)) for value in samples)
    return sorted((float(int(text.replace(".", ""))), n) for text, n in Counter(texts).items())


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("printed", [bins, old_bins], ids=["new", "old"])
def test_samples_read_back(seed: int, printed: object) -> None:
    """Both versions of the printing read to the same samples; where they do not, a note says so."""
    random = Random(seed)
    tick_ns = random.choice([10.0, 20.0, 6.6667, 1.5])
    spread = random.choice([0, 3, 40])
    samples = [200 + int(random.expovariate(1) * spread) for _ in range(random.randint(1, 500))]
    run = run_of(measurement(samples, tick_ns=tick_ns, printed=printed).encode())
    (row,) = run.results
    if not run.notes or printed is bins:
        assert row.histogram == points(samples, tick_ns)
    else:
        assert printed is old_bins and "its bins were shifted" in run.notes[0]
    assert (row.n, row.unit) == (len(samples), "ns")
    ns = [int(seconds(time(v, tick_ns)).replace(".", "")) for v in (min(samples), max(samples))]
    assert [row.min, row.max] == ns
    mean = sum(samples) * tick_ns / len(samples)
    assert row.mean == pytest.approx(mean, abs=1.5)


def test_coarse_ticks_leave_no_doubt() -> None:
    samples = [46] * 6 + [48] * 9 + [90]
    for printed in (bins, old_bins):
        run = run_of(measurement(samples, printed=printed).encode())
        assert run.results[0].histogram == points(samples, 10.0) and not run.notes
    assert old_bins(samples, 10.0)[0][0] == 1  # what RTEMS printed before
    fine = [46, 47, 47, 48, 48, 48, 49, 49, 50, 50]  # each quantile is the last of its bin
    run = run_of(measurement(fine, tick_ns=1.0).encode())
    assert run.results[0].histogram == points(fine, 1.0)
    assert "its bins were shifted" in run.notes[0]


def test_measurements_of_a_log() -> None:
    run = run_of(TEXT.encode())
    assert [(r.params["name"], r.params["variant"], r.n) for r in run.results] == [
        ("RtemsTaskReqPerfConstruct", "FullCache", 100),
        ("RtemsTaskReqPerfConstruct", "HotCache", 100),
        ("RtemsTaskReqPerfConstruct", "Load/1", 100), ("Empty", "ValidCache", 1024),
        ("Empty", "Load/24", 1024),
    ]  # fmt: skip
    first, *_, empty, _ = run.results
    assert (first.bench, first.status, first.load) == ("rtems.measure", "ok", "unknown")
    assert sum(n for _, n in first.histogram) == 100 and first.p50 is not None
    assert run.conditions["kernel.release"] == "6.0.0.52f06822b8921ad825cb593b792eab7640e26cde"
    assert run.conditions["rtems.bsp"] == "xilinx_zynq_a9_qemu"
    assert run.notes == ["test case RtemsTaskValPerf: 1 failures"]
    assert (empty.min, empty.max, empty.mean, empty.histogram) == (0, 9, round(485 / 1024, 4), [])
    assert "statistics_only" in empty.flags
    assert empty.figures["50 %"].value == 0 and "1 %" not in empty.figures
    assert empty.evidence["section_ns"] == 208_984_183


@pytest.mark.parametrize(("tick_ns", "ns"), [(6.66746, 6461), (6.6671, 6460)])
def test_rounded_times_have_a_mean_beside_them(tick_ns: float, ns: int) -> None:
    """All samples are 6460.77 ns, or 6460.42 ns; the sum is not rounded."""
    for printed in (None, bins, old_bins):
        (row,) = run_of(measurement([969] * 50, tick_ns=tick_ns, printed=printed).encode()).results
        assert (row.n, row.min, row.mean, row.max) == (50, ns, ns, ns)
        assert row.histogram == ([(ns, 50)] if printed else [])


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (r"M:N:100\n", "M:N:101\n", "contradict M:N"),
        (r"M:S:\d+:", "M:S:999:", "contradict M:N"),
        (r"M:MAD:0.000000", "M:MAD:0.000009", "contradict M:N"),
        (r"M:MX:0", "M:MX:9", "contradict M:N"),
        (r"M:MI:0", "M:MI:9", "do not rise"),
        (r"M:D:0", "M:D:9", "is not that of 100 samples"),
        (r"M:MI:.*\n", "", "no M:MI line"),
        (r"M:V:.*\n", "", "no M:V line"),
        (r"M:B:.*\n", "", "no M:B line before"),
        (r"M:E:.*\n", "", "begins in another"),
        (r"M:E:R", "M:E:X", "the end of X"),
        (r"M:V:HotCache", "M:V:FullCache", "for the second time"),
        (r"(M:Q1:.*\n)", r"\1\1", "a second M:Q1 line"),
        (r"M:Q1:0", "M:Q1:x", "is not what a measurement prints"),
        (r"M:N:100\n", "M:N:1o0\n", "is not a whole number"),
        (r"M:Q1:", "M:Q1", "contradict|no M:Q1"),
        (r"M:Q1:.*\n", "M:Q1\n", "not a complete line"),
        (r"M:Q1:.*\n", "M:QX:0\n", "not a complete line of a measurement"),
        (r"(?s)E:RtemsTaskValPerf.*", "", "no 'Z:Testsuites"),
        (r"(?s)E:measure_empty.*", TEXT[TEXT.index("Z:") :], "no 'E:measure_empty"),
        (r"Z:.*\n", "", "no 'Z:Testsuites"),
        (r"\n+\Z", "", "the last line has no end"),
        (r"M:N:100\n", "M:N:0\n", "no samples"),
    ],
)
def test_contradictions(old: str, new: str, says: str) -> None:
    bad = re.sub(old, new, TEXT, count=1)
    assert bad != TEXT
    assert re.search(says, refused(bad.encode(), "rtems"))


def test_lines_of_others_are_ignored() -> None:
    noise = re.sub(r"\n", "\n[Test] M: a warning\n\n", TEXT)
    assert run_of(noise.encode()).results == results("rtems.txt")


def test_a_long_log_takes_time_in_proportion() -> None:
    def log(number: int) -> bytes:
        return "".join(measurement([5, 9], name=f"a{i}") for i in range(number)).encode()

    assert calls(log(800), "rtems") < 10 * calls(log(100), "rtems")
