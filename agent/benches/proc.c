/*
 * proc.*: creation and termination of tasks, processes and the like (Sjöblom, process primitives).
 */
#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define CHILDREN 50 /* created before they are terminated, untimed */
#define BELOW 1     /* levels of a child below its parent */

typedef struct proc_params {
    int64_t kind, stack;
} proc_params;

#define STACK                                                                                      \
    RTS_SIZE(proc_params, stack, 16 << 10, 4 << 10, 1 << 20,                                       \
             "stack size of a child, at least; allocated beforehand and not used by kinds with "   \
             "memory of their own")

static const rts_param create_param[] = {
    RTS_CHOICE(proc_params, kind, RTS_CHILD_KINDS, 0, "what is created"),
    STACK,
    RTS_PARAMS_END,
};

static const rts_param kill_param[] = {
    RTS_CHOICE(proc_params, kind, RTS_VICTIM_KINDS, 0, "what is terminated"),
    STACK,
    RTS_PARAMS_END,
};

/* The children of a case: the first `alive` of the first `prepared` exist. */
typedef struct nursery {
    rts_case *c;
    int kind;
    unsigned prepared, alive;
    uint64_t early; /* children that got the CPU before their parent blocked */
    int prio;       /* of the last child */
    rts_child child[CHILDREN];
} nursery;

static void close_nursery(nursery *n)
{
    while (n->prepared > 0)
        rts_child_release(&n->child[--n->prepared]);
}

static nursery *open_nursery(rts_case *c, unsigned children)
{
    const proc_params *p = rts_params(c);
    nursery *n = rts_alloc(c, sizeof *n);
    if (!n) {
        rts_unsupported(c, "no memory for the children");
        return NULL;
    }
    n->c = c;
    n->kind = (int)p->kind;
    for (; n->prepared < children; n->prepared++) {
        int err = rts_child_prepare(&n->child[n->prepared], n->kind, (int)c->common.prio - BELOW,
                                    (size_t)p->stack);
        if (err) {
            rts_port_failed(c, "cannot prepare a child", err);
            close_nursery(n);
            return NULL;
        }
    }
    return n;
}

static void add_figures(const nursery *n, const char *early)
{
    rts_case *c = n->c;
    rts_count_add(c, early, n->early, "children");
    rts_count_add(c, "priority of the parent", c->common.prio, "");
    rts_count_add(c, "priority of a child", n->prio, "");
}

/* Terminates all existing children; returns 0 or the first error. */
static int destroy_all(nursery *n)
{
    int err = 0;
    while (n->alive > 0) {
        rts_child *x = &n->child[--n->alive];
        int kill = rts_child_kill(x, n->kind), reap = rts_child_reap(x, n->kind);
        err = err ? err : kill ? kill : reap;
    }
    return err;
}

#define INLINE static inline __attribute__((always_inline))

/* Template TA; `kind` is a constant wherever this is inlined. */
INLINE int create_each(nursery *n, int kind)
{
    rts_case *c = n->c;
    int err = 0;
    RTS_SAMPLES(c) {
        rts_child *x = &n->child[n->alive];
        rts_stamp a = rts_stamp_now();
        err = rts_child_create(x, kind);
        rts_stamp b = rts_stamp_now();
        if (err)
            break;
        n->early += rts_child_ran(x, kind);
        n->prio = rts_child_prio(x, kind);
        n->alive++;
        rts_rec_span(c->rec, a, b);
        if (n->alive == CHILDREN && (err = destroy_all(n)))
            break;
    }
    int last = destroy_all(n);
    return err ? err : last;
}

static unsigned two_series(const rts_case *c)
{
    (void)c;
    return 2;
}

/* Times both the call and the complete termination, after which nothing is left of the victim. */
INLINE int kill_each(nursery *n, int kind, rts_rec *call, rts_rec *complete)
{
    rts_child *x = &n->child[0];
    rts_tick start = rts_now();
    rts_rec_start(call, start);
    for (rts_rec_start(complete, start); call->running && complete->running;) {
        int err = rts_child_create(x, kind);
        if (err)
            return err;
        int lower = rts_child_lower(x, kind);
        n->early += rts_child_ran(x, kind);
        n->prio = rts_child_prio(x, kind);
        rts_tick a = rts_now();
        int kill = rts_child_kill(x, kind);
        rts_tick b = rts_now();
        int reap = rts_child_reap(x, kind);
        rts_tick d = rts_now();
        if (lower || kill || reap)
            return lower ? lower : kill ? kill : reap;
        rts_rec_add(call, b - a, b);
        rts_rec_add(complete, d - a, d);
    }
    return 0;
}

/* A copy of the loops for each kind, so that no branch on the kind is between two stamps. */
#define FOR_KIND(k)                                                                                \
    static int create_##k(nursery *n)                                                              \
    {                                                                                              \
        return create_each(n, k);                                                                  \
    }                                                                                              \
    static int kill_##k(nursery *n, rts_rec *call, rts_rec *complete)                              \
    {                                                                                              \
        return kill_each(n, k, call, complete);                                                    \
    }
RTS_EACH_CHILD(FOR_KIND)

#define CREATE(k) [k] = create_##k,
#define KILL(k) [k] = kill_##k,

static int (*const create_of[])(nursery *) = {RTS_EACH_CHILD(CREATE)};
static int (*const kill_of[])(nursery *, rts_rec *, rts_rec *) = {RTS_EACH_CHILD(KILL)};

static int run_create(rts_case *c)
{
    nursery *n = open_nursery(c, CHILDREN);
    if (!n)
        return -1;
    int err = create_of[n->kind](n);
    close_nursery(n);
    add_figures(n, "children that ran before the call returned");
    return err ? rts_port_failed(c, "cannot create or end a child", err) : 0;
}

static int run_kill(rts_case *c)
{
    rts_rec *call = rts_series(c, "call", rts_the_clock.hz, rts_the_clock.overhead, false, NULL);
    /* The clock reading that ends `call` is within the interval of `complete`. */
    rts_rec *complete =
        rts_series(c, "complete", rts_the_clock.hz, 2 * rts_the_clock.overhead, false, NULL);
    nursery *n = call && complete ? open_nursery(c, 1) : NULL;
    if (!n)
        return -1;
    complete->setup.busy = 0; /* one series rests for both */
    int err = kill_of[n->kind](n, call, complete);
    rts_end(c, call);
    close_nursery(n);
    add_figures(n, "victims that ran before they were terminated");
    return err ? rts_port_failed(c, "cannot create or end a child", err) : 0;
}

static const rts_bench benches[] = {
    {.id = "proc.create",
     .title = RTS_SAY("Create a thread or process that does not run yet"),
     .source = RTS_SAY("Sjöblom, process primitives"),
     .help = RTS_SAY(
         "Duration of the call that creates a child that cannot run yet: its priority is below its "
         "parent's on the same CPU or, where the call takes no priority (clone, fork), equal and "
         "behind it; the result gives the priority. 50 are created and then destroyed, untimed. On "
         "POSIX: thread is pthread_create with explicit priority; clone shares everything except "
         "the thread group. By definition vfork and spawn let the parent continue only when the "
         "child has ended or executed its program: for them the sample is the time until then, "
         "including two switches, and every child has run. The program that spawn executes is the "
         "agent's file, which ends at once."),
     .params = create_param,
     .needs = RTS_CAP_CHILDREN,
     .traits = RTS_RESTS | RTS_ONE_CPU,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = RTS_RUN(RTS_CAP_CHILDREN, run_create)},
    {.id = "proc.kill",
     .title = RTS_SAY("Terminate a thread or process that has not run"),
     .source = RTS_SAY("Sjöblom, process primitives"),
     .help =
         RTS_SAY("A child created as for proc.create, but always one level below its parent, is "
                 "terminated: `call` ends when the terminating call returns, `complete` when the "
                 "child is gone and has been waited for. The child has to run to end itself, so "
                 "`complete` includes two switches. On POSIX: a thread gets pthread_cancel, which "
                 "with glibc only marks a thread that has not run, and pthread_join, and ends at "
                 "its first cancellation point; the others get SIGKILL and waitpid. The child of "
                 "vfork has ended when its parent continues: there is nothing to terminate."),
     .params = kill_param,
     .needs = RTS_CAP_CHILDREN,
     .traits = RTS_RESTS | RTS_OWN_SERIES | RTS_ONE_CPU,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .series = two_series,
     .run = RTS_RUN(RTS_CAP_CHILDREN, run_kill)},
};

RTS_BENCHES(benches);
