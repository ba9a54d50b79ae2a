/*
 * The agent with benches that fail in all possible ways: what is reported of them, and of the cases
 * after them.
 */
#include "agent.h"
#include "bench.h"

int test_main(void);

static int run_well(rts_case *c)
{
    RTS_SAMPLES(c) {
        RTS_TIMED(c, rts_yield());
    }
    return 0;
}

/* Never returns, has a second task that does not return either, and allocates memory. */
static void spin(void *arg)
{
    (void)arg;
    for (;;)
        RTS_BARRIER();
}

static int run_hang(rts_case *c)
{
    static rts_queue queue;
    c->job.patience_ns = 1000000000;
    rts_task_start(c, spin, c, 1, RTS_FIFO, false);
    rts_queue_create(&queue, 4, 64, 0);
    spin(c);
    return 0;
}

/* Waits for a semaphore that is never given. */
static int run_wait(rts_case *c)
{
    c->job.patience_ns = 1000000000;
    rts_sem_take(rts_sem_make(c, RTS_SEM_UNNAMED, 0));
    return 0;
}

static int run_fault(rts_case *c)
{
    (void)c;
#ifdef __riscv
    __asm__ volatile("unimp");
#else
    __asm__ volatile("udf #0");
#endif
    return 0;
}

static int fill(int depth)
{
    volatile char room[256];
    for (unsigned i = 0; i < sizeof room; i++)
        room[i] = (char)depth;
    return depth ? fill(depth - 1) + room[0] : 0;
}

static void deep(void *arg)
{
    (void)arg;
    fill(RTS_STACK_DEFAULT / 256); /* the innermost frame may share its room */
}

static int run_overflow(rts_case *c)
{
    return rts_task_start(c, deep, c, 1, RTS_FIFO, false) || rts_wait_idle(c);
}

/* Fails without a reason. */
static int run_silent(rts_case *c)
{
    (void)c;
    return -1;
}

static int run_idle(rts_case *c)
{
    (void)c;
    return 0;
}

#define BAD(name, fn) {.id = name, .samples = 20, .run = fn}

static const rts_bench benches[] = {
    BAD("bad.none", run_well),   BAD("bad.hang", run_hang),     BAD("bad.wait", run_wait),
    BAD("bad.fault", run_fault), BAD("bad.deep", run_overflow), BAD("bad.silent", run_silent),
    BAD("bad.idle", run_idle),
};

RTS_BENCHES(benches);

int test_main(void)
{
    (void)rts_agent_serve();
    return 0;
}
