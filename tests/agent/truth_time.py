"""Benches that wait for a time: how late they are, what they miss, and what delays them."""

from __future__ import annotations

import math
from fractions import Fraction

from tests.agent.speak import figures, pick
from tests.agent.truth import (
    WAKE_UP,
    Agent,
    C,
    Random,
    Time,
    about,
    always,
    answers,
    holds,
    ns,
    per,
    raw,
    result,
    series,
    truth,
)

MS = 1_000_000
STARTED = C.task_create + C.switch  # when the measuring task starts


@truth("dk.periodic")
def periodic(agent: Agent) -> None:
    for policy in ("fifo", "deadline", "rr", "other"):
        record = result(agent, f"dk.periodic policy={policy} samples=500")
        always(record, WAKE_UP, overhead=0)
        assert (record["missed"], record["omitted"]["n"]) == (0, 0)
        if policy == "deadline":
            assert figures(record) == {"runtime used up": 0}


@truth("dk.periodic")
def periodic_tasks(agent: Agent) -> None:
    """Several on a CPU: apart they do not know of each other, together they wait for each other."""
    for policy in ("fifo", "rr", "other"):
        series_record = series(agent, f"dk.periodic tasks=3 samples=50 policy={policy}")
        assert list(series_record) == ["task0", "task1", "task2"]
        for record in series_record.values():
            always(record, WAKE_UP, overhead=0)
    answer_records = answers(agent, "case 1 dk.periodic tasks=3 distance=100 samples=50 raw=1")
    beside = C.time + C.sleep + C.switch  # of each that the same interrupt has woken before
    for place in range(3):
        (values,) = (
            r["v"] for r in answer_records if r["t"] == "raw" and r["series"] == f"task{place}"
        )
        assert values[:-1] == [WAKE_UP + place * (beside - 100)] * 49  # then the others end


@truth("dk.periodic")
def ticks(agent: Agent) -> None:
    """A sleep ends at the next tick."""
    words = "dk.periodic align=100000 samples=200"
    always(result(agent, words, "tick=250000"), 150_000 + WAKE_UP, overhead=0)
    always(result(agent, words, "tick=100000"), WAKE_UP, overhead=0)


STALLS = [
    (11 * MS, 500),  # at a release: it begins before the wake-up
    (20 * MS - 1000, 3000),  # across a release
    (23 * MS + 500, 2000),  # within the wake-up
    (30 * MS, 8 * MS),
    (50 * MS, 3 * MS - WAKE_UP),  # the wake-up coincides with a release
    (60 * MS, 3 * MS - WAKE_UP + 1),  # and comes just after it
    (70 * MS + 200_000, 100_000),  # between two releases
    (80 * MS, MS),
]


def releases(n: int, first: int, period: int, beside: int) -> tuple[list[int], list[int]]:
    """Return the lateness of n activations, and of those omitted, with the stalls above."""
    time, release = Time(*STALLS), first
    late: list[int] = []
    omitted: list[int] = []
    while len(late) < n:
        if release > time.now:
            time.idle(release)
            time.work(C.interrupt)
            time.work(C.switch)
        late.append(time.now - release)
        missed = (late[-1] - 1) // period
        omitted += [late[-1] - i * period for i in range(1, missed + 1)]
        release += (missed + 1) * period
        time.work(C.time)
        time.work(beside)
        time.work(C.sleep)
    return late, omitted


@truth("dk.periodic")
def missed_activations(agent: Agent) -> None:
    for policy, beside in (("fifo", 0), ("deadline", C.time_syscall)):  # it reads its CPU time
        late, omitted = releases(100, 11 * MS, MS, beside)
        records, values = raw(
            agent,
            f"dk.periodic policy={policy} align=0 samples=100 warmup=0",
            *Time(*STALLS).words(),
        )
        assert values == late
        holds(records, late)
        assert records["missed"] == len(omitted) == records["omitted"]["n"]
        assert records["omitted"]["sum"] == sum(omitted)
        assert len(omitted) == 8 + 2 + 3 + 1


@truth("dk.periodic", "det.timer_jitter")
def missed_in_the_warm_up(agent: Agent) -> None:
    """Neither what was missed nor what was late is in a result."""
    for bench in ("dk.periodic", "det.timer_jitter"):
        for stall, missed in ((12 * MS, 0), (40 * MS, 5)):
            command = f"{bench} samples=100 warmup=20"
            record = result(agent, command, f"stall={stall}:{5 * MS + 500_000}:0")
            assert (record["missed"], record["omitted"]["n"]) == (missed, missed)
            assert (record["max"] == WAKE_UP) == (not missed)


@truth("null")
def overhead_is_the_least_pair(agent: Agent) -> None:
    """Whatever most readings cost, and the last."""
    record = result(
        agent,
        "null samples=100",
        "seed=3",
        "cost.read.random=0:0,1000000:0,1000001:90000000,1000000000:90000000",
    )
    assert record["overhead"] == C.read


@truth("dk.periodic")
def random_wake_ups(agent: Agent) -> None:
    points = [(0, 0), (900_000_000, 2_000_000), (1_000_000_000, 700_000_000)]
    table = ",".join(f"{x}:{y}" for x, y in points)
    records, values = raw(
        agent, "dk.periodic samples=3000 warmup=0", "seed=77", f"cost.interrupt.random={table}"
    )
    costs = Random(77).costs(C.interrupt, points)
    expected = [next(costs) + C.switch for _ in range(3000)]
    assert values == expected
    holds(records, expected)


@truth("dk.periodic")
def used_up_runtime(agent: Agent) -> None:
    """Counted are recorded jobs, without the warm-up, which do what is between two wake-ups."""
    job = C.time_syscall + C.sleep + C.time
    for runtime, jobs in ((job, 50), (job + 1, 0)):
        for warmup in (0, 1, 2):
            words = f"dk.periodic policy=deadline runtime={runtime} samples=50 warmup={warmup}"
            assert figures(result(agent, words)) == {"runtime used up": jobs}


def section_of(agent: Agent, command: str) -> int:
    """Return how long the timed section of a case took."""
    (end,) = pick(answers(agent, f"case 1 {command}"), "end")
    return int(end["evidence"]["section_ns"])


@truth("dk.periodic", "dk.nanosleep", "det.timer_jitter", "hw.latency")
def limits_of_long_waits(agent: Agent) -> None:
    """A series ends when its time is over, not when it next wakes up; its wake-ups are as ever."""
    lead, wait, limits = 10 * MS, 300 * MS, f"samples=0 time={1000 * MS}"
    for command, n, before in (
        (f"dk.periodic period={wait} warmup=0", 4, lead),  # at 0, 300, 600 and 900 ms
        (f"dk.periodic period={wait} warmup=0 policy=deadline", 4, lead),
        (f"dk.periodic period={250 * MS} warmup=0", 5, lead),  # the last one just then
        (f"det.timer_jitter period={wait} warmup=0", 4, lead),
        (f"dk.nanosleep request={wait} warmup=0", 3, 0),
        (f"dk.nanosleep request={wait} warmup=0 mode=absolute", 3, 0),
        (f"hw.latency window={12_000 * MS} width={wait}", 0, 0),
    ):
        record = result(agent, f"{command} {limits}")
        assert (record["n"], record["missed"] or 0) == (n, 0), command
        took = section_of(agent, f"{command} {limits}")
        assert before + 1000 * MS <= took < before + 1000 * MS + 50_000, (command, took)


@truth("dk.periodic", "dk.nanosleep", "det.timer_jitter")
def over_before_the_first_sample(agent: Agent) -> None:
    for command in (
        "dk.periodic period=3600000000000",
        "dk.periodic period=3600000000000 align=0",
        "det.timer_jitter period=3600000000000",
        "dk.nanosleep request=3600000000000",
    ):
        (end,) = pick(answers(agent, f"case 1 {command} samples=0 time=1000000000"), "end")
        assert end["status"] == "failed"
        assert end["reason"].startswith("its time was over before the first sample")
        assert (end["evidence"]["section_ns"] or 0) < 1011 * MS  # none: it was still warming up


@truth("dk.periodic")
def early_wake_ups(agent: Agent) -> None:
    """They have no lateness and have missed nothing: they are counted, and are no samples."""
    early, points = C.interrupt + C.switch + 1_000_000, [(0, 0), (1_000_000_000, 4_000_000_000)]
    model = [f"early={early}", "seed=5", "cost.interrupt.random=0:0,1000000000:4000000000"]
    record, values = raw(agent, "dk.periodic period=10000000 samples=400 warmup=0", *model)
    costs = Random(5).costs(C.interrupt, points)
    late: list[int] = []
    negative = 0
    while len(late) < 400:
        after = next(costs) + C.switch - early
        if after < 0:
            negative += 1
        else:
            late.append(after)
    assert values == late
    assert (record["negative"], record["missed"]) == (negative, 0)
    assert 50 < negative < 200  # a quarter of all
    always(result(agent, "dk.periodic samples=50", f"early={WAKE_UP}"), 0, overhead=0)


@truth("dk.periodic", "dk.schedlat", "det.timer_jitter", "dk.latencytest")
def a_system_that_always_wakes_early(agent: Agent) -> None:
    for command in (
        "dk.periodic",
        "dk.periodic policy=deadline",
        "dk.schedlat",
        "det.timer_jitter",
    ):
        records = answers(agent, f"case 1 {command} samples=50", model=["early=90000"])
        (end,) = pick(records, "end")
        reason = "of 1000 wake-ups 1000 came before their release"
        assert (end["status"], end["reason"]) == ("failed", reason), command
    cycle = series(agent, "dk.latencytest samples=50", "early=90000")["period"]
    assert (cycle["min"], cycle["max"], cycle["missed"]) == (2_902_494, 2_902_494, 0)


@truth("det.timer_jitter")
def slow_timer(agent: Agent) -> None:
    """It is by so much later with each expiration."""
    for drift in (20, 1000):
        command = "det.timer_jitter samples=500 warmup=0"
        record, values = raw(agent, command, f"drift={1000 * drift}")
        assert values == [WAKE_UP + drift * i for i in range(500)]
        assert figures(record) == {"drift": drift, "largest, without drift": WAKE_UP}
        warm = result(agent, command.replace("warmup=0", "warmup=7"), f"drift={1000 * drift}")
        above = WAKE_UP + 7 * drift  # drift counts from the first sample
        assert figures(warm) == {"drift": drift, "largest, without drift": above}


@truth("det.timer_jitter")
def timer(agent: Agent) -> None:
    record = result(agent, "det.timer_jitter samples=500")
    always(record, WAKE_UP, overhead=0)
    assert figures(record) == {"drift": 0, "largest, without drift": WAKE_UP}
    late = 3 * MS + 7
    words = [f"stall=30000000:{late}:0"]
    record = result(agent, "det.timer_jitter samples=100 warmup=0", *words)
    first = STARTED + 10 * MS
    due = first + -(-(30 * MS - first) // MS) * MS
    expected = 30 * MS + late + WAKE_UP - due
    assert record["max"] == expected
    assert record["missed"] == (expected - 1) // MS == record["omitted"]["n"]


@truth("dk.nanosleep")
def sleeps(agent: Agent) -> None:
    for request in (50 * MS, 1_234_567):
        words = f"request={request} samples=50"
        # in addition to the request: the wake-up; the first reading is subtracted as overhead
        relative = result(agent, f"dk.nanosleep {words}")
        always(relative, WAKE_UP, overhead=C.time)
        absolute = result(agent, f"dk.nanosleep mode=absolute {words}")
        always(absolute, WAKE_UP, overhead=0)
        assert figures(absolute) == {
            "above the median, most": 0,
            "below the median, most": 0,
            "first sleep, discarded": WAKE_UP,
            "second sleep, discarded": WAKE_UP,
            "ended early": 0,
            "ended early by, most": 0,
        }


@truth("dk.nanosleep")
def sleeps_with_a_tick(agent: Agent) -> None:
    """As on Linux 2.4: 50 ms requested with a tick of 10 ms take 60, less the time before it."""
    record = result(agent, "dk.nanosleep request=50000000 samples=20", "tick=10000000")
    # from a tick to the sixth after it: a sample begins one reading after the wake-up
    assert (record["min"], record["max"]) == (10 * MS - C.time, 10 * MS - C.time)


@truth("dk.latencytest")
def audio(agent: Agent) -> None:
    period, words = 2_902_494, "dk.latencytest samples=50"
    series_record = series(agent, words)
    always(series_record["period"], period, overhead=0)
    reads = period // 10 * 8 // C.read
    always(series_record["loop"], reads * C.read)
    assert series_record["period"]["missed"] == 0
    assert figures(series_record["period"]) == {
        "periods within 1 ms": 100,
        "periods within 2 ms": 100,
        "loops within 0.1 ms": 100,
        "loops within 0.2 ms": 100,
        "loop as calibrated": period // 10 * 8,
        "requests lost or merged": 0,
    }


@truth("det.response")
def response(agent: Agent) -> None:
    block = 10 * MS
    for work, op, amount in (("add", "add", 1), ("copy", "copy", 65536), ("whet", "kwi", 1)):
        piece = 1009 * amount  # ps
        piece *= 1000 if amount == 1 else 1
        model = per(op, piece // amount)
        record = result(agent, f"det.response work={work} block={block} samples=20", model)
        count = calibrated(block, piece)
        always(record, ns(count * piece))
        assert figures(record) == {
            "pieces of work in a block": count,
            "shortest of 10 tries": about(ns(count * piece)),
            "stretch": about((ns(count * piece) + C.read) / block),
        }
        assert abs(ns(count * piece) - block) <= max(block / 1000, piece / 2000)


def calibrated(wanted: int, piece: int) -> int:
    """Return the pieces in a block whose shortest try takes so long: doubled, then adjusted."""
    count = 1
    while ns(count * piece) < wanted // 16:
        count *= 2
    for _ in range(3):
        ratio = wanted / ns(count * piece)
        if 0.999 < ratio < 1.001:
            break
        count = int(count * ratio + 0.5)
    return count


BELOW = 1000  # added to every sample, and subtracted by the host
LATENCY = ("int.latency.phase", "dk.irq_latency", "dk.irqsoff")


@truth(*LATENCY)
def interrupts(agent: Agent) -> None:
    """If all latencies are equal there is no excess."""
    words = "rate=8000 quiet=64 span=1024 samples=2048"
    for bench in LATENCY:
        record = result(agent, f"{bench} {words}")
        always(record, 0, overhead=BELOW)
        values = figures(record)
        assert values["lines fitted"] == 3  # 2 samples are warm-up
        del values["lines fitted"]
        assert set(values.values()) == {0}
        assert record["tables"][0]["rows"] == [
            ["simulated device", "8000.000 Hz", "independent", "the handler"]
        ]


@truth(*LATENCY)
def interrupts_that_come_faster_and_faster(agent: Agent) -> None:
    """Each span has a line of its own, from the quiet stretch before it to the one after it.

    Requests of growing frequency lie on a concave curve, so the line below both stretches goes
    through the first request of the one and the last of the other.
    """
    quiet, span, settling, chirp = 64, 1024, 32, 4000
    turn = settling + quiet + span
    times = [k * MS - (k * MS) ** 2 // (1000 * MS) * chirp // (1000 * MS) for k in range(3 * turn)]
    expected = []
    for first in (settling, settling + turn):
        last = first + turn + quiet - 1
        slope = Fraction(times[last] - times[first], last - first)
        between = range(first + quiet, first + quiet + span)
        excess = [times[k] - times[first] - slope * (k - first) for k in between]
        expected += [math.floor(e + BELOW + Fraction(1, 2)) for e in excess]
    assert max(expected) > BELOW + 1000
    for bench in LATENCY:
        record, values = raw(
            agent,
            f"{bench} rate=1000 quiet={quiet} span={span} samples={2 * span} warmup=0",
            f"chirp={chirp}",
        )
        assert all(abs(v - e) <= 1 for v, e in zip(values, expected, strict=True))
        assert figures(record)["lines fitted"] == 2


@truth(*LATENCY)
def stalled_interrupts(agent: Agent) -> None:
    """Requests 125 us apart: the first during a stall waits for its end, the others merge."""
    first, period, stall = STARTED + MS, 125_000, 60 * MS
    for bench in LATENCY:
        for length in (50_021, 300_007):
            record = result(
                agent,
                f"{bench} rate=8000 quiet=64 span=1024 samples=1024 warmup=0",
                f"stall={stall}:{length}:0",
            )
            met = [r for r in range(first, 2 * stall, period) if stall <= r < stall + length]
            delay = stall + length - met[0]
            assert [v - BELOW for v, _, _ in record["worst"][:2]] == [delay, 0]
            values = figures(record)
            assert values["requests lost or merged"] == len(met) - 1
            assert values["largest step, needs no phase"] == delay
            if bench == "dk.irqsoff":
                assert values["bound, with the wake-up in it"] == delay


@truth(*LATENCY)
def masked_interrupts(agent: Agent) -> None:
    """A driver that masks interrupts for 50 us delays a request by at most, and by nearly, that."""
    masked = 50_000
    for bench in LATENCY:
        records = answers(
            agent,
            "load driver",
            f"case 1 {bench} rate=8000 quiet=64 span=1024 samples=4096",
            model=[f"cost.device.fixed={1000 * masked}"],
        )
        measured = pick(records, "result")[0]
        longest = measured["max"] - BELOW
        assert 0.9 * masked < longest <= masked
        assert measured["min"] == BELOW
