/*
 * rheal.db: a high-priority task wants the lock of a low-priority task, which has been preempted.
 */
#include "rheal.h"

enum { VARIANT_RTEMS, VARIANT_KAR };
enum { LOCK_INHERIT, LOCK_PROTECT, LOCK_NONE };
enum { TOP, MIDDLE, BOTTOM };

typedef struct db_params {
    rheal_params common;
    int64_t variant, lock, tick, limit;
} db_params;

/*
 * H wants the lock that L holds, while M has preempted L. L is the measuring task. Whenever M runs,
 * it checks whether H waits for the lock: if so, nothing has raised L's priority above M's, and a
 * busy M could keep L from running for as long as it likes.
 */
typedef struct blockade {
    rheal_frame f;
    const db_params *p;
    rts_mutex mutex;
    rts_sem *h_gate, *m_gate, *m_done;
    rheal_sleeper h, m;
    void (*h_job)(struct blockade *b); /* jobs of H and M in the next round */
    void (*m_job)(struct blockade *b);
    uint64_t n;           /* H's loops in this round */
    rts_tick tick, limit; /* in ticks of the samples' clock */

    volatile bool requested;         /* H waits for the lock */
    volatile bool held;              /* L holds the lock, or is about to release it */
    volatile bool inverted;          /* M ran while H waited: priority inversion */
    volatile rts_tick took;          /* H's last measurement */
    volatile bool fresh;             /* `took` is a sample that L has not recorded yet */
    volatile rts_tick waited;        /* H's first measurement that M prolonged */
    volatile rts_tick start, end;    /* H's stamps */
    volatile uint64_t done;          /* H's loops done in this round */
    volatile uint64_t lock_was_free; /* how often H found the lock free */

    /* for variant kar only */
    volatile bool cut;      /* L has to end its busy loop */
    volatile bool finished; /* H has completed its loops */
    int extra;              /* what H does in each loop of the classic form */
    rts_tick least;         /* H's shortest measurement */
    uint64_t passes;        /* classic loops done */
} blockade;

static void top(void *arg)
{
    blockade *b = arg;
    for (;;) {
        rts_sem_take(b->h_gate);
        if (b->f.c->stop)
            return;
        b->h_job(b);
    }
}

static void middle(void *arg)
{
    blockade *b = arg;
    for (;;) {
        rts_sem_take(b->m_gate);
        if (b->f.c->stop)
            return;
        b->m_job(b);
        rts_sem_give(b->m_done);
    }
}

static void keep_cpu(rts_tick time)
{
    for (rts_tick begin = rts_now(); rts_now() - begin < time;)
        ;
}

/*
 * M has the CPU: if H waits, M keeps it as long as the case allows, to see that nothing stops it.
 */
static inline void look(blockade *b)
{
    if (!b->requested || b->inverted)
        return;
    b->inverted = true;
    keep_cpu(b->limit);
}

/* H locks and unlocks the mutex, with time stamps. */
static void take_stamped(blockade *b)
{
    bool taken = b->held;
    b->requested = true;
    rts_tick start = rts_now();
    rts_mutex_lock(&b->mutex);
    b->end = rts_now();
    b->requested = false;
    b->took = b->end - start;
    b->least = b->least && b->least < b->took ? b->least : b->took;
    b->fresh = taken || b->p->lock == LOCK_PROTECT;
    b->lock_was_free += !taken;
    if (b->inverted && !b->waited)
        b->waited = b->took;
    b->done++;
    rts_mutex_unlock(&b->mutex);
}

static inline void take_plain(blockade *b)
{
    b->requested = true;
    rts_mutex_lock(&b->mutex);
    b->requested = false;
    rts_mutex_unlock(&b->mutex);
}

static void let_both_go(blockade *b, void (*h_job)(blockade *), void (*m_job)(blockade *),
                        uint64_t n)
{
    b->h_job = h_job;
    b->m_job = m_job;
    b->n = n;
    b->done = 0;
    b->finished = false;
    rts_sem_give(b->h_gate);
    rts_sem_give(b->m_gate);
}

/*
 * L locks. With a ceiling, M and H run only after L unlocks: then the lock does not count as held.
 */
static inline void hold(blockade *b)
{
    rts_mutex_lock(&b->mutex);
    b->held = b->p->lock != LOCK_PROTECT;
}

/* L unlocks, and records what H has measured. */
static inline void give_back(blockade *b)
{
    rts_mutex_unlock(&b->mutex);
    b->held = false;
    if (b->fresh)
        rheal_record(b->f.c, b->took, b->end);
    b->fresh = false;
}

/* The source says n.e.: how long a busy M would keep the CPU is no property of the system. */
static int check_inversion(blockade *b)
{
    if (!b->inverted)
        return 0;
    rts_tick us = b->waited * 1000000 / rts_the_clock.hz;
    return rts_unsupported(b->f.c,
                           "n.e.: M ran while H waited %llu us for L's lock (limit=%lld us): "
                           "nothing breaks the deadlock; sync.test3 has the inversion",
                           (unsigned long long)us, (long long)(b->p->limit / 1000));
}

static int end_both(blockade *b)
{
    rts_sem_take(b->m_done);
    if (b->done != b->n)
        return rts_failed(b->f.c, "H, M and L did not run in the order that is measured");
    return check_inversion(b);
}

/* ---- variant rtems: each task wakes the next higher one -------------------------------------- */

static void rtems_h_stamping(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        rheal_sleep(&b->h);
        take_stamped(b);
    }
}

static void rtems_h_with(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        rheal_sleep(&b->h);
        take_plain(b);
    }
    b->done = b->n;
}

static void rtems_h_without(blockade *b)
{
    for (uint64_t i = b->n; i; i--)
        rheal_sleep(&b->h);
    b->done = b->n;
}

static void rtems_m(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        rheal_sleep(&b->m);
        rheal_wake(&b->h);
        look(b);
    }
}

/* L holds the lock while it wakes M, which wakes H. */
static int rtems_stamps(blockade *b, uint64_t n)
{
    let_both_go(b, rtems_h_stamping, rtems_m, n);
    for (uint64_t i = n; i; i--) {
        hold(b);
        rheal_wake(&b->m);
        give_back(b);
    }
    return end_both(b);
}

static rts_tick rtems_pass(blockade *b, bool with)
{
    let_both_go(b, with ? rtems_h_with : rtems_h_without, rtems_m, b->f.loops);
    uint64_t i = b->n;
    rts_tick start = rts_now();
    for (; with && i; i--) {
        rts_mutex_lock(&b->mutex);
        rheal_wake(&b->m);
        rts_mutex_unlock(&b->mutex);
    }
    for (; i; i--)
        rheal_wake(&b->m);
    return rts_now() - start;
}

/* (T_with - T_without) / N - T_obtain */
static int rtems_once(void *state, double *ticks)
{
    blockade *b = state;
    double obtain = RHEAL_SINGLE_MEAN(, rts_mutex_lock(&b->mutex), rts_mutex_unlock(&b->mutex));
    rheal_rest(&b->f);
    rts_tick without = rtems_pass(b, false);
    if (end_both(b) || rheal_check_pass(&b->f, without))
        return -1;
    rheal_rest(&b->f);
    rts_tick with = rtems_pass(b, true);
    *ticks = rheal_with_less_without(&b->f, (double)with, (double)without, b->n) - obtain;
    rheal_note(&b->f, "T_obtain", obtain);
    return end_both(b) || rheal_check_pass(&b->f, with) ? -1 : 0;
}

/* With a ceiling H never finds the lock taken: there is no deadlock, and its stamps show that. */
static int rtems_round(void *state)
{
    return rtems_stamps(state, RHEAL_ROUND);
}

/* ---- variant kar: paced by the clock --------------------------------------------------------- */

#define KAR_LOOPS 50 /* in a round, or as many as RT throttling allows */
#define KAR_CHECKS 2 /* rounds each with and without an injected delay */

enum { NOTHING, LOCK, DELAY };

static void kar_sleep(const blockade *b)
{
    rts_sleep_for(rts_ns_to_ticks((uint64_t)b->p->tick, RTS_TIME_HZ));
}

static void kar_h_stamping(blockade *b)
{
    for (uint64_t i = b->n; i; i--) {
        kar_sleep(b);
        b->cut = true;
        take_stamped(b);
    }
    b->finished = true;
}

static void kar_h(blockade *b)
{
    b->start = rts_now();
    for (uint64_t i = b->n; i; i--) {
        kar_sleep(b);
        b->cut = true;
        if (b->extra == LOCK)
            take_plain(b);
        if (b->extra == DELAY)
            keep_cpu(b->least);
    }
    b->end = rts_now();
    b->done = b->n;
    b->finished = true;
}

static void kar_m(blockade *b)
{
    while (!b->finished) {
        for (rts_tick begin = rts_now(); rts_now() - begin < b->tick / 4;)
            look(b);
        kar_sleep(b);
    }
}

/* L, until H has done n loops. A job that H does before L locks still ends L's busy loop early. */
static int kar_loops(blockade *b, void (*h_job)(blockade *), uint64_t n)
{
    let_both_go(b, h_job, kar_m, n);
    while (!b->finished) {
        b->cut = false;
        hold(b);
        for (rts_tick begin = rts_now(); !b->cut && rts_now() - begin < 2 * b->tick;)
            ;
        give_back(b);
    }
    return end_both(b);
}

/* Returns the loops of a round: each may take two ticks and more. */
static uint64_t kar_round_loops(const blockade *b)
{
    uint64_t most = b->f.c->busy_ns / (4 * (uint64_t)b->p->tick);
    if (!b->f.c->busy_ns || most > KAR_LOOPS)
        return KAR_LOOPS;
    return most ? most : 1;
}

static int kar_round(void *state)
{
    blockade *b = state;
    return kar_loops(b, kar_h_stamping, kar_round_loops(b));
}

/* Adds the time that H's n loops take to `sum`. */
static int kar_pass(blockade *b, int extra, uint64_t n, double *sum)
{
    b->extra = extra;
    if (kar_loops(b, kar_h, n))
        return -1;
    *sum += (double)(b->end - b->start);
    rheal_rest_if_due(&b->f);
    return 0;
}

/*
 * On a system whose sleeps end on ticks, the time that H's work takes disappears in its sleep. So a
 * delay as long as the expected one is injected first, and has to be visible.
 */
static int kar_check(blockade *b)
{
    uint64_t n = kar_round_loops(b);
    double without = 0, delayed = 0;
    for (int i = 0; i < KAR_CHECKS; i++)
        if (kar_pass(b, NOTHING, n, &without) || kar_pass(b, DELAY, n, &delayed))
            return -1;
    double seen = (delayed - without) / (double)(n * KAR_CHECKS);
    rheal_note(&b->f, "delay planted", (double)b->least);
    rheal_note(&b->f, "delay seen", seen);
    if (seen >= (double)b->least / 2)
        return 0;
    return rts_unsupported(
        b->f.c, "n.e.: a delay planted in H's loop does not show in the loop difference: "
                "the sleeps of this system end on ticks, or vary by more; sampled "
                "does without sleeps");
}

/* (T_with - T_without) / N, in pieces: RT throttling does not allow a pass of that many ticks. */
static int kar_once(void *state, double *ticks)
{
    blockade *b = state;
    rts_tick start = rts_now(), limit = rheal_time_limit(b->f.c);
    uint64_t loops = b->f.loops, n = 0;
    double with = 0, without = 0;
    if (kar_check(b))
        return -1;
    do {
        uint64_t loops_now = kar_round_loops(b);
        loops_now = loops_now < loops - n ? loops_now : loops - n;
        if (kar_pass(b, NOTHING, loops_now, &without) || kar_pass(b, LOCK, loops_now, &with))
            return -1;
        n += loops_now;
    } while (n < loops && !b->f.c->job.stop_requested && rts_now() - start < limit);
    b->passes += n;
    *ticks = rheal_with_less_without(&b->f, with, without, n);
    return 0;
}

/* ---- a case ---------------------------------------------------------------------------------- */

static blockade *open_blockade(rts_case *c)
{
    blockade *b = rheal_open(c, sizeof *b);
    if (!b)
        return NULL;
    b->p = rts_params(c);
    if (b->p->lock == LOCK_PROTECT && !(rts_caps() & RTS_CAP_LOCK_PROTECT)) {
        rts_unsupported(c, "no mutexes with a priority ceiling: %s",
                        rts_port_why_not(RTS_CAP_LOCK_PROTECT));
        return NULL;
    }
    b->tick = rts_ns_to_ticks((uint64_t)b->p->tick, rts_the_clock.hz);
    b->limit = rts_ns_to_ticks((uint64_t)b->p->limit, rts_the_clock.hz);
    b->h_gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    b->m_gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    b->m_done = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    return b->h_gate && b->m_gate && b->m_done ? b : NULL;
}

static int start_tasks(blockade *b)
{
    rts_case *c = b->f.c;
    if (rts_own_level(c, BOTTOM, RTS_FIFO) || rheal_sleeper_start(c, &b->h, top, b, TOP) ||
        rheal_sleeper_start(c, &b->m, middle, b, MIDDLE))
        return -1;
    return rts_wait_idle(c);
}

/* Runs a round before the recorder starts, to see whether the system breaks the deadlock. */
static int measure_blockade(blockade *b)
{
    bool kar = b->p->variant == VARIANT_KAR;
    if (kar) /* a case of many ticks takes its first samples late */
        b->f.c->job.patience_ns += 4 * (uint64_t)b->f.p->loops * (uint64_t)b->p->tick;
    else
        rheal_sleeper_tell(b->f.c, &b->h);
    b->f.in_pieces = kar;
    if (kar ? kar_loops(b, kar_h_stamping, kar_round_loops(b)) : rtems_stamps(b, 1))
        return -1;
    b->lock_was_free = 0;
    b->fresh = false;
    rheal_rest_if_due(&b->f);
    return rheal_measure(&b->f, kar ? kar_round : rtems_round, kar ? kar_once : rtems_once);
}

static int run_db(rts_case *c)
{
    static const rts_protocol protocols[] = {
        [LOCK_INHERIT] = RTS_LOCK_INHERIT,
        [LOCK_PROTECT] = RTS_LOCK_PROTECT,
        [LOCK_NONE] = RTS_LOCK_NONE,
    };
    blockade *b = open_blockade(c);
    if (!b)
        return -1;
    int err = rts_mutex_create(&b->mutex, protocols[b->p->lock], (int)c->common.prio);
    if (err)
        return rts_port_failed(c, "cannot create a mutex of that protocol", err);
    err = start_tasks(b) || measure_blockade(b);
    rts_mutex_destroy(&b->mutex);
    if (err)
        return -1;
    if (b->f.p->form == RHEAL_SAMPLED)
        rts_count_add(c, "H met the lock free", b->lock_was_free, "times");
    else if (b->p->variant == VARIANT_KAR)
        rts_count_add(c, "loops done", b->passes, "loops");
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_param param[] = {
    RHEAL_PARAMS(20000),
    RTS_CHOICE(db_params, variant, "rtems|kar", VARIANT_RTEMS,
               "whether tasks wake each other, or sleep for a tick"),
    RTS_CHOICE(db_params, lock, "inherit|protect|none", LOCK_INHERIT,
               "protocol of the lock: priority inheritance, priority ceiling (H never finds it "
               "locked), or none (n.e.)"),
    RTS_DURATION(db_params, tick, 1000000, 100000, 100000000, "length of a tick in variant kar"),
    RTS_DURATION(db_params, limit, 100000000, 1000000, 400000000,
                 "how long M keeps the CPU when it runs while H waits for the lock, before the "
                 "case ends as n.e."),
    RTS_PARAMS_END,
};

static const rts_bench benches[] = {
    {.id = "rheal.db",
     .title = RTS_SAY("Rhealstone: deadlock breaking"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar 1990"),
     .help = RTS_SAY(
         "H requests the lock that L holds while M has preempted L: L has to run instead of M. "
         "sampled: H's time stamps around its obtain. classic, rtems: L obtains, wakes M, which "
         "wakes H, and releases; (T_with - T_without)/N - T_obtain. kar: L holds the lock in a "
         "busy loop, M and H sleep for a tick, H ends L's loop early; (T_with - T_without)/N. If M "
         "runs while H waits, the result is n.e., after a time limit."),
     .metric = "mutexes and condition variables",
     .params = param,
     .needs = RTS_CAP_PRIORITIES,
     RHEAL_TRAITS_AND_LIMITS,
     .run = run_db},
};

RTS_BENCHES(benches);
