/*
 * What delays the switch to a task from when its timer is due, in a processor's own order.
 *
 * A stretch is blocked while no task can be switched to: interrupts are masked, preemption is off,
 * the scheduler is suspended, or, in a kernel that is preempted at points alone, from one to the
 * next.  The longest of each of these terms are kept (docs/guides/sections.md, "The bound"):
 *
 *     BLOCKED  a stretch without a switch
 *     HEAD     of a stretch with one: up to the switch
 *     TAIL     of a stretch with one: from when interrupts were masked for the switch to its end
 *     GAP      from the end of the first stretch after the scheduler was asked for to the begin of
 *              the one in which it is entered
 *
 * All are without interrupt handlers, which are written as records of their own, as others are:
 *
 *     HANDLED   count: when it began; what: when it ended; size: for how long it may have been held
 *               back, as interrupts were masked up to its begin; 0: it came at once
 *     SWITCHED  count: when; what: the task
 *     IDLED     count: when it began to wait for an interrupt
 *
 * A handler lasts from the vector to its return, or until it enters the scheduler.
 */
#include "delays.h"

#include "tally.h"

static struct {
    bool is, switched;
    uint64_t since, net; /* net: the same without handlers */
    uint64_t gap;        /* before it */
    uint64_t tail, tail_net;
    place begin, tail_begin;
} stretch;
static struct {
    bool is;
    uint64_t since, net; /* also since when they are delivered */
    uint64_t last;       /* since when they had been masked until then */
    place begin;
} masked;
static struct {
    bool is, after; /* after: neither a stretch nor a handler holds it back any more */
    uint64_t since, net;
    place begin;
} need;
static bool entered; /* the scheduler, which has not decided yet */
static bool handling;
static unsigned handling_at;
static uint64_t handled, handling_since, held;
static uint64_t running; /* the task */

static uint64_t net(uint64_t when)
{
    return when - handled - (handling ? when - handling_since : 0);
}

bool delays_handling(void)
{
    return handling;
}

bool delays_blocked(void)
{
    return stretch.is;
}

bool delays_open(uint64_t before)
{
    return stretch.is && stretch.since < before;
}

void delays_deliver(bool deliver, uint64_t when, place at)
{
    if (masked.is == !deliver)
        return;
    if (!deliver && entered && !handling) /* it masks interrupts, and then decides */
        need.is = entered = false;
    if (deliver)
        masked.last = masked.since;
    masked.is = !deliver;
    masked.since = when;
    masked.net = net(when);
    masked.begin = at;
}

static void begin(uint64_t when, place at)
{
    stretch.is = true;
    stretch.switched = false;
    stretch.since = when;
    stretch.net = net(when);
    stretch.begin = at;
    stretch.gap = need.is && need.after ? net(when) - need.net : 0;
}

/* From here on the scheduler is late by what is done without being asked for it. */
static void wait_for_scheduler(uint64_t when, place at)
{
    if (!need.is || need.after)
        return;
    need.after = true;
    need.since = when;
    need.net = net(when);
    need.begin = at;
}

static void end(uint64_t when, place at)
{
    if (stretch.switched)
        tally_add(TAIL, stretch.tail_begin, at, net(when) - stretch.tail_net, stretch.tail, when);
    else
        tally_add(BLOCKED, stretch.begin, at, net(when) - stretch.net, stretch.since, when);
    stretch.is = false;
    wait_for_scheduler(when, at);
}

void delays_block(bool blocked, uint64_t when, place at)
{
    if (blocked)
        begin(when, at);
    else
        end(when, at);
}

/* Of what is masked at the point an interrupt comes behind it: both stretches have that part. */
void delays_point(uint64_t when, place at)
{
    if (stretch.is)
        end(when, at);
    begin(when, at);
    if (!masked.is)
        return;
    stretch.since = masked.since;
    stretch.net = masked.net;
    stretch.begin = masked.begin;
}

void delays_interrupt(uint64_t when, unsigned level)
{
    if (handling)
        return;
    held = when - (masked.is ? masked.since : when == masked.since ? masked.last : when);
    handling = true;
    handling_at = level;
    handling_since = when;
}

void delays_leave(uint64_t when, place at)
{
    if (!handling)
        return;
    const uint32_t most = UINT32_MAX;
    write_record(handling_since, when, held < most ? (uint32_t)held : most, HANDLED);
    handled += when - handling_since;
    handling = false;
    if (!stretch.is)
        wait_for_scheduler(when, at);
}

void delays_return(uint64_t when, unsigned level, place at)
{
    if (handling && level == handling_at)
        delays_leave(when, at);
}

void delays_need(uint64_t when, place at)
{
    if (need.is)
        return;
    need.is = true;
    need.after = false;
    if (!stretch.is && !handling)
        wait_for_scheduler(when, at);
}

void delays_schedule(uint64_t when, place at)
{
    if (need.is && need.after)
        tally_add(GAP, need.begin, at, stretch.is ? stretch.gap : net(when) - need.net, need.since,
                  when);
    need.is = false;
    entered = true;
}

void delays_idle(uint64_t when)
{
    write_record(when, 0, 0, IDLED);
}

void delays_switch(uint64_t when, uint64_t task, place at)
{
    if (task == running)
        return;
    running = task;
    write_record(when, task, 0, SWITCHED);
    if (handling || !stretch.is)
        return;
    need.is = entered = false;
    tally_add(HEAD, stretch.begin, at, net(when) - stretch.net, stretch.since, when);
    if (stretch.switched)
        return;
    stretch.switched = true;
    stretch.tail = masked.is ? masked.since : when;
    stretch.tail_net = masked.is ? masked.net : net(when);
    stretch.tail_begin = masked.is ? masked.begin : at;
}
