/* iso.*: the procedure, and the mechanisms that any system may have. */
#include "iso.h"

#include "periodic.h"

#ifndef RTS_SMALL_CODE /* there it has no room */

#define DEFAULT __attribute__((weak))

#define BLOCK 200 /* periods; at the default of 10 ms they hold a whole second of RT throttling */
#define GAP 5     /* periods between blocks, and 20 ms in which the antagonist comes to rest */
#define REST_NS 20000000
#define PIECES 100      /* of a job's work: how fine a loss is seen */
#define WORK_PERCENT 75 /* of the budget: the rest is for the wake-up and slower work */
#define TRIAL_NS 20000000
#define TRIAL_ADDITIONS 20000
#define EVENTS_HZ 20000

enum { ALONE, BESIDE };
enum { OVERRUN, FORK, FAULT, INTERRUPTS };

const rts_param iso_param[] = {
    RTS_CHOICE(iso_params, antagonist, "overrun|fork|fault|interrupts", OVERRUN,
               "what it does for as long as it may: compute, create processes (or tasks, where "
               "there are none), take page faults, request interrupts of a timer"),
    RTS_DURATION(iso_params, period, 10000000, 1000000, ISO_SECOND_NS, "period of both"),
    RTS_DURATION(iso_params, budget, 3000000, 100000, ISO_SECOND_NS,
                 "what is reserved for the task in every period"),
    RTS_DURATION(iso_params, share, 5000000, 100000, ISO_SECOND_NS,
                 "what the antagonist may have in every period, where the mechanism limits it"),
    RTS_PARAMS_END,
};

unsigned iso_series(const rts_case *c)
{
    (void)c;
    return 4;
}

/* ---- antagonists ----------------------------------------------------------------------------- */

static const char *nothing(iso *g)
{
    (void)g;
    return NULL;
}

static void no_end(iso *g)
{
    (void)g;
}

static const char *compute(iso *g)
{
    rts_additions(g->additions);
    return NULL;
}

/* Creates a task that does nothing, and kills it. */
static const char *create_task(iso *g)
{
    rts_child child;
    int err = rts_child_prepare(&child, 0, (int)g->c->common.prio - 2, RTS_STACK_DEFAULT);
    if (err)
        return rts_port_strerror(err);
    err = rts_child_create(&child, 0);
    if (!err) {
        rts_child_kill(&child, 0);
        err = rts_child_reap(&child, 0);
    }
    rts_child_release(&child);
    return err ? rts_port_strerror(err) : NULL;
}

static const char *may_create(iso *g)
{
    (void)g;
    return rts_caps() & RTS_CAP_CHILDREN ? NULL : rts_port_why_not(RTS_CAP_CHILDREN);
}

static const char *no_faults(iso *g)
{
    (void)g;
    return "the system has no page faults";
}

static const char *open_events(iso *g)
{
    rts_source source = {0};
    if (!(rts_caps() & RTS_CAP_EVENT))
        return rts_port_why_not(RTS_CAP_EVENT);
    return rts_event_open(&g->event, 0, EVENTS_HZ, &source) ? source.why : NULL;
}

static const char *await_event(iso *g)
{
    rts_tick stamp;
    uint64_t count;
    int err = rts_event_wait(&g->event, &stamp, &count);
    return err ? rts_port_strerror(err) : NULL;
}

static void close_events(iso *g)
{
    rts_event_close(&g->event);
}

static const iso_kind overruns = {"pieces of work", nothing, compute, no_end};
DEFAULT const iso_kind iso_forks = {"tasks", may_create, create_task, no_end};
DEFAULT const iso_kind iso_faults = {"faults", no_faults, nothing, no_end};
DEFAULT const iso_kind iso_interrupts = {"interrupts", open_events, await_event, close_events};

static const iso_kind *kind_of(const iso *g)
{
    static const iso_kind *const kinds[] = {&overruns, &iso_forks, &iso_faults, &iso_interrupts};
    return kinds[g->p->antagonist];
}

/* One block of the antagonist. */
static const char *bother(iso *g)
{
    const iso_kind *kind = kind_of(g);
    const char *why = kind->begin(g);
    if (why)
        return why;
    while (!why && !g->c->stop && rts_time() < g->until) {
        why = kind->step(g);
        g->done++;
    }
    kind->end(g);
    return why;
}

static void antagonist(void *arg)
{
    iso *g = arg;
    const char *why = g->by->enter(g, ISO_ANTAGONIST);
    if (!why && !(why = kind_of(g)->begin(g)))
        kind_of(g)->end(g);
    if (why)
        rts_unsupported(g->c, "the antagonist: %s", why);
    g->in_place = !why;
    rts_sem_give(g->entered);
    while (!why) {
        rts_sem_take(g->begin);
        if (g->c->stop)
            return;
        why = bother(g);
        if (why)
            rts_failed(g->c, "the antagonist: %s", why);
    }
}

/* ---- the reserved task ----------------------------------------------------------------------- */

static rts_tick ticks(int64_t ns)
{
    return rts_ns_to_ticks((uint64_t)ns, RTS_TIME_HZ);
}

/* Finds how many additions are a piece of work, by their mean over a while. */
static int calibrate(iso *g)
{
    const rts_tick wanted = ticks(g->p->budget * WORK_PERCENT / 100 / PIECES);
    const rts_tick start = rts_time(), least = ticks(TRIAL_NS);
    rts_tick took = 0;
    uint64_t done = 0;
    while (took < least) {
        rts_additions(TRIAL_ADDITIONS);
        done += TRIAL_ADDITIONS;
        took = rts_time() - start;
        if (!took)
            return rts_unsupported(g->c, "work takes no time on this system");
    }
    g->additions = wanted * done / took;
    g->piece = wanted;
    return g->additions ? 0 : rts_unsupported(g->c, "the budget is too short for work");
}

/*
 * One period: the wake-up, and work until it is done or the next release has come. What was due in
 * releases that a late wake-up missed is lost as well.
 */
static void job(iso *g, int beside, rts_rec *latency, rts_hist *omitted, rts_rec *loss,
                rts_tick *release)
{
    const rts_tick due = *release, period = ticks(g->p->period);
    const bool warm = latency->warm;
    rts_tick now = periodic_wake_up(latency, omitted, release, period);
    if (*release == due) /* the time of the series is over */
        return;
    uint64_t pieces = (*release - due) / period * PIECES, n = 0;
    while (n < PIECES && now < *release) {
        rts_additions(g->additions);
        now = rts_time();
        n += now <= *release;
    }
    rts_rec_add(loss, (pieces - n) * g->piece, now);
    if (warm)
        return;
    g->due[beside] += pieces;
    g->lost[beside] += pieces - n;
}

typedef struct iso_records {
    rts_rec *latency[2], *loss[2];
    rts_hist *omitted[2];
} iso_records;

/* `omitted` is of wake-ups; a series of losses has none. */
static int open_records(rts_case *c, iso_records *r)
{
    static const char *const names[] = {"alone", "beside", "lost alone", "lost beside"};
    for (int i = 0; i < 2; i++)
        if (!(r->latency[i] = rts_series(c, names[i], RTS_TIME_HZ, 0, true, &r->omitted[i])))
            return -1;
    for (int i = 0; i < 2; i++)
        if (!(r->loss[i] = rts_series(c, names[2 + i], RTS_TIME_HZ, 0, false, NULL)))
            return -1;
    return 0;
}

static void run_blocks(iso *g, iso_records *r)
{
    const rts_tick period = ticks(g->p->period);
    const rts_tick gap = (rts_tick)(GAP + REST_NS / g->p->period) * period;
    rts_tick release = rts_release_at(rts_time() + gap);
    for (int i = 0; i < 2; i++) {
        rts_rec_start(r->latency[i], rts_time());
        rts_rec_start(r->loss[i], rts_time());
    }
    for (int beside = ALONE; r->latency[ALONE]->running || r->latency[BESIDE]->running;
         beside = !beside) {
        if (!r->latency[beside]->running)
            continue;
        rts_tick end = release + BLOCK * period;
        if (beside) {
            g->until = end;
            rts_sem_give(g->begin);
        }
        while (release < end && r->latency[beside]->running && g->c->status == RTS_S_OK)
            job(g, beside, r->latency[beside], r->omitted[beside], r->loss[beside], &release);
        if (g->c->status != RTS_S_OK)
            return;
        g->until = 0;
        release += gap;
    }
}

/* ---- the case -------------------------------------------------------------------------------- */

/* Finds the largest sum of both that the system accepts, in steps of a hundredth of the CPU. */
static void find_admitted(iso *g)
{
    const uint64_t period = (uint64_t)g->p->period;
    uint64_t budget = period;
    if (!g->by->admits)
        return;
    while (budget > (uint64_t)g->p->budget && !g->by->admits(g, budget))
        budget -= period / 100;
    if (budget < (uint64_t)g->p->budget)
        budget = (uint64_t)g->p->budget;
    double sum = 100 * (double)(budget + (uint64_t)g->p->share) / (double)period;
    g->by->admits(g, (uint64_t)g->p->budget);
    rts_figure_add(g->c, "largest sum admitted", sum, "%");
    rts_count_add(g->c, "sums over 100% refused", sum <= 100, "");
}

/* Starts the antagonist, and reserves the calling task's time. */
static int reserve(iso *g)
{
    rts_case *c = g->c;
    bool process = rts_caps() & RTS_CAP_PROCESS;
    if (rts_task_start(c, antagonist, g, 1, RTS_FIFO, process))
        return -1;
    rts_sem_take(g->entered);
    if (!g->in_place)
        return -1;
    const char *why = g->by->enter(g, ISO_RESERVED);
    if (why)
        return rts_unsupported(c, "the reservation: %s", why);
    find_admitted(g);
    return 0;
}

static int tell(iso *g)
{
    static const char *const names[] = {"budget lost alone", "budget lost beside"};
    for (int i = 0; i < 2; i++)
        if (g->due[i])
            rts_figure_add(g->c, names[i], 100 * (double)g->lost[i] / (double)g->due[i], "%");
    if (!g->done)
        return rts_failed(g->c, "the antagonist never ran, so that nothing was seen");
    rts_count_add(g->c, "done by the antagonist", (int64_t)g->done, kind_of(g)->unit);
    return 0;
}

int iso_run(rts_case *c, const iso_mechanism *by)
{
    iso_records r;
    iso *g = rts_alloc(c, sizeof *g);
    if (!g)
        return rts_unsupported(c, "no memory");
    *g = (iso){.c = c, .p = rts_params(c), .by = by};
    if (g->p->budget > g->p->period || g->p->share > g->p->period)
        return rts_failed(c, "parameters budget, share: no longer than the period");
    if (c->job.patience_ns < (uint64_t)(2 * BLOCK * g->p->period))
        c->job.patience_ns = (uint64_t)(2 * BLOCK * g->p->period);
    g->entered = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    g->begin = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!g->entered || !g->begin || open_records(c, &r) || calibrate(g))
        return -1;
    const char *why = by->prepare(g);
    if (why)
        return rts_unsupported(c, "the reservation: %s", why);
    if (reserve(g))
        return -1;
    run_blocks(g, &r);
    for (int i = 0; i < 2; i++) {
        rts_rec_finish(r.loss[i]);
        rts_end(c, r.latency[i]);
    }
    by->leave(g);
    return c->status == RTS_S_OK ? tell(g) : -1;
}

/* ---- fixed priorities ------------------------------------------------------------------------ */

static const char *take_level(iso *g, iso_role role)
{
    return rts_own_level(g->c, role == ISO_RESERVED ? 0 : 1, RTS_FIFO) ? g->c->reason : NULL;
}

static int run_priorities(rts_case *c)
{
    static const iso_mechanism by = {nothing, take_level, NULL, no_end, false};
    return iso_run(c, &by);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

DEFAULT int iso_reserve(uint64_t runtime, uint64_t period, bool reclaims)
{
    (void)reclaims;
    return rts_task_set_own_deadline(runtime, period);
}

static int reserve_ns(const iso *g, uint64_t runtime)
{
    return iso_reserve(runtime, (uint64_t)g->p->period, g->by->reclaims);
}

static const char *allow_deadlines(iso *g)
{
    return rts_port_allow_deadlines(g->c->job.cpu);
}

static const char *enter_deadline(iso *g, iso_role role)
{
    int64_t runtime = role == ISO_RESERVED ? g->p->budget : g->p->share;
    int err = reserve_ns(g, (uint64_t)runtime);
    if (role == ISO_RESERVED) {
        g->c->job.evidence.sched = "deadline";
        g->c->job.evidence.prio = -1;
    }
    return err ? rts_port_why_no_deadline(err) : NULL;
}

static bool admits_deadline(iso *g, uint64_t budget)
{
    return !reserve_ns(g, budget);
}

static void leave_deadline(iso *g)
{
    rts_own_level(g->c, 0, RTS_FIFO);
}

int iso_run_deadline(rts_case *c, bool reclaims)
{
    static const iso_mechanism plain = {allow_deadlines, enter_deadline, admits_deadline,
                                        leave_deadline, false};
    static const iso_mechanism reclaiming = {allow_deadlines, enter_deadline, admits_deadline,
                                             leave_deadline, true};
    return iso_run(c, reclaims ? &reclaiming : &plain);
}

static int run_deadline(rts_case *c)
{
    return iso_run_deadline(c, false);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_bench benches[] = {
    {ISO_COMMON, .id = "iso.priorities", .title = RTS_SAY("isolation by fixed priorities"),
     .help = ISO_HELP("The reserved task is the most urgent one, the antagonist a level below, and "
                      "limited by nothing."),
     .needs = RTS_CAP_PRIORITIES, .run = run_priorities},
    {ISO_COMMON, .id = "iso.deadline", .title = RTS_SAY("isolation by deadline scheduling"),
     .help = ISO_HELP("Both tasks are scheduled by deadline, each with its budget in every "
                      "period."),
     .needs = RTS_CAP_PRIORITIES | RTS_CAP_DEADLINE,
     .run = RTS_RUN(RTS_CAP_DEADLINE, run_deadline)},
};

RTS_BENCHES(benches);

#endif
