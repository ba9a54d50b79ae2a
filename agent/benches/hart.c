/*
 * hart.*: the Hartstone Uniprocessor Benchmark (Weiderman 1989; Donohoe, Shapiro, Weiderman 1990;
 * Golatowski).
 *
 * A case is one experiment: a series of tests with an increasingly heavy task set, until deadlines
 * are missed. The measuring task is the controller: it has the highest priority and sleeps during a
 * test. The tasks are created once and wait at their gates between tests.
 */
#include <math.h>
#include <string.h>

#include "bench.h"
#include "load.h"
#include "random.h"
#include "whetstone.h"

#define SECOND_NS INT64_C(1000000000)
#define TESTS_MAX 200
#define BASE_MAX 8 /* tasks of a baseline, including the server */
#define EXTRA_MAX (RTS_TASKS_MAX - BASE_MAX < TESTS_MAX ? RTS_TASKS_MAX - BASE_MAX : TESTS_MAX)
#define TASKS_MAX (BASE_MAX + EXTRA_MAX)
#define TENTHS 10           /* rates are stored in tenths of a hertz: exact in every experiment */
#define UTILISATION_MAX 1.5 /* utilisation at which an experiment ends at the latest */
#define PLANNED_MAX 1.1     /* tests up to here have to fit into the experiment's time */
#define PLANNED_SHARE 0.9   /* share of that time for these tests, as jobs may end late */
#define SPEED_NS (10 * SECOND_NS)
#define SHORTEST_SPEED_NS (SECOND_NS / 10)
#define SHORTEST_START_NS (SECOND_NS / 20)
#define COUNTED_NS (SECOND_NS / 100) /* before the release: the load is counted from there */

enum { SET_AUTO, SET_SEI, SET_GOLATOWSKI, SET_GOLATOWSKI_AUTO };
enum { POLICY_RM, POLICY_EDF };
enum { FORM_MONITOR, FORM_SERVER };
enum { STOP_TOTAL, STOP_FIRST };
enum { PH, PN, AH, SH, SA };

enum { GAPS_WHOLE, GAPS_SHORTEST };

typedef struct hart_params {
    int64_t set, policy, form, gaps, duration, start, stop, stop_misses, speed, first;
} hart_params;

/* ---- a task and its deadlines ---------------------------------------------------------------- */

typedef enum kind { PERIODIC, SPORADIC, BACKGROUND, SERVER } kind;

/* What a task has to do in a test. */
typedef struct job_spec {
    kind kind;
    int64_t rate;    /* tenths of a hertz; of a sporadic task: its maximum rate */
    int64_t work;    /* thousand Whetstone instructions per activation (KWIPP), its own */
    bool calls;      /* calls the server once per activation */
    int level;       /* below the case's priority */
    rts_ns mean_gap; /* of the exponential part of the interarrival time */
} job_spec;

/* Results of a task: met + missed + skipped are the activations with deadlines within the test. */
typedef struct account {
    uint64_t met, missed, skipped;
    rts_ns late;         /* total lateness of missed deadlines */
    rts_ns response_max; /* from release to completion */
    rts_ns blocked_max;  /* longest wait for the server */
} account;

/* All response times of a task in a test, also of those whose deadline is behind it. */
typedef struct responses {
    uint64_t n;
    double sum, squares; /* of the us */
} responses;

typedef struct experiment experiment;

typedef struct hart_task {
    experiment *x;
    job_spec spec;
    account sum;
    rts_sem *gate, *reply;
    uint64_t random;
    volatile rts_ns served; /* when the server began to work for this task */
    int error;
    bool wrong; /* the Whetstone's result was wrong */
} hart_task;

struct experiment {
    rts_case *c;
    const hart_params *p;
    int series, number; /* PH ... SA; 1 to 4 */
    int64_t m;          /* factor of all loads */
    int64_t increment;  /* KWIPP that experiment 3 adds in each step */
    double raw;         /* KWIPS of the otherwise idle system */
    int64_t server_work;
    rts_ns start, end;
    rts_ns begin;
    rts_ns duration, offset;     /* of a test, and before its start */
    unsigned planned;            /* tests that have to fit into its time */
    int refused;                 /* error with which the system rejected a task of the set */
    rts_load_sums before, after; /* the last test: what the load beside has done by then */
    responses *responses;        /* of each task, in series with tasks without deadlines */
    rts_mutex monitor;
    rts_queue requests;
    rts_sem *done;
    unsigned n, created; /* tasks in this test; tasks created */
    bool full;           /* this system has no room for all tasks of the test */
    int server;          /* index of the server's task; -1: none */
    hart_task task[TASKS_MAX];
    job_spec base[BASE_MAX];
    unsigned n_base;
};

static bool has_server(const experiment *x)
{
    return x->series == SH || x->series == SA;
}

static bool has_sporadic(const experiment *x)
{
    return x->series == AH || x->series == SA;
}

/* Returns the release of activation j: never more than 1 ns off, however long the test is. */
static rts_ns release_of(rts_ns start, int64_t rate, uint64_t j)
{
    return rts_ns_add(start, rts_ns_of(rts_scale(j, TENTHS * RTS_NS_PER_S, (uint64_t)rate)));
}

/* Compares the completion of an activation at `now` with its deadline. */
static void judge(account *a, const experiment *x, rts_ns now, rts_ns deadline)
{
    if (rts_ns_less(x->end, deadline)) /* not within this test */
        return;
    if (!rts_ns_less(deadline, now)) {
        a->met++;
    } else {
        a->missed++;
        a->late = rts_ns_add(a->late, rts_ns_between(deadline, now));
    }
}

static rts_ns longer_of(rts_ns a, rts_ns b)
{
    return rts_ns_less(a, b) ? b : a;
}

static void note_response(hart_task *t, rts_ns release, rts_ns now)
{
    rts_ns took = rts_ns_between(release, now);
    t->sum.response_max = longer_of(took, t->sum.response_max);
    if (t->x->responses) {
        responses *r = &t->x->responses[t - t->x->task];
        double us = (double)took.ns / 1000;
        r->n++;
        r->sum += us;
        r->squares += us * us;
    }
}

/* ---- the tasks' work ------------------------------------------------------------------------- */

static void work(hart_task *t, int64_t passes)
{
    if (passes > 0 && !rts_whetstone((uint64_t)passes))
        t->wrong = true;
}

/*
 * The server works for the caller, who waits: as a monitor in the caller's context, or as a task.
 */
static void call_server(hart_task *t)
{
    experiment *x = t->x;
    rts_ns requested = rts_time_ns();
    if (x->p->form == FORM_MONITOR) {
        rts_mutex_lock(&x->monitor);
        t->served = rts_time_ns();
        work(t, x->server_work);
        rts_mutex_unlock(&x->monitor);
    } else {
        uint32_t me = (uint32_t)(t - x->task);
        rts_queue_send(&x->requests, &me);
        rts_sem_take(t->reply);
    }
    t->sum.blocked_max = longer_of(rts_ns_between(requested, t->served), t->sum.blocked_max);
}

static void activation(hart_task *t)
{
    work(t, t->spec.work);
    if (t->spec.calls)
        call_server(t);
}

#define NOBODY UINT32_MAX

static void serve(hart_task *t)
{
    experiment *x = t->x;
    for (uint32_t who; !rts_queue_receive(&x->requests, &who) && who != NOBODY;) {
        x->task[who].served = rts_time_ns();
        work(t, x->server_work);
        rts_sem_give(x->task[who].reply);
    }
}

/* The deadline of an activation is the next release; releases that have passed are skipped. */
static void run_periodic(hart_task *t)
{
    experiment *x = t->x;
    int64_t rate = t->spec.rate;
    for (uint64_t j = 0; rts_ns_less(release_of(x->start, rate, j), x->end);) {
        rts_ns due = release_of(x->start, rate, j);
        rts_sleep_until_ns(due);
        activation(t);
        rts_ns now = rts_time_ns();
        note_response(t, due, now);
        judge(&t->sum, x, now, release_of(x->start, rate, ++j));
        for (; rts_ns_less(release_of(x->start, rate, j), now); j++)
            t->sum.skipped += !rts_ns_less(x->end, release_of(x->start, rate, j + 1));
    }
}

static rts_ns period_of(int64_t rate)
{
    return rts_ns_of(TENTHS * RTS_NS_PER_S / (uint64_t)rate);
}

/* Arrivals are at least `gap` apart, and each has its deadline `gap` later. */
typedef struct sporadic_job {
    hart_task *t;
    rts_ns gap, at;
} sporadic_job;

static rts_ns next_arrival(sporadic_job *job)
{
    rts_ns extra = rts_draw_exponential(&job->t->random, job->t->spec.mean_gap);
    return job->at = rts_ns_add(job->at, rts_ns_add(job->gap, extra));
}

static void run_sporadic(hart_task *t)
{
    sporadic_job job = {t, period_of(t->spec.rate), t->x->start};
    while (rts_ns_less(job.at, t->x->end)) {
        rts_ns due = job.at;
        rts_sleep_until_ns(due);
        activation(t);
        rts_ns now = rts_time_ns();
        note_response(t, due, now);
        judge(&t->sum, t->x, now, rts_ns_add(due, job.gap));
        while (rts_ns_less(next_arrival(&job), now))
            t->sum.skipped += !rts_ns_less(t->x->end, rts_ns_add(job.at, job.gap));
    }
}

/* Skips no arrival: its response times are the result. */
static void run_background(hart_task *t)
{
    sporadic_job job = {t, {0}, t->x->start};
    while (rts_ns_less(next_arrival(&job), t->x->end)) {
        rts_sleep_until_ns(job.at);
        activation(t);
        note_response(t, job.at, rts_time_ns());
    }
}

/*
 * Sets the task's priority or deadline. The system enforces a runtime of 2% and 20 us more
 * than a job should take.
 */
static int enter_policy(hart_task *t)
{
    const experiment *x = t->x;
    if (x->p->policy == POLICY_RM || t->spec.kind == BACKGROUND || t->spec.kind == SERVER)
        return rts_task_set_own_prio((int)x->c->common.prio - t->spec.level, RTS_FIFO);
    int64_t passes = t->spec.work + (t->spec.calls ? x->server_work : 0);
    double runtime = (double)passes / x->raw * 1e9 * 1.02 + 20000;
    uint64_t period = period_of(t->spec.rate).ns;
    return rts_task_set_own_deadline(runtime < (double)period ? (uint64_t)runtime : period, period);
}

static void hart_main(void *arg)
{
    hart_task *t = arg;
    static void (*const procedures[])(hart_task *) = {run_periodic, run_sporadic, run_background,
                                                      serve};
    for (;;) {
        rts_sem_take(t->gate);
        if (t->x->c->stop)
            return;
        t->error = enter_policy(t);
        if (!t->error)
            procedures[t->spec.kind](t);
        rts_task_set_own_prio((int)t->x->c->common.prio - 1, RTS_FIFO);
        rts_sem_give(t->x->done);
    }
}

/* ---- task sets (the numbers of PN, AH, SH and SA are rtstone's) ------------------------------ */

#define GAP_NS (SECOND_NS / 20) /* smallest interarrival time of the sporadic task: 20 Hz */
#define SPORADIC_RATE (20 * TENTHS)

static void add_base(experiment *x, job_spec spec)
{
    x->base[x->n_base++] = spec;
}

static bool is_golatowski(const experiment *x)
{
    return x->p->set == SET_GOLATOWSKI || x->p->set == SET_GOLATOWSKI_AUTO;
}

/*
 * Makes the baseline, task 1 first; loads are whole KWIPP, multiplied by `m`. Experiment 3 adds one
 * KWIPP times `m`. As the loads of golatowski-auto are 16 times those of sei before they are
 * scaled, so is what it adds there: with 1 it would not break down within 200 tests.
 */
static void make_base(experiment *x)
{
    static const int64_t sei_rate[] = {2, 4, 8, 16, 32}, sei_work[] = {32, 16, 8, 4, 2};
    static const int64_t gol_rate[] = {1, 2, 4, 8, 16}, gol_work[] = {512, 256, 128, 64, 32};
    static const int64_t pn_rate[] = {2, 5, 9, 17, 31}, pn_work[] = {32, 13, 7, 4, 2};
    bool gol = is_golatowski(x), pn = x->series == PN;
    bool calls = has_server(x), half = has_sporadic(x);
    const int64_t *rate = gol ? gol_rate : pn ? pn_rate : sei_rate;
    const int64_t *load = gol ? gol_work : pn ? pn_work : sei_work;
    x->increment = x->m * (x->p->set == SET_GOLATOWSKI_AUTO ? gol_work[4] / sei_work[4] : 1);
    x->n_base = 0;
    for (unsigned i = 0; i < 5; i++)
        add_base(x, (job_spec){.rate = rate[i] * TENTHS,
                               .work = (load[i] / (half ? 2 : 1) - calls) * x->m,
                               .calls = calls});
    if (half) {
        add_base(x, (job_spec){.kind = SPORADIC,
                               .rate = SPORADIC_RATE,
                               .work = (2 - calls) * x->m,
                               .calls = calls,
                               .mean_gap = {GAP_NS}});
        add_base(x, (job_spec){.kind = BACKGROUND,
                               .rate = 2 * TENTHS,
                               .work = 8 * x->m,
                               .mean_gap = {SECOND_NS / 2}});
    }
}

static double rate_hz(const job_spec *s)
{
    double gap = s->kind == BACKGROUND ? 0 : (double)TENTHS / (double)s->rate;
    double mean = s->kind == PERIODIC ? 0 : (double)s->mean_gap.ns / 1e9;
    return 1 / (gap + mean);
}

/* Returns thousand Whetstone instructions per activation, including the server's work for it. */
static int64_t kwipp(const experiment *x, const job_spec *s)
{
    return s->work + (s->calls ? x->server_work : 0);
}

static double kwips(const experiment *x, const job_spec *s)
{
    return (double)kwipp(x, s) * rate_hz(s);
}

static bool is_multiple(const job_spec *base, int64_t rate)
{
    for (unsigned i = 0; i < 4; i++)
        if (rate % base[i].rate == 0)
            return true;
    return false;
}

/*
 * Experiment 1 of periodic series: raises the frequency of task 5 by `step` times that of task 4.
 * In series PN, adds 1 Hz if the result is a multiple of another frequency; once, even if the new
 * frequency is a multiple again.
 */
static void raise_fifth(experiment *x, unsigned step)
{
    job_spec *fifth = &x->task[4].spec;
    fifth->rate += (int64_t)step * x->base[3].rate;
    if (x->series == PN && step && is_multiple(x->base, fifth->rate))
        fifth->rate += TENTHS;
}

static void scale(job_spec *s, unsigned step)
{
    s->rate = s->rate * (TENTHS + (int64_t)step) / TENTHS;
    s->mean_gap.ns = s->mean_gap.ns * TENTHS / (TENTHS + step);
}

static job_spec *add_task(experiment *x, const job_spec *spec)
{
    x->task[x->n].spec = *spec;
    return &x->task[x->n++].spec;
}

/*
 * Experiment 1: one faster task, the sporadic one if there is one. Its whole interarrival time is
 * divided by 2, 3, 4 ..., which demands as much more in each step as PH-1 does. With
 * gaps=shortest, only the smallest is, which hardly demands more: most systems never break down.
 */
static void faster(experiment *x, unsigned step)
{
    job_spec *s = &x->task[5].spec;
    if (!has_sporadic(x)) {
        raise_fifth(x, step);
    } else if (x->p->gaps == GAPS_SHORTEST) {
        s->rate = x->base[5].rate * (TENTHS + (int64_t)step) / TENTHS;
    } else {
        s->rate = x->base[5].rate * (1 + (int64_t)step);
        s->mean_gap.ns = x->base[5].mean_gap.ns / (1 + step);
    }
}

/* Experiment 3: more work per activation. */
static void harder(experiment *x, unsigned step)
{
    int64_t extra = (int64_t)step * x->increment;
    if (has_server(x))
        x->server_work += extra;
    else if (x->series == AH)
        x->task[5].spec.work += extra;
    else
        for (unsigned i = 0; i < 5; i++)
            x->task[i].spec.work += extra;
}

/* Experiment 4: more tasks, like task 3 or like the sporadic one, or both in turn. */
static void crowd_in(experiment *x, unsigned step)
{
    x->full = step > EXTRA_MAX;
    for (unsigned i = 0; i < step && i < EXTRA_MAX; i++) {
        bool sporadic = x->series == AH || (x->series == SA && i % 2);
        add_task(x, &x->base[sporadic ? 5 : 2]);
    }
}

static int64_t urgency(const job_spec *s)
{
    return s->kind == SERVER ? INT64_MAX : s->kind == BACKGROUND ? -1 : s->rate;
}

/* Rate-monotonic priorities: one level per distinct rate, below the controller's. */
static void assign_levels(experiment *x)
{
    for (unsigned i = 0; i < x->n; i++) {
        job_spec *s = &x->task[i].spec;
        int64_t seen[RTS_LEVELS];
        unsigned above = 0;
        for (unsigned k = 0; k < x->n; k++) {
            int64_t other = urgency(&x->task[k].spec);
            unsigned rank = 0;
            while (rank < above && seen[rank] != other)
                rank++;
            if (other > urgency(s) && rank == above && above < RTS_LEVELS - 2)
                seen[above++] = other;
        }
        s->level = 1 + (int)above;
    }
}

/* Makes the task set of test `test` (from 1): the baseline, changed test - 1 times. */
static void make_set(experiment *x, unsigned test)
{
    unsigned step = test - 1;
    x->n = 0;
    x->full = false;
    x->server_work = has_server(x) ? x->m : 0;
    for (unsigned i = 0; i < x->n_base; i++)
        add_task(x, &x->base[i]);
    switch (x->number) {
    case 1:
        faster(x, step);
        break;
    case 2:
        for (unsigned i = 0; i < x->n; i++)
            scale(&x->task[i].spec, step);
        break;
    case 3:
        harder(x, step);
        break;
    default:
        crowd_in(x, step);
    }
    x->server = -1;
    if (x->server_work && x->p->form == FORM_SERVER) {
        x->server = (int)x->n;
        add_task(x, &(job_spec){.kind = SERVER});
    }
    assign_levels(x);
}

static double utilisation(const experiment *x)
{
    double sum = 0;
    for (unsigned i = 0; i < x->n; i++)
        if (x->task[i].spec.kind != SERVER)
            sum += kwips(x, &x->task[i].spec);
    return sum / x->raw;
}

/* ---- raw speed ------------------------------------------------------------------------------- */

/* Returns the duration of a piece of work, in ticks net of overhead; 0: the result was wrong. */
static rts_tick time_piece(uint64_t passes, rts_rec *rec)
{
    rts_tick start = rts_now();
    bool right = rts_whetstone(passes);
    rts_tick end = rts_now(), took = end - start;
    if (!right)
        return 0;
    if (rec)
        rts_rec_add(rec, took, end);
    return took > rts_the_clock.overhead ? took - rts_the_clock.overhead : 1;
}

/* Returns the number of passes that take about 10 ms; 0: the result was wrong. */
static uint64_t passes_of_a_piece(void)
{
    uint64_t passes = 1;
    for (rts_tick took; passes < UINT64_C(1) << 40; passes *= 2)
        if (!(took = time_piece(passes, NULL)) || took >= rts_the_clock.hz / 100)
            return took ? passes : 0;
    return passes;
}

/*
 * Returns the KWIPS of a task on its own, measured over `wanted` CPU time; 0: the result was wrong.
 */
static double raw_speed(rts_case *c, rts_ns wanted, rts_rec *rec)
{
    uint64_t passes = passes_of_a_piece(), done = 0;
    rts_tick limit = rts_ns_to_ticks(wanted.ns, rts_the_clock.hz);
    rts_tick busy = rts_ns_to_ticks(c->busy_ns, rts_the_clock.hz), ran = 0, fresh = 0;
    rts_progress(c, 0, "measuring the raw speed");
    while (passes && ran < limit && !c->job.stop_requested) {
        rts_tick took = time_piece(passes, rec);
        if (!took)
            return 0;
        ran += took;
        fresh += took;
        done += passes;
        if (busy && fresh >= busy) {
            rts_sleep_until_ns(rts_ns_add(rts_time_ns(), rts_ns_of(c->rest_ns)));
            fresh = 0;
        }
    }
    return ran ? (double)done * (double)rts_the_clock.hz / (double)ran : 0;
}

/* ---- a test ---------------------------------------------------------------------------------- */

static int make_tasks(experiment *x)
{
    rts_case *c = x->c;
    for (; x->created < x->n; x->created++) {
        hart_task *t = &x->task[x->created];
        t->x = x;
        t->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
        t->reply = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
        if (!t->gate || !t->reply || rts_task_start(c, hart_main, t, 1, RTS_FIFO, false))
            return -1;
    }
    return 0;
}

static int check_tasks(experiment *x)
{
    for (unsigned i = 0; i < x->n; i++) {
        const hart_task *t = &x->task[i];
        if (t->error)
            x->refused = t->error;
        if (t->wrong)
            return rts_failed(x->c, "the Whetstone's result was wrong");
    }
    return 0;
}

/*
 * Releases all tasks, sleeps, and waits until all have ended; returns -1 if the case is over. The
 * evidence is that of the tests alone: to make a task takes page faults.
 */
static int run_tasks(experiment *x)
{
    rts_case *c = x->c;
    x->start = rts_release_at_ns(rts_ns_add(rts_time_ns(), x->offset));
    x->end = rts_ns_add(x->start, x->duration);
    for (unsigned i = 0; i < x->n; i++) {
        hart_task *t = &x->task[i];
        t->sum = (account){0};
        if (x->responses)
            x->responses[i] = (responses){0};
        t->random = 123 + i;
        t->error = 0;
        rts_sem_give(t->gate);
    }
    rts_sleep_until_ns(rts_ns_add(rts_time_ns(), rts_ns_of(x->offset.ns / 2)));
    rts_port_section_start(&c->job);
    /* Until then the load has the CPU. */
    rts_sleep_until_ns(rts_ns_late(x->start, rts_ns_of(COUNTED_NS)));
    rts_load_read(&x->before);
    rts_sleep_until_ns(x->end);
    if (rts_ns_less(rts_time_ns(), x->end))
        return rts_failed(c, "the controller was woken before the end of the test");
    rts_load_read(&x->after);
    unsigned waiting = x->n - (x->server >= 0);
    while (waiting--)
        rts_sem_take(x->done);
    if (x->server >= 0) {
        uint32_t nobody = NOBODY;
        rts_queue_send(&x->requests, &nobody);
        rts_sem_take(x->done);
    }
    rts_port_section_end(&c->job);
    return check_tasks(x);
}

/* Returns the number of activations with deadlines within the test, from the rates alone. */
static uint64_t due_in(const experiment *x, const job_spec *s)
{
    uint64_t n = rts_scale(x->duration.ns, (uint64_t)s->rate, TENTHS * RTS_NS_PER_S);
    while (!rts_ns_less(x->end, release_of(x->start, s->rate, n + 1)))
        n++;
    while (n && rts_ns_less(x->end, release_of(x->start, s->rate, n)))
        n--;
    return n;
}

typedef struct verdict {
    unsigned test;
    double utilisation;
} verdict;

typedef struct outcome {
    verdict final;
    unsigned done;     /* tests */
    verdict held;      /* the last test without a miss before the first that had one */
    verdict missed;    /* the first test with a miss */
    verdict clean;     /* the last test without a miss; behind `missed` if that was a disturbance */
    uint64_t bad;      /* deadlines missed or skipped in the last test */
    double base, step; /* utilisation of test 1, and what test 2 adds */
    unsigned cut;      /* planned tests for which there was no time */
} outcome;

#define PARAMETER_BYTES 24
#define RESPONSES_BYTES 64

/* Writes the parameter that the experiment varies, with its present value. */
static void parameter_text(const experiment *x, char *text)
{
    bool sporadic = has_sporadic(x);
    const job_spec *s = &x->task[sporadic ? 5 : 4].spec;
    long long work = has_server(x) ? x->server_work : s->work;
    if (x->number == 1 && sporadic)
        rts_print(text, PARAMETER_BYTES, "%.3f ms", 1000.0 * TENTHS / (double)s->rate);
    else if (x->number == 1)
        rts_print(text, PARAMETER_BYTES, "%.0f Hz", (double)s->rate / TENTHS);
    else if (x->number == 2)
        rts_print(text, PARAMETER_BYTES, "x%.1f",
                  (double)x->task[0].spec.rate / (double)x->base[0].rate);
    else if (x->number == 3)
        rts_print(text, PARAMETER_BYTES, "%lld KWIPP", work);
    else
        rts_print(text, PARAMETER_BYTES, "%u tasks", x->n - (x->server >= 0));
}

/* Returns the task of the baseline that an added task is a copy of. */
static unsigned model_of(const experiment *x, unsigned i)
{
    return i < x->n_base ? i : x->task[i].spec.kind == SPORADIC ? 5 : 2;
}

/* Returns the standard deviation of the response times of a task in us; 0 of fewer than two. */
static double deviation(const responses *r, double mean)
{
    double n = (double)r->n;
    double squares = r->squares - n * mean * mean;
    return n > 1 && squares > 0 ? sqrt(squares / (n - 1)) : 0;
}

/*
 * Adds one row for a task of the baseline and all its copies: 200 tests would have 20 000 rows
 * otherwise.
 */
static void tell_task(const experiment *x, unsigned test, unsigned model)
{
    static const char *const kinds[] = {"", " sporadic", " background", " server"};
    const job_spec *s = &x->task[model].spec;
    char parameter[PARAMETER_BYTES], text[RESPONSES_BYTES] = "";
    double hz = rate_hz(s);
    account a = {0};
    responses r = {0};
    unsigned tasks = 0;
    for (unsigned i = 0; i < x->n; i++) {
        const account *part = &x->task[i].sum;
        if ((int)i == x->server || model_of(x, i) != model)
            continue;
        tasks++;
        a.met += part->met;
        a.missed += part->missed;
        a.skipped += part->skipped;
        a.late = rts_ns_add(a.late, part->late);
        if (x->responses) {
            r.n += x->responses[i].n;
            r.sum += x->responses[i].sum;
            r.squares += x->responses[i].squares;
        }
        a.response_max = longer_of(part->response_max, a.response_max);
        a.blocked_max = longer_of(part->blocked_max, a.blocked_max);
    }
    parameter_text(x, parameter);
    double mean = r.n ? r.sum / (double)r.n : 0;
    if (x->responses)
        rts_print(text, sizeof text, "\t%llu\t%.1f\t%.1f", (unsigned long long)r.n, mean,
                  deviation(&r, mean));
    rts_row(x->c,
            "%u\t%s\t%.2f\t%u%s\t%u\t%.3f\t%lld\t%.2f\t%.3f\t%llu\t%llu\t%llu\t%.1f\t%.1f\t%.1f%s",
            test, parameter, 100 * utilisation(x), model + 1, kinds[s->kind], tasks, hz,
            (long long)kwipp(x, s), 100 * kwips(x, s) / x->raw, 1000 / hz,
            (unsigned long long)a.met, (unsigned long long)a.missed, (unsigned long long)a.skipped,
            a.missed ? (double)a.late.ns / (double)a.missed / 1000 : 0.0,
            (double)a.response_max.ns / 1000, (double)a.blocked_max.ns / 1000, text);
}

/* Adds up the results of a test; returns -1 if an activation is unaccounted for. */
static int add_up(experiment *x, unsigned test, uint64_t *bad)
{
    *bad = 0;
    for (unsigned i = 0; i < x->n; i++) {
        const hart_task *t = &x->task[i];
        const account *a = &t->sum;
        uint64_t all = a->met + a->missed + a->skipped;
        if (t->spec.kind == SERVER)
            continue;
        if (t->spec.kind == PERIODIC && all != due_in(x, &t->spec))
            return rts_failed(x->c, "test %u, task %u: %llu activations of %llu accounted for",
                              test, i + 1, (unsigned long long)all,
                              (unsigned long long)due_in(x, &t->spec));
        *bad += a->missed + a->skipped;
    }
    for (unsigned model = 0; model < x->n_base; model++)
        tell_task(x, test, model);
    return 0;
}

/* ---- an experiment --------------------------------------------------------------------------- */

/* Returns whether to run another test, and makes its task set; none begins after the time limit. */
static bool goes_on(const experiment *x, outcome *o)
{
    const rts_case *c = x->c;
    unsigned tests = o->done;
    rts_ns limit = rts_ns_of((uint64_t)c->common.time_ns);
    if (c->job.stop_requested ||
        (tests && o->bad >= (x->p->stop == STOP_FIRST ? 1 : (uint64_t)x->p->stop_misses)))
        return false;
    if (o->final.test == TESTS_MAX || x->full ||
        (c->common.samples && tests == c->common.samples) ||
        (tests && utilisation(x) > UTILISATION_MAX))
        return false;
    if (!tests || !limit.ns || rts_ns_less(rts_ns_between(x->begin, rts_time_ns()), limit))
        return true;
    o->cut = x->planned > tests ? x->planned - tests : 0;
    return false;
}

static void conclude(experiment *x, outcome *o)
{
    o->done++;
    if (!o->bad)
        o->clean = o->final;
    else if (!o->missed.test)
        o->missed = o->final;
    if (!o->missed.test) {
        o->held = o->clean;
        rts_load_counts(&x->before, &x->after);
    }
    unsigned planned = x->planned > o->final.test ? x->planned : o->final.test + 1;
    rts_progress(x->c, 1000 * o->final.test / planned,
                 "test %u at %.1f%%: %llu missed or skipped; held up to %.1f%%", o->final.test,
                 100 * o->final.utilisation, (unsigned long long)o->bad, 100 * o->held.utilisation);
}

#define COLUMNS                                                                                    \
    "test\tparameter\tutilisation %\ttask\ttasks\tHz\tKWIPP\ttask's %\tperiod ms\tmet\tmissed\t"   \
    "skipped\taverage late us\tlongest response us\tlongest blocking us"

/* A background task has no deadlines: its response times are its result. */
#define RESPONSES "\tcompleted\tmean response us\tdeviation of the response us"

static int run_tests(experiment *x, outcome *o)
{
    rts_case *c = x->c;
    rts_table(c, "tests", has_sporadic(x) ? COLUMNS RESPONSES : COLUMNS);
    make_set(x, 1);
    o->base = utilisation(x);
    make_set(x, 2);
    o->step = utilisation(x) - o->base;
    unsigned test = (unsigned)x->p->first;
    make_set(x, test);
    if (x->full)
        return rts_unsupported(c, "no room for the tasks of test %u", test);
    for (; goes_on(x, o); make_set(x, ++test)) {
        if (make_tasks(x) || run_tasks(x))
            return c->job.stop_requested ? 0 : -1;
        if (x->refused && !o->done)
            return rts_unsupported(c, "the system refused its first set of tasks: %s",
                                   x->p->policy == POLICY_EDF ? rts_port_why_no_deadline(x->refused)
                                                              : rts_port_strerror(x->refused));
        if (x->refused)
            return 0;
        if (add_up(x, test, &o->bad))
            return -1;
        o->final = (verdict){test, utilisation(x)};
        conclude(x, o);
    }
    return 0;
}

/*
 * Reports the result. An experiment without a miss has not found the breakdown utilisation. Tests
 * are not always worse from one to the next: what was held below the first miss is what a user can
 * rely on, and a test that held above it shows a disturbance, or of a lucky phase.
 */
static void tell_outcome(experiment *x, const outcome *o)
{
    rts_case *c = x->c;
    bool broke = o->missed.test || x->refused;
    if (x->p->first == 1) /* else nothing is known of the tests before */
        rts_figure_add(c, broke ? "breakdown utilisation" : "no breakdown up to",
                       100 * o->held.utilisation, "%");
    if (o->missed.test)
        rts_figure_add(c, "first miss at", 100 * o->missed.utilisation, "%");
    if (o->clean.test > o->missed.test && o->missed.test)
        rts_figure_add(c, "held again at", 100 * o->clean.utilisation, "%");
    if (x->refused)
        rts_figure_add(c, "set refused by the system at", 100 * utilisation(x), "%");
    rts_figure_add(c, "final test at", 100 * o->final.utilisation, "%");
    rts_count_add(c, "missed and skipped in it", o->bad, "deadlines");
    rts_figure_add(c, "baseline", 100 * o->base, "%");
    rts_figure_add(c, "step", 100 * o->step, "%");
    rts_figure_add(c, "tests", o->done, "");
    rts_figure_add(c, "last test without a miss", o->clean.test, "");
    if (o->missed.test)
        rts_figure_add(c, "first test with a miss", o->missed.test, "");
    rts_figure_add(c, "tests that the time did not allow", o->cut, "");
    if (x->full)
        rts_figure_add(c, "room for tasks", TASKS_MAX, "tasks");
    rts_figure_add(c, "raw speed", x->raw, "KWIPS");
    rts_count_add(c, "factor of all loads", x->m, "");
    rts_figure_add(c, "duration of a test", (double)x->duration.ns / 1e9, "s");
    rts_figure_add(c, "time scale", (double)x->duration.ns / (double)x->p->duration, "");
}

/* ---- duration of an experiment --------------------------------------------------------------- */

static rts_ns at_least(double ns, rts_ns least)
{
    return ns > (double)least.ns ? rts_ns_of((uint64_t)ns) : least;
}

static rts_ns shorter_of(rts_ns a, rts_ns b)
{
    return rts_ns_less(a, b) ? a : b;
}

/* Returns the number of tests up to PLANNED_MAX, at least one. */
static unsigned count_tests(experiment *x)
{
    unsigned tests = 0;
    do
        make_set(x, ++tests + 1);
    while (tests < TESTS_MAX && !x->full && utilisation(x) <= PLANNED_MAX);
    return tests;
}

/*
 * If the planned tests do not fit into the time of the case, shortens them and the offset before
 * each by the same factor. A test is never shorter than the longest period: it includes the
 * critical instant, at which all tasks are released together.
 */
static void shorten(experiment *x)
{
    const hart_params *p = x->p;
    x->planned = count_tests(x);
    x->duration = rts_ns_of((uint64_t)p->duration);
    x->offset = rts_ns_of((uint64_t)p->start);
    rts_ns limit = rts_ns_of((uint64_t)x->c->common.time_ns);
    rts_ns left = rts_ns_late(limit, rts_ns_between(x->begin, rts_time_ns()));
    double each = PLANNED_SHARE * (double)left.ns / x->planned;
    double by = each / (double)(p->duration + p->start);
    if (!limit.ns || by >= 1)
        return;
    rts_ns longest = period_of(x->base[0].rate), offset = rts_ns_of(SHORTEST_START_NS);
    x->duration = at_least((double)x->duration.ns * by, shorter_of(longest, x->duration));
    x->offset = at_least(each - (double)x->duration.ns, shorter_of(offset, x->offset));
}

static int find_speed(experiment *x)
{
    rts_ns share = rts_ns_of((uint64_t)x->c->common.time_ns / 20), wanted = rts_ns_of(SPEED_NS);
    if (share.ns)
        wanted = shorter_of(wanted, longer_of(share, rts_ns_of(SHORTEST_SPEED_NS)));
    x->raw = x->p->speed ? (double)x->p->speed : raw_speed(x->c, wanted, NULL);
    if (x->raw <= 0)
        return rts_failed(x->c, "the Whetstone's result was wrong, or the clock stands still");
    return 0;
}

/*
 * set=auto, golatowski-auto: chooses loads so that the baseline is near 20% of raw speed and no
 * step of the series is above 5%.
 */
static void make_loads(experiment *x)
{
    x->m = 1;
    make_base(x);
    if (x->p->set != SET_AUTO && x->p->set != SET_GOLATOWSKI_AUTO)
        return;
    int number = x->number;
    double base = 0, step = 0;
    for (x->number = 1; x->number <= 4; x->number++) {
        make_set(x, 1);
        base = utilisation(x);
        make_set(x, 2);
        step = utilisation(x) - base > step ? utilisation(x) - base : step;
    }
    x->number = number;
    double most = 0.2 / base < 0.05 / step ? 0.2 / base : 0.05 / step;
    x->m = most > 1 ? (int64_t)most : 1;
    make_base(x);
}

static int check(rts_case *c, const experiment *x)
{
    if (is_golatowski(x) && x->series != PH)
        return rts_unsupported(c, "set=golatowski and golatowski-auto are of series PH only");
    if (x->p->policy == POLICY_EDF && !(rts_caps() & RTS_CAP_DEADLINE))
        return rts_unsupported(c, "needs deadline: %s", rts_port_why_not(RTS_CAP_DEADLINE));
    if (x->p->policy == POLICY_EDF && x->p->form == FORM_SERVER)
        return rts_unsupported(c, "the server task has no deadline: policy=edf needs form=monitor");
    const char *why = x->p->policy == POLICY_EDF ? rts_port_allow_deadlines(c->job.cpu) : NULL;
    return why ? rts_unsupported(c, "policy=edf: %s", why) : 0;
}

static experiment *open_experiment(rts_case *c)
{
    static const char *const names[] = {"PH", "PN", "AH", "SH", "SA"};
    experiment *x = rts_alloc(c, sizeof *x);
    if (!x) {
        rts_unsupported(c, "no memory for the tasks");
        return NULL;
    }
    x->c = c;
    x->p = rts_params(c);
    while (strncmp(c->bench->id + strlen("hart."), names[x->series], 2) != 0)
        x->series++;
    x->number = c->bench->id[strlen("hart.PH.")] - '0';
    x->begin = rts_time_ns();
    c->job.patience_ns = (uint64_t)(3 * (x->p->duration + x->p->start) + 30 * SECOND_NS);
    x->done = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (check(c, x) || !x->done || find_speed(x))
        return NULL;
    if (has_sporadic(x)) {
        x->responses = rts_alloc(c, TASKS_MAX * sizeof *x->responses);
        if (!x->responses) {
            rts_unsupported(c, "no memory for the response times of tasks");
            return NULL;
        }
    }
    make_loads(x);
    shorten(x);
    return x;
}

/*
 * Creates what the server of a series needs, depending on its form; a system may lack it and still
 * support all other series.
 */
static int open_server(experiment *x)
{
    rts_case *c = x->c;
    int err = 0;
    if (has_server(x) && x->p->form == FORM_MONITOR) {
        err = rts_mutex_create(&x->monitor, RTS_LOCK_INHERIT, 0);
        return err ? rts_port_failed(c, "cannot create a mutex", err) : 0;
    }
    if (has_server(x))
        err = rts_queue_create(&x->requests, 10, sizeof(uint32_t), c->slot++);
    return err ? rts_port_failed(c, "cannot create a queue", err) : 0;
}

static void close_server(experiment *x)
{
    if (has_server(x) && x->p->form == FORM_MONITOR)
        rts_mutex_destroy(&x->monitor);
    else if (has_server(x))
        rts_queue_destroy(&x->requests);
}

static int run_experiment(rts_case *c)
{
    experiment *x = open_experiment(c);
    outcome o = {0};
    if (!x)
        return -1;
    if (open_server(x))
        return -1;
    int err = run_tests(x, &o);
    close_server(x);
    if (o.done && !err)
        tell_outcome(x, &o);
    return err;
}

/* ---- raw speed by itself --------------------------------------------------------------------- */

static int run_raw(rts_case *c)
{
    rts_ns wanted = rts_ns_of((uint64_t)(c->common.time_ns ? c->common.time_ns : 10 * SECOND_NS));
    rts_rec_start(c->rec, rts_now());
    double raw = raw_speed(c, wanted, c->rec);
    if (raw <= 0)
        return rts_failed(c, "the Whetstone's result was wrong");
    rts_figure_add(c, "raw speed", raw, "KWIPS");
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

#define FORM                                                                                       \
    RTS_CHOICE(hart_params, form, "monitor|server", FORM_MONITOR,                                  \
               "form of the server: a mutex with priority inheritance around its work, or a task " \
               "that serves requests")

#define COMMON                                                                                     \
    RTS_CHOICE(hart_params, set, "auto|sei|golatowski|golatowski-auto", SET_AUTO,                  \
               "task set: auto scales that of sei to a baseline near 20% of raw speed with no "    \
               "step above 5%, golatowski-auto that of golatowski; the others are as published"),  \
        RTS_CHOICE(hart_params, policy, "rm|edf", POLICY_RM,                                       \
                   "rate-monotonic priorities, or deadline scheduling"),                           \
        RTS_DURATION(hart_params, duration, 10 * SECOND_NS, SECOND_NS / 10, 3600 * SECOND_NS,      \
                     "duration of a test"),                                                        \
        RTS_DURATION(hart_params, start, 5 * SECOND_NS, SECOND_NS / 1000, 60 * SECOND_NS,          \
                     "time from the creation of the tasks to their common start"),                 \
        RTS_CHOICE(hart_params, stop, "total|first", STOP_TOTAL,                                   \
                   "end with the test in which stop_misses deadlines in total are missed or "      \
                   "skipped, or with the first test that misses or skips any"),                    \
        RTS_INT(hart_params, stop_misses, "deadline", 50, 1, 1000000,                              \
                "deadlines, missed or skipped, with which stop=total ends the experiment"),        \
        RTS_INT(hart_params, speed, "KWIPS", 0, 0, INT64_C(1000000000000),                         \
                "raw speed of this system; 0: measure it first"),                                  \
        RTS_INT(hart_params, first, "test", 1, 1, TESTS_MAX,                                       \
                "the test to begin with; with samples=1 it is the only one")

#define GAPS                                                                                       \
    RTS_CHOICE(hart_params, gaps, "whole|shortest", GAPS_WHOLE,                                    \
               "what experiment 1 divides: the whole time between sporadic arrivals, by 2, 3, 4 "  \
               "..., or the shortest alone, by 1.1, 1.2, 1.3 ...")

static const rts_param alone_param[] = {COMMON, RTS_PARAMS_END};
static const rts_param sporadic_param[] = {COMMON, GAPS, RTS_PARAMS_END};
static const rts_param server_param[] = {COMMON, FORM, RTS_PARAMS_END};
static const rts_param both_param[] = {COMMON, GAPS, FORM, RTS_PARAMS_END};

/* The help of an experiment: its tasks, and what its tests differ by. */
#define TESTS(tasks, change)                                                                       \
    RTS_SAY(tasks                                                                                  \
            " run in test after test, until deadlines are missed; "                                \
            "from each test to the next " change                                                   \
            ". As in the source, the deadline of an activation is the next release; a late job "   \
            "has missed it, and releases that have passed when it ends are skipped. Utilisation "  \
            "is relative to the raw speed; the figure of merit is that of the last test before "   \
            "the first miss. Where a later test had none, a figure says so: the breakdown lies "   \
            "between. There are no samples: `samples` limits the number of tests, `time` the "     \
            "experiment; tests that do not fit are shortened, which a figure reports. A system "   \
            "with an RT throttling limit (Linux: 95% of each second) breaks down there at the "    \
            "latest. The rates of a load are those of the tests before the first miss, from 10 "   \
            "ms before their release on: in later ones the tasks leave it no time.")

/* Golatowski has the numbers of PH. */
#define PUBLISHED "Golatowski, Hartstone; Donohoe et al. 1990"
#define MODELLED "Weiderman and Kamenoff 1992 (task model); numbers of rtstone"

#define EXPERIMENT                                                                                 \
    .samples = TESTS_MAX, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_NO_SAMPLES,     \
    .run = run_experiment

/* The tasks of each series. */
#define PH_TASKS                                                                                   \
    "Five periodic tasks, of 2, 4, 8, 16 and 32 Hz (1 to 16 Hz in the sets of golatowski) with "   \
    "equal work per second,"
#define PN_TASKS                                                                                   \
    "Five periodic tasks, of 2, 5, 9, 17 and 31 Hz, none a multiple of another, with nearly "      \
    "equal work per second,"
#define AH_TASKS                                                                                   \
    "The five tasks of PH with half their work, a sporadic task that arrives at random, no "       \
    "sooner than 50 ms after its last arrival, and has as long to end, and a background task "     \
    "without a deadline, whose response times are reported,"
#define SH_TASKS                                                                                   \
    "The five tasks of PH, each of which has a server without a deadline do a part of its work, "  \
    "and waits for it,"
#define SA_TASKS                                                                                   \
    "The tasks of AH, of which the five and the sporadic one have a server do a part of their "    \
    "work as in SH,"

#define FIFTH "the rate of the fifth task rises by that of the fourth"
#define ALL_RATES "all rates rise by a tenth of their first values"
#define ALL_WORK "each task does more work"
#define MORE_OF_THIRD "there is one more task like the third"
#define SERVER_WORK "the server does more work in each call"
#define MORE_ARRIVALS "the sporadic task arrives more often (`gaps`)"

static const rts_bench benches[] = {
    {.id = "hart.raw",
     .title = RTS_SAY("Hartstone: raw speed"),
     .source = RTS_SAY("Golatowski, Hartstone"),
     .help = RTS_SAY("Thousands of Whetstone instructions per second with no other task, over at "
                     "least 10 s; a sample is the time of one piece of work."),
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_raw},
    {EXPERIMENT, .id = "hart.PH.1", .title = RTS_SAY("Hartstone PH.1: faster fifth task"),
     .source = RTS_SAY(PUBLISHED), .help = TESTS(PH_TASKS, FIFTH), .params = alone_param},
    {EXPERIMENT, .id = "hart.PH.2", .title = RTS_SAY("Hartstone PH.2: all tasks faster"),
     .source = RTS_SAY(PUBLISHED), .help = TESTS(PH_TASKS, ALL_RATES), .params = alone_param},
    {EXPERIMENT, .id = "hart.PH.3", .title = RTS_SAY("Hartstone PH.3: more work for all"),
     .source = RTS_SAY(PUBLISHED), .help = TESTS(PH_TASKS, ALL_WORK), .params = alone_param},
    {EXPERIMENT, .id = "hart.PH.4", .title = RTS_SAY("Hartstone PH.4: more tasks like the third"),
     .source = RTS_SAY(PUBLISHED), .help = TESTS(PH_TASKS, MORE_OF_THIRD), .params = alone_param},
    {EXPERIMENT, .id = "hart.PN.1",
     .title = RTS_SAY("Hartstone PN.1: faster fifth task, not harmonic"),
     .source = RTS_SAY(MODELLED),
     .help =
         TESTS(PN_TASKS, FIFTH ", and once by 1 Hz more where it would be a multiple of another"),
     .params = alone_param},
    {EXPERIMENT, .id = "hart.PN.2",
     .title = RTS_SAY("Hartstone PN.2: all tasks faster, not harmonic"),
     .source = RTS_SAY(MODELLED), .help = TESTS(PN_TASKS, ALL_RATES), .params = alone_param},
    {EXPERIMENT, .id = "hart.PN.3",
     .title = RTS_SAY("Hartstone PN.3: more work for all, not harmonic"),
     .source = RTS_SAY(MODELLED), .help = TESTS(PN_TASKS, ALL_WORK), .params = alone_param},
    {EXPERIMENT, .id = "hart.PN.4",
     .title = RTS_SAY("Hartstone PN.4: more tasks like the third, not harmonic"),
     .source = RTS_SAY(MODELLED), .help = TESTS(PN_TASKS, MORE_OF_THIRD), .params = alone_param},
    {EXPERIMENT, .id = "hart.AH.1", .title = RTS_SAY("Hartstone AH.1: shorter interarrivals"),
     .source = RTS_SAY(MODELLED), .help = TESTS(AH_TASKS, MORE_ARRIVALS), .params = sporadic_param},
    {EXPERIMENT, .id = "hart.AH.2", .title = RTS_SAY("Hartstone AH.2: all rates higher"),
     .source = RTS_SAY(MODELLED), .help = TESTS(AH_TASKS, ALL_RATES), .params = sporadic_param},
    {EXPERIMENT, .id = "hart.AH.3",
     .title = RTS_SAY("Hartstone AH.3: more work for the sporadic task"),
     .source = RTS_SAY(MODELLED), .help = TESTS(AH_TASKS, "the sporadic task does more work"),
     .params = sporadic_param},
    {EXPERIMENT, .id = "hart.AH.4", .title = RTS_SAY("Hartstone AH.4: more sporadic tasks"),
     .source = RTS_SAY(MODELLED), .help = TESTS(AH_TASKS, "there is one more sporadic task"),
     .params = sporadic_param},
    {EXPERIMENT, .id = "hart.SH.1",
     .title = RTS_SAY("Hartstone SH.1: faster fifth task, with a server"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SH_TASKS, FIFTH), .params = server_param},
    {EXPERIMENT, .id = "hart.SH.2",
     .title = RTS_SAY("Hartstone SH.2: all tasks faster, with a server"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SH_TASKS, ALL_RATES), .params = server_param},
    {EXPERIMENT, .id = "hart.SH.3", .title = RTS_SAY("Hartstone SH.3: more work for the server"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SH_TASKS, SERVER_WORK), .params = server_param},
    {EXPERIMENT, .id = "hart.SH.4",
     .title = RTS_SAY("Hartstone SH.4: more tasks that call the server"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SH_TASKS, MORE_OF_THIRD), .params = server_param},
    {EXPERIMENT, .id = "hart.SA.1",
     .title = RTS_SAY("Hartstone SA.1: shorter interarrivals, with a server"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SA_TASKS, MORE_ARRIVALS), .params = both_param},
    {EXPERIMENT, .id = "hart.SA.2",
     .title = RTS_SAY("Hartstone SA.2: all rates higher, with a server"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SA_TASKS, ALL_RATES), .params = both_param},
    {EXPERIMENT, .id = "hart.SA.3",
     .title = RTS_SAY("Hartstone SA.3: more work for the server, with sporadic tasks"),
     .source = RTS_SAY(MODELLED), .help = TESTS(SA_TASKS, SERVER_WORK), .params = both_param},
    {EXPERIMENT, .id = "hart.SA.4", .title = RTS_SAY("Hartstone SA.4: more tasks of both kinds"),
     .source = RTS_SAY(MODELLED),
     .help = TESTS(SA_TASKS, "there is one more task, like the third or sporadic in turn"),
     .params = both_param},
};

RTS_BENCHES(benches);
