/*
 * grow.*: services of any system while there are n of one thing: tasks that are ready, blocked,
 * asleep or due at the same moment, waiters of a semaphore, holes in a heap.
 */
#include "grow_params.h"

#ifndef RTS_SMALL_CODE /* there it has no room, and no room for n tasks */

#define SECOND_NS INT64_C(1000000000)
#define PATIENCE_NS (60 * (uint64_t)SECOND_NS)
#define TASKS 1024
#define HOLES 4096
#define HOLE_BYTES 200
#define BLOCK_BYTES 2000 /* fits into no hole */
#define MARGIN_MS 11     /* more than a tick of any system, at which a sleep ends */
#define LATER_MS 2000    /* tasks that are due later sleep so long: longer than a case takes */
#define ASLEEP_MS 5000   /* within which tasks that are due together have to be asleep */

typedef struct grow {
    rts_case *c;
    rts_sem *object;  /* what is given and taken */
    rts_sem *round;   /* sends the tasks that are due together to sleep */
    rts_sem *handing; /* lets the follower run as soon as the measuring task does not */
    volatile bool waits;
    volatile rts_stamp got; /* when the follower had the CPU */
    volatile rts_tick due;
    volatile int64_t asleep;
    rts_tick lead; /* before `due`, in which the tasks go to sleep */
} grow;

static rts_tick ms(uint64_t n)
{
    return rts_ns_to_ticks(n * 1000000, RTS_TIME_HZ);
}

/* Time that n tasks take to get the CPU once each, with room to spare. */
static rts_tick each_once(int64_t n)
{
    return ms(2) + ms((uint64_t)n) / 4;
}

/* ---- things ---------------------------------------------------------------------------------- */

static void sleep_together(void *arg)
{
    grow *g = arg;
    while (!g->c->stop) {
        rts_sem_take(g->round);
        rts_tick due = g->due;
        g->asleep++;
        if (!g->c->stop)
            rts_sleep_until(due);
    }
}

static void sleep_longer(void *arg)
{
    grow *g = arg;
    while (!g->c->stop)
        rts_sleep_until(rts_time() + ms(LATER_MS));
}

static void be_ready(void *arg)
{
    grow *g = arg;
    while (!g->c->stop)
        rts_yield();
}

static void wait_for_object(void *arg)
{
    grow *g = arg;
    while (!g->c->stop)
        rts_sem_take(g->object);
}

/* Less urgent than all others: takes a stamp when the measuring task has left the CPU. */
static void follow(void *arg)
{
    grow *g = arg;
    while (!g->c->stop) {
        rts_sem_take(g->handing);
        g->got = rts_stamp_now();
        while (g->waits && !g->c->stop)
            rts_sem_give(g->object); /* to those that waited before it, and to it */
    }
}

static grow *start(rts_case *c, void (*body)(void *), int below)
{
    const grow_params *p = rts_params(c);
    grow *g = rts_alloc(c, sizeof *g);
    if (!g) {
        rts_unsupported(c, "no memory");
        return NULL;
    }
    g->c = c;
    g->lead = ms(2 * MARGIN_MS) + each_once(p->n);
    if (c->job.patience_ns < PATIENCE_NS)
        c->job.patience_ns = PATIENCE_NS;
    g->object = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    g->round = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    g->handing = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!g->object || !g->round || !g->handing || rts_own_level(c, 0, RTS_FIFO) ||
        rts_task_start(c, follow, g, RTS_LEVELS - 1, RTS_FIFO, false))
        return NULL;
    for (int64_t i = 0; i < p->n; i++)
        if (rts_task_start(c, body, g, below, RTS_FIFO, false))
            return NULL;
    rts_sleep_until(rts_time() + each_once(p->n));
    return g;
}

/*
 * Sends the n tasks to sleep until the same moment, and returns that, well before it; 0: the case
 * has failed. Where they are not all asleep in time, as on a busy machine, they come back and are
 * sent again, with twice the time: before a sample is taken, which is never taken twice.
 */
static rts_tick send_to_sleep(grow *g, int64_t n)
{
    const rts_tick end = rts_time() + ms(ASLEEP_MS);
    for (;; g->lead *= 2) {
        rts_tick due = rts_release_at(rts_time() + g->lead);
        g->due = due;
        g->asleep = 0;
        for (int64_t i = 0; i < n; i++)
            rts_sem_give(g->round);
        rts_sleep_until(due - ms(MARGIN_MS));
        if (g->asleep == n && rts_time() < due)
            return due;
        do
            rts_sleep_until(rts_time() + g->lead);
        while (g->asleep < n && rts_time() < end);
        rts_sleep_until(due + each_once(n));
        if (rts_time() >= end) {
            rts_failed(g->c, "the tasks were not all asleep within %d s", ASLEEP_MS / 1000);
            return 0;
        }
    }
}

/* ---- the wake-up ----------------------------------------------------------------------------- */

enum { TOGETHER, ASLEEP, READY, BLOCKED };

GROW_PARAMS(wakeup_param, TASKS,
            "FIFO-sleepers-due-together|sleeping-tasks|ready-FIFO-tasks|blocked-tasks",
            "other tasks, all less urgent: they wake up at the same moment or later, are ready, "
            "or wait");

static int run_wakeup(rts_case *c)
{
    static void (*const bodies[])(void *) = {sleep_together, sleep_longer, be_ready,
                                             wait_for_object};
    const grow_params *p = rts_params(c);
    rts_rec *r = rts_series(c, "", RTS_TIME_HZ, 0, false, NULL);
    grow *g = r ? start(c, bodies[p->over], 1) : NULL;
    if (!g)
        return -1;
    rts_rec_start(r, rts_time());
    while (r->running) {
        rts_tick due =
            p->over == TOGETHER ? send_to_sleep(g, p->n) : rts_release_at(rts_time() + ms(5));
        if (!due)
            return -1;
        rts_sleep_until(due);
        rts_tick now = rts_time();
        rts_rec_add(r, now - due, now);
        rts_sleep_until(rts_time() + (p->over == TOGETHER ? each_once(p->n) : ms(1)));
    }
    rts_end(c, r);
    return 0;
}

/* ---- services that leave the CPU to another task --------------------------------------------- */

/* Times `op`, which blocks, up to the stamp of the follower. */
#define UNTIL_FOLLOWED(c, g, op)                                                                   \
    do {                                                                                           \
        rts_sem_give((g)->handing);                                                                \
        rts_stamp begin = rts_stamp_now();                                                         \
        op;                                                                                        \
        rts_rec_span((c)->rec, begin, (g)->got);                                                   \
    } while (0)

GROW_PARAMS(sleep_param, TASKS, "sleepers-due-before", "tasks that wake up 1 ms earlier");

static int run_sleep(rts_case *c)
{
    const grow_params *p = rts_params(c);
    grow *g = start(c, sleep_together, 1);
    if (!g)
        return -1;
    RTS_SAMPLES(c) {
        rts_tick due = send_to_sleep(g, p->n);
        if (!due)
            return -1;
        UNTIL_FOLLOWED(c, g, rts_sleep_until(due + ms(1)));
        rts_sleep_until(rts_time() + each_once(p->n));
    }
    return 0;
}

GROW_PARAMS(waiters_param, TASKS, "waiters", "tasks that wait for the semaphore");

static int run_take(rts_case *c)
{
    const grow_params *p = rts_params(c);
    grow *g = start(c, wait_for_object, 0);
    if (!g)
        return -1;
    RTS_SAMPLES(c) {
        g->waits = true;
        UNTIL_FOLLOWED(c, g, rts_sem_take(g->object); g->waits = false);
        rts_sleep_until(rts_time() + each_once(p->n));
    }
    return 0;
}

/* ---- services that return -------------------------------------------------------------------- */

static int run_give(rts_case *c)
{
    grow *g = start(c, wait_for_object, 1);
    if (!g)
        return -1;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, rts_sem_give(g->object));
        rts_sleep_until(rts_time() + ms(3)); /* who got it waits again */
    }
    return 0;
}

GROW_PARAMS(yield_param, TASKS, "ready-FIFO-tasks", "tasks that are ready, and less urgent");

static int run_yield(rts_case *c)
{
    if (!start(c, be_ready, 1))
        return -1;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, rts_yield());
    }
    return 0;
}

GROW_PARAMS(malloc_param, HOLES, "holes", "free blocks that are too small");

static void free_all(void **block, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (block[i])
            rts_free(block[i]);
    rts_free(block);
}

static int run_malloc(rts_case *c)
{
    const grow_params *p = rts_params(c);
    const int64_t n = 2 * p->n;
    void **block = rts_malloc((size_t)n * sizeof *block);
    if (!block)
        return rts_unsupported(c, "the heap has no room for a list of %lld blocks", (long long)n);
    for (int64_t i = 0; i < n; i++)
        block[i] = NULL;
    for (int64_t i = 0; i < n; i++)
        if (!(block[i] = rts_malloc(HOLE_BYTES))) {
            free_all(block, n);
            return rts_unsupported(c, "the heap has room for %lld blocks of %d bytes", (long long)i,
                                   HOLE_BYTES);
        }
    for (int64_t i = 0; i < n; i += 2) {
        rts_free(block[i]);
        block[i] = NULL;
    }
    RTS_SAMPLES(c) {
        void *large;
        RTS_TIMED(c, large = rts_malloc(BLOCK_BYTES));
        if (!large) {
            free_all(block, n);
            return rts_unsupported(c, "the heap has no room for %d bytes more", BLOCK_BYTES);
        }
        rts_free(large);
    }
    free_all(block, n);
    return 0;
}

#define GROW_COMMON                                                                                \
    .source = RTS_SAY("procedure of rtstone"), .slope_over = "n", .samples = 15, .warmup = 5,      \
    .time_ns = RTS_LIMIT(60 * SECOND_NS)

static const rts_bench benches[] = {
    {GROW_COMMON, .id = "grow.wakeup", .title = RTS_SAY("wake-up"),
     .help =
         RTS_SAY("How late a task wakes up from a sleep until an absolute time, while there are "
                 "n other tasks, all of them less urgent."),
     .params = wakeup_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_OWN_SERIES,
     .run = run_wakeup},
    {GROW_COMMON, .id = "grow.sleep", .title = RTS_SAY("sleep"),
     .help = RTS_SAY("From a stamp before the call of a sleep until an absolute time to the first "
                     "statement of the task that runs next."),
     .params = sleep_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_sleep},
    {GROW_COMMON, .id = "grow.take", .title = RTS_SAY("wait for a semaphore"),
     .help = RTS_SAY("From a stamp before the call that waits, behind tasks of the same priority, "
                     "to the first statement of the task that runs next."),
     .params = waiters_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_take},
    {GROW_COMMON, .id = "grow.give", .title = RTS_SAY("give of a semaphore"),
     .help = RTS_SAY("Duration of a give for which less urgent tasks wait: without a switch."),
     .params = waiters_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_give},
    {GROW_COMMON, .id = "grow.yield", .title = RTS_SAY("yield"),
     .help = RTS_SAY("Duration of a yield of a task that is alone at its priority."),
     .params = yield_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_yield},
    {GROW_COMMON, .id = "grow.malloc", .title = RTS_SAY("malloc"),
     .help = RTS_SAY("Duration of malloc of 2,000 bytes while every other one of 2n blocks "
                     "of 200 bytes is free."),
     .params = malloc_param, .needs = RTS_CAP_HEAP, .traits = RTS_RESTS, .run = run_malloc},
};

RTS_BENCHES(benches);

#endif
