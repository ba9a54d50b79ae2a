/* dk.lat_ctx: context switches by lmbench's method (Dankwardt, part 1). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define RUNS 3
#define LOWEST "lowest of 3"
#define RING_MAX 64
#define ROUNDS 101 /* for the overhead; odd, because of the median */

typedef struct ring_params {
    int64_t processes, size;
} ring_params;

static const rts_param ring_param[] = {
    RTS_INT(ring_params, processes, "process", 2, 2, RING_MAX,
            "processes in the ring, including the measuring one"),
    RTS_SIZE(ring_params, size, 0, 0, 1 << 20,
             "array that each process sums before it passes the token on"),
    RTS_PARAMS_END,
};

/* How often the token reached a process; a cache line each. */
typedef struct place {
    struct ring *ring;
    volatile uint64_t visits;
    unsigned i;
} place;

/*
 * Pipe i leads from process i to process i + 1, the last pipe back to process 0, the measuring
 * task.
 */
typedef struct ring {
    unsigned n;
    size_t words; /* size of each array */
    int pipe[RING_MAX][2];
    place *place[RING_MAX];
} ring;

typedef int32_t token;
#define END (-1) /* the token that ends the ring */

/* What each process does with the token: a hop except for the pipe. */
static void visit(place *at, const uint32_t *array, size_t words)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < words; i++)
        sum += array[i];
    __asm__ volatile("" ::"r"(sum) : "memory");
    at->visits++;
}

/* Writes to each page, so that it belongs to this process alone. */
static uint32_t *new_array(size_t words)
{
    uint32_t *array = malloc((words + 1) * sizeof *array);
    for (size_t i = 0; array && i < words; i++)
        array[i] = 1;
    return array;
}

static void close_pipes(const ring *r, int keep_in, int keep_out)
{
    for (unsigned i = 0; i < r->n; i++)
        for (int end = 0; end < 2; end++)
            if (r->pipe[i][end] != keep_in && r->pipe[i][end] != keep_out)
                close(r->pipe[i][end]);
}

/* Passes the token on until it says that the ring ends, or the sender has ended. */
static void member(void *arg)
{
    place *at = arg;
    const ring *r = at->ring;
    int in = r->pipe[at->i - 1][0], out = r->pipe[at->i][1];
    uint32_t *array = new_array(r->words);
    token t;
    close_pipes(r, in, out);
    while (array && read(in, &t, sizeof t) == sizeof t) {
        if (t != END)
            visit(at, array, r->words);
        if (write(out, &t, sizeof t) != sizeof t || t == END)
            break;
    }
    free(array);
}

/* ---- the ring -------------------------------------------------------------------------------- */

static int open_pipes(ring *r)
{
    for (unsigned i = 0; i < r->n; i++)
        if (pipe(r->pipe[i])) {
            int err = -errno;
            while (i-- > 0) {
                close(r->pipe[i][0]);
                close(r->pipe[i][1]);
            }
            return err;
        }
    return 0;
}

/*
 * Cost of pipe and summing, in ticks per hop: one process sends itself the token through each pipe
 * in turn and sums its array, which is in the cache. Median of ROUNDS rounds of as many hops as the
 * ring has.
 */
static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static double pipe_and_sum(const ring *r, const uint32_t *array)
{
    uint64_t round[ROUNDS];
    place nobody = {0};
    token t = 0;
    for (unsigned k = 0; k < ROUNDS; k++) {
        rts_tick a = rts_now();
        for (unsigned i = 0; i < r->n; i++) {
            if (write(r->pipe[i][1], &t, sizeof t) != sizeof t ||
                read(r->pipe[i][0], &t, sizeof t) != sizeof t)
                return -1;
            visit(&nobody, array, r->words);
        }
        rts_tick b = rts_now();
        round[k] = b - a - rts_the_clock.overhead;
    }
    qsort(round, ROUNDS, sizeof round[0], by_value);
    uint64_t median = round[ROUNDS / 2];
    return (double)median / r->n;
}

/* Sends the token around once; returns true if it came back. */
static bool pass_once(const ring *r, const uint32_t *array)
{
    token t = 0;
    bool back = write(r->pipe[0][1], &t, sizeof t) == sizeof t &&
                read(r->pipe[r->n - 1][0], &t, sizeof t) == sizeof t && t != END;
    visit(r->place[0], array, r->words);
    return back;
}

/*
 * One trip of the token is a sample, with as many hops as there are processes. The processes start
 * during the first trip, which is not recorded: on a slow system that alone can take longer than a
 * short case.
 */
static int pass_token(rts_rec *rec, const ring *r, const uint32_t *array)
{
    if (!pass_once(r, array))
        return -1;
    for (unsigned i = 0; i < r->n; i++)
        r->place[i]->visits = 0;
    for (rts_rec_start(rec, rts_now()); rec->running;) {
        rts_tick a = rts_now();
        bool back = pass_once(r, array);
        rts_tick b = rts_now();
        if (!back)
            return -1;
        rts_rec_add(rec, b - a, b);
    }
    return 0;
}

/* Ends the members. This works in a broken ring too, as each one's sender ends. */
static void end_members(rts_case *c, const ring *r, unsigned before)
{
    int in = r->pipe[r->n - 1][0], out = r->pipe[0][1];
    token t = END;
    bool sent = write(out, &t, sizeof t) == sizeof t;
    while (sent && read(in, &t, sizeof t) == sizeof t && t != END)
        ;
    close(out);
    close(in);
    while (c->n_tasks > before)
        rts_task_join(c->task[--c->n_tasks]);
}

/* ---- a run ----------------------------------------------------------------------------------- */

typedef struct outcome {
    double hop, overhead; /* ticks; `hop` includes pipe and summing, `overhead` is the lower one */
    uint64_t visits_least, visits_most, passes;
} outcome;

static void count_visits(outcome *o, const ring *r, const rts_rec *rec)
{
    o->visits_least = UINT64_MAX;
    o->visits_most = 0;
    for (unsigned i = 0; i < r->n; i++) {
        uint64_t v = r->place[i]->visits;
        o->visits_least = v < o->visits_least ? v : o->visits_least;
        o->visits_most = v > o->visits_most ? v : o->visits_most;
    }
    o->passes = rec->hist.n + rec->discarded;
}

static int start_members(rts_case *c, const ring *r)
{
    for (unsigned i = 1; i < r->n; i++)
        if (rts_task_start(c, member, r->place[i], 0, RTS_FIFO, true))
            return -1;
    return 0;
}

/* Starts the members and takes the samples; pipes are open and the overhead is known. */
static int run_ring(rts_case *c, ring *r, rts_rec *rec, const uint32_t *array)
{
    unsigned before = c->n_tasks;
    int err = start_members(c, r);
    /* NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): n is 2 to RING_MAX by the table */
    close_pipes(r, r->pipe[r->n - 1][0], r->pipe[0][1]);
    if (!err && pass_token(rec, r, array))
        err = rts_failed(c, "a process of the ring is gone");
    end_members(c, r, before);
    rts_end(c, rec);
    return err;
}

/* Measures pipe and summing once more, after a ring, by new pipes; -1: it could not. */
static double pipe_and_sum_again(ring *r, const uint32_t *array)
{
    if (open_pipes(r))
        return -1;
    double ticks = pipe_and_sum(r, array);
    close_pipes(r, -1, -1);
    return ticks;
}

static ring *new_ring(rts_case *c)
{
    const ring_params *p = rts_params(c);
    ring *r = rts_alloc(c, sizeof *r);
    if (!r)
        return NULL;
    r->n = (unsigned)p->processes;
    r->words = (size_t)p->size / sizeof(uint32_t);
    for (unsigned i = 0; i < r->n; i++) {
        r->place[i] = rts_alloc(c, sizeof *r->place[i]);
        if (!r->place[i])
            return NULL;
        *r->place[i] = (place){r, 0, i};
    }
    return r;
}

/* One run: with new processes, pipes and arrays, as their place in the cache matters. */
static int run_once(rts_case *c, unsigned k, outcome *o)
{
    char name[16];
    ring *r = new_ring(c);
    uint32_t *array = r ? new_array(r->words) : NULL;
    if (!array)
        return rts_failed(c, "no memory for the ring");
    int err = open_pipes(r);
    if (err) {
        free(array);
        return rts_port_failed(c, "cannot open the pipes", err);
    }
    o->overhead = pipe_and_sum(r, array);
    snprintf(name, sizeof name, "run %u", k + 1);
    uint64_t all = (uint64_t)(o->overhead * r->n + 0.5) + rts_the_clock.overhead;
    rts_rec *rec = o->overhead < 0 ? NULL : rts_series(c, name, rts_the_clock.hz, all, false, NULL);
    if (!rec) {
        close_pipes(r, -1, -1);
        free(array);
        return rts_failed(c, "the pipes do not carry the token");
    }
    err = run_ring(c, r, rec, array);
    double again = err ? -1 : pipe_and_sum_again(r, array);
    free(array);
    if (!err && again < 0)
        return rts_failed(c, "the pipes do not carry the token");
    o->overhead = again < o->overhead ? again : o->overhead;
    count_visits(o, r, rec);
    if (!err && !rec->hist.n) /* without samples its mean would be taken for the lowest */
        return rts_failed(c, "%s ended before it had a sample: give it more time", name);
    double pass = rec->hist.n ? (double)rec->hist.sum / (double)rec->hist.n : 0;
    o->hop = (pass - (double)rts_the_clock.overhead) / r->n;
    return err;
}

static int run_lat_ctx(rts_case *c)
{
    const ring_params *p = rts_params(c);
    outcome o[RUNS] = {{0}}, *low = o, *high = o;
    double overhead = 0;
    bool equal = true;
    c->batch = (unsigned)p->processes; /* hops per sample */
    signal(SIGPIPE, SIG_IGN);          /* in a broken ring the calls return the error */
    for (unsigned k = 0; k < RUNS; k++) {
        if (run_once(c, k, &o[k]))
            return -1;
        low = o[k].hop < low->hop ? &o[k] : low;
        high = o[k].hop > high->hop ? &o[k] : high;
        overhead = !k || o[k].overhead < overhead ? o[k].overhead : overhead;
        equal = equal && o[k].visits_least == o[k].passes && o[k].visits_most == o[k].passes;
    }
    /* Interference lengthens what is subtracted, too: each run with its own would favour that. */
    if (low->hop <= overhead)
        return rts_failed(c, "a hop was as short as pipe and summing alone: both were disturbed");
    /* Per hop, in ns; the host shows instructions if the clock counts those. */
    double ns = 1e9 / (double)rts_the_clock.hz;
    rts_figure_add(c, LOWEST, (low->hop - overhead) * ns, "ns");
    rts_figure_add(c, "highest of 3", (high->hop - overhead) * ns, "ns");
    rts_figure_add(c, "highest above lowest", (high->hop - low->hop) / (low->hop - overhead) * 100,
                   "%");
    rts_figure_add(c, "lowest: hop as timed", low->hop * ns, "ns");
    rts_figure_add(c, "pipe and summing, least of 6", overhead * ns, "ns");
    rts_count_add(c, "visits per process and run, fewest", low->visits_least, "visits");
    rts_count_add(c, "visits per process and run, most", low->visits_most, "visits");
    return equal ? 0 : rts_failed(c, "the token did not come to every process equally often");
}

static unsigned three(const rts_case *c)
{
    (void)c;
    return RUNS;
}

static const rts_bench benches[] = {
    {.id = "dk.lat_ctx",
     .title = RTS_SAY("Context switch in a ring of processes"),
     .source = RTS_SAY("Dankwardt, part 1, after lmbench's lat_ctx"),
     .help = RTS_SAY(
         "A token circulates through a ring of processes by pipes; each process sums its own array "
         "before it passes the token on. A sample is one hop minus the cost of pipe and summing in "
         "a single process, whose array is hot in the cache; refilling the cache counts as part of "
         "the switch. Three runs, each with new processes; lmbench takes the lowest mean. Pipe and "
         "summing are measured before and after each run, and the least of all is subtracted from "
         "the means; a sample has what was measured before its run subtracted."),
     .params = ring_param,
     .needs = RTS_CAP_POSIX | RTS_CAP_PROCESS,
     .traits = RTS_OWN_SERIES | RTS_ONE_CPU | RTS_RESTS,
     .slope_over = "size",
     .slope_of = LOWEST,
     .samples = 5000,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .series = three,
     .run = run_lat_ctx},
};

RTS_BENCHES(benches);
