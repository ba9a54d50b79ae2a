/* rheal.pt, rheal.im, rheal.dt: a high-priority and a low-priority task. */
#include <string.h>

#include "rheal.h"

#define QUEUE_LENGTH 10            /* messages; the limit for unprivileged users of Linux */
#define MESSAGE (4 * sizeof(long)) /* of rheal.im: four long words */
#define DISORDER_MAX 10

enum { LEVEL_H, LEVEL_L };

typedef struct dt_params {
    rheal_params common;
    int64_t size;
} dt_params;

/* One direction between the tasks: a queue, and room for a message at either end. */
typedef struct path {
    rts_queue queue;
    unsigned char *out, *in;
} path;

/*
 * L is the measuring task. H does its job when released from its gate, and is back there when L has
 * done its part.
 */
typedef struct duo {
    rheal_frame f;
    rts_sem *gate;
    rheal_sleeper h;
    path forth, back;                   /* to H and from H */
    void (*job)(struct duo *d);         /* H's job in the next round */
    uint64_t n;                         /* repetitions of it */
    volatile rts_tick start, end, left; /* L calls, H gets the CPU, H releases it */
    volatile uint64_t came;             /* how often H got the CPU in this round */
    volatile uint64_t wrong;            /* messages that arrived changed */
    rts_tick back_sum;                  /* total of back_n times from H back to L */
    uint64_t back_n;
    uint64_t disorder; /* calls after which H did not get the CPU */
    void *beside;      /* state of rheal.ts, for the form of rheal.im that subtracts it */
} duo;

static void urgent(void *arg)
{
    duo *d = arg;
    for (;;) {
        rts_sem_take(d->gate);
        if (d->f.c->stop)
            return;
        d->job(d);
    }
}

static duo *open_duo(rts_case *c)
{
    duo *d = rheal_open(c, sizeof *d);
    if (!d)
        return NULL;
    d->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (!d->gate || rts_own_level(c, LEVEL_L, RTS_FIFO) ||
        rheal_sleeper_start(c, &d->h, urgent, d, LEVEL_H) || rts_wait_idle(c))
        return NULL;
    return d;
}

static void let_go(duo *d, void (*job)(duo *), uint64_t n)
{
    d->job = job;
    d->n = n;
    d->came = 0;
    rts_sem_give(d->gate);
}

/* After the k-th call of a round, has H had the CPU k times? Counts it if not. */
static bool in_order(duo *d, uint64_t k)
{
    if (d->came == k)
        return true;
    d->disorder++;
    rts_wait_idle(d->f.c);
    return false;
}

static int check_order(duo *d, uint64_t came)
{
    if (d->disorder < DISORDER_MAX && d->came == came)
        return 0;
    return rts_failed(d->f.c, "the more urgent task did not get the CPU at once");
}

/* ---- a classic pass: L makes N calls, and H waits for each ----------------------------------- */

#define INLINE static inline __attribute__((always_inline))

/* H: the first call leads to its first stamp; N - 1 follow before the second. */
INLINE void wait_for_each(duo *d, void (*wait)(duo *d))
{
    wait(d);
    rts_tick start = rts_now();
    for (uint64_t i = d->n - 1; i; i--) {
        wait(d);
        RTS_BARRIER();
    }
    d->end = rts_now();
    d->start = start;
    d->came = d->n;
}

/* L: computes (T_run - T_loop) / (N - 1) from H's stamps. */
INLINE int call_each(duo *d, void (*call)(duo *d), void (*h_job)(duo *d), double *each)
{
    uint64_t n = d->f.loops;
    rheal_rest(&d->f);
    let_go(d, h_job, n);
    for (uint64_t i = n; i; i--) {
        call(d);
        RTS_BARRIER();
    }
    if (check_order(d, n))
        return -1;
    *each = rheal_run_less_loop(&d->f, d->end - d->start, 2 * (n - 1), n - 1);
    return rheal_check_pass(&d->f, d->end - d->start);
}

/* ---- rheal.pt -------------------------------------------------------------------------------- */

static inline void pt_sleep(duo *d)
{
    rheal_sleep(&d->h);
}

static inline void pt_wake(duo *d)
{
    rheal_wake(&d->h);
}

static void pt_stamping(duo *d)
{
    for (uint64_t i = 0; i < d->n; i++) {
        pt_sleep(d);
        d->end = rts_now();
        d->came++;
        d->left = rts_now();
    }
}

/* n preemptions, and n - 1 returns: from H's stamp before it sleeps to L's first statement. */
static int pt_stamps(duo *d, uint64_t n, bool recorded)
{
    let_go(d, pt_stamping, n);
    for (uint64_t i = 1; i <= n; i++) {
        d->start = rts_now();
        pt_wake(d);
        rts_tick now = rts_now();
        if (!in_order(d, i))
            continue;
        if (i < n) { /* the last time, H goes to its gate */
            d->back_sum += now - d->left;
            d->back_n++;
        }
        if (recorded)
            rheal_record(d->f.c, d->end - d->start, now);
    }
    return check_order(d, n);
}

static int pt_round(void *state)
{
    return pt_stamps(state, RHEAL_ROUND, true);
}

static void pt_sleeping(duo *d)
{
    wait_for_each(d, pt_sleep);
}

/* (T_run - T_loop) / (N - 1) - T_back */
static int pt_once(void *state, double *ticks)
{
    duo *d = state;
    double each;
    d->back_sum = d->back_n = 0;
    if (pt_stamps(d, RHEAL_SINGLE + 1, false) || call_each(d, pt_wake, pt_sleeping, &each))
        return -1;
    double back = rheal_net_mean(d->back_sum, d->back_n);
    *ticks = each - back;
    rheal_note(&d->f, "T_back", back);
    return 0;
}

static int run_pt(rts_case *c)
{
    duo *d = open_duo(c);
    if (!d)
        return -1;
    rheal_sleeper_tell(c, &d->h);
    if (rheal_measure(&d->f, pt_round, pt_once))
        return -1;
    if (d->f.p->form == RHEAL_CLASSIC)
        return 0;
    if (d->back_n)
        rheal_time_figure(c, "T_back", rheal_net_mean(d->back_sum, d->back_n));
    rts_count_add(c, "order was another", d->disorder, "times");
    return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

static int open_path(rts_case *c, path *w, size_t size)
{
    w->out = rts_alloc(c, size);
    w->in = rts_alloc(c, size);
    if (!w->out || !w->in)
        return rts_unsupported(c, "no memory for messages");
    int err = rts_queue_create(&w->queue, QUEUE_LENGTH, size, c->slot++);
    return err ? rts_port_failed(c, "cannot create a queue of 10 such messages", err) : 0;
}

static inline void path_send(path *w)
{
    rts_queue_send(&w->queue, w->out);
}

static inline void path_receive(path *w)
{
    rts_queue_receive(&w->queue, w->in);
}

/* ---- rheal.im -------------------------------------------------------------------------------- */

static inline void im_send(duo *d)
{
    path_send(&d->forth);
}

static inline void im_receive(duo *d)
{
    path_receive(&d->forth);
}

static void im_stamping(duo *d)
{
    for (uint64_t i = 0; i < d->n; i++) {
        im_receive(d);
        d->end = rts_now();
        d->came++;
        d->wrong += memcmp(d->forth.in, d->forth.out, MESSAGE) != 0;
    }
}

static int im_round(void *state)
{
    duo *d = state;
    let_go(d, im_stamping, RHEAL_ROUND);
    for (uint64_t i = 1; i <= RHEAL_ROUND; i++) {
        memcpy(d->forth.out, &i, sizeof i);
        d->start = rts_now();
        im_send(d);
        if (in_order(d, i))
            rheal_record(d->f.c, d->end - d->start, d->end);
    }
    return check_order(d, RHEAL_ROUND);
}

static void im_receiving(duo *d)
{
    wait_for_each(d, im_receive);
}

/*
 * (T_run - T_loop) / (N - 1) - T_recv; H is at its gate while L times T_recv by sending to itself.
 */
static int im_once(void *state, double *ticks)
{
    duo *d = state;
    double ts, each, recv = RHEAL_SINGLE_MEAN(im_send(d), im_receive(d), );
    ((rheal_frame *)d->beside)->loops = d->f.loops;
    if (rheal_switch_once(d->beside, &ts) || call_each(d, im_send, im_receiving, &each))
        return -1;
    *ticks = each - recv;
    rheal_note(&d->f, "T_recv", recv);
    rheal_note(&d->f, "rheal.ts", ts);
    rheal_note(&d->f, "latency less T_recv", *ticks);
    rheal_note(&d->f, "latency less rheal.ts", each - ts);
    return 0;
}

static int run_im(rts_case *c)
{
    duo *d = open_duo(c);
    if (!d)
        return -1;
    bool classic = d->f.p->form == RHEAL_CLASSIC;
    if (classic)
        d->beside = rheal_switch_open(c, LEVEL_L);
    if ((classic && !d->beside) || open_path(c, &d->forth, MESSAGE))
        return -1;
    int err = rheal_measure(&d->f, im_round, im_once);
    rts_queue_destroy(&d->forth.queue);
    if (err)
        return -1;
    if (d->wrong)
        return rts_failed(c, "%llu messages did not come as they were sent",
                          (unsigned long long)d->wrong);
    if (!classic)
        rts_count_add(c, "order was another", d->disorder, "messages");
    return 0;
}

/* ---- rheal.dt -------------------------------------------------------------------------------- */

/* One transfer more than is timed: after the last one H goes to its gate. */
static void dt_answering(duo *d)
{
    for (uint64_t i = d->n + 1; i; i--) {
        path_receive(&d->forth);
        path_send(&d->back);
        d->came++;
    }
}

static void transfer(duo *d)
{
    path_send(&d->forth);
    path_receive(&d->back);
}

static int dt_round(void *state)
{
    duo *d = state;
    let_go(d, dt_answering, RHEAL_ROUND);
    for (uint64_t i = 1; i <= RHEAL_ROUND; i++) {
        rts_tick a = rts_now();
        transfer(d);
        rts_tick b = rts_now();
        rheal_record(d->f.c, b - a, b);
    }
    transfer(d);
    return check_order(d, RHEAL_ROUND + 1);
}

/* (T_run - T_loop) / N */
static int dt_once(void *state, double *ticks)
{
    duo *d = state;
    uint64_t n = d->f.loops;
    rheal_rest(&d->f);
    let_go(d, dt_answering, n);
    rts_tick start = rts_now();
    for (uint64_t i = n; i; i--) {
        transfer(d);
        RTS_BARRIER();
    }
    rts_tick run = rts_now() - start;
    *ticks = rheal_run_less_loop(&d->f, run, 2 * n, n);
    transfer(d);
    return check_order(d, n + 1) ? -1 : rheal_check_pass(&d->f, run);
}

/* Adds the throughput from the mean; a KB is 1024 bytes. */
static void add_throughput(duo *d, double size)
{
    rts_case *c = d->f.c;
    rts_rec_finish(c->rec);
    const rts_hist *h = &c->rec->hist;
    double overhead = d->f.p->form == RHEAL_CLASSIC ? 0 : (double)rts_the_clock.overhead;
    double mean = h->n ? (double)h->sum / (double)h->n / (double)d->f.scale - overhead : 0;
    if (mean > 0 && rheal_in_ns())
        rts_figure_add(c, "throughput", size / 1024 * (double)rts_the_clock.hz / mean, "KB/s");
}

static int run_dt(rts_case *c)
{
    const dt_params *p = rts_params(c);
    duo *d = open_duo(c);
    if (!d || open_path(c, &d->forth, (size_t)p->size))
        return -1;
    int err = open_path(c, &d->back, sizeof(long));
    if (!err) {
        err = rheal_measure(&d->f, dt_round, dt_once);
        rts_queue_destroy(&d->back.queue);
    }
    rts_queue_destroy(&d->forth.queue);
    if (!err)
        add_throughput(d, (double)p->size);
    return err;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_param plain_param[] = {RHEAL_PARAMS(50000), RTS_PARAMS_END};

static const rts_param dt_param[] = {
    RHEAL_PARAMS(50000),
    RTS_SIZE(dt_params, size, 1024, 1, 64 << 10, "size of a datagram"),
    RTS_PARAMS_END,
};

static const rts_bench benches[] = {
    {.id = "rheal.pt",
     .title = RTS_SAY("Rhealstone: preemption"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar 1990"),
     .help = RTS_SAY(
         "L resumes H, which has a higher priority and suspends itself again. sampled: from L's "
         "time stamp before the resume to H's first statement. classic: (T_run - T_loop)/(N-1) - "
         "T_back; T_run is N-1 rounds by H's time stamps, T_back the return from H's suspend to L. "
         "On systems without suspension H waits for a semaphore; the result says which."),
     .metric = "scheduling",
     .params = plain_param,
     .needs = RTS_CAP_PRIORITIES,
     RHEAL_TRAITS_AND_LIMITS,
     .run = run_pt},
    {.id = "rheal.im",
     .title = RTS_SAY("Rhealstone: intertask message latency"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar 1990"),
     .help = RTS_SAY("L sends messages of 4 long words to H, which waits for them. sampled: from "
                     "L's time stamp before the send to the return of H's receive. classic: (T_run "
                     "- T_loop)/(N-1) - T_recv, a receive from a queue that holds a message; a "
                     "figure subtracts rheal.ts instead, as another port does."),
     .metric = "message passing",
     .params = plain_param,
     .needs = RTS_CAP_PRIORITIES,
     RHEAL_TRAITS_AND_LIMITS,
     .run = run_im},
    {.id = "rheal.dt",
     .title = RTS_SAY("Rhealstone: datagram throughput"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar and Porter 1989"),
     .help = RTS_SAY("L sends H a datagram through a queue and waits for the acknowledgement: the "
                     "time of both, and the rate in KB/s as a figure. The 1989 component that "
                     "rheal.im replaced. classic: "
                     "(T_run - T_loop)/N."),
     .metric = "message passing",
     .params = dt_param,
     .needs = RTS_CAP_PRIORITIES,
     .slope_over = "size",
     RHEAL_TRAITS_AND_LIMITS,
     .run = run_dt},
};

RTS_BENCHES(benches);
