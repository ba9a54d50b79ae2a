"""What the time of a sample was spent on, from events that are made up here."""

from __future__ import annotations

import pytest

from rtstone.explain.functions import Functions
from rtstone.explain.ring import Event
from rtstone.explain.timeline import Interrupted, Names, Sampled, interrupted, parts, tasks

MEASURED, OTHER, URGENT, IDLE = 50, 60, 70, 0
PRIORITY = {MEASURED: 1, OTHER: 120, URGENT: 0, IDLE: 120}
COMM = {MEASURED: "measured", OTHER: "other", URGENT: "urgent", IDLE: "swapper"}
HARD, SOFT = 0x08, 0x10
READ = 0  # system call
# Functions of the kernel by address.
NAMED = Functions(
    [100, 200, 300, 400], [200, 300, 400, 500], ["stall", "inner", "outer", "el1_irq"]
)


def event(
    time: int, name: str, task: int, flags: int = 0, preempt: int = 0, /, **values: int | str
) -> Event:
    return Event(time, name, task, flags, preempt, values)


def switch(time: int, before: int, after: int, state: int = 1) -> Event:
    return event(
        time, "sched_switch", before, prev_comm=COMM[before], prev_pid=before, prev_state=state,
        prev_prio=PRIORITY[before], next_comm=COMM[after], next_pid=after,
        next_prio=PRIORITY[after],
    )  # fmt: skip


def timer(time: int, task: int, preempt: int = 0, start: int = 2) -> list[Event]:
    """Return the interrupt that wakes the measured task, 10 long."""
    return [
        event(time, "local_timer_entry", task, HARD, preempt),
        event(time + start, "sched_waking", task, HARD, preempt, comm="measured", pid=MEASURED),
        event(time + start + 3, "sched_wakeup", task, HARD, comm="measured", pid=MEASURED),
        event(time + 10, "local_timer_exit", task, HARD),
    ]


def told(
    events: list[Event], due: int = 100, stamp: int = 200, *, preemptible: bool = False
) -> list[tuple[str, int, str | None]]:
    events = [*events, event(210, "print", MEASURED, buf="the marker")]
    names = Names(tasks(events), {READ: "read"}, NAMED)
    found = parts(events, Sampled(due, stamp, MEASURED), names, preemptible=preemptible)
    assert found[0].start == due and found[-1].end == stamp
    assert sum(part.end - part.start for part in found) == stamp - due
    return [(part.kind, part.end - part.start, part.by) for part in found]


BEFORE = switch(10, MEASURED, OTHER)
CALL = event(20, "sys_enter", OTHER, id=READ)
HANDLER = [("handler", 2, "local timer"), ("wakeup", 3, None), ("handler", 5, "local timer")]


def test_an_undisturbed_wake_up() -> None:
    idle = [switch(10, MEASURED, IDLE), *timer(103, IDLE), switch(120, IDLE, MEASURED)]
    assert told(idle) == [
        ("irq-delay", 3, "the idle task"), *HANDLER, ("switch", 7, "the idle task"),
        ("return", 80, None),
    ]  # fmt: skip


def test_a_system_call_keeps_the_cpu_of_a_kernel_that_is_not_preemptible() -> None:
    events = [BEFORE, CALL, *timer(103, OTHER), switch(150, OTHER, MEASURED)]
    assert ("blocking", 37, "other, in read") in told(events)
    assert ("switch", 37, "other, in read") in told(events, preemptible=True)
    off = [BEFORE, CALL, *timer(103, OTHER, preempt=1), switch(150, OTHER, MEASURED)]
    assert ("blocking", 37, "other, in read") in told(off, preemptible=True)


def test_who_is_in_no_system_call_leaves_at_once_unless_more_urgent() -> None:
    left = event(30, "sys_exit", OTHER, id=READ)
    events = [BEFORE, CALL, left, *timer(103, OTHER), switch(150, OTHER, MEASURED)]
    assert ("switch", 37, "other, in no system call") in told(events)
    out = event(21, "sys_exit", URGENT, id=READ)
    urgent = [
        switch(10, MEASURED, URGENT), out, *timer(103, URGENT), switch(150, URGENT, MEASURED),
    ]  # fmt: skip
    assert ("blocking", 37, "urgent, in no system call") in told(urgent)


def test_other_interrupts_and_softirqs_are_cut_out() -> None:
    events = [
        BEFORE, CALL, *timer(103, OTHER),
        event(120, "irq_handler_entry", OTHER, HARD, irq=9, name="disk"),
        event(124, "irq_handler_exit", OTHER, HARD, irq=9),
        event(130, "softirq_entry", OTHER, SOFT, vec=3),
        event(133, "local_timer_entry", OTHER, HARD | SOFT),
        event(135, "local_timer_exit", OTHER, HARD | SOFT),
        event(139, "softirq_exit", OTHER, SOFT, vec=3),
        switch(150, OTHER, MEASURED),
    ]  # fmt: skip
    assert told(events)[4:] == [
        ("blocking", 7, "other, in read"), ("irq", 4, "disk (interrupt 9)"),
        ("blocking", 6, "other, in read"), ("softirq", 3, "NET_RX"), ("irq", 2, "local timer"),
        ("softirq", 4, "NET_RX"), ("blocking", 11, "other, in read"), ("return", 50, None),
    ]  # fmt: skip


def test_what_a_timer_runs_is_named_if_it_is_most_of_the_interrupt() -> None:
    long, short = (
        [
            event(120, "local_timer_entry", OTHER, HARD),
            event(121, "hrtimer_expire_entry", OTHER, HARD, function=150),
            event(121 + length, "hrtimer_expire_exit", OTHER, HARD),
            event(130, "local_timer_exit", OTHER, HARD),
        ]
        for length in (6, 4)
    )
    for stall, by in ((long, "local timer, in stall"), (short, "local timer")):
        events = [BEFORE, CALL, *timer(103, OTHER), *stall, switch(150, OTHER, MEASURED)]
        assert ("irq", 10, by) in told(events)


def test_the_interrupt_that_wakes_tells_what_it_came_into() -> None:
    waking = timer(103, OTHER)
    stack = event(105, "kernel_stack", OTHER, HARD)._replace(stack=(110, 410, 220, 999, 410, 330))
    events = [BEFORE, CALL, *waking[:2], stack, *waking[2:], switch(150, OTHER, MEASURED)]
    sample, names = Sampled(100, 200, MEASURED), Names(COMM, {}, NAMED)
    assert interrupted(events, sample, names) == Interrupted(
        "other", ["inner", "?", "el1_irq", "outer"]
    )
    program = [one._replace(stack=one.stack[:2]) for one in events]
    for without in (program, [one for one in events if one is not stack]):
        assert interrupted(without, sample, names) is None
    assert interrupted(events, sample, names._replace(functions=Functions([], [], []))) is None


def test_a_task_that_was_woken_while_it_ran_has_used_that_up() -> None:
    """Its timer expired before it slept: that is not the wake-up it waits for."""
    early = event(8, "sched_waking", MEASURED, HARD, comm="measured", pid=MEASURED)
    found = told([early, BEFORE, CALL, *timer(103, OTHER), switch(150, OTHER, MEASURED)])
    assert found[0] == ("irq-delay", 3, "other, in read")


def test_interrupts_before_the_one_that_wakes_are_others() -> None:
    early = [event(101, "irq_work_entry", OTHER, HARD), event(102, "irq_work_exit", OTHER, HARD)]
    found = told([BEFORE, CALL, *early, *timer(140, OTHER), switch(160, OTHER, MEASURED)])
    assert found[:3] == [
        ("irq-delay", 1, "other, in read"), ("irq", 1, "irq work"),
        ("irq-delay", 38, "other, in read"),
    ]  # fmt: skip


def test_a_lock_that_another_task_holds() -> None:
    """Woken and switched to, it waits again; the owner of the lock wakes it a second time."""
    waking = event(150, "sched_waking", OTHER, comm="measured", pid=MEASURED)
    woken = event(152, "sched_wakeup", OTHER, comm="measured", pid=MEASURED)
    events = [
        BEFORE, CALL, *timer(103, OTHER), switch(120, OTHER, MEASURED),
        switch(130, MEASURED, OTHER), waking, woken, switch(160, OTHER, MEASURED),
    ]  # fmt: skip
    assert told(events, preemptible=True)[4:] == [
        ("switch", 7, "other, in read"), ("return", 10, None), ("blocking", 20, "other, in read"),
        ("wakeup", 2, None), ("switch", 8, "other, in read"), ("return", 40, None),
    ]  # fmt: skip


def test_a_task_that_wakes_another_one() -> None:
    """As sem.post.higher: the sample begins in the task that gives."""
    waking = event(110, "sched_waking", OTHER, comm="measured", pid=MEASURED)
    woken = event(112, "sched_wakeup", OTHER, comm="measured", pid=MEASURED)
    events = [BEFORE, CALL, waking, woken, switch(120, OTHER, MEASURED)]
    assert told(events) == [
        ("task", 10, "other, in read"), ("wakeup", 2, None), ("switch", 8, "other, in read"),
        ("return", 80, None),
    ]  # fmt: skip


@pytest.mark.parametrize("preempted", [True, False])
def test_a_task_that_runs_all_the_time_or_is_preempted(preempted: bool) -> None:
    away = [switch(130, MEASURED, URGENT, state=0x100), switch(140, URGENT, MEASURED)]
    events = [switch(10, OTHER, MEASURED), event(20, "sys_exit", MEASURED, id=READ)]
    found = told(events + away * preempted)
    mine = "measured, in no system call"
    if preempted:
        assert found == [("task", 30, mine), ("blocking", 10, "urgent"), ("task", 60, mine)]
    else:
        assert found == [("task", 100, mine)]


def test_nothing_but_the_marker_is_known() -> None:
    assert told([]) == [("task", 100, "task 50")]
