/*
 * Rates and rests of loads, on the stub's exact clock: the workers are simulated here, and work
 * according to a plan.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent.h"
#include "check.h"
#include "load.h"

#define MS UINT64_C(1000000)

/* ---- simulated workers ------------------------------------------------------------------- */

static uint64_t per_s;        /* present rate of each worker */
static uint64_t missed;       /* periods missed by each worker */
static uint64_t plan_done[8]; /* work done by each worker... */
static rts_tick plan_since;   /* ...up to this time */
static bool dead[8];
static bool never_ready;
static unsigned stopped;

static rts_worker *planted;
static unsigned n_planted;

static void follow_plan(void)
{
    for (unsigned i = 0; i < n_planted; i++) {
        plan_done[i] += (stub_now - plan_since) * per_s / RTS_TIME_HZ;
        planted[i].done = plan_done[i];
        planted[i].missed = missed;
    }
    plan_since = stub_now;
}

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    (void)cpus;
    planted = worker;
    n_planted = n;
    memset(plan_done, 0, sizeof plan_done);
    plan_since = stub_now;
    for (unsigned i = 0; i < n; i++)
        worker[i].ready = !never_ready;
    return 0;
}

bool rts_port_load_alive(unsigned i)
{
    if (dead[i])
        rts_worker_failed(&planted[i], "worker %u is dead", i);
    return !dead[i];
}

int64_t rts_port_load_cpu_ns(unsigned i)
{
    follow_plan(); /* called before the work done is read */
    return (int64_t)(plan_done[i] * 10);
}

void rts_port_load_stop(void)
{
    stopped++;
}

void rts_port_load_pause(bool pause)
{
    (void)pause;
}

typedef struct planted_params {
    int64_t many;
} planted_params;

static const rts_param planted_param[] = {
    RTS_INT(planted_params, many, NULL, 3, 0, 7, "workers of the second component"),
    RTS_PARAMS_END,
};

static int level(const rts_worker *w)
{
    (void)w;
    return 2;
}

static void never(rts_worker *w)
{
    (void)w;
}

static const rts_load loads[] = {
    {.id = "planted",
     .params = planted_param,
     .place = RTS_PLACE_ANY,
     .component = RTS_PARTS({.name = "one", .unit = "things", .rate = 1000, .run = never},
                            {.name = "many",
                             .unit = "ms",
                             .per_unit = 100,
                             .workers = "many",
                             .prio = level,
                             .run = never})},
};

RTS_LOADS(loads);

/* ---- helpers ----------------------------------------------------------------------------- */

static rts_running refused;

static rts_running *start(const char *line)
{
    char words[80];
    snprintf(words, sizeof words, "%s", line);
    return rts_load_start(words, &refused);
}

/* Returns what a case that ends now reports about its load. */
static const char *answer(void)
{
    static char *text;
    static size_t size;
    FILE *out = stdout;
    free(text);
    stdout = open_memstream(&text, &size);
    rts_wire *w = rts_wire_begin("end");
    rts_load_case_ends();
    rts_load_put(w);
    rts_wire_end(w);
    fclose(stdout);
    stdout = out;
    return text;
}

/* Returns the number after the key, in the component with that name. */
static double number(const char *text, const char *component, const char *key)
{
    const char *from = strstr(text, component);
    const char *at = from ? strstr(from, key) : NULL;
    return at ? strtod(at + strlen(key) + 2, NULL) : -1;
}

static bool is_near(double value, double expected)
{
    bool near = value > expected - 2 && value < expected + 2;
    if (!near)
        fprintf(stderr, "%f is not near %f\n", value, expected);
    return near;
}

static const char *run_case(uint64_t ns)
{
    rts_load_case_starts();
    stub_advance_to(stub_now + ns);
    return answer();
}

/* ---- tests ------------------------------------------------------------------------------- */

static void test_the_lead_is_over_when_it_has_started(void)
{
    rts_tick before = stub_now;
    per_s = 1000;
    CHECK(start("planted") != NULL);
    CHECK(stub_now - before >= RTS_RAMP_UP_NS);
    CHECK_EQ(stopped, 0);
}

static void test_a_rate_is_of_the_case_and_of_a_second_at_least(void)
{
    const char *text = run_case(10 * MS); /* based on the ramp-up only */
    CHECK(number(text, "\"one\"", "window_s") >= 1);
    CHECK(is_near(number(text, "\"one\"", "achieved"), 1000));
    CHECK(strstr(text, "\"wanted\":1000.000") != NULL);
    CHECK(strstr(strstr(text, "\"wanted\"") + 1, "\"wanted\"") == NULL); /* of one component */

    stub_advance_to(stub_now + 100 * MS);
    rts_load_case_starts();
    plan_since = stub_now; /* during which no worker works: the plan changes here */
    per_s = 400;
    text = run_case(3000 * MS);
    CHECK(is_near(number(text, "\"one\"", "achieved"), 400));
    double window = number(text, "\"one\"", "window_s");
    CHECK(window >= 3 && window < 3.2);
    /* three workers, 100 counts per unit */
    CHECK(is_near(number(text, "\"many\"", "achieved"), 3 * 400 / 100.0));
    CHECK(is_near(number(text, "\"one\"", "cpu_ms") * 1e6, 400 * 10));
}

static void test_many_short_cases_each_have_a_window_of_a_second(void)
{
    for (int i = 0; i < 300; i++) {
        const char *text = run_case(10 * MS);
        double window = number(text, "\"one\"", "window_s");
        if (i > 200) {
            CHECK(window >= 1 && window < 1.1);
            CHECK(is_near(number(text, "\"one\"", "achieved"), 400));
        }
    }
}

static void test_a_load_that_missed_periods_recovers_before_the_next_case(void)
{
    rts_load_case_starts();
    per_s = 100;
    missed += 3;
    stub_advance_to(stub_now + 2000 * MS);
    const char *text = answer();
    CHECK(is_near(number(text, "\"one\"", "achieved"), 100));
    plan_since = stub_now;
    per_s = 1000;
    rts_tick before = stub_now;
    text = run_case(10 * MS);
    CHECK(stub_now - before >= 1000 * MS);
    CHECK(is_near(number(text, "\"one\"", "achieved"), 1000)); /* nothing of the previous case */
    before = stub_now;
    run_case(10 * MS);
    CHECK(stub_now - before < 20 * MS);
}

/* Returns whether the next case waits for the load after one with this much work in a second. */
static bool recovers_after(uint64_t done_per_s)
{
    plan_since = stub_now;
    per_s = done_per_s;
    run_case(3000 * MS);
    plan_since = stub_now;
    per_s = 1000;
    rts_tick before = stub_now;
    run_case(10 * MS);
    return stub_now - before >= 1000 * MS;
}

static void test_a_load_that_was_left_too_little_recovers_without_a_missed_period(void)
{
    CHECK(recovers_after(850));
    CHECK(!recovers_after(950));
    CHECK(recovers_after(0));
}

static void test_who_does_nothing_has_no_rate_and_who_is_dead_is_said_to_be(void)
{
    run_case(MS);
    plan_since = stub_now;
    per_s = 0;
    stub_advance_to(stub_now + 100 * MS);
    const char *text = run_case(1500 * MS);
    CHECK(number(text, "\"one\"", "achieved") == 0);
    CHECK(strstr(text, "\"alive\":false") == NULL);
    dead[2] = true; /* the second of three */
    text = run_case(MS);
    CHECK(strstr(text, "\"alive\":true") != NULL);
    CHECK(strstr(text, "\"alive\":true,\"why\"") == NULL);
    CHECK(strstr(text, "\"alive\":false,\"why\":\"worker 2 is dead\"") != NULL);
    dead[2] = false;
}

static void test_a_start_fails_with_its_reason(void)
{
    CHECK(start("planted many=8") == NULL);
    CHECK_STR(refused.reason, "parameter many: '8' is above the maximum");
    CHECK_EQ(stopped, 1); /* the previous load had to end */
    CHECK(strstr(answer(), "\"load\"") == NULL);
    dead[3] = true;
    CHECK(start("planted") == NULL);
    CHECK_STR(refused.reason, "component many ended: worker 3 is dead");
    CHECK_EQ(stopped, 2);
    dead[3] = false;
    never_ready = true;
    CHECK(start("planted") == NULL);
    CHECK_STR(refused.reason, "component one is not ready after 60 s");
    never_ready = false;
    CHECK(start("planted place=others") == NULL); /* the stub has only one CPU, which is measured */
    CHECK_EQ(refused.status, RTS_S_UNSUPPORTED);
    CHECK(strstr(refused.reason, "place=any") != NULL);
    CHECK(start("") == NULL);
    CHECK(start("planted many") == NULL);
    CHECK_STR(refused.reason, "'many' is not of the form NAME=VALUE");
}

static void test_beside_all_cpus_is_on_them(void)
{
    rts_running *l = start("planted place=auto");
    CHECK(l != NULL);
    CHECK_EQ(l->common.place, RTS_PLACE_MEASURED); /* and reports it */
    CHECK_EQ(l->cpus.word[0], 1);
    l = start("planted place=auto away=1"); /* an isolated one is measured */
    CHECK(l != NULL);
    CHECK_EQ(l->common.place, RTS_PLACE_OTHERS);
    l = start("planted place=auto away=0-1"); /* all CPUs are measured, and one more */
    CHECK(l != NULL);
    CHECK_EQ(l->common.place, RTS_PLACE_MEASURED);
    CHECK_EQ(l->cpus.word[0], 3);
}

static void test_the_priority_counts_where_it_runs(void)
{
    rts_cpuset here = {{1}}, elsewhere = {{2}};
    CHECK(start("planted") != NULL);
    CHECK_EQ(rts_load_top_prio(&here), 2);
    CHECK_EQ(rts_load_top_prio(&elsewhere), 0);
    CHECK(start("planted many=0") != NULL); /* the other component is not real-time */
    CHECK_EQ(rts_load_top_prio(&here), 0);
}

/* The stub's throttling limit: a single task may run for 500 ms, and then has to rest for 50 ms. */
static void test_a_real_time_worker_rests(void)
{
    rts_running *l = start("planted");
    rts_worker *shared = &l->worker[0], *urgent = &l->worker[1];
    CHECK(rts_load_goes_on(urgent));
    rts_tick ran = 0, longest = 0, begin = stub_now, since = stub_now;
    for (int i = 0; i < 2000; i++) {
        stub_advance_to(stub_now + MS);
        ran += MS;
        rts_tick before = stub_now;
        CHECK(rts_load_goes_on(urgent));
        if (stub_now - before >= 50 * MS) {
            longest = before - since > longest ? before - since : longest;
            since = stub_now;
        }
        CHECK(stub_now - before < 51 * MS);
    }
    CHECK(longest >= 250 * MS && longest <= 252 * MS); /* half of what a single task may */
    CHECK(ran * 100 / (stub_now - begin) <= 84);
    rts_tick before = stub_now;
    for (int i = 0; i < 2000; i++)
        CHECK(rts_load_goes_on(shared));
    CHECK(stub_now - before < MS); /* time-sharing workers do not rest */
}

static void test_a_real_time_worker_is_silent_while_the_measuring_task_rests(void)
{
    rts_running *l = start("planted");
    rts_tick end = stub_now + 123 * MS;
    rts_load_silent_until(rts_ns_of(end));
    CHECK(rts_load_goes_on(&l->worker[0]));
    CHECK(stub_now < end);
    CHECK(rts_load_goes_on(&l->worker[1]));
    CHECK(stub_now >= end && stub_now < end + MS);
    l->stop = true;
    rts_load_silent_until(rts_ns_of(stub_now + 1000 * MS));
    end = stub_now + MS;
    CHECK(!rts_load_goes_on(&l->worker[1])); /* and no longer waits */
    CHECK(stub_now < end);
    rts_load_stop();
    rts_load_silent_until(rts_ns_of(stub_now + MS)); /* no load is running */
}

TESTS(test_the_lead_is_over_when_it_has_started,
      test_a_rate_is_of_the_case_and_of_a_second_at_least,
      test_many_short_cases_each_have_a_window_of_a_second,
      test_a_load_that_missed_periods_recovers_before_the_next_case,
      test_a_load_that_was_left_too_little_recovers_without_a_missed_period,
      test_who_does_nothing_has_no_rate_and_who_is_dead_is_said_to_be,
      test_a_start_fails_with_its_reason, test_beside_all_cpus_is_on_them,
      test_the_priority_counts_where_it_runs, test_a_real_time_worker_rests,
      test_a_real_time_worker_is_silent_while_the_measuring_task_rests)
