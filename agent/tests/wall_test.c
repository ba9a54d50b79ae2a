/* A wall clock that is set, and timers that follow it: neither samples nor waits are of the jump.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "posix.h"

#define PERIOD 1000000
#define HOUR (3600 * (int64_t)RTS_TIME_HZ)

static volatile int64_t ahead; /* by how much the wall clock was set */

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __real_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *was);
int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *was);
/* NOLINTEND(misc-use-internal-linkage) */

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int err = __real_clock_gettime(clock, now);
    if (clock == CLOCK_REALTIME)
        *now = posix_timespec(posix_ns(*now) + (rts_tick)ahead);
    return err;
}

int __wrap_timer_settime(timer_t timer, int flags, const struct itimerspec *when,
                         struct itimerspec *was)
{
    struct itimerspec by_kernel = *when;
    by_kernel.it_value = posix_timespec(posix_ns(when->it_value) - (rts_tick)ahead);
    return __real_timer_settime(timer, flags, &by_kernel, was);
}

static void test_a_step_is_seen_once_and_by_how_much(void)
{
    const int64_t steps[] = {1000, -1000, HOUR, -HOUR};
    posix_wall wall;
    ahead = 0;
    CHECK_EQ(posix_wall_open(&wall, SIGRTMIN), 0);
    CHECK(!posix_wall_was_set(&wall));
    for (unsigned i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        for (unsigned k = 0; k < 100;
             k++) /* until the distance is known to the least that can be */
            CHECK(!posix_wall_was_set(&wall));
        ahead += steps[i];
        CHECK(posix_wall_was_set(&wall));
        CHECK(llabs(wall.by - steps[i]) < 1000000); /* more only if preempted between two clocks */
        CHECK((wall.by > 0) == (steps[i] > 0));
        CHECK(!posix_wall_was_set(&wall));
    }
    posix_wall_close(&wall);
}

/* What the kernel does with a timer whose clock is set: the caller's only knows the real one. */
typedef struct setting {
    pthread_t task;
    int64_t by;
} setting;

static void *set_clock(void *arg)
{
    const setting *s = arg;
    nanosleep(&(struct timespec){.tv_nsec = 20 * PERIOD}, NULL);
    ahead += s->by;
    pthread_kill(s->task, SIGRTMIN);
    return NULL;
}

static void check_timer(int kind, int64_t by)
{
    setting s = {pthread_self(), by};
    pthread_t setter;
    rts_timer t;
    rts_expiry e;
    uint64_t next = 0;
    unsigned set = 0, after = 0;
    ahead = 0;
    CHECK_EQ(rts_timer_start(&t, kind, PERIOD), 0);
    pthread_create(&setter, NULL, set_clock, &s);
    for (int i = 0; i < 10000 && after < 5; i++) {
        rts_tick begin = rts_time();
        rts_timer_wait(&t, &e);
        CHECK(rts_time() - begin < HOUR / 60);
        CHECK(t.wall.time - begin < HOUR / 60);
        set += e.set;
        if (e.set)
            continue;
        CHECK(set ? e.k >= next : e.k == next);
        CHECK(e.stamp - (t.first + e.k * PERIOD) < HOUR / 60); /* not early, nor late by the jump */
        next = e.k + 1 + e.overruns;
        after += set;
    }
    rts_timer_stop(&t);
    pthread_join(setter, NULL);
    CHECK_EQ(set, 1);
    CHECK_EQ(after, 5);
}

static void test_a_timer_goes_on_when_its_clock_is_set(void)
{
    for (int kind = 0; kind < 2; kind++) {
        check_timer(kind, HOUR);
        check_timer(kind, -HOUR);
        check_timer(kind, PERIOD / 4);
    }
}

TESTS(posix_set_signals, test_a_step_is_seen_once_and_by_how_much,
      test_a_timer_goes_on_when_its_clock_is_set)
