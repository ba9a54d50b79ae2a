/* Functions shared by the Rhealstone components. */
#include <string.h>

#include "rheal.h"

bool rheal_in_ns(void)
{
    return !strcmp(rts_the_clock.unit, "ns");
}

#define FINEST UINT64_C(10000000000) /* parts of a second */

/*
 * Opens the series of the classic form. A loop difference resolves fractions of a tick, so its
 * series has a finer unit. The clock reads are in both loops and cancel out: there is no overhead
 * to subtract.
 */
static int open_classic(rheal_frame *f)
{
    rts_case *c = f->c;
    if (rheal_in_ns() && rts_the_clock.hz < FINEST)
        f->scale = FINEST / rts_the_clock.hz;
    c->rec = rts_series(c, "", rts_the_clock.hz * f->scale, 0, false, NULL);
    if (!c->rec)
        return -1;
    rts_rec_limit(c->rec, (uint64_t)f->p->measurements);
    return 0;
}

static int open_frame(rheal_frame *f, rts_case *c)
{
    f->c = c;
    f->p = rts_params(c);
    f->scale = 1;
    f->loops = (uint64_t)f->p->loops;
    f->opened = f->fresh = rts_now();
    if (f->p->form == RHEAL_CLASSIC)
        return open_classic(f);
    c->rec = rts_series(c, "", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
    return c->rec ? 0 : -1;
}

void *rheal_open(rts_case *c, size_t size)
{
    rheal_frame *f = rts_alloc(c, size);
    if (!f)
        rts_unsupported(c, "no memory");
    return f && !open_frame(f, c) ? f : NULL;
}

void rheal_rest(rheal_frame *f)
{
    rts_case *c = f->c;
    if (!c->busy_ns)
        return;
    for (int i = 0; i < 2; i++) /* a pass is as long as is allowed without a rest */
        c->rec->on_rest(c->rec->hook_arg);
    c->rec->rests++;
    f->fresh = rts_now();
}

void rheal_rest_if_due(rheal_frame *f)
{
    if (rts_now() - f->fresh >= rts_ns_to_ticks(f->c->busy_ns, rts_the_clock.hz))
        rheal_rest(f);
}

int rheal_check_pass(rheal_frame *f, rts_tick pass)
{
    rts_case *c = f->c;
    f->pass = pass;
    if (!c->busy_ns || pass < rts_ns_to_ticks(2 * c->busy_ns, rts_the_clock.hz))
        return 0;
    return rts_failed(c,
                      "a pass took %llu ms, more than the system lets real-time tasks run without "
                      "a rest; use fewer loops",
                      (unsigned long long)(pass * 1000 / rts_the_clock.hz));
}

void rheal_note(rheal_frame *f, const char *name, double ticks)
{
    unsigned i = 0;
    while (i < f->parts && strcmp(f->part[i].name, name) != 0)
        i++;
    if (i == RHEAL_PARTS) {
        rts_failed(f->c, "more than %d parts of a measurement", RHEAL_PARTS);
        return;
    }
    if (i == f->parts)
        f->part[f->parts++] = (rheal_part){name, 0};
    f->part[i].sum += ticks;
}

void rheal_time_figure(rts_case *c, const char *name, double ticks)
{
    double per_tick = rheal_in_ns() ? 1e9 / (double)rts_the_clock.hz : 1;
    rts_figure_add(c, name, ticks * per_tick, rts_the_clock.unit);
}

static rts_tick empty_loops(uint64_t n)
{
    rts_tick a = rts_now();
    for (; n; n--)
        RTS_BARRIER();
    return rts_now() - a;
}

double rheal_run_less_loop(rheal_frame *f, rts_tick run, uint64_t passes, uint64_t events)
{
    rts_tick loop = empty_loops(passes);
    rheal_note(f, "T_run", (double)run);
    rheal_note(f, "T_loop", (double)loop);
    return ((double)run - (double)loop) / (double)events;
}

double rheal_with_less_without(rheal_frame *f, double with, double without, uint64_t events)
{
    rheal_note(f, "T_with", with);
    rheal_note(f, "T_without", without);
    return (with - without) / (double)events;
}

double rheal_net_mean(rts_tick sum, uint64_t n)
{
    return (double)sum / (double)n - (double)rts_the_clock.overhead;
}

static uint64_t tenths(double ticks)
{
    return (uint64_t)(10 * rts_clock_ns(ticks) + 0.5);
}

/*
 * Reports a loop difference below zero, with its parts: no result. The loops vary by more than what
 * they measure, or what is subtracted takes longer, as a yield of FreeRTOS that switches to none.
 */
static int not_determined(const rheal_frame *f, double ticks, double measurements)
{
    rts_case *c = f->c;
    uint64_t below = tenths(-ticks);
    rts_unsupported(c,
                    "n.e.: by the loop difference an event takes -%llu.%u in the unit of the clock",
                    (unsigned long long)(below / 10), (unsigned)(below % 10));
    for (unsigned i = 0; i < f->parts; i++) {
        size_t n = strlen(c->reason);
        double mean = f->part[i].sum / measurements;
        uint64_t part = tenths(mean < 0 ? -mean : mean);
        rts_print(c->reason + n, sizeof c->reason - n, "; %s: %s%llu.%u", f->part[i].name,
                  mean < 0 ? "-" : "", (unsigned long long)(part / 10), (unsigned)(part % 10));
    }
    return -1;
}

#define TRIAL 64 /* loops */

/*
 * N is what the publication's ports use, but on a slow system it may exceed what RT throttling
 * allows without a rest: a short trial, which is discarded, finds how many loops fit.
 */
static int fit_loops(rheal_frame *f, rheal_once *once)
{
    rts_case *c = f->c;
    uint64_t wanted = f->loops;
    double ticks;
    if (!c->busy_ns || f->in_pieces || wanted <= TRIAL)
        return 0;
    f->loops = TRIAL;
    if (once(f, &ticks))
        return -1;
    f->parts = 0;
    double allowed = (double)rts_ns_to_ticks(c->busy_ns, rts_the_clock.hz);
    double fit = f->pass ? allowed / (double)f->pass * TRIAL : (double)wanted;
    if (fit >= (double)wanted) {
        f->loops = wanted;
        return 0;
    }
    f->loops = fit > TRIAL ? (uint64_t)fit : TRIAL;
    rts_figure_add(c, "N, as many as fit between two rests", (double)f->loops, "loops");
    return 0;
}

static int measure_classic(rheal_frame *f, rheal_once *once)
{
    rts_case *c = f->c;
    double ticks = 0, n = 0;
    if (fit_loops(f, once))
        return -1;
    rts_rec_start(c->rec, 0);
    while (c->rec->running) {
        if (once(f, &ticks))
            return -1;
        if (ticks < 0)
            return not_determined(f, ticks, n + 1);
        n++;
        rts_rec_add(c->rec, (uint64_t)(ticks * (double)f->scale + 0.5),
                    (rts_now() - f->opened) * f->scale);
    }
    for (unsigned i = 0; i < f->parts; i++)
        rheal_time_figure(c, f->part[i].name, f->part[i].sum / n);
    return 0;
}

rts_tick rheal_time_limit(const rts_case *c)
{
    return c->common.time_ns ? rts_ns_to_ticks((uint64_t)c->common.time_ns, rts_the_clock.hz)
                             : UINT64_MAX;
}

/* Leaves the CPU to a load between two rounds: all tasks are at their gates. */
static void pause_after_round(const rheal_frame *f)
{
    if (f->p->pause)
        rts_sleep_until_ns(rts_ns_add(rts_time_ns(), rts_ns_of((uint64_t)f->p->pause)));
}

/* Runs rounds until the recorder has all samples. */
static int measure_sampled(rheal_frame *f, rheal_round *round)
{
    rts_case *c = f->c;
    rts_tick start = rts_now(), limit = rheal_time_limit(c);
    rts_rec_start(c->rec, start);
    while (c->rec->running && !c->job.stop_requested) {
        if (round(f))
            return -1;
        rheal_rest_if_due(f);
        pause_after_round(f);
        if (!rts_rec_taken(c->rec) && rts_now() - start > limit)
            return rts_failed(c, "the event that is measured never came about");
    }
    return 0;
}

int rheal_measure(rheal_frame *f, rheal_round *round, rheal_once *once)
{
    return f->p->form == RHEAL_CLASSIC ? measure_classic(f, once) : measure_sampled(f, round);
}

int rheal_sleeper_start(rts_case *c, rheal_sleeper *s, void (*run)(void *), void *arg, int level)
{
    s->suspends = (rts_caps() & RTS_CAP_SUSPEND) != 0;
    s->sem = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (!s->sem || rts_task_start(c, run, arg, level, RTS_FIFO, false))
        return -1;
    s->task = c->task[c->n_tasks - 1];
    return 0;
}

void rheal_sleeper_tell(rts_case *c, const rheal_sleeper *s)
{
    rts_table(c, "how a task is put to sleep and woken", "by\twhy");
    if (s->suspends)
        rts_row(c, "suspend, resume\tas published");
    else
        rts_row(c, "semaphore\tthis system has no suspension of tasks");
}
