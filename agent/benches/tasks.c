/*
 * tasks.set: a set of tasks that `rtstone tasks run` describes. Each task is a thread that sleeps
 * until its next release, works for as long as its job takes, and wakes those that follow it.
 *
 * The measuring task is the controller: it has the highest priority and sleeps while the set runs.
 * What a job is (its arrival, its jitter, its work) depends on the seed alone, so that the host
 * knows it without being told; what is measured of it are its start, its end, and its waits.
 *
 * The set is a text, items separated by '/'. A resource: +i, +n, +s, +pLEVEL (a mutex that
 * inherits, one without a protocol, a semaphore, a mutex with a ceiling). A task: LABEL:, then
 * letters with numbers (enum key); times in ns. Indexes count the tasks and the resources from 0.
 */
#include <string.h>

#include "bench.h"
#include "load.h"
#include "random.h"
#include "whetstone.h"

#ifndef RTS_SMALL_CODE /* there it has no room, and the text of a set neither */

#define SECOND_NS INT64_C(1000000000)
#define TASKS 32
#define RESOURCES 16
#define USES 8
#define LABEL_BYTES 10
#define LEAD_NS (SECOND_NS / 20) /* from the making of the tasks to their common start */
#define GRACE_NS SECOND_NS       /* after the duration, and once more that, unfinished jobs end */
#define PIECE_NS (SECOND_NS / 1000) /* of work, after which a task looks whether it is to end */
#define MESSAGES 8                  /* room in a queue that wakes a task */
#define MISSES 16                   /* of each task, around which the sections are reported */
#define ROW_BYTES 128

/* Without a text: a resource, a chain of two tasks, and one that arrives at random. */
#define FIVE_TASKS                                                                                 \
    "+i/control:P1000000d800000w60000x200000l1k0a50000b70000/"                                     \
    "act:W2d2000000w300000l2/sense:P5000000d5000000w500000l3k0a0b100000/"                          \
    "plan:P10000000d10000000w1000000l4/log:S20000000d20000000w1000000l5k0a200000b400000"

typedef struct set_params {
    int64_t seed;
    char taskset[RTS_PARAM_BYTES - 24];
} set_params;

enum { NOBODY = -1 };
enum { BY_FIFO, BY_RR, BY_DEADLINE, BY_OTHER };

/* A critical section, after so much work of a job and until so much, in ns. */
typedef struct use {
    unsigned resource;
    uint64_t after, until;
} use;

/* When a job asked for a resource, had it, and gave it back: ns since the start. */
typedef struct section {
    uint64_t requested, taken, released;
    bool reported;
} section;

/* What the host has written of a task. */
typedef struct task_spec {
    char label[LABEL_BYTES];
    char arrival; /* its letter: P, S, R, W or Q */
    uint64_t period, offset, jitter, deadline, least, most, passes, runtime;
    int waker; /* index of the task whose jobs wake this one's */
    int level; /* below the controller */
    int policy, cpu;
    unsigned uses;
    use use[USES];
} task_spec;

/* A job around which the sections are reported. */
typedef struct span {
    uint64_t from, to;
} span;

typedef struct set_task set_task;
typedef struct task_set task_set;

struct set_task {
    task_set *x;
    task_spec spec;
    rts_rec *start, *response, *blocked;
    rts_sem *gate, *wake;
    rts_queue queue;
    bool queued;         /* by a queue, which exists */
    uint64_t jobs;       /* that arrive within the duration */
    volatile uint64_t n; /* that have ended */
    volatile bool ended; /* there will be no more */
    uint64_t *ends;      /* of each job, if it wakes others: their arrivals */
    section *section;    /* spec.uses for each job, if the host wants them */
    span missed[MISSES], longest;
    unsigned misses;
    uint64_t longest_ns;
    int error;
    bool wrong; /* the Whetstone's result was wrong */
};

typedef struct resource {
    char kind; /* i, n, p, s */
    int level;
    rts_mutex mutex;
    rts_sem *sem;
    bool exists;
} resource;

struct task_set {
    rts_case *c;
    const set_params *p;
    uint64_t adds_hz; /* integer additions per second of a task on its own */
    rts_ns start, duration;
    volatile bool over; /* jobs that have not begun are lost */
    unsigned n, resources;
    resource resource[RESOURCES];
    set_task task[TASKS];
};

/* ---- the text of a set ----------------------------------------------------------------------- */

static const char *text_of(const rts_case *c)
{
    const set_params *p = rts_params(c);
    return p->taskset[0] ? p->taskset : FIVE_TASKS;
}

static int bad_text(task_set *x, const char *at)
{
    return rts_failed(x->c, "the set cannot be read from '%.20s' on", at);
}

static int parse_resource(task_set *x, const char **s)
{
    int64_t level = 0;
    resource *r = &x->resource[x->resources];
    if (x->resources == RESOURCES)
        return rts_unsupported(x->c, "there is room for %d resources", RESOURCES);
    r->kind = *(*s)++;
    if (!r->kind || !strchr("inps", r->kind) || (r->kind == 'p' && !rts_number(s, &level)))
        return bad_text(x, *s);
    r->level = (int)level;
    x->resources++;
    return 0;
}

/* Sets what a letter with a number says of a task; returns false if it says nothing. */
static bool set_key(task_spec *t, char key, int64_t value)
{
    uint64_t number = (uint64_t)value;
    use *u = t->uses ? &t->use[t->uses - 1] : NULL;
    switch (key) {
    case 'P': /* periodic, sporadic or random, by so many ns */
    case 'S':
    case 'R':
        t->arrival = key;
        t->period = number;
        return number > 0;
    case 'W': /* woken by the task of that index, by a semaphore or a queue */
    case 'Q':
        t->arrival = key;
        t->waker = (int)value;
        return value < TASKS;
    case 'o':
        t->offset = number;
        return true;
    case 'j':
        t->jitter = number;
        return true;
    case 'd': /* deadline after the arrival */
        t->deadline = number;
        return true;
    case 'w': /* work, at least; and x: at most */
        t->least = t->most = number;
        return true;
    case 'x':
        t->most = number;
        return number >= t->least;
    case 'K': /* instead: passes of the Whetstone */
        t->passes = number;
        return true;
    case 'l': /* levels below the controller; none: time sharing */
        t->level = (int)value;
        return value < 1000;
    case 't':
        t->policy = (int)value;
        return value <= BY_OTHER;
    case 'r': /* runtime of policy deadline */
        t->runtime = number;
        return true;
    case 'c':
        t->cpu = (int)value;
        return value < RTS_CPUS;
    case 'k': /* uses this resource; a: after so much work, b: until so much */
        if (t->uses == USES)
            return false;
        t->use[t->uses++] = (use){.resource = (unsigned)value};
        return value < RESOURCES;
    case 'a':
        return u && (u->after = number, true);
    case 'b':
        return u && (u->until = number) > u->after;
    default:
        return false;
    }
}

static int parse_task(task_set *x, const char **s)
{
    if (x->n == TASKS)
        return rts_unsupported(x->c, "there is room for %d tasks", TASKS);
    set_task *t = &x->task[x->n++];
    size_t length = strcspn(*s, ":/");
    if (!length || length >= LABEL_BYTES || (*s)[length] != ':')
        return bad_text(x, *s);
    t->x = x;
    t->spec.waker = t->spec.cpu = NOBODY;
    memcpy(t->spec.label, *s, length);
    for (*s += length + 1; **s && **s != '/';) {
        const char *begin = *s;
        char key = *(*s)++;
        int64_t value;
        if (!rts_number(s, &value) || value < 0 || !set_key(&t->spec, key, value))
            return bad_text(x, begin);
    }
    return t->spec.arrival ? 0 : bad_text(x, *s);
}

/* Tasks come after those that wake them, or before; resources are all those that tasks use. */
static int check_indexes(task_set *x)
{
    for (unsigned i = 0; i < x->n; i++) {
        const task_spec *t = &x->task[i].spec;
        unsigned steps = 0;
        for (int k = (int)i; k != NOBODY && steps <= x->n; k = x->task[k].spec.waker, steps++)
            if (k >= (int)x->n)
                return rts_failed(x->c, "a task is woken by task %d, which is not there", k);
        if (steps > x->n)
            return rts_failed(x->c, "tasks wake each other in a circle");
        for (unsigned u = 0; u < t->uses; u++)
            if (t->use[u].resource >= x->resources)
                return rts_failed(x->c, "a task uses resource %u, which is not there",
                                  t->use[u].resource);
    }
    return x->n ? 0 : rts_failed(x->c, "there is no task in the set");
}

static int parse_set(task_set *x)
{
    for (const char *s = text_of(x->c); *s; s += *s == '/') {
        int err = *s == '+' ? (s++, parse_resource(x, &s)) : parse_task(x, &s);
        if (err)
            return err;
        if (*s && *s != '/')
            return bad_text(x, s);
    }
    return check_indexes(x);
}

/* Three series of each task at most: there is a ':' in its text, and in no other. */
static unsigned series_of(const rts_case *c)
{
    unsigned n = 0;
    for (const char *s = text_of(c); (s = strchr(s, ':')); s++)
        n += 3;
    return n ? n : 1;
}

/* ---- jobs: the same on every system ---------------------------------------------------------- */

enum { ARRIVALS, JITTERS, WORKS, STREAMS };

/* What is next of a task: when its jobs arrive, how late each is released, how long it works. */
typedef struct job_stream {
    const task_spec *t;
    uint64_t state[STREAMS];
    uint64_t arrival, number;
} job_stream;

/* Returns a state for a stream of random numbers, by SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t seeded(uint64_t seed, uint64_t stream)
{
    uint64_t z = seed * 1000003 + stream + UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint64_t exponential(job_stream *s)
{
    return rts_draw_exponential(&s->state[ARRIVALS], rts_ns_of(s->t->period)).ns;
}

static void begin_stream(job_stream *s, const set_task *t)
{
    *s = (job_stream){.t = &t->spec, .arrival = t->spec.offset};
    for (unsigned k = 0; k < STREAMS; k++)
        s->state[k] = seeded((uint64_t)t->x->p->seed, STREAMS * (uint64_t)(t - t->x->task) + k);
    if (t->spec.arrival == 'R')
        s->arrival = exponential(s);
}

/* Goes on to the next arrival: of a sporadic task a period later, and as much again on average. */
static void next_arrival(job_stream *s)
{
    s->number++;
    switch (s->t->arrival) {
    case 'P':
        s->arrival += s->t->period;
        break;
    case 'S':
        s->arrival += s->t->period + exponential(s);
        break;
    case 'R':
        s->arrival += exponential(s);
        break;
    default: /* who wakes it decides */
        break;
    }
}

/* Returns a number from `least` to `most`. */
static uint64_t draw_between(uint64_t *state, uint64_t least, uint64_t most)
{
    return least == most ? least
                         : least + rts_scale(most - least + 1, rts_draw(state), UINT64_C(1) << 32);
}

static uint64_t count_jobs(const set_task *t)
{
    job_stream s;
    while (t->spec.waker != NOBODY)
        t = &t->x->task[t->spec.waker];
    for (begin_stream(&s, t); s.arrival < t->x->duration.ns;)
        next_arrival(&s);
    return s.number;
}

/* ---- work ------------------------------------------------------------------------------------ */

/* Works from so much of a job's work to so much, in ns. */
static void work_between(set_task *t, uint64_t from, uint64_t to)
{
    uint64_t hz = t->x->adds_hz;
    while (from < to && !t->x->over) {
        uint64_t until = to - from > PIECE_NS ? from + PIECE_NS : to;
        rts_additions(rts_ns_to_ticks(until, hz) - rts_ns_to_ticks(from, hz));
        from = until;
    }
}

static void work_whetstone(set_task *t)
{
    enum { AT_A_TIME = 64 };
    for (uint64_t left = t->spec.passes; left && !t->x->over;) {
        uint64_t n = left < AT_A_TIME ? left : AT_A_TIME;
        t->wrong = t->wrong || !rts_whetstone(n);
        left -= n;
    }
}

/* Returns the fastest additions per second of a millisecond's: nothing interrupts all of them. */
static uint64_t additions_hz(rts_case *c)
{
    enum { IN_VAIN = 20, AT_MOST = 400 }; /* pieces, since the fastest one, and altogether */
    uint64_t adds = 1000, best = 0;
    for (unsigned i = 0, since = 0; i < AT_MOST && since < IN_VAIN; i++) {
        rts_tick a = rts_now();
        rts_additions(adds);
        rts_tick took = rts_now() - a;
        took = took > rts_the_clock.overhead ? took - rts_the_clock.overhead : 0;
        if (took < rts_ns_to_ticks(PIECE_NS, rts_the_clock.hz)) { /* too short to be compared */
            if (adds > UINT64_C(1) << 40 || c->job.stop_requested)
                return 0;
            adds *= 2;
            i = 0;
            continue;
        }
        uint64_t hz = rts_scale(adds, rts_the_clock.hz, took);
        since = hz > best ? 0 : since + 1;
        best = hz > best ? hz : best;
    }
    return best;
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* The time since the start of the set; all tasks have waited for it. */
static uint64_t since_start(const task_set *x)
{
    return rts_ns_late(rts_time_ns(), x->start).ns;
}

static void lock(resource *r)
{
    if (r->kind == 's')
        rts_sem_take(r->sem);
    else
        rts_mutex_lock(&r->mutex);
}

static void unlock(resource *r)
{
    if (r->kind == 's')
        rts_sem_give(r->sem);
    else
        rts_mutex_unlock(&r->mutex);
}

/* The next section of a job to begin or to end. */
typedef struct step {
    int use; /* NOBODY: none */
    bool ends;
    uint64_t at;
} step;

/*
 * Returns what comes next of a job with so much work: at one time, sections end before others
 * begin, and the longest begins first. A section that does not begin before the job ends is left
 * out.
 */
static step next_step(const task_spec *t, uint64_t work, unsigned held, unsigned past)
{
    step next = {NOBODY, false, work};
    for (unsigned i = 0; i < t->uses; i++) {
        const use *u = &t->use[i];
        bool ends = held >> i & 1;
        uint64_t at = ends ? (u->until < work ? u->until : work) : u->after;
        if (past >> i & 1 || (!ends && at >= work))
            continue;
        bool sooner = next.use == NOBODY || at < next.at;
        bool same = !sooner && at == next.at;
        if (sooner || (same && ends && !next.ends) ||
            (same && ends && next.ends && u->after > t->use[next.use].after) ||
            (same && !ends && !next.ends && u->until > t->use[next.use].until))
            next = (step){(int)i, ends, at};
    }
    return next;
}

/* Works for one job, with its critical sections; returns how long it waited for resources. */
static uint64_t do_work(set_task *t, uint64_t work, section *sections)
{
    task_set *x = t->x;
    uint64_t done = 0, blocked = 0;
    unsigned held = 0, past = 0;
    if (t->spec.passes) {
        work_whetstone(t);
        return 0;
    }
    for (step next; (next = next_step(&t->spec, work, held, past)).use != NOBODY;) {
        unsigned bit = 1u << next.use;
        resource *r = &x->resource[t->spec.use[next.use].resource];
        section *s = sections ? &sections[next.use] : NULL;
        work_between(t, done, next.at);
        done = next.at;
        if (next.ends) {
            if (s) /* before others run because of it */
                s->released = since_start(x);
            unlock(r);
            held &= ~bit;
            past |= bit;
            continue;
        }
        uint64_t requested = since_start(x);
        lock(r);
        uint64_t taken = since_start(x);
        blocked += taken - requested;
        held |= bit;
        if (s)
            *s = (section){.requested = requested, .taken = taken};
    }
    work_between(t, done, work);
    return blocked;
}

static void remember(set_task *t, uint64_t arrival, uint64_t end)
{
    const span s = {arrival, end};
    uint64_t response = end - arrival;
    if (response > t->longest_ns) {
        t->longest_ns = response;
        t->longest = s;
    }
    if (t->spec.deadline && response > t->spec.deadline && t->misses < MISSES)
        t->missed[t->misses++] = s;
}

static void wake(set_task *t, uint64_t stamp)
{
    if (t->queued)
        rts_queue_send(&t->queue, &stamp);
    else
        rts_sem_give(t->wake);
}

/* Wakes those that follow a task: once for each of its jobs, and once for its end. */
static void wake_next(const set_task *t, uint64_t stamp)
{
    for (unsigned i = 0; i < t->x->n; i++)
        if (t->x->task[i].spec.waker == t - t->x->task)
            wake(&t->x->task[i], stamp);
}

/* Does the job that comes next; what it records of it belongs to no job any more. */
static void do_job(set_task *t, job_stream *s, uint64_t arrival)
{
    uint64_t j = t->n, work = draw_between(&s->state[WORKS], t->spec.least, t->spec.most);
    uint64_t start = since_start(t->x);
    uint64_t blocked = do_work(t, work, t->section ? &t->section[j * t->spec.uses] : NULL);
    uint64_t end = since_start(t->x);
    if (t->x->over) /* what it did not do of its work */
        return;
    if (t->ends)
        t->ends[j] = end;
    t->n = j + 1;
    wake_next(t, end);
    uint64_t now = t->x->start.ns + end;
    rts_rec_add(t->start, start - arrival, now);
    rts_rec_add(t->response, end - arrival, now);
    if (t->blocked)
        rts_rec_add(t->blocked, blocked, now);
    remember(t, arrival, end);
}

/* A late job delays the next one, which keeps its arrival. */
static void run_by_time(set_task *t)
{
    job_stream s;
    for (begin_stream(&s, t); s.arrival < t->x->duration.ns && !t->x->over; next_arrival(&s)) {
        uint64_t jitter = draw_between(&s.state[JITTERS], 0, t->spec.jitter);
        rts_sleep_until_ns(rts_ns_add(t->x->start, rts_ns_of(s.arrival + jitter)));
        do_job(t, &s, s.arrival);
    }
}

static void run_when_woken(set_task *t)
{
    const set_task *waker = &t->x->task[t->spec.waker];
    job_stream s;
    begin_stream(&s, t);
    for (uint64_t j = 0;; j++) {
        uint64_t stamp;
        if (t->queued)
            rts_queue_receive(&t->queue, &stamp);
        else
            rts_sem_take(t->wake);
        if (waker->ended && j == waker->n)
            return;
        if (!t->x->over)
            do_job(t, &s, waker->ends[j]);
    }
}

static int enter_policy(const set_task *t)
{
    const task_spec *s = &t->spec;
    if (s->policy == BY_DEADLINE)
        return rts_task_set_own_deadline(s->runtime, s->period);
    static const rts_policy policies[] = {
        [BY_FIFO] = RTS_FIFO, [BY_RR] = RTS_RR, [BY_OTHER] = RTS_OTHER};
    return rts_task_set_own_prio((int)t->x->c->common.prio - s->level, policies[s->policy]);
}

static void task_main(void *arg)
{
    set_task *t = arg;
    rts_sem_take(t->gate);
    if (t->x->c->stop)
        return;
    t->error = enter_policy(t);
    if (!t->error && t->spec.waker == NOBODY)
        run_by_time(t);
    else if (!t->error)
        run_when_woken(t);
    rts_task_set_own_prio((int)t->x->c->common.prio, RTS_FIFO);
    t->ended = true;
    wake_next(t, 0);
}

/* ---- a set ----------------------------------------------------------------------------------- */

static int check_policy(const task_set *x, const task_spec *t)
{
    rts_case *c = x->c;
    if (t->policy == BY_RR && !(rts_caps() & RTS_CAP_ROUND_ROBIN))
        return rts_unsupported(c, "policy rr of task %s: %s", t->label,
                               rts_port_why_not(RTS_CAP_ROUND_ROBIN));
    if (t->policy != BY_DEADLINE)
        return 0;
    if (!(rts_caps() & RTS_CAP_DEADLINE))
        return rts_unsupported(c, "policy deadline of task %s: %s", t->label,
                               rts_port_why_not(RTS_CAP_DEADLINE));
    const char *why = rts_port_allow_deadlines(c->job.cpu);
    return why ? rts_unsupported(c, "policy deadline of task %s: %s", t->label, why) : 0;
}

static int check_cpu(const task_set *x, const task_spec *t)
{
    rts_case *c = x->c;
    if (t->cpu == NOBODY || rts_cpuset_has(&c->common.cpus, (unsigned)t->cpu))
        return 0;
    return rts_unsupported(c, "task %s is bound to CPU %d, which is not among those measured",
                           t->label, t->cpu);
}

/* Priorities are below the controller's, and above all of a load. */
static int check_level(const task_set *x, const task_spec *t)
{
    rts_case *c = x->c;
    int prio = (int)c->common.prio - t->level, top = rts_load_top_prio(&c->common.cpus);
    if (t->policy == BY_DEADLINE || t->policy == BY_OTHER)
        return 0;
    if (prio < RTS_PRIO_MIN)
        return rts_unsupported(c, "task %s needs a priority %d levels below %d, and there is none",
                               t->label, t->level, (int)c->common.prio);
    if (prio <= top)
        return rts_unsupported(c, "task %s has priority %d here, and the load has %d on its CPU",
                               t->label, prio, top);
    return 0;
}

static int check_set(task_set *x)
{
    for (unsigned i = 0; i < x->n; i++) {
        const task_spec *t = &x->task[i].spec;
        if (check_policy(x, t) || check_cpu(x, t) || check_level(x, t))
            return -1;
    }
    return 0;
}

static int open_resource(task_set *x, resource *r)
{
    static const rts_protocol protocols[] = {
        ['i'] = RTS_LOCK_INHERIT, ['n'] = RTS_LOCK_NONE, ['p'] = RTS_LOCK_PROTECT};
    rts_case *c = x->c;
    if (r->kind == 's') {
        r->sem = rts_sem_make(c, RTS_SEM_UNNAMED, 1);
        return r->sem ? 0 : -1;
    }
    if (r->kind == 'p' && !(rts_caps() & RTS_CAP_LOCK_PROTECT))
        return rts_unsupported(c, "protocol protect of a resource: %s",
                               rts_port_why_not(RTS_CAP_LOCK_PROTECT));
    int err = rts_mutex_create(&r->mutex, protocols[(unsigned char)r->kind],
                               (int)c->common.prio - r->level);
    r->exists = !err;
    return err ? rts_port_failed(c, "cannot create a mutex", err) : 0;
}

/* Opens the series of a task; they have no limit of time, as late jobs belong to them. */
static rts_rec *open_series(set_task *t, const char *kind)
{
    char name[16];
    rts_print(name, sizeof name, "%s.%s", t->spec.label, kind);
    rts_rec *r = rts_series(t->x->c, name, RTS_NS_PER_S, 0, false, NULL);
    if (r) {
        r->setup.time = 0;
        r->on_section = NULL; /* it is that of all tasks */
    }
    return r;
}

static bool wakes_others(const set_task *t)
{
    for (unsigned i = 0; i < t->x->n; i++)
        if (t->x->task[i].spec.waker == t - t->x->task)
            return true;
    return false;
}

/* Allocates what a task records of its jobs, and what it waits for. */
static int open_task(set_task *t)
{
    task_set *x = t->x;
    rts_case *c = x->c;
    t->jobs = count_jobs(t);
    if (c->common.samples && t->jobs > (uint64_t)c->common.samples)
        return rts_unsupported(c,
                               "task %s has %llu jobs in this time, and samples are limited to "
                               "%lld: measure for a shorter time, or give more",
                               t->spec.label, (unsigned long long)t->jobs,
                               (long long)c->common.samples);
    t->start = open_series(t, "start");
    t->response = open_series(t, "resp");
    t->blocked = t->spec.uses ? open_series(t, "wait") : NULL;
    if (!t->start || !t->response || (t->spec.uses && !t->blocked))
        return -1;
    bool all = c->common.raw && t->spec.uses;
    if (wakes_others(t))
        t->ends = rts_alloc(c, (size_t)t->jobs * sizeof *t->ends + 1);
    if (all)
        t->section = rts_alloc(c, (size_t)t->jobs * t->spec.uses * sizeof *t->section + 1);
    if ((wakes_others(t) && !t->ends) || (all && !t->section))
        return rts_unsupported(c,
                               "no memory for the %llu jobs of task %s: measure for a shorter "
                               "time",
                               (unsigned long long)t->jobs, t->spec.label);
    t->gate = rts_sem_make(c, RTS_SEM_UNNAMED, 0);
    if (!t->gate)
        return -1;
    if (t->spec.arrival == 'W')
        return (t->wake = rts_sem_make(c, RTS_SEM_UNNAMED, 0)) ? 0 : -1;
    if (t->spec.arrival == 'Q') {
        int err = rts_queue_create(&t->queue, MESSAGES, sizeof(uint64_t), c->slot++);
        t->queued = !err;
        return err ? rts_port_failed(c, "cannot create a queue", err) : 0;
    }
    return 0;
}

static int start_task(set_task *t)
{
    rts_case *c = t->x->c;
    return t->spec.cpu == NOBODY ? rts_task_start(c, task_main, t, 0, RTS_FIFO, false)
                                 : rts_task_start_on(c, task_main, t, t->spec.cpu);
}

static int open_set(task_set *x)
{
    for (unsigned i = 0; i < x->resources; i++)
        if (open_resource(x, &x->resource[i]))
            return -1;
    for (unsigned i = 0; i < x->n; i++)
        if (open_task(&x->task[i]))
            return -1;
    for (unsigned i = 0; i < x->n; i++)
        if (start_task(&x->task[i]))
            return -1;
    return 0;
}

static bool all_ended(const task_set *x)
{
    for (unsigned i = 0; i < x->n; i++)
        if (!x->task[i].ended)
            return false;
    return true;
}

/* The series of a task end as the time does for which the set was to run. */
static void end_series(set_task *t, rts_ns end)
{
    rts_rec *series[] = {t->start, t->response, t->blocked};
    for (unsigned i = 0; i < 3; i++)
        if (series[i]) {
            series[i]->deadline = end.ns;
            rts_rec_look(series[i], end.ns);
        }
}

/* Sleeps while the set runs, and ends it if that takes more than twice its duration. */
static void run_tasks(task_set *x)
{
    rts_case *c = x->c;
    x->start = rts_release_at_ns(rts_ns_add(rts_time_ns(), rts_ns_of(LEAD_NS)));
    for (unsigned i = 0; i < x->n; i++) {
        rts_rec_start(x->task[i].start, x->start.ns);
        rts_rec_start(x->task[i].response, x->start.ns);
        if (x->task[i].blocked)
            rts_rec_start(x->task[i].blocked, x->start.ns);
    }
    for (unsigned i = 0; i < x->n; i++)
        rts_sem_give(x->task[i].gate);
    rts_port_section_start(&c->job);
    rts_ns end = rts_ns_add(x->start, x->duration);
    rts_ns limit = rts_ns_add(rts_ns_add(end, x->duration), rts_ns_of(GRACE_NS));
    rts_sleep_until_ns(end);
    while (!all_ended(x) && rts_ns_less(rts_time_ns(), limit))
        rts_sleep_until_ns(rts_ns_add(rts_time_ns(), rts_ns_of(GRACE_NS / 100)));
    x->over = true;
    while (!all_ended(x)) /* each at the end of its piece of work, or at its release */
        rts_sleep_until_ns(rts_ns_add(rts_time_ns(), rts_ns_of(GRACE_NS / 100)));
    rts_port_section_end(&c->job);
    for (unsigned i = 0; i < x->n; i++)
        end_series(&x->task[i], end);
}

static int check_tasks(const task_set *x)
{
    for (unsigned i = 0; i < x->n; i++) {
        const set_task *t = &x->task[i];
        if (t->error && t->spec.policy == BY_DEADLINE)
            return rts_unsupported(x->c, "policy deadline of task %s: %s", t->spec.label,
                                   rts_port_why_no_deadline(t->error));
        if (t->error)
            return rts_port_failed(x->c, "cannot set the priority of a task", t->error);
        if (t->wrong)
            return rts_failed(x->c, "the Whetstone's result was wrong");
    }
    return 0;
}

/* ---- what is reported ------------------------------------------------------------------------ */

static bool overlaps(const section *s, const span *at)
{
    return at->to && s->requested < at->to && s->released > at->from;
}

/* Returns whether a section was in use while a job ran that missed, or was a task's longest. */
static bool is_wanted(const task_set *x, const section *s)
{
    for (unsigned i = 0; i < x->n; i++) {
        const set_task *t = &x->task[i];
        if (overlaps(s, &t->longest))
            return true;
        for (unsigned k = 0; k < t->misses; k++)
            if (overlaps(s, &t->missed[k]))
                return true;
    }
    return false;
}

/* Reports the sections around such jobs, as far as there is room; and how many had none. */
static void tell_sections(task_set *x)
{
    rts_case *c = x->c;
    uint64_t room = RTS_TABLE_BYTES / ROW_BYTES, left = 0;
    rts_table(c, "sections", "task\tjob\tuse\trequested ns\ttaken ns\treleased ns");
    for (unsigned i = 0; i < x->n; i++) {
        const set_task *t = &x->task[i];
        for (uint64_t k = 0; t->section && k < t->n * t->spec.uses; k++) {
            const section *s = &t->section[k];
            if (!s->released || !is_wanted(x, s))
                continue;
            if (!room) {
                left++;
                continue;
            }
            room--;
            rts_row(c, "%u\t%llu\t%u\t%llu\t%llu\t%llu", i, (unsigned long long)(k / t->spec.uses),
                    (unsigned)(k % t->spec.uses), (unsigned long long)s->requested,
                    (unsigned long long)s->taken, (unsigned long long)s->released);
        }
    }
    rts_count_add(c, "sections left out", (int64_t)left, "");
}

static void tell_tasks(task_set *x)
{
    rts_case *c = x->c;
    rts_table(c, "tasks", "task\tjobs\tended\tlost");
    for (unsigned i = 0; i < x->n; i++) {
        const set_task *t = &x->task[i];
        rts_row(c, "%s\t%llu\t%llu\t%llu", t->spec.label, (unsigned long long)t->jobs,
                (unsigned long long)t->n, (unsigned long long)(t->jobs - t->n));
    }
    rts_count_add(c, "additions per second", (int64_t)x->adds_hz, "");
    rts_count_add(c, "quantum", (int64_t)rts_port_slice_ns(RTS_RR), "ns");
}

static void close_set(task_set *x)
{
    for (unsigned i = 0; i < x->resources; i++)
        if (x->resource[i].exists)
            rts_mutex_destroy(&x->resource[i].mutex);
    for (unsigned i = 0; i < x->n; i++)
        if (x->task[i].queued)
            rts_queue_destroy(&x->task[i].queue);
}

static int run_opened(task_set *x)
{
    if (open_set(x))
        return -1;
    run_tasks(x);
    if (check_tasks(x))
        return -1;
    tell_tasks(x);
    tell_sections(x);
    return 0;
}

static int run_set(rts_case *c)
{
    task_set *x = rts_alloc(c, sizeof *x);
    if (!x)
        return rts_unsupported(c, "no memory for the tasks");
    x->c = c;
    x->p = rts_params(c);
    x->duration = rts_ns_of((uint64_t)c->common.time_ns);
    if (!x->duration.ns)
        return rts_unsupported(c, "a set does not run without an end: give a time above 0");
    c->job.patience_ns = 3 * x->duration.ns + 30 * (uint64_t)SECOND_NS;
    if (parse_set(x) || check_set(x))
        return -1;
    rts_progress(c, 0, "measuring the speed");
    x->adds_hz = additions_hz(c);
    if (!x->adds_hz)
        return rts_unsupported(c, "work takes no time here: the clock stands still meanwhile");
    rts_progress(c, 0, "%u tasks run for %.1f s", x->n, (double)x->duration.ns / 1e9);
    int err = run_opened(x);
    close_set(x);
    return err;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_param set_param[] = {
    RTS_INT(set_params, seed, NULL, 1, 0, INT64_C(1000000000000),
            "random numbers of arrivals, jitters and work begin from it"),
    RTS_TEXT(set_params, taskset,
             "the tasks, as `rtstone tasks run FILE` writes them; none: five tasks with a "
             "resource and a chain"),
    RTS_PARAMS_END};

static const rts_bench benches[] = {
    {.id = "tasks.set",
     .title = RTS_SAY("Set of tasks"),
     .source = RTS_SAY("procedure of rtstone"),
     .help = RTS_SAY(
         "Tasks with priorities, critical sections and wake-ups run for `time`; work is additions "
         "at the speed measured before. Series NAME.start: from a job's arrival to its first "
         "statement; NAME.resp: to its end; NAME.wait: its waits for resources. A job that is "
         "late delays the next one, which keeps its arrival. Jobs that have not ended after twice "
         "the time and a second are lost, which the table of tasks says."),
     .params = set_param,
     .needs = RTS_CAP_PRIORITIES,
     .traits = RTS_OWN_SERIES,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .samples = 1000000,
     .series = series_of,
     .run = run_set},
};

RTS_BENCHES(benches);

#endif
