#include "clock.h"

rts_clock rts_the_clock;

uint64_t rts_clock_overhead(unsigned reads)
{
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < reads; i++) {
        rts_stamp a = rts_stamp_now();
        rts_stamp took = rts_stamp_now() - a;
        least = took < least ? took : least;
    }
    return least;
}

/* Returns how many differences in d are not multiples of g. */
static unsigned misfits(const uint64_t *d, unsigned n, uint64_t g)
{
    unsigned bad = 0;
    for (unsigned i = 0; i < n; i++)
        bad += d[i] % g != 0;
    return bad;
}

uint64_t rts_clock_granule(rts_tick (*reading)(void))
{
    enum { N = RTS_GRANULE_READS };
    uint64_t d[N];
    uint64_t least = UINT64_MAX;
    /* Waits of varying length, so that a constant distance is not mistaken for the granule. */
    for (unsigned i = 0; i < N; i++) {
        rts_tick a = reading();
        rts_tick b = reading();
        for (unsigned wait = 0; wait < i % 61 || b == a; wait++)
            b = reading();
        d[i] = b - a;
        least = d[i] < least ? d[i] : least;
    }
    uint64_t g = least;
    while (g > 1 && misfits(d, N, g) > N / 100)
        g--;
    return g;
}

double rts_clock_ns(double ticks)
{
    return ticks * 1e9 / (double)rts_the_clock.hz;
}

static rts_tick now(void)
{
    return rts_now();
}

void rts_clock_measure(void)
{
    rts_the_clock.granule = rts_clock_granule(now);
    rts_the_clock.overhead = rts_clock_overhead(RTS_OVERHEAD_READS / 10);
}

int rts_clock_start(void)
{
    rts_port_bind(rts_port_default_cpu()); /* counters of different CPUs can differ */
    int err = rts_port_clock_init(&rts_the_clock);
    if (err)
        return err;
    rts_the_clock.granule = rts_clock_granule(now);
    rts_the_clock.overhead = rts_clock_overhead(RTS_OVERHEAD_READS);
    rts_port_bind(-1);
    return 0;
}
