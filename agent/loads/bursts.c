#include "bursts.h"

#define BURST_NS (RTS_NS_PER_S / 100)

/*
 * Runs one burst. A step that was delayed may end after the burst: that time was spent waiting and
 * is not counted as work.
 */
static bool run_burst(rts_worker *w, const rts_burst *b, void *state, rts_ns start)
{
    for (uint64_t done_ns = 0; done_ns < BURST_NS && !w->load->stop;) {
        if (!b->step(w, state))
            return false;
        uint64_t ns = rts_ns_between(start, rts_time_ns()).ns;
        ns = ns < BURST_NS ? ns : BURST_NS;
        w->done += ns - done_ns;
        done_ns = ns;
    }
    return !b->end || b->end(w, state);
}

void rts_load_bursts(rts_worker *w, const rts_burst *b, void *state, unsigned phase)
{
    const uint64_t period = RTS_BURST_PERIOD_NS;
    rts_ns next = rts_time_ns();
    next.ns += period - next.ns % period + phase * (period / RTS_BURST_PHASES);
    for (; rts_load_goes_on(w); next.ns += period) {
        rts_sleep_until_ns(next);
        rts_ns start = rts_time_ns();
        uint64_t missed = rts_ns_late(start, next).ns / period;
        w->missed += missed;
        next.ns += missed * period;
        if (!run_burst(w, b, state, start))
            return;
    }
}

typedef struct blocks {
    size_t largest;
    uint64_t random;
    void **held;
    unsigned n;
} blocks;

static bool memory_step(rts_worker *w, void *state)
{
    blocks *b = state;
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    void **slot = &b->held[(b->random >> 40) % b->n];
    size_t size = 16 + (size_t)(b->random >> 33) % (b->largest - 15);
    rts_free(*slot);
    *slot = rts_malloc(size);
    if (!*slot) {
        rts_worker_unsupported(w, "no memory for a block of %u bytes", (unsigned)size);
        return false;
    }
    *(volatile char *)*slot = 1;
    return true;
}

void rts_load_memory(rts_worker *w, size_t largest, void **held, unsigned n)
{
    blocks b = {.largest = largest, .held = held, .n = n};
    rts_load_bursts(w, &(rts_burst){.step = memory_step}, &b, 3);
    for (unsigned i = 0; i < n; i++)
        rts_free(held[i]);
}
