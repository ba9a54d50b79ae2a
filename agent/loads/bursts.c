#include "bursts.h"

#define BURST (RTS_TIME_HZ / 100)

/*
 * One burst.  A step that was held up goes beyond its end: that was waiting, not work, and is not
 * counted.
 */
static bool run_burst(rts_worker *w, const rts_burst *b, void *of, rts_tick start)
{
    for (rts_tick done = 0; done < BURST && !w->load->stop;) {
        if (!b->step(w, of))
            return false;
        rts_tick now = rts_time() - start;
        now = now < BURST ? now : BURST;
        w->done += now - done;
        done = now;
    }
    return !b->end || b->end(w, of);
}

void rts_load_bursts(rts_worker *w, const rts_burst *b, void *of, unsigned phase)
{
    const rts_tick period = RTS_BURST_PERIOD;
    rts_tick next = rts_time();
    next += period - next % period + phase * (period / RTS_BURST_PHASES);
    for (; rts_load_goes_on(w); next += period) {
        rts_sleep_until(next);
        rts_tick start = rts_time();
        if (start - next >= period) {
            w->missed += (start - next) / period;
            next += (start - next) / period * period;
        }
        if (!run_burst(w, b, of, start))
            return;
    }
}

typedef struct blocks {
    size_t largest;
    uint64_t random;
    void **held;
    unsigned n;
} blocks;

static bool memory_step(rts_worker *w, void *of)
{
    blocks *b = of;
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    void **slot = &b->held[(b->random >> 40) % b->n];
    size_t size = 16 + (size_t)(b->random >> 33) % (b->largest - 15);
    rts_free(*slot);
    *slot = rts_malloc(size);
    if (!*slot) {
        rts_worker_failed(w, "no memory for a block of %u bytes", (unsigned)size);
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
