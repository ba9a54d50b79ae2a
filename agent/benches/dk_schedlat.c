/*
 * dk.schedlat: for how long a system call of a low-priority task keeps the CPU from a high-priority
 * task that has become ready (Dankwardt, part 2).
 */
#include "longcalls.h"
#include "periodic.h"

#define SECOND_NS INT64_C(1000000000)
#define LEAD_NS 2000000

typedef struct schedlat_params {
    int64_t period;
#ifndef RTS_LONG_CALLS
    int64_t calls, size;
#endif
} schedlat_params;

enum { ALL, QUEUE };

/* Where histograms are short, there is no memory for three series. */
#define CALLS (RTS_HIST_RANGE < 64 ? QUEUE : ALL)

static const rts_param schedlat_param[] = {
    RTS_DURATION(schedlat_params, period, 1000000, 100000, SECOND_NS,
                 "time between two wake-ups of the higher-priority task"),
#ifndef RTS_LONG_CALLS
    RTS_CHOICE(schedlat_params, calls, "all|queue|heap|task", CALLS,
               "kinds of long calls; each is a series"),
    RTS_SIZE(schedlat_params, size, 1024, 1, 1 << 20, "size of a message through the queue"),
#endif
    RTS_PARAMS_END,
};

#ifdef RTS_LONG_CALLS
#define NEEDS (RTS_CAP_PRIORITIES | RTS_LONG_CALLS)
#define PROCESS true
#define POLICY RTS_OTHER
#else
#define NEEDS RTS_CAP_PRIORITIES
#define PROCESS false
#define POLICY RTS_FIFO

/* ---- calls that every system has ------------------------------------------------------------- */

#define BELOW 2 /* levels of a child below the case: 1 below its parent */
#define BLOCKS 8
#define BLOCK 16 /* bytes of the smallest block; each is this much larger than the one before */

static struct {
    rts_case *c;
    rts_queue queue;
    void *message;
} own;

static int prepare_calls(rts_case *c)
{
    const schedlat_params *p = rts_params(c);
    own.c = c;
    own.message = rts_alloc(c, (size_t)p->size);
    if (!own.message)
        return LONG_CALL_NO_MEMORY;
    int err = rts_queue_create(&own.queue, 1, (size_t)p->size, c->slot++);
    if (err)
        own.message = NULL;
    return err;
}

static void clean_up_calls(void)
{
    if (own.message)
        rts_queue_destroy(&own.queue);
}

/* The queue is empty, so no task has to wait. */
static int call_queue(void)
{
    int err = rts_queue_send(&own.queue, own.message);
    return err ? err : rts_queue_receive(&own.queue, own.message);
}

/* Frees every other block first, then the blocks between them. */
static int call_heap(void)
{
    void *block[BLOCKS];
    bool all = true;
    for (unsigned i = 0; i < BLOCKS; i++) {
        block[i] = rts_malloc((i + 1) * BLOCK);
        all = all && block[i];
    }
    for (unsigned i = 0; i < 2 * BLOCKS; i += 2)
        rts_free(block[i % BLOCKS + i / BLOCKS]);
    return all ? 0 : LONG_CALL_NO_MEMORY;
}

static int call_task(void)
{
    rts_child child;
    int err = rts_child_prepare(&child, 0, (int)own.c->common.prio - BELOW, RTS_STACK_DEFAULT);
    if (err)
        return err;
    err = rts_child_create(&child, 0);
    if (!err) {
        int kill = rts_child_kill(&child, 0), reap = rts_child_reap(&child, 0);
        err = kill ? kill : reap;
    }
    rts_child_release(&child);
    return err;
}

static const long_call kinds[] = {
    {"queue", "messages through a queue", 0, call_queue, NULL},
    {"heap", "times 8 blocks were taken and given back", RTS_CAP_HEAP, call_heap, NULL},
    {"task", "tasks created and deleted", RTS_CAP_CHILDREN, RTS_RUN(RTS_CAP_CHILDREN, call_task),
     NULL},
};

const long_calls rts_long_calls = {kinds, sizeof kinds / sizeof kinds[0], "a queue", prepare_calls,
                                   clean_up_calls};
#endif

/* ---- the two tasks --------------------------------------------------------------------------- */

/* State shared by the two tasks. */
typedef struct duel {
    rts_case *c;
    volatile unsigned now;          /* kind of call that L makes */
    const char *volatile doing;     /* the call that failed for L */
    volatile int error;             /* its error; 0: none so far */
    volatile unsigned calls_done[]; /* per kind; written in one access, as H may preempt L */
} duel;

/* L. If it is a process, what it does to its memory does not affect H. */
static void less_urgent(void *arg)
{
    duel *d = arg;
    d->doing = rts_long_calls.material;
    int err = rts_long_calls.prepare(d->c);
    while (!err && !d->c->stop) {
        unsigned k = d->now;
        d->doing = rts_long_calls.kind[k].figure_name;
        err = rts_long_calls.kind[k].make();
        d->calls_done[k]++;
        rts_time(); /* advances the clock of a simulated system whose calls take no time */
    }
    d->error = err;
    rts_long_calls.clean_up();
}

/* Waits until L makes calls of kind k or gives up; returns -1 if neither happens in 10 s. */
static int await_calls(duel *d, unsigned k)
{
    d->now = k;
    for (int i = 0; i < 10000 && !d->calls_done[k] && !d->error; i++)
        rts_sleep_until(rts_time() + rts_ns_to_ticks(1000000, RTS_TIME_HZ));
    return d->calls_done[k] || d->error ? 0 : -1;
}

static int gave_up(rts_case *c, const duel *d)
{
    return rts_unsupported(c, "%s: %s", d->doing,
                           d->error == LONG_CALL_NO_MEMORY ? "no memory"
                                                           : rts_port_strerror(d->error));
}

/* H: records its lateness while L makes calls of kind k, and how many L has made meanwhile. */
static int measure_kind(rts_case *c, duel *d, unsigned k)
{
    const schedlat_params *p = rts_params(c);
    const long_call *kind = &rts_long_calls.kind[k];
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    if (kind->needs & ~rts_caps())
        return rts_unsupported(c, "%s: %s", kind->figure_name, rts_port_why_not(kind->needs));
    rts_hist *omitted;
    rts_rec *r = rts_series(c, kind->name, RTS_TIME_HZ, 0, true, &omitted);
    if (!r)
        return -1;
    if (await_calls(d, k))
        return rts_failed(c, "the less urgent task did not run for 10 s");
    if (d->error)
        return gave_up(c, d);
    unsigned before = d->calls_done[k];
    rts_tick release = rts_release_at(rts_time() + rts_ns_to_ticks(LEAD_NS, RTS_TIME_HZ));
    for (rts_rec_start(r, release); r->running && !d->error;)
        periodic_wake_up(r, omitted, &release, period);
    rts_end(c, r);
    if (d->error)
        return gave_up(c, d);
    if (periodic_check(c, r))
        return -1;
    rts_figure_add(c, kind->figure_name, d->calls_done[k] - before, "calls");
    return 0;
}

/* Returns why this system cannot make calls of kind k; 0: it can. */
static int lacks(unsigned k)
{
    const long_call *kind = &rts_long_calls.kind[k];
    return kind->lacks ? kind->lacks() : 0;
}

/* True for all kinds, or for the one that was requested. */
static bool is_wanted(const rts_case *c, unsigned k)
{
#ifndef RTS_LONG_CALLS
    const schedlat_params *p = rts_params(c);
    if (p->calls != ALL)
        return p->calls - 1 == k;
#endif
    (void)c;
    return !(rts_long_calls.kind[k].needs & ~rts_caps()) && !lacks(k);
}

/* Reports the missing kinds, where a system may lack one that its port supports. */
static void tell_lacks(rts_case *c)
{
    bool reported = false;
    for (unsigned k = 0; k < rts_long_calls.n; k++) {
        int err = lacks(k);
        if (err && !reported)
            rts_table(c, "left out", "series\twhat\twhy");
        if (err)
            rts_row(c, "%s\t%s\t%s", rts_long_calls.kind[k].name,
                    rts_long_calls.kind[k].figure_name, rts_port_strerror(err));
        reported = reported || err;
    }
}

static int run_schedlat(rts_case *c)
{
    duel *d = rts_alloc(c, sizeof *d + rts_long_calls.n * sizeof d->calls_done[0]);
    if (!d)
        return rts_failed(c, "no memory");
    d->c = c;
    tell_lacks(c);
    if (rts_task_start(c, less_urgent, d, 1, POLICY, PROCESS))
        return -1;
    for (unsigned k = 0; k < rts_long_calls.n; k++)
        if (is_wanted(c, k) && measure_kind(c, d, k))
            return -1;
    return 0;
}

static unsigned series(const rts_case *c)
{
    unsigned n = 0;
    for (unsigned k = 0; k < rts_long_calls.n; k++)
        n += is_wanted(c, k);
    return n;
}

static const rts_bench benches[] = {
    {.id = "dk.schedlat",
     .title = RTS_SAY("Wake-up while the kernel serves a lower-priority task"),
     .source = RTS_SAY("Dankwardt, part 2"),
     .help = RTS_SAY(
         "A task of the highest priority wakes up once a `period` on the CPU of a lower-priority "
         "one that makes long kernel calls without pause; the sample is how late it runs. There is "
         "one series per kind of call, whose maximum is the longest delay. On POSIX, a process "
         "that is not real-time makes long system calls. On other systems, which need no more than "
         "tasks of different priority, a task one level below sends itself messages of `size` "
         "bytes through a queue, allocates and frees memory, and "
         "creates and deletes tasks. Kinds that the system lacks are left out unless requested, "
         "and on POSIX reported."),
     .params = schedlat_param,
     .needs = NEEDS,
     .traits = RTS_OWN_SERIES | RTS_ONE_CPU | RTS_OMITTED,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 2,
     .series = series,
     .run = run_schedlat},
};

RTS_BENCHES(benches);
