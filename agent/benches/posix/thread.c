/* posix.thread.*: creating and ending threads, and the short calls on them. */
#include "thread.h"

#define GROUP "thread management"

/* ---- creation and end ------------------------------------------------------------------------ */

/* State of the threads of a case, which run one after the other. */
typedef struct probe {
    volatile rts_tick stamp;
    volatile uint64_t ran;
} probe;

/* A thread whose first statement is also its last. */
static void *mark(void *arg)
{
    probe *p = arg;
    p->stamp = rts_now();
    p->ran++;
    return NULL;
}

/* The same, with nothing after the stamp: for the end of a thread. */
static void *mark_end(void *arg)
{
    probe *p = arg;
    p->ran++;
    p->stamp = rts_now();
    return NULL;
}

/* TA: the new thread has lower priority and does not run before it is joined. */
static int run_create(rts_case *c)
{
    pthread_attr_t attr;
    probe p = {0};
    uint64_t early = 0;
    int err = 0;
    if (thread_attributes(c, &attr, LEVEL_LOW))
        return -1;
    RTS_SAMPLES(c) {
        pthread_t thread;
        uint64_t ran = p.ran;
        rts_tick a = rts_now();
        err = pthread_create(&thread, &attr, mark, &p);
        rts_tick b = rts_now();
        if (err)
            break;
        early += p.ran != ran;
        pthread_join(thread, NULL);
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "thread ran within the interval", early, "samples");
    rts_count_add(c, "threads run", p.ran, "threads");
    return thread_end(c, &attr, err);
}

/* TB: the new thread has higher priority and runs at once. */
static int run_start(rts_case *c)
{
    pthread_attr_t attr;
    probe p = {0};
    uint64_t late = 0;
    int err = 0;
    if (rts_own_level(c, LEVEL_LOW, RTS_FIFO) || thread_attributes(c, &attr, LEVEL_HIGH))
        return -1;
    RTS_SAMPLES(c) {
        pthread_t thread;
        uint64_t ran = p.ran;
        rts_tick a = rts_now();
        err = pthread_create(&thread, &attr, mark, &p);
        if (err)
            break;
        late += p.ran == ran;
        pthread_join(thread, NULL);
        rts_rec_add(c->rec, p.stamp - a, p.stamp);
    }
    rts_count_add(c, "thread did not preempt", late, "samples");
    rts_count_add(c, "threads run", p.ran, "threads");
    return thread_end(c, &attr, err);
}

/* TA: the thread had higher priority, so it has ended when it is joined. */
static int run_join(rts_case *c)
{
    pthread_attr_t attr;
    probe p = {0};
    uint64_t alive = 0;
    int err = 0;
    if (rts_own_level(c, LEVEL_LOW, RTS_FIFO) || thread_attributes(c, &attr, LEVEL_HIGH))
        return -1;
    RTS_SAMPLES(c) {
        pthread_t thread;
        uint64_t ran = p.ran;
        err = pthread_create(&thread, &attr, mark, &p);
        if (err)
            break;
        alive += p.ran == ran;
        rts_tick a = rts_now();
        pthread_join(thread, NULL);
        rts_tick b = rts_now();
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "thread had not ended before", alive, "samples");
    rts_count_add(c, "threads run", p.ran, "threads");
    return thread_end(c, &attr, err);
}

/* TB: the measuring task waits in pthread_join() for a lower-priority thread to end. */
static int run_exit(rts_case *c)
{
    pthread_attr_t attr;
    probe p = {0};
    uint64_t early = 0;
    int err = 0;
    if (thread_attributes(c, &attr, LEVEL_LOW))
        return -1;
    RTS_SAMPLES(c) {
        pthread_t thread;
        uint64_t ran = p.ran;
        err = pthread_create(&thread, &attr, mark_end, &p);
        if (err)
            break;
        early += p.ran != ran;
        pthread_join(thread, NULL);
        rts_tick b = rts_now();
        rts_rec_add(c->rec, b - p.stamp, b);
    }
    rts_count_add(c, "thread ran before it was joined", early, "samples");
    rts_count_add(c, "threads run", p.ran, "threads");
    return thread_end(c, &attr, err);
}

/* ---- short calls ----------------------------------------------------------------------------- */

/* Called through these pointers, because the compiler assumes their results to be constant. */
static pthread_t (*volatile call_self)(void) = pthread_self;
static int (*volatile call_equal)(pthread_t, pthread_t) = pthread_equal;

static int run_self(rts_case *c)
{
    pthread_t self = pthread_self();
    uint64_t wrong = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, wrong += call_self() != self);
    }
    return wrong ? rts_failed(c, "pthread_self was somebody else") : 0;
}

static int run_equal(rts_case *c)
{
    pthread_t self = pthread_self();
    uint64_t wrong = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, wrong += !call_equal(self, self));
    }
    return wrong ? rts_failed(c, "a thread was not equal to itself") : 0;
}

static unsigned initialised;

static void initialise(void)
{
    initialised++;
}

static int run_once(rts_case *c)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_once(&once, initialise));
    }
    return initialised == 1 ? 0 : rts_failed(c, "pthread_once ran %u times", initialised);
}

static int run_get_specific(rts_case *c)
{
    pthread_key_t key;
    uint64_t wrong = 0;
    int err = pthread_key_create(&key, NULL);
    if (err)
        return rts_port_failed(c, "cannot create a key", -err);
    pthread_setspecific(key, &key);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, wrong += pthread_getspecific(key) != &key);
    }
    pthread_key_delete(key);
    return wrong ? rts_failed(c, "a thread's own value was not as it was set") : 0;
}

static int run_set_specific(rts_case *c)
{
    char values[2];
    pthread_key_t key;
    uint64_t i = 0, wrong = 0;
    int err = pthread_key_create(&key, NULL);
    if (err)
        return rts_port_failed(c, "cannot create a key", -err);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_setspecific(key, &values[i++ & 1]));
        wrong += pthread_getspecific(key) != &values[(i - 1) & 1];
    }
    pthread_key_delete(key);
    return wrong ? rts_failed(c, "a thread's own value was not as it was set") : 0;
}

static int run_set_sched(rts_case *c)
{
    pthread_t self = pthread_self();
    struct sched_param param[2] = {{.sched_priority = (int)c->common.prio - LEVEL_LOW},
                                   {.sched_priority = (int)c->common.prio}},
                       now;
    uint64_t i = 0, wrong = 0;
    int policy;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, pthread_setschedparam(self, SCHED_FIFO, &param[i++ & 1]));
        pthread_getschedparam(self, &policy, &now);
        wrong += policy != SCHED_FIFO || now.sched_priority != param[(i - 1) & 1].sched_priority;
    }
    return wrong ? rts_failed(c, "the priority was not as it was set") : 0;
}

static int run_get_sched(rts_case *c)
{
    pthread_t self = pthread_self();
    struct sched_param param;
    int policy, bad = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, bad |= pthread_getschedparam(self, &policy, &param));
    }
    return bad ? rts_failed(c, "the priority of a thread could not be had") : 0;
}

#define NEEDS_LEVELS (RTS_CAP_POSIX | RTS_CAP_PRIORITIES)
#define ONE_BY_ONE (RTS_RESTS | RTS_ONE_CPU)

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.thread.create", .metric = GROUP,
     .title = RTS_SAY("Create a thread, to the return of the call"),
     .help = RTS_SAY("Duration of pthread_create of a lower-priority thread, with a stack that is "
                     "new or reused from the thread before."),
     .needs = NEEDS_LEVELS, .traits = ONE_BY_ONE, .run = run_create},
    {METRIC_COMMON, .id = "posix.thread.start", .metric = GROUP,
     .title = RTS_SAY("Create a thread, to its first statement"),
     .help = RTS_SAY("From the time stamp before pthread_create to the first statement of the new "
                     "thread, which has a higher priority."),
     .needs = NEEDS_LEVELS, .traits = ONE_BY_ONE, .run = run_start},
    {METRIC_COMMON, .id = "posix.thread.join", .metric = GROUP,
     .title = RTS_SAY("Join a thread that has ended"),
     .help =
         RTS_SAY("Duration of pthread_join of a higher-priority thread that has already ended."),
     .needs = NEEDS_LEVELS, .traits = ONE_BY_ONE, .run = run_join},
    {METRIC_COMMON, .id = "posix.thread.exit", .metric = GROUP,
     .title = RTS_SAY("End a thread that another one waits for"),
     .help = RTS_SAY("From the last statement of a thread to the return of pthread_join in the "
                     "higher-priority task that waits for it."),
     .needs = NEEDS_LEVELS, .traits = ONE_BY_ONE, .run = run_exit},
    {METRIC_COMMON, .id = "posix.thread.self", .metric = GROUP,
     .title = RTS_SAY("Get the own thread id"),
     .help = RTS_SAY("Duration of pthread_self, called through a pointer."), .needs = RTS_CAP_POSIX,
     .traits = ALONE, .run = run_self},
    {METRIC_COMMON, .id = "posix.thread.equal", .metric = GROUP,
     .title = RTS_SAY("Compare two threads"),
     .help = RTS_SAY("Duration of pthread_equal, called through a pointer."),
     .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_equal},
    {METRIC_COMMON, .id = "posix.thread.once", .metric = GROUP,
     .title = RTS_SAY("Initialise once, when it has been done"),
     .help = RTS_SAY("Duration of pthread_once after the first call."), .needs = RTS_CAP_POSIX,
     .traits = ALONE, .run = run_once},
    {METRIC_COMMON, .id = "posix.thread.getspecific", .metric = GROUP,
     .title = RTS_SAY("Get a thread-specific value"),
     .help = RTS_SAY("Duration of pthread_getspecific."), .needs = RTS_CAP_POSIX, .traits = ALONE,
     .run = run_get_specific},
    {METRIC_COMMON, .id = "posix.thread.setspecific", .metric = GROUP,
     .title = RTS_SAY("Set a thread-specific value"),
     .help = RTS_SAY("Duration of pthread_setspecific."), .needs = RTS_CAP_POSIX, .traits = ALONE,
     .run = run_set_specific},
    {METRIC_COMMON, .id = "posix.thread.setschedparam", .metric = GROUP,
     .title = RTS_SAY("Set the own priority"),
     .help = RTS_SAY("Duration of pthread_setschedparam on the calling thread, alternately one "
                     "level down and up; no other task is ready."),
     .needs = NEEDS_LEVELS, .traits = ALONE, .run = run_set_sched},
    {METRIC_COMMON, .id = "posix.thread.getschedparam", .metric = GROUP,
     .title = RTS_SAY("Get the own priority"),
     .help = RTS_SAY("Duration of pthread_getschedparam on the calling thread."),
     .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_get_sched},
};

RTS_BENCHES(benches);
