"""What the time of a sample was spent on, from events that are made up here."""

from __future__ import annotations

import pytest

from rtstone.explain.functions import Functions
from rtstone.explain.ring import Event
from rtstone.explain.timeline import (
    LEAST_DOUBT_NS,
    LEAST_THEFT_NS,
    Around,
    Interrupted,
    Names,
    Sampled,
    accounts,
    interrupted,
    parts,
    tasks,
)

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


def parts_of(
    events: list[Event], due: int = 100, stamp: int = 200, *, preemptible: bool = False
) -> list[tuple[str, int, str | None]]:
    events = [*events, event(210, "print", MEASURED, buf="the marker")]
    names = Names(tasks(events), {READ: "read"}, NAMED)
    timeline = parts(events, Sampled(due, stamp, MEASURED), names, preemptible=preemptible)
    assert timeline[0].start == due and timeline[-1].end == stamp
    assert sum(part.end - part.start for part in timeline) == stamp - due
    return [(part.kind, part.end - part.start, part.by) for part in timeline]


BEFORE = switch(10, MEASURED, OTHER)
CALL = event(20, "sys_enter", OTHER, id=READ)
HANDLER = [("handler", 2, "local timer"), ("wakeup", 3, None), ("handler", 5, "local timer")]


def test_an_undisturbed_wake_up() -> None:
    idle = [switch(10, MEASURED, IDLE), *timer(103, IDLE), switch(120, IDLE, MEASURED)]
    assert parts_of(idle) == [
        ("irq-delay", 3, "the idle task"), *HANDLER, ("switch", 7, "the idle task"),
        ("return", 80, None),
    ]  # fmt: skip


def test_a_system_call_keeps_the_cpu_of_a_kernel_that_is_not_preemptible() -> None:
    events = [BEFORE, CALL, *timer(103, OTHER), switch(150, OTHER, MEASURED)]
    assert ("blocking", 37, "other, in read") in parts_of(events)
    assert ("switch", 37, "other, in read") in parts_of(events, preemptible=True)
    off = [BEFORE, CALL, *timer(103, OTHER, preempt=1), switch(150, OTHER, MEASURED)]
    assert ("blocking", 37, "other, in read") in parts_of(off, preemptible=True)


def test_who_is_in_no_system_call_leaves_at_once_unless_more_urgent() -> None:
    left = event(30, "sys_exit", OTHER, id=READ)
    events = [BEFORE, CALL, left, *timer(103, OTHER), switch(150, OTHER, MEASURED)]
    assert ("switch", 37, "other, in no system call") in parts_of(events)
    out = event(21, "sys_exit", URGENT, id=READ)
    urgent = [
        switch(10, MEASURED, URGENT), out, *timer(103, URGENT), switch(150, URGENT, MEASURED),
    ]  # fmt: skip
    assert ("blocking", 37, "urgent, in no system call") in parts_of(urgent)


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
    assert parts_of(events)[4:] == [
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
        assert ("irq", 10, by) in parts_of(events)


def test_the_interrupt_that_wakes_tells_what_it_came_into() -> None:
    waking = timer(103, OTHER)
    stack = event(105, "kernel_stack", OTHER, HARD)._replace(stack=(110, 410, 220, 999, 410, 330))
    events = [BEFORE, CALL, *waking[:2], stack, *waking[2:], switch(150, OTHER, MEASURED)]
    sample, names = Sampled(100, 200, MEASURED), Names(COMM, {}, NAMED)
    assert interrupted(events, sample, names) == Interrupted(
        "other", ["inner", "?", "el1_irq", "outer"]
    )
    program = [event._replace(stack=event.stack[:2]) for event in events]
    for without in (program, [event for event in events if event is not stack]):
        assert interrupted(without, sample, names) is None
    assert interrupted(events, sample, names._replace(functions=Functions([], [], []))) is None


def test_a_task_that_was_woken_while_it_ran_has_used_that_up() -> None:
    """Its timer expired before it slept: that is not the wake-up it waits for."""
    early = event(8, "sched_waking", MEASURED, HARD, comm="measured", pid=MEASURED)
    named_parts = parts_of([early, BEFORE, CALL, *timer(103, OTHER), switch(150, OTHER, MEASURED)])
    assert named_parts[0] == ("irq-delay", 3, "other, in read")


def test_interrupts_before_the_one_that_wakes_are_others() -> None:
    early = [event(101, "irq_work_entry", OTHER, HARD), event(102, "irq_work_exit", OTHER, HARD)]
    named_parts = parts_of([BEFORE, CALL, *early, *timer(140, OTHER), switch(160, OTHER, MEASURED)])
    assert named_parts[:3] == [
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
    assert parts_of(events, preemptible=True)[4:] == [
        ("switch", 7, "other, in read"), ("return", 10, None), ("blocking", 20, "other, in read"),
        ("wakeup", 2, None), ("switch", 8, "other, in read"), ("return", 40, None),
    ]  # fmt: skip


def test_a_task_that_wakes_another_one() -> None:
    """As sem.post.higher: the sample begins in the task that gives."""
    waking = event(110, "sched_waking", OTHER, comm="measured", pid=MEASURED)
    woken = event(112, "sched_wakeup", OTHER, comm="measured", pid=MEASURED)
    events = [BEFORE, CALL, waking, woken, switch(120, OTHER, MEASURED)]
    assert parts_of(events) == [
        ("task", 10, "other, in read"), ("wakeup", 2, None), ("switch", 8, "other, in read"),
        ("return", 80, None),
    ]  # fmt: skip


@pytest.mark.parametrize("preempted", [True, False])
def test_a_task_that_runs_all_the_time_or_is_preempted(preempted: bool) -> None:
    away = [switch(130, MEASURED, URGENT, state=0x100), switch(140, URGENT, MEASURED)]
    events = [switch(10, OTHER, MEASURED), event(20, "sys_exit", MEASURED, id=READ)]
    named_parts = parts_of(events + away * preempted)
    mine = "measured, in no system call"
    if preempted:
        assert named_parts == [("task", 30, mine), ("blocking", 10, "urgent"), ("task", 60, mine)]
    else:
        assert named_parts == [("task", 100, mine)]


def test_nothing_but_the_marker_is_known() -> None:
    assert parts_of([]) == [("task", 100, "task 50")]


# ---- time that went elsewhere --------------------------------------------------------------------

MS = 1_000_000
VIRTUAL, STOLEN = Around(virtual=True), Around(virtual=True, steal_ns=10 * MS)
SMI = Around(smi=2)
DUE, COMES = 100 * MS, 109 * MS  # an interrupt that comes 9 ms late
OUT = event(20, "sys_exit", OTHER, id=READ)


def runtime(time: int, task: int, ns: int) -> Event:
    return event(time, "sched_stat_runtime", task, comm=COMM[task], pid=task, runtime=ns)


def causes(
    events: list[Event], around: Around, due: int = DUE, stamp: int = COMES + 60
) -> list[tuple[str, int, str]]:
    """Return kind, length and cause of the parts of at least 1 ms."""
    events = [*events, event(stamp + 10, "print", MEASURED, buf="the marker")]
    names = Names(tasks(events), {READ: "read"}, NAMED)
    timeline = parts(events, Sampled(due, stamp, MEASURED), names, preemptible=False, around=around)
    assert sum(part.end - part.start for part in timeline) == stamp - due
    return [(p.kind, p.end - p.start, p.cause) for p in timeline if p.end - p.start >= MS]


def late_in(task: int, *before: Event) -> list[Event]:
    """Return a wake-up whose interrupt comes 9 ms late, while another task has the CPU."""
    return [
        switch(10, MEASURED, task),
        *before,
        *timer(COMES, task),
        switch(COMES + 30, task, MEASURED),
    ]


@pytest.mark.parametrize(
    ("around", "cause"),
    [
        (Around(), "outside"),
        (VIRTUAL, "outside"),
        (STOLEN, "hypervisor"),
        (SMI, "firmware"),
        (Around(closed=True), "code"),  # in an exception of its
    ],
)
def test_a_program_cannot_hold_an_interrupt_back(around: Around, cause: str) -> None:
    assert causes(late_in(OTHER, OUT), around) == [("irq-delay", 9 * MS, cause)]


@pytest.mark.parametrize(
    ("around", "cause"),
    [(Around(), "code"), (VIRTUAL, "code"), (STOLEN, "unsure"), (SMI, "unsure")],
)
def test_a_system_call_can_unless_time_was_taken_around_it(around: Around, cause: str) -> None:
    assert causes(late_in(OTHER, CALL), around) == [("irq-delay", 9 * MS, cause)]


def test_who_is_not_known_to_be_in_the_kernel_may_be_a_program() -> None:
    """Nor is a thread of the kernel, which makes no system calls."""
    for around, cause in ((Around(), "code"), (VIRTUAL, "unsure"), (STOLEN, "unsure")):
        assert causes(late_in(OTHER), around) == [("irq-delay", 9 * MS, cause)]


def test_the_next_event_of_a_task_tells_in_which_call_it_was_before() -> None:
    left = [*late_in(OTHER)[:-1], OUT._replace(time=COMES + 20), late_in(OTHER)[-1]]
    assert causes(left, VIRTUAL) == [("irq-delay", 9 * MS, "code")]
    entered = [*late_in(OTHER)[:-1], CALL._replace(time=COMES + 20), late_in(OTHER)[-1]]
    assert causes(entered, VIRTUAL) == [("irq-delay", 9 * MS, "outside")]


def test_what_the_interrupt_came_into_tells_the_kernel_from_a_program() -> None:
    """A program is in the kernel without a system call in a page fault."""
    events = late_in(OTHER, OUT)
    place = next(n for n, event in enumerate(events) if event.name == "sched_waking")
    stack = event(COMES + 2, "kernel_stack", OTHER, HARD)._replace(stack=(410, 220, 330))
    inside = [*events[: place + 1], stack, *events[place + 1 :]]
    assert causes(inside, VIRTUAL) == [("irq-delay", 9 * MS, "code")]
    outside = [event._replace(stack=event.stack[:1]) for event in inside]
    assert causes(outside, VIRTUAL) == [("irq-delay", 9 * MS, "outside")]


@pytest.mark.parametrize(("delay", "cause"), [(9 * MS, "code"), (9 * MS - 1, "outside")])
def test_an_idle_cpu_only_while_it_wakes_up(delay: int, cause: str) -> None:
    around = VIRTUAL._replace(idle_exit_ns=delay)
    assert causes(late_in(IDLE), around) == [("irq-delay", 9 * MS, cause)]


def test_an_idle_cpu_that_switches_late_was_taken_away() -> None:
    events = [switch(10, MEASURED, IDLE), *timer(DUE + 3, IDLE), switch(COMES, IDLE, MEASURED)]
    assert causes(events, STOLEN) == [("switch", 9 * MS - 13, "hypervisor")]
    assert causes(events, VIRTUAL) == [("switch", 9 * MS - 13, "outside")]


def test_a_softirq_holds_a_thread_back_and_not_an_interrupt() -> None:
    entry = event(DUE - 10, "softirq_entry", OTHER, SOFT, vec=9)
    leave = event(COMES + 20, "softirq_exit", OTHER, SOFT, vec=9)
    interrupt = [event._replace(flags=HARD | SOFT) for event in timer(COMES, OTHER)]
    before = [BEFORE, CALL, entry, *interrupt, leave, switch(COMES + 30, OTHER, MEASURED)]
    assert causes(before, STOLEN) == [("softirq", 9 * MS, "hypervisor")]
    assert causes(before, VIRTUAL) == [("softirq", 9 * MS, "outside")]
    # It may have turned interrupts off: where there is no hypervisor nothing else is left.
    assert causes(before, Around()) == [("softirq", 9 * MS, "code")]
    after = [
        BEFORE, CALL, *timer(DUE + 3, OTHER), event(DUE + 20, "softirq_entry", OTHER, SOFT, vec=9),
        event(COMES, "softirq_exit", OTHER, SOFT, vec=9), switch(COMES + 30, OTHER, MEASURED),
    ]  # fmt: skip
    assert causes(after, VIRTUAL) == [("softirq", 9 * MS - 20, "code")]
    assert causes(after, STOLEN) == [("softirq", 9 * MS - 20, "unsure")]


# The time that the kernel gave to a task: what is missing was stolen.

KNOWN = STOLEN._replace(irq_time=False)


def accounted(ran: int, *, whole: bool = True) -> list[Event]:
    """Return a wake-up that is 9 ms late, in a system call to which this time was given."""
    events = [CALL._replace(time=DUE - 50), *timer(COMES, OTHER), runtime(COMES + 20, OTHER, ran)]
    return [
        *[switch(DUE - 100, MEASURED, OTHER)] * whole,
        *events,
        switch(COMES + 30, OTHER, MEASURED),
    ]


def test_what_is_missing_in_the_time_of_a_task_was_stolen_from_it() -> None:
    ran = COMES + 20 - (DUE - 100) - 8 * MS
    assert causes(accounted(ran), KNOWN) == [
        ("irq-delay", MS, "unsure"), ("irq-delay", 8 * MS, "hypervisor"),
    ]  # fmt: skip


def test_a_task_that_was_given_all_the_time_is_to_blame_whatever_was_stolen_around() -> None:
    assert causes(accounted(COMES + 20 - (DUE - 100)), KNOWN) == [("irq-delay", 9 * MS, "code")]


@pytest.mark.parametrize(
    ("missing", "is_theft"), [(LEAST_THEFT_NS - 1, False), (LEAST_THEFT_NS, True)]
)
def test_less_may_lie_between_the_clock_and_the_event(missing: int, is_theft: bool) -> None:
    account = accounts(accounted(COMES + 20 - (DUE - 100) - missing), KNOWN)
    assert dict(account.thefts) == ({COMES: missing} if is_theft else {})


def test_where_the_account_begins_before_the_trace_at_least_the_rest_was_stolen() -> None:
    """It ran before, too: that can only hide what was stolen."""
    ran = COMES + 20 - (DUE - 50) - 8 * MS
    events = accounted(ran, whole=False)
    assert accounts(events, KNOWN).thefts == {COMES: 8 * MS}
    assert not accounts(accounted(COMES, whole=False), KNOWN).sound
    assert causes(events, KNOWN) == [
        ("irq-delay", MS, "unsure"), ("irq-delay", 8 * MS, "hypervisor"),
    ]  # fmt: skip


def test_time_of_interrupts_is_not_stolen_on_a_kernel_that_may_account_for_it() -> None:
    """Of those that subtract it from a task's time nothing is missing then."""
    handler = [
        event(DUE + 20, "local_timer_entry", OTHER, HARD),
        event(DUE + 21, "hrtimer_expire_entry", OTHER, HARD, function=150),
        event(DUE + 22, "hrtimer_expire_exit", OTHER, HARD),
        event(COMES, "local_timer_exit", OTHER, HARD),
    ]
    events = [
        BEFORE, CALL, runtime(DUE - 1, OTHER, DUE - 11), *timer(DUE + 3, OTHER), *handler,
        runtime(COMES + 20, OTHER, 43),
        switch(COMES + 30, OTHER, MEASURED),
    ]  # fmt: skip
    assert causes(events, KNOWN) == [("irq", 9 * MS - 22, "hypervisor")]
    for irq_time in (True, None):
        assert causes(events, KNOWN._replace(irq_time=irq_time)) == [("irq", 9 * MS - 20, "code")]


def test_a_switch_that_is_not_in_the_trace_begins_another_account() -> None:
    events = [switch(0, MEASURED, OTHER), OUT._replace(time=3 * MS, pid=URGENT),
              runtime(9 * MS, URGENT, 5 * MS)]  # fmt: skip
    assert accounts(events, KNOWN) == ({9 * MS: MS}, [], [(3 * MS, 9 * MS)])


def test_a_theft_that_began_before_the_sample_was_due_took_all_of_it() -> None:
    events = accounted(COMES + 20 - (DUE - 100) - 9 * MS - 30)
    assert accounts(events, KNOWN).thefts == {COMES: 9 * MS + 30}
    assert causes(events, KNOWN) == [("irq-delay", 9 * MS, "hypervisor")]


def test_the_functions_of_timers_do_not_end_or_begin_an_interrupt() -> None:
    waking = timer(DUE + 3, OTHER)
    expires = [event(DUE + 4, "hrtimer_expire_entry", OTHER, HARD, function=150),
               event(DUE + 9, "hrtimer_expire_exit", OTHER, HARD)]  # fmt: skip
    events = [
        switch(DUE - 100, MEASURED, OTHER), CALL._replace(time=DUE - 50), waking[0], expires[0],
        *waking[1:3], expires[1], waking[3], runtime(COMES, OTHER, 9 * MS + 90 - 8 * MS),
        switch(COMES + 30, OTHER, MEASURED),
    ]  # fmt: skip
    assert accounts(events, KNOWN._replace(irq_time=True)).thefts == {COMES: 8 * MS}


def test_a_long_interrupt_is_not_the_idle_task_that_it_came_into() -> None:
    events = [
        switch(10, MEASURED, IDLE), event(DUE + 1, "irq_work_entry", IDLE, HARD),
        event(COMES - 9, "irq_work_exit", IDLE, HARD), *timer(COMES, IDLE),
        switch(COMES + 30, IDLE, MEASURED),
    ]  # fmt: skip
    assert causes(events, VIRTUAL) == [("irq", 9 * MS - 10, "code")]


def test_several_gaps_are_filled_the_longest_first() -> None:
    events = [switch(0, MEASURED, OTHER), CALL._replace(time=3 * MS), OUT._replace(time=8 * MS),
              runtime(9 * MS, OTHER, 2 * MS)]  # fmt: skip
    assert accounts(events, KNOWN) == ({8 * MS: 5 * MS, 3 * MS: 2 * MS}, [], [(0, 9 * MS)])


def test_where_in_an_account_a_theft_lies_is_not_certain() -> None:
    """Its place is taken to be the longest gap; that clears nobody in another one."""
    before = [switch(DUE - 20 * MS, MEASURED, OTHER), CALL._replace(time=DUE - MS)]
    end = [*timer(COMES, OTHER), runtime(COMES + 20, OTHER, 25 * MS + 20)]
    events = [*before, *end, switch(COMES + 30, OTHER, MEASURED)]
    quiet = VIRTUAL._replace(irq_time=False)
    assert accounts(events, quiet).thefts == {DUE - MS: 4 * MS}
    assert causes(events, quiet) == [("irq-delay", 9 * MS, "unsure")]


def test_short_parts_are_not_put_in_doubt() -> None:
    for length, cause in ((LEAST_DOUBT_NS, "unsure"), (LEAST_DOUBT_NS - 1, "code")):
        events = [BEFORE, CALL, *timer(DUE + length, OTHER), switch(COMES, OTHER, MEASURED)]
        events = [*events, event(COMES + 90, "print", MEASURED, buf="the marker")]
        timeline = parts(
            events, Sampled(DUE, COMES + 60, MEASURED), Names({}, {}, NAMED), preemptible=False,
            around=STOLEN,
        )  # fmt: skip
        assert timeline[0].cause == cause
