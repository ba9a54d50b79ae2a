/* Sends the records of a case: its start, progress, results and end (docs/reference/wire.md). */
#include "records.h"

#include <string.h>

#include "command.h"
#include "load.h"

static void put_hist(rts_wire *w, const char *key, const rts_hist *h)
{
    rts_wire_open(w, key, '[');
    for (unsigned i = 0; i < RTS_HIST_BUCKETS; i++) {
        if (!h->count[i])
            continue;
        rts_wire_open(w, NULL, '[');
        rts_wire_uint(w, NULL, i);
        rts_wire_uint(w, NULL, h->count[i]);
        rts_wire_close(w, ']');
    }
    rts_wire_close(w, ']');
}

static void put_moments(rts_wire *w, const rts_hist *h)
{
    rts_wire_uint(w, "n", h->n);
    rts_wire_sum(w, "sum", h->sum_high, h->sum);
    if (h->n) {
        rts_wire_uint(w, "min", h->min);
        rts_wire_uint(w, "max", h->max);
    }
    rts_wire_uint(w, "overflow", h->count[RTS_HIST_BUCKETS]);
}

static void put_worst(rts_wire *w, const rts_rec *r)
{
    rts_wire_open(w, "worst", '[');
    for (unsigned i = 0; i < r->worst_n; i++) {
        rts_wire_open(w, NULL, '[');
        rts_wire_uint(w, NULL, r->worst[i].value);
        rts_wire_uint(w, NULL, r->worst[i].index);
        rts_wire_uint(w, NULL, r->worst[i].at);
        rts_wire_close(w, ']');
    }
    rts_wire_close(w, ']');
}

#ifdef RTS_STEAL
/* Returns a reading of the recorder's clock in ns of rts_time(). */
static uint64_t ns_of_rts_time(const rts_rec *r, uint64_t t)
{
    uint64_t hz = r->setup.hz, time = rts_time_ns().ns, counter = rts_now();
    if (hz == RTS_TIME_HZ && hz != rts_the_clock.hz)
        return rts_scale(t, RTS_NS_PER_S, hz);
    return counter > t ? time - rts_scale(counter - t, RTS_NS_PER_S, rts_the_clock.hz) : time;
}

/* Writes by how much steal time grew around each of the worst samples, null if it is not known. */
static void put_worst_steal(rts_wire *w, const rts_rec *r)
{
    int64_t ns[RTS_WORST];
    for (unsigned i = 0; i < r->worst_n; i++) {
        const rts_sample *s = &r->worst[i];
        uint64_t span_ns, end = ns_of_rts_time(r, r->start + s->at);
        uint64_t length = rts_scale(s->value, RTS_NS_PER_S, r->setup.hz);
        ns[i] = rts_port_steal_around(end > length ? end - length : 0, end, &span_ns);
        if (ns[i] < 0) {
            rts_wire_null(w, "worst_steal");
            return;
        }
    }
    rts_wire_open(w, "worst_steal", '[');
    for (unsigned i = 0; i < r->worst_n; i++)
        rts_wire_uint(w, NULL, (uint64_t)ns[i]);
    rts_wire_close(w, ']');
}
#endif

static void put_trace(rts_wire *w, const rts_rec *r)
{
    rts_wire_open(w, "trace", '{');
    rts_wire_uint(w, "ticks", r->window_ticks);
    rts_wire_open(w, "rows", '[');
    for (unsigned i = 0; i < RTS_TRACE; i++) {
        const rts_window *v = &r->window[i];
        if (!v->n)
            continue;
        rts_wire_open(w, NULL, '[');
        rts_wire_uint(w, NULL, i);
        rts_wire_uint(w, NULL, v->n);
        rts_wire_uint(w, NULL, v->min);
        rts_wire_uint(w, NULL, v->sum);
        rts_wire_uint(w, NULL, v->max);
        rts_wire_close(w, ']');
    }
    rts_wire_close(w, ']');
    rts_wire_close(w, '}');
}

static void put_blocks(rts_wire *w, const rts_rec *r)
{
    rts_wire_open(w, "blocks", '{');
    rts_wire_uint(w, "samples", r->block_samples);
    rts_wire_open(w, "max", '[');
    for (unsigned i = 0; i < r->blocks; i++)
        rts_wire_uint(w, NULL, r->block[i]);
    rts_wire_close(w, ']');
    rts_wire_close(w, '}');
}

#if RTS_BATCH_MAX
/* Writes the batches, or null if there are none; lines only for percentiles with enough samples. */
static void put_batches(rts_wire *w, const rts_rec *r)
{
    unsigned line[RTS_LINES], lines = rts_rec_lines(r, line);
    rts_batch batch;
    if (!rts_rec_batch(r, 0, lines, line, &batch))
        return;
    rts_wire_open(w, "batches", '{');
    rts_wire_open(w, "lines", '[');
    for (unsigned k = 0; k < lines; k++)
        rts_wire_uint(w, NULL, line[k]);
    rts_wire_close(w, ']');
    rts_wire_open(w, "rows", '[');
    for (unsigned i = 0; rts_rec_batch(r, i, lines, line, &batch); i++) {
        rts_wire_open(w, NULL, '[');
        rts_wire_uint(w, NULL, batch.n);
        rts_wire_uint(w, NULL, batch.sum);
        for (unsigned k = 0; k < lines; k++)
            rts_wire_uint(w, NULL, batch.above[k]);
        rts_wire_close(w, ']');
    }
    rts_wire_close(w, ']');
    rts_wire_close(w, '}');
}
#else
static void put_batches(rts_wire *w, const rts_rec *r)
{
    (void)w;
    (void)r;
}
#endif

static void put_figures(rts_wire *w, const rts_case *c, bool first)
{
    rts_wire_open(w, "figures", '[');
    for (unsigned i = 0; first && i < c->figures; i++) {
        rts_wire_open(w, NULL, '[');
        rts_wire_str(w, NULL, c->figure[i].name);
        rts_wire_real(w, NULL, c->figure[i].value);
        rts_wire_str(w, NULL, c->figure[i].unit);
        rts_wire_close(w, ']');
    }
    rts_wire_close(w, ']');
}

/* Writes the texts of a line, which are separated by tabs; returns the start of the next line. */
static const char *put_texts(rts_wire *w, const char *key, const char *line)
{
    rts_wire_open(w, key, '[');
    for (;;) {
        size_t n = strcspn(line, "\t\n");
        rts_wire_strn(w, NULL, line, (unsigned)n);
        line += n;
        if (*line != '\t')
            break;
        line++;
    }
    rts_wire_close(w, ']');
    return *line ? line + 1 : line;
}

static void put_tables(rts_wire *w, const rts_case *c, bool first)
{
    rts_wire_open(w, "tables", '[');
    for (unsigned i = 0; first && i < c->tables; i++) {
        const rts_text_table *t = &c->table[i];
        rts_wire_open(w, NULL, '{');
        rts_wire_str(w, "title", t->title);
        put_texts(w, "columns", t->columns);
        rts_wire_open(w, "rows", '[');
        for (const char *row = t->rows; *row;)
            row = put_texts(w, NULL, row);
        rts_wire_close(w, ']');
        rts_wire_close(w, '}');
    }
    rts_wire_close(w, ']');
}

static void send_raw(const rts_case *c, const rts_series_out *s)
{
    enum { PER_RECORD = 512 };
    const uint64_t *v = s->raw;
    uint64_t n = s->rec->hist.n < s->rec->setup.samples ? s->rec->hist.n : s->rec->setup.samples;
    for (uint64_t at = 0; v && at < n; at += PER_RECORD) {
        rts_wire *w = rts_wire_begin("raw");
        rts_wire_uint(w, "id", c->job.id);
        rts_wire_str(w, "series", s->name);
        rts_wire_uint(w, "at", at);
        rts_wire_open(w, "v", '[');
        for (uint64_t i = at; i < at + PER_RECORD && i < n; i++)
            rts_wire_uint(w, NULL, v[i]);
        rts_wire_close(w, ']');
        rts_wire_end(w);
    }
}

#if RTS_MISSES
/* Writes the misses of a series that can have some. */
static void put_misses(rts_wire *w, const rts_case *c, const rts_series_out *s)
{
    const rts_misses *m = &s->rec->misses;
    if (!s->periodic && !c->limit_ns)
        return;
    rts_wire_open(w, "misses", '{');
    if (c->limit_ns)
        rts_wire_uint(w, "limit_ns", c->limit_ns);
    rts_wire_uint(w, "n", m->n);
    rts_wire_uint(w, "late", m->late);
    rts_wire_uint(w, "squares", m->squares);
    rts_wire_uint(w, "room", RTS_MISSES);
    rts_wire_open(w, "windows", '[');
    for (unsigned k = 0; k < RTS_MISSES && k < m->n; k++)
        rts_wire_uint(w, NULL, m->window[k]);
    rts_wire_close(w, ']');
    rts_wire_close(w, '}');
}
#else
static void put_misses(rts_wire *w, const rts_case *c, const rts_series_out *s)
{
    (void)w;
    (void)c;
    (void)s;
}
#endif

static void put_omitted(rts_wire *w, const rts_hist *omitted)
{
    if (!omitted)
        return;
    rts_wire_open(w, "omitted", '{');
    put_moments(w, omitted);
    put_hist(w, "hist", omitted);
    rts_wire_close(w, '}');
}

void rts_send_result(const rts_case *c, unsigned i)
{
    static const char *const ended[] = {"stopped", "samples", "time", "stopped", "limit"};
    const rts_series_out *s = &c->series[i];
    const rts_rec *r = s->rec;
    send_raw(c, s);
    rts_wire *w = rts_wire_begin("result");
    rts_wire_uint(w, "id", c->job.id);
    rts_wire_str(w, "series", s->name);
    rts_wire_uint(w, "hz", s->hz);
    rts_wire_uint(w, "overhead", s->overhead);
    if (c->granule && c->granule != rts_the_clock.granule)
        rts_wire_uint(w, "granule", c->granule);
    rts_wire_uint(w, "batch", i && c->bench->traits & RTS_BATCHES ? 1 : c->batch);
    put_moments(w, &r->hist);
    rts_wire_uint(w, "warmup", r->discarded);
    rts_wire_uint(w, "negative", r->negative);
    rts_wire_uint(w, "bits", RTS_HIST_BITS);
    put_hist(w, "hist", &r->hist);
    put_worst(w, r);
#ifdef RTS_STEAL
    put_worst_steal(w, r);
#endif
    put_trace(w, r);
    put_blocks(w, r);
    put_batches(w, r);
    rts_wire_optional(w, "missed", s->periodic ? (int64_t)r->missed : -1);
    put_omitted(w, s->omitted);
    put_misses(w, c, s);
    put_figures(w, c, i == 0);
    put_tables(w, c, i == 0);
    if (r->hist.n || r->discarded)
        rts_wire_str(w, "ended", ended[r->ended]);
    rts_wire_end(w);
}

#define NAME(name) #name,

static void put_evidence(rts_wire *w, const rts_case *c)
{
    static const char *const names[] = {RTS_EACH_EVIDENCE(NAME)};
    const rts_evidence *e = &c->job.evidence;
    rts_wire_open(w, "evidence", '{');
    for (unsigned i = 0; i < RTS_EVIDENCE; i++)
        rts_wire_optional(w, names[i], e->number[i]);
#ifdef RTS_ENTRIES
    rts_wire_str(w, "entered_why", c->why_not_watched);
#endif
    rts_wire_uint(w, "tasks", c->peak_tasks + 1);
    rts_wire_str(w, "sched", e->sched);
    rts_wire_bool(w, "locked", e->locked);
    rts_wire_open(w, "cpus", '[');
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(&c->common.cpus, cpu))
            rts_wire_uint(w, NULL, cpu);
    rts_wire_close(w, ']');
    rts_wire_bool(w, "shared", e->shared);
    rts_command_value(w, c, "config");
    uint64_t rests = 0;
    for (unsigned i = 0; i < c->n_series; i++)
        rests += c->series[i].rec->rests;
    rts_wire_uint(w, "rests", rests);
    rts_wire_optional(w, "snapshots", c->trace ? (int64_t)c->trace->snapshots : -1);
    rts_wire_close(w, '}');
}

void rts_send_clock(void)
{
    rts_wire *w = rts_wire_begin("clock");
    rts_wire_str(w, "source", rts_the_clock.source);
    rts_wire_str(w, "unit", rts_the_clock.unit);
    rts_wire_uint(w, "hz", rts_the_clock.hz);
    rts_wire_uint(w, "granule", rts_the_clock.granule);
    rts_wire_uint(w, "overhead", rts_the_clock.overhead);
    rts_wire_end(w);
    w = rts_wire_begin("conditions");
    rts_wire_open(w, "values", '{');
    rts_port_conditions(w);
    rts_wire_close(w, '}');
    rts_wire_end(w);
}

void rts_send_case(const rts_case *c)
{
    rts_wire *w = rts_wire_begin("case");
    rts_wire_uint(w, "id", c->job.id);
    rts_wire_str(w, "bench", c->bench->id);
    rts_wire_open(w, "params", '{');
    rts_command_params(w, c);
    rts_wire_close(w, '}');
    rts_wire_end(w);
}

void rts_send_end(const rts_case *c, bool ran)
{
    rts_wire *w = rts_wire_begin("end");
    rts_wire_uint(w, "id", c->job.id);
    rts_wire_status(w, c->status, c->reason);
    if (ran) {
        put_evidence(w, c);
    } else {
        rts_wire_open(w, "evidence", '{');
        rts_wire_close(w, '}');
    }
    rts_load_put(w);
    rts_wire_end(w);
}

uint64_t rts_job_heartbeat(const rts_job *job)
{
    const rts_case *c = rts_case_of(job);
    uint64_t beat = c->progress_n;
    for (unsigned i = 0; i < c->n_series; i++)
        beat += rts_rec_taken(c->series[i].rec);
    return beat;
}

static void send_progress_text(const rts_case *c)
{
    char text[RTS_PROGRESS_BYTES];
    memcpy(text, c->progress, sizeof text - 1); /* may be changing */
    text[sizeof text - 1] = '\0';
    rts_wire *w = rts_wire_begin("progress");
    rts_wire_uint(w, "id", c->job.id);
    rts_wire_uint(w, "done", c->progress_done);
    rts_wire_str(w, "text", text);
    rts_wire_end(w);
}

/* Returns the series that is being measured, or the last one that was; NULL before its samples. */
static const rts_series_out *progressing(const rts_case *c)
{
    const rts_series_out *s = NULL;
    for (unsigned i = 0; i < c->n_series; i++) {
        if (!rts_rec_so_far(c->series[i].rec).n)
            continue;
        s = &c->series[i];
        if (s->rec->running)
            break;
    }
    return s;
}

/* Reads the recorder while it is being written: good enough for a display, never for a result. */
void rts_job_progress(const rts_job *job)
{
    const rts_case *c = rts_case_of(job);
    if (c->progress[0]) {
        send_progress_text(c);
        return;
    }
    const rts_series_out *s = progressing(c);
    if (!s)
        return;
    const rts_rec *r = s->rec;
    const rts_window all = rts_rec_so_far(r);
    uint64_t last = 0, done = 0;
    for (unsigned i = 0; i <= r->window_i && i < RTS_TRACE; i++)
        last = r->window[i].n ? i : last;
    if (r->setup.samples)
        done = all.n * 1000 / r->setup.samples;
    if (r->setup.time) {
        uint64_t by_time = last * r->window_ticks * 1000 / r->setup.time;
        done = by_time > done ? by_time : done;
    }
    rts_wire *w = rts_wire_begin("progress");
    rts_wire_uint(w, "id", c->job.id);
    rts_wire_uint(w, "n", all.n);
    rts_wire_uint(w, "min", all.min);
    rts_wire_uint(w, "p50", rts_rec_percentile(r, 500));
    rts_wire_uint(w, "p99", rts_rec_percentile(r, 990));
    rts_wire_uint(w, "max", all.max);
    rts_wire_uint(w, "hz", s->hz);
    rts_wire_uint(w, "overhead", s->overhead);
    rts_wire_uint(w, "batch", c->batch);
    rts_wire_uint(w, "done", done);
    rts_wire_end(w);
}
