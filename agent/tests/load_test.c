/* Loads of tasks on the real port: their invariants while running, and pausing. */
#include <string.h>

#include "check.h"
#include "load.h"

#define MS (RTS_TIME_HZ / 1000)

static rts_running refused;

static rts_running *start(const char *line)
{
    char words[80];
    snprintf(words, sizeof words, "%s", line);
    rts_running *l = rts_load_start(words, &refused);
    if (!l)
        fprintf(stderr, "%s: %s\n", line, refused.reason);
    CHECK(l != NULL);
    return l;
}

static bool may_realtime(void)
{
    return (rts_port_caps() & RTS_CAP_PRIORITIES) != 0;
}

static uint64_t all_done(const rts_running *l)
{
    uint64_t done = 0;
    for (unsigned i = 0; i < l->n_workers; i++)
        done += l->worker[i].done;
    return done;
}

static void test_a_pause_is_silence_until_it_is_over(void)
{
    rts_running *l = start("bg50 tasks=5");
    rts_port_load_pause(true);
    uint64_t done = all_done(l);
    CHECK(done > 0);
    rts_sleep_until(rts_time() + 100 * MS);
    CHECK_EQ(all_done(l), done);
    rts_port_load_pause(false);
    for (int i = 0; i < 500 && all_done(l) == done; i++)
        rts_sleep_until(rts_time() + 10 * MS);
    CHECK(all_done(l) > done);
    rts_load_stop();
}

static void test_min_is_silent_while_the_measuring_task_rests(void)
{
    if (!may_realtime())
        return;
    rts_running *l = start("min");
    CHECK(l->worker[0].prio == RTS_PRIO_MIN);
    rts_tick end = rts_time() + 400 * MS;
    rts_load_silent_until(rts_ns_of(end));
    rts_sleep_until(end - 300 * MS); /* it may have to notice it first */
    uint64_t done = l->worker[0].done;
    rts_sleep_until(end - 100 * MS);
    uint64_t later = l->worker[0].done;
    bool in_time = rts_time() < end;
    CHECK(!in_time || later - done <= 1); /* a busy system may hold it up within a turn */
    for (int i = 0; i < 500 && l->worker[0].done == later; i++)
        rts_sleep_until(rts_time() + 10 * MS);
    CHECK(l->worker[0].done > later);
    rts_load_stop();
}

/*
 * Checks a ring that is stopped: what each task has received (its first tokens and its
 * predecessor's hops) less what it has passed on is what it holds. Tokens that were lost,
 * duplicated or sent to another task than the successor would make that negative somewhere, or
 * different from the semaphores.
 */
static void check_ring(const rts_running *l, const int64_t *first, int64_t tokens)
{
    unsigned n = l->n_workers;
    rts_sem *sem = l->state;
    int64_t held = 0, waiting = 0;
    for (unsigned i = 0; i < n; i++) {
        int64_t sent = first[i] + (int64_t)l->worker[(i + n - 1) % n].done;
        int64_t holds = sent - (int64_t)l->worker[i].done;
        int value = 0;
        CHECK(holds >= 0 && holds <= tokens);
        CHECK(sem_getvalue(sem[i].s, &value) == 0);
        CHECK(value >= 0 && value <= holds);
        held += holds;
        waiting += value;
        CHECK(l->worker[i].done > 0);
    }
    CHECK_EQ(held, tokens);
    CHECK(waiting <= tokens);
}

static void test_the_ring_keeps_its_tokens_and_its_order(void)
{
    enum { TASKS = 7, TOKENS = 3 };
    int64_t first[TASKS];
    if (!may_realtime())
        return;
    rts_running *l = start("rt200 tasks=7 tokens=3");
    for (int64_t i = 0; i < TASKS; i++)
        first[i] = (i + 1) * TOKENS / TASKS - i * TOKENS / TASKS;
    CHECK_EQ(l->n_workers, TASKS);
    for (int i = 0; i < 20; i++) {
        rts_port_load_pause(true);
        check_ring(l, first, TOKENS);
        rts_port_load_pause(false);
        rts_sleep_until(rts_time() + 10 * MS);
    }
    rts_load_stop();
}

static void test_the_ring_lies_below_the_measuring_task(void)
{
    rts_cpuset cpus;
    if (!may_realtime())
        return;
    rts_running *l = start("rt200");
    CHECK_EQ(l->n_workers, 200);
    CHECK_EQ(rts_load_top_prio(&l->cpus), RTS_PRIO_MAX - RTS_LEVELS - 1);
    bool level[RTS_PRIO_MAX + 1] = {false};
    for (unsigned i = 0; i < l->n_workers; i++) {
        CHECK(l->worker[i].prio >= RTS_PRIO_MIN && l->worker[i].prio < RTS_PRIO_MAX - RTS_LEVELS);
        level[l->worker[i].prio] = true;
    }
    for (int prio = RTS_PRIO_MIN; prio < RTS_PRIO_MAX - RTS_LEVELS; prio++)
        CHECK(level[prio]); /* spread over all levels */
    memset(&cpus, 0, sizeof cpus);
    CHECK_EQ(rts_load_top_prio(&cpus), 0);
    rts_load_stop();
}

TESTS(test_a_pause_is_silence_until_it_is_over, test_min_is_silent_while_the_measuring_task_rests,
      test_the_ring_keeps_its_tokens_and_its_order, test_the_ring_lies_below_the_measuring_task)
