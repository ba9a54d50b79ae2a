/*
 * grow.*: what a service costs while there are n of one thing. A thing knows how it grows; a
 * service, how it is timed once. Each case is a process of its own, whose end takes down what it
 * made; what would outlive that has no name.
 */
#ifndef RTS_GROW_H
#define RTS_GROW_H

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "../grow_params.h"
#include "../posix/thread.h"

#define GROW_MAX 16384
#define GROW_PATIENCE_NS (120 * (uint64_t)SECOND_NS)
#define GROW_STACK 65536

/* Makes n of it; returns 0, or -1 after rts_failed() or rts_unsupported(). */
typedef int grow_thing(rts_case *c, int n);

/* Times one call and undoes it; returns false if it failed, with errno. */
typedef struct grow_span {
    rts_tick begin, end;
} grow_span;
typedef bool grow_service(int n, grow_span *span);

/* Times an expression. */
#define GROW_TIME(span, op) ((span)->begin = rts_now(), (op), (span)->end = rts_now())

/*
 * Lets the case have what the system would refuse by default, as far as it may: descriptors,
 * pending signals, locked memory. Growing memory is not locked: locking it would be a cost of its
 * own.
 */
static inline void grow_limits(rts_case *c)
{
    static const int each[] = {RLIMIT_NOFILE, RLIMIT_SIGPENDING, RLIMIT_NPROC, RLIMIT_MEMLOCK,
                               RLIMIT_MSGQUEUE};
    for (size_t i = 0; i < sizeof each / sizeof each[0]; i++) {
        struct rlimit limit, most = {GROW_MAX * 4, GROW_MAX * 4};
        if (each[i] == RLIMIT_MEMLOCK || each[i] == RLIMIT_MSGQUEUE)
            most = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
        if (getrlimit((__rlimit_resource_t)each[i], &limit) ||
            !setrlimit((__rlimit_resource_t)each[i], &most))
            continue;
        limit.rlim_cur = limit.rlim_max; /* without the right to raise it */
        setrlimit((__rlimit_resource_t)each[i], &limit);
    }
    munlockall();
    if (c->job.patience_ns < GROW_PATIENCE_NS)
        c->job.patience_ns = GROW_PATIENCE_NS;
}

/* Ends a case whose thing cannot grow to n, with errno. */
static inline int grow_refused(rts_case *c, const char *noun, int count)
{
    int error = errno;
    return rts_unsupported(c, "the system has room for %d %s: %s", count, noun,
                           rts_port_strerror(error));
}

/* Makes the thing, and times the service until all samples are taken. */
static inline int grow_run(rts_case *c, grow_thing *grow, grow_service *once)
{
    const int n = (int)((const grow_params *)rts_params(c))->n;
    grow_limits(c);
    if (grow(c, n))
        return -1;
    RTS_SAMPLES(c) {
        grow_span span = {0};
        errno = 0;
        if (!once(n, &span))
            return rts_failed(c, "the timed call failed: %s", rts_port_strerror(errno));
        rts_rec_add(c->rec, span.end - span.begin, span.end);
    }
    return 0;
}

/*
 * Starts n threads of the case's CPU that nobody joins: they end with the process. Real-time ones
 * are less urgent than the case. Returns 0 or -1.
 */
static inline int grow_threads(rts_case *c, int n, rts_policy policy, void *(*body)(void *))
{
    rts_task_attr task = {.prio = (int)c->common.prio - RTS_LEVELS + 1,
                          .policy = policy,
                          .cpu = c->job.cpu,
                          .stack = GROW_STACK};
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    int err = -posix_set_attributes(&attr, &task);
    int i = 0;
    while (!err && i < n && !(err = pthread_create(&thread, &attr, body, NULL)))
        i++;
    pthread_attr_destroy(&attr);
    errno = err;
    return err ? grow_refused(c, "threads", i) : 0;
}

/*
 * Waits until all that were started sleep, where each counts itself before it does. A pause of
 * fixed length was too short for a thousand.
 */
static inline void grow_settle(const atomic_int *count, int n)
{
    while (atomic_load(count) < n)
        rts_sleep_until(rts_time() + RTS_TIME_HZ / 1000);
    rts_sleep_until(rts_time() + RTS_TIME_HZ / 50 + (rts_tick)n * (RTS_TIME_HZ / 50000));
}

#define GROW_COMMON                                                                                \
    .source = RTS_SAY("procedure of rtstone"), .needs = RTS_CAP_POSIX | RTS_CAP_PRIORITIES,        \
    .traits = RTS_RESTS, .slope_over = "n", .samples = 15, .warmup = 5,                            \
    .time_ns = RTS_LIMIT(60 * SECOND_NS)

/* Defines the procedure of a bench: the service, and its things in the order of its choices. */
#define GROW_RUN(name, service, ...)                                                               \
    static int name(rts_case *c)                                                                   \
    {                                                                                              \
        static grow_thing *const things[] = {__VA_ARGS__};                                         \
        return grow_run(c, things[((const grow_params *)rts_params(c))->over], service);           \
    }

#endif
