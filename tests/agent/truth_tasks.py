"""Several tasks: the order in which they run, and so what lies between the time stamps."""

from __future__ import annotations

import pytest

from tests.agent.speak import Json, figures, pick
from tests.agent.truth import (
    Agent,
    C,
    about,
    always,
    answers,
    ns,
    per,
    raw,
    result,
    series,
    truth,
)  # fmt: skip

GIVE = C.sem_give + C.sem_wake  # to a waiting task
WAIT = C.sem_take + C.sem_block  # that fails


def spaces(entity: str) -> int:
    """Return the additional cost of a switch if tasks are processes."""
    return C.space if entity == "process" else 0


@truth("sem.post.lower", "sem.post.higher", "sem.wait.busy")
def semaphores(agent: Agent) -> None:
    for words, space in (("", 0), ("type=pshared entity=process", C.space)):
        lower = result(agent, f"sem.post.lower samples=100 {words}")
        always(lower, GIVE)
        assert figures(lower)["waiter ran within the interval"] == 0
        higher = result(agent, f"sem.post.higher samples=100 {words}")
        always(higher, GIVE + C.switch + space)
        assert figures(higher)["waiter did not preempt"] == 0
        busy = result(agent, f"sem.wait.busy samples=100 {words}")
        always(busy, WAIT + C.switch + space)
        assert figures(busy)["did not have to wait"] == 0


@truth("sem.wait.busy")
def semaphore_queue(agent: Agent) -> None:
    """Each task that already waits costs what the model says, whatever its priority."""
    for rank in ("lower", "equal"):
        for waiters in (0, 1, 33, 65):
            record = result(
                agent,
                f"sem.wait.busy waiters={waiters} rank={rank} samples=50 warmup=140",
                per("sem_block", 31_000, "waiters"),
            )
            always(record, WAIT + 31 * waiters + C.switch)


@truth("sched.yield.pair", "ctx.ballast")
def yields(agent: Agent) -> None:
    path = C.yield_ + C.switch
    rival = "cost.yield_pass.fixed=223000"
    always(result(agent, "sched.yield samples=100 batch=1", rival), C.yield_)  # it has none
    for policy in ("fifo", "rr"):
        always(result(agent, f"sched.yield.pair policy={policy} samples=100", rival), path + 223)
        pair = result(agent, f"sched.yield.pair policy={policy} samples=100")
        always(pair, path)
        assert figures(pair)["switches nobody asked for"] == 0
        for ballast in (0, 1, 33, 129):
            words = f"ctx.ballast ballast={ballast} policy={policy} samples=50"
            ready, cost = per("switch", 37_000, "ready"), per("switch", 41_000, "tasks")
            # A, B and the ballast; if it is blocked, also the task that has checked that
            always(
                result(agent, f"{words} state=ready", ready, cost),
                path + 37 * (1 + ballast) + 41 * (2 + ballast),
            )
            always(
                result(agent, f"{words} state=blocked", ready, cost),
                path + 37 * 2 + 41 * (3 + ballast),
            )


@truth("sched.yield.pair")
def slices_end(agent: Agent) -> None:
    """A slice that ends between time stamp and yield is reported: no task asked for that switch."""
    record = result(agent, "sched.yield.pair policy=rr samples=100", f"slice={C.read}")
    assert figures(record)["switches nobody asked for"] > 0


@truth("sync.test2")
def round_trip(agent: Agent) -> None:
    for entity in ("thread", "process"):
        record = result(agent, f"sync.test2 entity={entity} samples=100")
        always(record, 2 * (GIVE + WAIT + C.switch + spaces(entity)))


@truth("sync.test3")
def inversion(agent: Agent) -> None:
    """Until H has the resource L works, and M too unless the protocol prevents it."""
    loop = 1_000_000
    readings = -(-loop // C.read) + 1  # M ends with the first one after its loop
    m = C.switch + readings * C.read + WAIT + C.switch
    to_h = GIVE + C.switch  # H is started
    blocks = C.mutex_lock + C.mutex_block + C.switch  # H asks for it, and L continues
    hands_over = C.mutex_unlock + C.mutex_wake + C.switch
    expected = {
        "protocol=none": (to_h + blocks + GIVE + m + hands_over, "inverted", 1),
        "lock=semaphore": (to_h + WAIT + C.switch + GIVE + m + GIVE + C.switch, "inverted", 1),
        "protocol=inherit": (to_h + blocks + GIVE + hands_over, "bounded", 0),
        # L has H's priority from its lock on: H runs when it unlocks, and finds the lock free
        "protocol=protect": (
            GIVE + GIVE + C.mutex_unlock + C.switch + C.mutex_lock,
            "bounded",
            0,
        ),
    }
    for words, (latency, verdict, inverted) in expected.items():
        record = result(agent, f"sync.test3 {words} loop={loop} samples=20 warmup=2")
        always(record, latency)
        assert record["tables"][0]["rows"][0][0] == verdict
        assert figures(record) == {
            "M ran before H had the resource": 22 * inverted,
            "order was another": 0,
        }


@truth("sync.test3")
def what_is_an_inversion(agent: Agent) -> None:
    """The median is half of M's loop or more, to the width of its bucket."""
    switch = 50_000
    to_h = GIVE + switch + C.mutex_lock + C.mutex_block + switch
    latency = to_h + GIVE + C.mutex_unlock + C.mutex_wake + switch
    for loop, verdict in ((latency * 2 * 98 // 100, "inverted"), (latency * 2 + 2, "bounded")):
        command = f"sync.test3 protocol=inherit loop={loop} samples=20"
        record = result(agent, command, f"cost.switch.fixed={1000 * switch}")
        always(record, latency)
        assert record["tables"][0]["rows"][0][0] == verdict


@truth("posix.mutex.handover")
def hand_over(agent: Agent) -> None:
    for protocol in ("none", "inherit"):
        record = result(agent, f"posix.mutex.handover protocol={protocol} samples=100")
        always(record, C.mutex_unlock + C.mutex_wake + C.switch)
        assert set(figures(record).values()) == {0}


@truth("sync.irqthread")
def interrupts_for_a_less_urgent_task(agent: Agent) -> None:
    """A task above L is delayed by the handler, one below also by the switches to L and back."""
    handler, switches = C.interrupt, 2 * C.switch
    for words, share, verdict in (
        ((), handler / (handler + switches), "served ahead of it in part"),
        (("cost.interrupt.fixed=0",), 0, "left to the less urgent task"),
        (("cost.switch.fixed=0",), 1, "served ahead of the more urgent task"),
    ):
        records, values = raw(
            agent,
            "sync.irqthread rate=1000 block=10000000 samples=30",
            per("add", 1000),
            *words,
        )
        counted = figures(records)
        alone = counted["median without interrupts"]
        each = 0 if "cost.interrupt.fixed=0" in words else handler
        lost = 0 if "cost.switch.fixed=0" in words else switches
        # a block contains 10 or 11 requests, which come every millisecond
        assert {round(value - alone) for value in values} <= {10 * each, 11 * each}
        assert counted["delay by each interrupt"] == about(each)
        below = "the same of a task that is less urgent still"
        assert counted[below] == about(each + lost)
        assert counted["share that delays the more urgent one"] == about(100 * share)
        assert counted["served within H's block"] == 0
        assert records["tables"][0]["rows"][0][0] == verdict


@truth("sync.irqthread")
def blocks_that_vary_allow_no_verdict(agent: Agent) -> None:
    """The system stalls for 2 ms in some blocks, and ten interrupts take microseconds."""
    command = "sync.irqthread rate=1000 block=10000000 samples=12"
    noisy = result(agent, command, per("add", 1000), "stall=5000000:2000000:25000000")
    verdict = "undetermined, blocks differ by more than interrupts add to them"
    assert noisy["tables"][0]["rows"][0][0] == verdict
    assert {"share that delays the more urgent one", "delay by each interrupt"}.isdisjoint(
        figures(noisy)
    )
    few = result(agent, command.replace("samples=12", "samples=7"), per("add", 1000))
    assert few["tables"][0]["rows"][0][0] == "undetermined, too few blocks"
    enough = result(agent, command.replace("samples=12", "samples=8"), per("add", 1000))
    assert enough["tables"][0]["rows"][0][0] == "served ahead of it in part"
    # a share of a quarter on average, of handlers that take at random nothing to twice their mean
    spread = f"cost.interrupt.random=0:0,1000000000:{4 * C.switch * 1000 // 3}"
    near = result(agent, command, per("add", 1000), "cost.interrupt.fixed=0", spread)
    verdict = "undetermined, the share has an interval of more than one verdict"
    assert near["tables"][0]["rows"][0][0] == verdict


@truth("sync.rwlock.handover")
def hand_over_to_a_writer(agent: Agent) -> None:
    record = result(agent, "sync.rwlock.handover samples=100")
    always(record, C.rwlock_unlock + C.rwlock_wake + C.switch)
    assert set(figures(record).values()) == {0}
    assert record["tables"][0]["rows"] == [["the more urgent"]]
    # waiting tasks cost: of three that lock two wait, and the one that unlocks sees both
    asks = result(agent, "sync.rwlock.handover samples=100", per("rwlock_unlock", 37000, "waiters"))
    always(asks, C.rwlock_unlock + 2 * 37 + C.rwlock_wake + C.switch)


@truth("sync.barrier")
def barrier(agent: Agent) -> None:
    """The last task arrives, and each of the others runs until it waits for the next meeting."""
    each = C.read + C.barrier_wait + C.barrier_block + C.switch
    for tasks in (2, 3, 7):
        first = C.barrier_wait + C.barrier_wake + 37 * (tasks - 1) + C.switch
        for until, latency in (("urgent", first), ("last", first + (tasks - 2) * each)):
            record = result(
                agent, f"sync.barrier tasks={tasks} until={until} samples=50",
                per("barrier_wake", 37000),
            )  # fmt: skip
            always(record, latency)
            assert set(figures(record).values()) == {0}


SEND, RECEIVE = 307, 709  # ps for each byte


@truth("ipc.send", "ipc.receive", "ipc.srsr")
def messages(agent: Agent) -> None:
    model = [per("queue_send", SEND), per("queue_receive", RECEIVE), per("copy", 101)]
    for size in (1024, 5120, 16384):
        send = ns(1000 * C.queue_send + SEND * size)
        receive = ns(1000 * C.queue_receive + RECEIVE * size)
        waits = C.queue_block + C.switch
        path = {"queue": (send, receive), "mailbox": (C.pointer_send, C.pointer_receive)}
        for mechanism, (out, into) in path.items():
            words = f"size={size} mechanism={mechanism} samples=50"
            always(result(agent, f"ipc.send {words}", *model), out + C.queue_wake)
            always(result(agent, f"ipc.receive {words}", *model), into)
            trip = result(agent, f"ipc.srsr {words}", *model)
            transit = out + C.queue_wake + waits + into
            always(trip, 2 * transit)
            if mechanism == "mailbox":
                values = figures(trip)
                copy = ns(101 * size)
                assert values["mean memcpy of a message"] == about(copy)
                computed = values["computed: mean round trip + 2 memcpy"]
                assert computed == about(2 * transit + 2 * copy)


@truth("ipc.srsr")
def messages_between_processes(agent: Agent) -> None:
    transit = C.queue_send + C.queue_wake + C.queue_block + C.switch + C.space + C.queue_receive
    always(result(agent, "ipc.srsr entity=process samples=50"), 2 * transit)


@truth("mq.latency")
def queue_latency(agent: Agent) -> None:
    for size in (64, 1024):
        send, receive = ns(1000 * C.queue_send + SEND * size), ns(2203_000 + RECEIVE * size)
        record = result(
            agent,
            f"mq.latency size={size} samples=50",
            per("queue_send", SEND),
            per("queue_receive", RECEIVE),
        )
        always(record, send + C.queue_wake + C.switch + receive)
        assert figures(record)["receiver did not preempt"] == 0


@truth("mq.throughput")
def queue_throughput(agent: Agent) -> None:
    """Ten messages fit: ten are sent and ten received, alternately."""
    turns, size = 7, 1024
    n = 10 * turns
    send, receive = ns(1000 * C.queue_send + SEND * size), ns(2203_000 + RECEIVE * size)
    sender = (
        n * (C.read + send)
        + turns * C.queue_wake  # the first of ten finds the receiver waiting
        + (turns - 1) * C.queue_block
        + WAIT  # for the receiver to report that it has them all
        + turns * C.switch
    )
    receiver = (
        n * receive
        + (n - 1) * C.read  # the last is the stamp
        + (turns - 1) * (C.queue_wake + C.queue_block + C.switch)
    )
    record = result(
        agent,
        f"mq.throughput size={size} messages={n} samples=20",
        per("queue_send", SEND),
        per("queue_receive", RECEIVE),
    )
    always(record, sender + receiver)
    rate = size * n / (C.read + sender + receiver) * 1000  # MB of 10^6 bytes per second
    values = figures(record)
    assert values["worst block"] == about(rate)
    assert values["average"] == about(rate)


@truth("sched.bg50.orig")
def background_start(agent: Agent) -> None:
    """49 hand-overs, each of a slice and a switch."""
    record = result(agent, "sched.bg50.orig samples=4", per("add", 10_000), "slice=1000003")
    always(record, 49 * (1_000_003 + C.switch) - C.read)
    assert figures(record) == {
        "hand-overs from first to last stamp": 49,
        "tasks that ran out of order": 0,
    }


ADD, ASKED = 101_000, 10_000_000  # ps per iteration, and the parameter `work`, in ns
_CALIBRATED = (C.read + ns(1_000_000 * ADD)) / 1_000_000  # ns per iteration
WORK = ns((int(ASKED / _CALIBRATED) + 1) * ADD)  # what a task then needs


def halves(agent: Agent, slice_ns: int, policy: str = "other") -> Json:
    """Return the result of two rounds with that time slice."""
    command = f"sched.bg50.half policy={policy} work={ASKED} samples=2"
    return result(agent, command, per("add", ADD), f"slice={slice_ns}")


@truth("sched.bg50.half")
def background_half(agent: Agent) -> None:
    """Full slices for all, and then the remaining work of 25 tasks, one after the other."""
    slice_ns = 300_007
    rounds, rest = divmod(WORK, slice_ns)
    ends = C.read + C.time_syscall + WAIT  # what a task does after its work
    assert rest and rest + ends + GIVE < slice_ns
    half = (
        WAIT + C.switch + 50 * rounds * (slice_ns + C.switch) + 24 * (rest + ends + C.switch) + rest
    )
    got = [rounds * slice_ns + rest + C.read] * 24  # CPU time up to the half
    got += [rounds * slice_ns + rest + C.read + GIVE] + [rounds * slice_ns] * 25
    elapsed = C.read + half + C.read + GIVE + C.switch  # until the measuring task looks
    for policy in ("other", "rr"):
        record = halves(agent, slice_ns, policy)
        always(record, half)
        values = figures(record)
        overhead = elapsed - sum(got)
        preempted = 2 * 50 * rounds
        assert values["overhead share"] == about(100 * overhead / elapsed)
        assert values["involuntary switches"] == preempted
        assert values["overhead per switch"] == about(2 * overhead / preempted)
        unfair = (max(got) - min(got)) / (sum(got) / 50)
        name = "unfairness ((max - min) / mean of CPU time)"
        assert values[name] == about(100 * unfair)
        assert values["tasks that had ended at the half"] == 25


@truth("sched.bg50.half")
def background_half_among_others(agent: Agent) -> None:
    """What tasks of a load got is no overhead; where it is more than that, there is no figure."""
    short, of_load = 3000, "CPU time of other tasks meanwhile"
    shares = {"overhead share", "overhead per switch"}

    def beside(tasks: int, slice_ns: int) -> dict[str, float]:
        words = f"case 1 sched.bg50.half work={ASKED // 10} samples=2"
        model = [per("add", ADD), f"slice={slice_ns}"]
        commands = [f"load bg50 tasks={tasks}", words] if tasks else [words]
        (record,) = pick(answers(agent, *commands, model=model), "result")
        return figures(record)

    alone = beside(0, short)
    assert alone[of_load] == 0
    for tasks in (1, 20):
        others_work = beside(tasks, short)
        for name in shares:
            assert others_work[name] == pytest.approx(alone[name], rel=2e-3)
        turns = WORK / 10 / short  # of each of all tasks, one slice long
        assert others_work[of_load] == pytest.approx(tasks * turns * short, rel=0.02)
    assert not shares & set(beside(50, short * 100))


@truth("sched.bg50.half")
def background_half_interrupted(agent: Agent) -> None:
    """Each task loses the CPU as it takes its stamp, so the 25th tells of its end a lap later.

    No more CPU time may be found than has passed.
    """
    slices = next(n for n in range(30, 100) if 0 < -WORK % n <= C.read)
    slice_ns = -(-WORK // slices)
    lap = (slices - 1) * (slice_ns + C.switch)
    last = WORK - (slices - 1) * slice_ns + C.read  # what is left of the work, and the stamp
    half = WAIT + C.switch + 50 * lap + 24 * (last + C.switch) + last - C.read
    elapsed = C.read + half + C.read + C.switch + 25 * (last + C.switch)
    elapsed += 24 * (C.time_syscall + WAIT + C.switch) + GIVE + C.switch
    record = halves(agent, slice_ns)
    always(record, half)
    values = figures(record)
    assert values["overhead share"] == about(100 * (1 - (50 * (WORK + C.read) + GIVE) / elapsed))
    assert values["involuntary switches"] == 2 * 50 * slices
    assert values["tasks that had ended at the half"] == 50


@truth("tasks.set")
def jobs_of_a_set(agent: Agent) -> None:
    """Nothing costs anything but the work, of additions that take 1 ns each."""
    free = [word.split("=")[0] + "=0" for word in C.words()]
    taskset = "high:P10000000d10000000w1000000l0/low:P10000000d10000000w2000000l1"
    model = (*free, "cost.read.fixed=1000", "cost.add.amount=0:0,1:1000")
    records = series(agent, f"tasks.set time=100000000 taskset={taskset}", *model)
    for name, least, work in (("high", 0, 1_000_000), ("low", 1_000_000, 2_000_000)):
        start, response = records[f"{name}.start"], records[f"{name}.resp"]
        assert (start["n"], response["n"]) == (10, 10)
        assert (start["min"], start["max"]) == (least, least)
        assert (response["min"], response["max"]) == (least + work, least + work)
