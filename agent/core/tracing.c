#include "tracing.h"

#ifdef RTS_TRACED

#include <string.h>

#define KEEP_MAX 16 /* snapshots: no more than the recorder keeps of the worst samples */

static struct {
    bool on;
    uint64_t above_ns;
    unsigned keep;
    bool stacks;
} wanted;

void rts_tracing_forget(void)
{
    wanted.on = false;
}

bool rts_tracing_command(char *words)
{
    int64_t above, keep;
    const char *first = rts_word(&words), *second = rts_word(&words), *third = rts_word(&words);
    rts_tracing_forget();
    if (!first || !second || !rts_number(&first, &above) || !rts_number(&second, &keep) ||
        above < 0 || keep < 1 || keep > KEEP_MAX || (third && strcmp(third, "stacks") != 0))
        return false;
    wanted.on = true;
    wanted.above_ns = (uint64_t)above;
    wanted.keep = (unsigned)keep;
    wanted.stacks = third != NULL;
    return true;
}

bool rts_tracing_wanted(void)
{
    return wanted.on;
}

int rts_tracing_begin(rts_case *c)
{
    char why[RTS_REASON];
    rts_trace *t = rts_alloc(c, sizeof *t);
    if (!t)
        return rts_unsupported(c, "no memory for what tracing needs");
    t->above = wanted.above_ns;
    t->keep = wanted.keep;
    t->stacks = wanted.stacks;
    t->armed = 1;
    if (rts_port_trace_start(t, &c->common.cpus, why, sizeof why))
        return rts_unsupported(c, "cannot be traced: %s", why);
    c->trace = t;
    return 0;
}

void rts_tracing_end(rts_case *c)
{
    if (!c->trace)
        return;
    c->trace->snapshots = rts_port_trace_stop();
    if (c->figures < RTS_FIGURES)
        rts_count_add(c, "above the limit, but not traced", (int64_t)c->trace->unseen, "samples");
}

/* ---- in a task of the case, after the sample has been recorded ----------------------------- */

static void copy_name(const rts_case *c, const rts_rec *r, char *name)
{
    for (unsigned i = 0; i < c->n_series; i++)
        if (c->series[i].rec == r)
            memcpy(name, c->series[i].name, sizeof c->series[i].name);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/*
 * Returns when a sample was taken, in ns of rts_time(): `t` is a reading of that clock or of the
 * counter, made just now, so that it is one of the clock that is nearer to it.
 */
static uint64_t time_of(uint64_t t)
{
    rts_tick counter = rts_now();
    uint64_t time = rts_time_ns().ns;
    if (distance(time, t) <= distance(counter, t))
        return t;
    return time - rts_scale(counter - t, RTS_NS_PER_S, rts_the_clock.hz);
}

void rts_tracing_look(void *arg, const rts_rec *r, const rts_sample *sample)
{
    const rts_case *c = arg;
    rts_trace *t = c->trace;
    uint64_t ticks = sample->value > r->overhead ? sample->value - r->overhead : 0;
    uint64_t net = rts_scale(ticks, RTS_NS_PER_S, r->setup.hz);
    if (net < t->above)
        return;
    if (!__atomic_exchange_n(&t->armed, 0, __ATOMIC_ACQUIRE)) {
        t->unseen++;
        return;
    }
    uint64_t stamp = time_of(r->start + sample->at);
    t->hit.value = sample->value;
    t->hit.net = net;
    t->hit.index = sample->index;
    t->hit.stamp = stamp;
    t->hit.due = stamp - rts_scale(sample->value, RTS_NS_PER_S, r->setup.hz);
    copy_name(c, r, t->hit.series);
    rts_port_trace_hit(t);
}

#endif
