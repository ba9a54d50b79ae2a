/* det.bintime: CPU time taken away by the system, as seen by a clock (Obenland, determinism). */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

enum { LIBRARY, SYSCALL, CYCLES };

typedef struct bintime_params {
    int64_t clock;
} bintime_params;

/* Where no library has a clock, the counter is the one that programs read. */
static const rts_param bintime_param[] = {
    RTS_CHOICE(bintime_params, clock, "library|syscall|counter",
               RTS_NEVER &RTS_CAP_CLOCK_LIBRARY ? CYCLES : LIBRARY,
               "library call, system call forced into the kernel, or counter, which is the default "
               "on a system whose library has no clock"),
    RTS_PARAMS_END,
};

/*
 * Each reading ends one interval and begins the next, so that no stolen time is lost between
 * samples; recording the sample is part of the next interval. A rest starts a new chain of
 * readings, as does the start of the series.
 */
#define BINTIME(read)                                                                              \
    do {                                                                                           \
        uint64_t rests = 0;                                                                        \
        rts_rec_start(r, read());                                                                  \
        for (rts_tick last = read(); r->running;) {                                                \
            rts_tick now = read();                                                                 \
            rts_rec_add(r, now - last, now);                                                       \
            last = now;                                                                            \
            if (r->rests != rests) {                                                               \
                rests = r->rests;                                                                  \
                last = read();                                                                     \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static int run_bintime(rts_case *c)
{
    const bintime_params *p = rts_params(c);
    uint32_t caps = rts_caps();
    if (p->clock == LIBRARY && !(caps & RTS_CAP_CLOCK_LIBRARY))
        return rts_unsupported(c, "no clock but the counter");
    if (p->clock == SYSCALL && !(caps & RTS_CAP_CLOCK_SYSCALL))
        return rts_unsupported(c, "no system call that reads the clock");
    rts_rec *r =
        rts_series(c, "", p->clock == CYCLES ? rts_the_clock.hz : RTS_TIME_HZ, 0, false, NULL);
    if (!r)
        return -1;
    if (p->clock == LIBRARY)
        BINTIME(rts_time);
    else if (p->clock == SYSCALL)
        BINTIME(rts_time_syscall);
    else
        BINTIME(rts_now);
    rts_end(c, r);
    double mean = (double)r->hist.sum / (double)(r->hist.n ? r->hist.n : 1);
    double tick_ns = 1e9 / (double)(p->clock == CYCLES ? rts_the_clock.hz : RTS_TIME_HZ);
    rts_figure_add(c, "blocking (max - mean)", ((double)r->hist.max - mean) * tick_ns, "ns");
    return 0;
}

static const rts_bench benches[] = {
    {.id = "det.bintime",
     .title = RTS_SAY("Longest blocking seen by a busy top-priority task"),
     .source = RTS_SAY("Obenland, determinism, figure 6"),
     .help = RTS_SAY("A task of the highest priority reads a clock in a loop; an interval is the "
                     "duration of the call plus any time taken from the task. Maximum minus mean "
                     "estimates the longest blocking by the kernel, interrupts or the hypervisor. "
                     "Recording a sample is part of the next interval, at a nearly constant cost. "
                     "To stay within the RT throttling limit the task pauses by itself, and no "
                     "interval spans a pause. With clock=counter the method is that of oslat."),
     .params = bintime_param,
     .traits = RTS_RESTS | RTS_OWN_SERIES,
     .samples = 0,
     .warmup = 1000,
     .time_ns = RTS_LIMIT(60 * SECOND_NS),
     .run = run_bintime},
};

RTS_BENCHES(benches);
