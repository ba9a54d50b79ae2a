/* The heavy load, as far as a plain RTOS supports it (Obenland, Table 7). */
#include "bursts.h"
#include "whetstone.h"

typedef struct reduced_params {
    int64_t cpu, interrupt, syscall, memory, block;
} reduced_params;

static const rts_param reduced_param[] = {
    RTS_BOOL(reduced_params, cpu, 1, "with component cpu"),
    RTS_BOOL(reduced_params, interrupt, 1, "with component interrupt"),
    RTS_BOOL(reduced_params, syscall, 1, "with component syscall"),
    RTS_BOOL(reduced_params, memory, 1, "with component memory"),
    RTS_SIZE(reduced_params, block, 256, 16, 64 << 10, "size of the largest block of memory"),
    RTS_PARAMS_END,
};

static bool whetstone_step(rts_worker *w, void *state)
{
    (void)state;
    if (!rts_whetstone(1))
        rts_worker_failed(w, "the Whetstone result is wrong");
    return !w->why[0];
}

static void run_cpu(rts_worker *w)
{
    rts_load_bursts(w, &(rts_burst){.step = whetstone_step}, NULL, 0);
}

/* ---- system calls -------------------------------------------------------------------------- */

#define MESSAGE 16

typedef struct objects {
    rts_sem sem;
    rts_mutex mutex;
    rts_queue queue;
} objects;

/* Records that a call failed: what the system lacks, or has no room for, is unsupported. */
static void call_failed(rts_worker *w, const char *failure, int err)
{
    if (rts_port_is_limit(err))
        rts_worker_unsupported(w, "%s: %s", failure, rts_port_strerror(err));
    else
        rts_worker_failed(w, "%s: %s", failure, rts_port_strerror(err));
}

/* Makes each non-blocking call once; the second try finds the semaphore taken. */
static bool call_step(rts_worker *w, void *state)
{
    objects *o = state;
    unsigned char message[MESSAGE] = {1};
    int err = rts_sem_give(&o->sem);
    err = err ? err : rts_sem_try(&o->sem);
    bool taken = rts_sem_try(&o->sem) != 0;
    err = err ? err : rts_mutex_lock(&o->mutex);
    err = err ? err : rts_mutex_unlock(&o->mutex);
    err = err ? err : rts_queue_send(&o->queue, message);
    err = err ? err : rts_queue_receive(&o->queue, message);
    if (err)
        call_failed(w, "a call of the kernel failed", err);
    else if (!taken || message[0] != 1)
        rts_worker_failed(w, "a call of the kernel did not do what it has to");
    return !w->why[0];
}

/* No task waits for it, so a mutex without inheritance will do. */
static int create_mutex(rts_mutex *mutex)
{
    int err = rts_mutex_create(mutex, RTS_LOCK_INHERIT, RTS_PRIO_MIN);
    return err && rts_port_is_limit(err) ? rts_mutex_create(mutex, RTS_LOCK_NONE, RTS_PRIO_MIN)
                                         : err;
}

static void run_syscall(rts_worker *w)
{
    objects o;
    rts_sem_prepare(&o.sem, RTS_SEM_UNNAMED, 0);
    int err = rts_sem_create(&o.sem, 0);
    err = err ? err : create_mutex(&o.mutex);
    err = err ? err : rts_queue_create(&o.queue, 1, MESSAGE, RTS_SEMS_MAX);
    if (err) {
        call_failed(w, "cannot create a semaphore, a mutex and a queue", err);
        return;
    }
    rts_load_bursts(w, &(rts_burst){.step = call_step}, &o, 2);
    rts_queue_destroy(&o.queue);
    rts_mutex_destroy(&o.mutex);
    rts_sem_destroy(&o.sem);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void run_memory(rts_worker *w)
{
    const reduced_params *p = rts_load_params(w->load);
    void *held[8] = {NULL};
    rts_load_memory(w, (size_t)p->block, held, 8);
}

/* ---- interrupts ---------------------------------------------------------------------------- */

#define INTERRUPTS 1000 /* per second */

static void handler(void *arg)
{
    rts_worker *w = arg;
    w->done++;
}

static void run_interrupt(rts_worker *w)
{
    rts_irq irq;
    const uint64_t period = RTS_NS_PER_S / INTERRUPTS;
    int err = rts_irq_open(&irq, 0, handler, w);
    if (err) {
        call_failed(w, "cannot have an interrupt", err);
        return;
    }
    for (rts_ns next = rts_time_ns(); !err && rts_load_goes_on(w);) {
        next.ns += period;
        rts_ns now = rts_time_ns();
        if (rts_ns_late(now, next).ns > RTS_BURST_PERIOD_NS) { /* no burst to catch up */
            w->missed += rts_ns_late(now, next).ns / period;
            next = now;
        }
        rts_sleep_until_ns(next);
        err = rts_irq_raise(&irq);
    }
    if (err)
        call_failed(w, "cannot raise an interrupt", err);
    rts_irq_close(&irq);
}

/* ---- the table ----------------------------------------------------------------------------- */

static int prepare_reduced(rts_running *l)
{
    const reduced_params *p = rts_load_params(l);
    uint32_t lacks = ~rts_caps();
    if (p->interrupt && lacks & RTS_CAP_SOFT_IRQ)
        return rts_load_unsupported(l, "%s: leave it out with interrupt=0",
                                    rts_port_why_not(RTS_CAP_SOFT_IRQ));
    if (p->memory && lacks & RTS_CAP_HEAP)
        return rts_load_unsupported(l, "%s: leave it out with memory=0",
                                    rts_port_why_not(RTS_CAP_HEAP));
    return 0;
}

static const rts_load loads[] = {
    {.id = "heavy/reduced",
     .title = RTS_SAY("Four components that are not real-time, on any system"),
     .source = RTS_SAY("Obenland, Table 7; reduced to what a plain RTOS has"),
     .help =
         RTS_SAY("The load heavy without files and network, the same on all systems: Whetstone, "
                 "kernel calls (on a semaphore, a mutex and a queue, none of which blocks) and "
                 "dynamic allocation for 10 ms in every 100 ms of wall time each, at fixed offsets "
                 "from one another; and 1000 interrupts per second that the program requests. Each "
                 "component is a time-sharing task. Counted are ms of bursts, and interrupts."),
     .params = reduced_param,
     .prepare = prepare_reduced,
     .component = RTS_PARTS({.name = "cpu",
                             .title = "Whetstone",
                             .workers = "cpu",
                             .run = run_cpu,
                             RTS_BURST_COMPONENT},
                            {.name = "interrupt",
                             .title = "interrupts",
                             .unit = "interrupts",
                             .rate = INTERRUPTS,
                             .workers = "interrupt",
                             .periodic = true,
                             .run = run_interrupt},
                            {.name = "syscall",
                             .title = "kernel calls",
                             .workers = "syscall",
                             .run = run_syscall,
                             RTS_BURST_COMPONENT},
                            {.name = "memory",
                             .title = "dynamic allocation",
                             .workers = "memory",
                             .run = run_memory,
                             RTS_BURST_COMPONENT})},
};

RTS_LOADS(loads);
