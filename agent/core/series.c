/* Series of samples of a case. */
#include "series.h"

#include "load.h"
#include "tracing.h"

static void on_section(void *arg)
{
    rts_case *c = arg;
    rts_port_section_start(&c->job);
}

void rts_series_rest(rts_case *c)
{
    rts_ns end = rts_ns_add(rts_time_ns(), rts_ns_of(c->rest_ns));
    c->resting = true;
    rts_load_silent_until(end);
    rts_sleep_until_ns(end);
    c->resting = false;
}

static void on_rest(void *arg)
{
    rts_series_rest(arg);
}

#define TRIAL_SAMPLES 100
#define TRIAL_WARMUP 10
#define TRIAL_NS 500000000

/* Returns the least value of a sample above a limit in ns, net of what the host subtracts. */
static uint64_t above(const rts_series_out *s, uint64_t limit_ns)
{
    return limit_ns ? rts_ns_to_ticks(limit_ns, s->hz) + s->overhead + 1 : 0;
}

void rts_series_setup(rts_case *c, rts_series_out *s, bool trial)
{
    /* Half of what is allowed: one sample, untimed work included, may go on for long after it. */
    uint64_t busy_ns = c->bench->traits & RTS_RESTS ? c->busy_ns / 2 : 0;
    uint64_t time_ns = trial ? TRIAL_NS : (uint64_t)c->common.time_ns;
    rts_rec_setup setup = {
        .hz = s->hz,
        .overhead = s->overhead,
        .samples = trial ? TRIAL_SAMPLES : (uint64_t)c->common.samples,
        .time = rts_ns_to_ticks(time_ns, s->hz),
        .warmup = trial ? TRIAL_WARMUP : (uint64_t)c->common.warmup,
        .busy = rts_ns_to_ticks(busy_ns, s->hz),
        .stop = &c->job.stop_requested,
        .raw = trial ? NULL : s->raw,
        .late_from = trial ? 0 : above(s, c->limit_ns),
        .over_from = trial ? 0 : above(s, c->stop_ns),
        .over = &c->over,
    };
    rts_rec_init(s->rec, &setup);
    s->rec->on_section = trial ? NULL : on_section;
    s->rec->on_rest = on_rest;
    s->rec->on_worst = trial || !c->trace ? NULL : rts_tracing_look;
    s->rec->hook_arg = c;
}

size_t rts_series_raw_room(const rts_case *c)
{
    return c->common.raw ? (size_t)c->common.samples * sizeof(uint64_t) : 0;
}

rts_rec *rts_series(rts_case *c, const char *name, uint64_t hz, uint64_t overhead, bool periodic,
                    rts_hist **omitted)
{
    rts_series_out *s = &c->series[c->n_series];
    rts_print(s->name, sizeof s->name, "%s", name);
    s->hz = hz;
    s->overhead = overhead;
    s->periodic = periodic;
    s->rec = rts_alloc(c, sizeof *s->rec);
    s->raw = c->common.raw ? rts_alloc(c, rts_series_raw_room(c)) : NULL;
    s->omitted = omitted ? rts_alloc(c, sizeof *s->omitted) : NULL;
    if (!s->rec || (c->common.raw && !s->raw) || (omitted && !s->omitted)) {
        rts_unsupported(c, "no memory for the samples");
        return NULL;
    }
    rts_series_setup(c, s, false);
    if (c->n_series && s->rec->setup.busy) /* the series before may have kept the CPU until now */
        rts_series_rest(c);
    if (omitted) {
        rts_hist_init(s->omitted);
        *omitted = s->omitted;
    }
    c->n_series++;
    return s->rec;
}

void rts_series_expire(rts_rec *r, uint64_t now)
{
    uint64_t left = r->deadline > now ? r->deadline - now : 0;
    rts_sleep_until(rts_time() + (r->setup.hz == RTS_TIME_HZ
                                      ? left
                                      : rts_scale(left, RTS_TIME_HZ, r->setup.hz)));
    rts_rec_look(r, r->deadline);
}

void rts_end(rts_case *c, rts_rec *r)
{
    rts_rec_finish(r);
    rts_port_section_end(&c->job);
}
