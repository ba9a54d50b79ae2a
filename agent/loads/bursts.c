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
