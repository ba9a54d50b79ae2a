/* Commands from the host: parsing valid ones, and rejecting the others. */
#include <string.h>

#include "check.h"
#include "command.h"

static rts_case c;

static int parse(const char *line)
{
    static char words[512];
    memset(&c, 0, sizeof c);
    snprintf(words, sizeof words, "%s", line);
    return rts_command_parse(&c, words);
}

static void refused(const char *line, const char *reason)
{
    CHECK(parse(line) < 0);
    CHECK_STR(c.reason, reason);
}

static void test_defaults_come_from_the_table(void)
{
    CHECK_EQ(parse("7 sem.wait.busy"), 0);
    CHECK_EQ(c.job.id, 7);
    CHECK_EQ(c.common.samples, RTS_SAMPLES_DEFAULT);
    CHECK_EQ(c.common.warmup, 10);
    CHECK_EQ(c.common.prio, RTS_PRIO_MAX);
    CHECK_EQ(c.common.batch, 1); /* not a bench that batches */
    CHECK_EQ(rts_cpuset_count(&c.common.cpus), 0);
    CHECK_EQ(parse("7 sem.try.busy"), 0);
    CHECK_EQ(c.common.batch, 0); /* determined at run time */
}

static void test_values(void)
{
    CHECK_EQ(parse("1 dk.periodic period=250000 cpus=0-2,5 samples=10 time=5"), 0);
    CHECK_EQ(rts_cpuset_count(&c.common.cpus), 4);
    CHECK(rts_cpuset_has(&c.common.cpus, 5) && !rts_cpuset_has(&c.common.cpus, 3));
    CHECK_EQ(rts_cpuset_first(&c.common.cpus), 0);
    CHECK_EQ(c.common.time_ns, 5);
    CHECK_EQ(parse("1 sem.wait.busy type=named rank=equal waiters=129"), 0);
}

static void test_what_is_wrong_is_named(void)
{
    refused("", "a case needs a number and a bench");
    refused("x null", "a case needs a number and a bench");
    refused("1 nul", "this agent has no bench 'nul'");
    refused("1 null speed=9", "bench null has no parameter 'speed'");
    refused("1 null batch=2", "bench null has no parameter 'batch'");
    refused("1 null samples", "'samples' is not of the form NAME=VALUE");
    refused("1 null samples=1e6", "parameter samples: '1e6' is not a whole number");
    refused("1 null samples=99999999999999999999",
            "parameter samples: '99999999999999999999' is not a whole number");
    refused("1 null samples=-1", "parameter samples: '-1' is below the minimum");
    refused("1 null prio=100", "parameter prio: '100' is above the maximum");
    refused("1 null cpus=2-1", "parameter cpus: '2-1' is not a list of CPUs (0-2,4 or all)");
    refused("1 null cpus=1,", "parameter cpus: '1,' is not a list of CPUs (0-2,4 or all)");
    refused("1 null cpus=1024", "parameter cpus: '1024' is not a list of CPUs (0-2,4 or all)");
    refused("1 sem.wait.free type=name", "parameter type: 'name' is none of its choices");
    refused("1 null raw=1 samples=0", "raw=1 needs a number of samples, 10000000 at most");
}

static int count;
static void check_bench(const rts_bench *bench)
{
    count++;
    CHECK(bench->id && bench->title && bench->source && bench->help);
    CHECK(bench->run || bench->needs & ~rts_port_caps()); /* otherwise it cannot be called */
    CHECK(rts_registry_find(bench->id) == bench);         /* every id is unique */
    CHECK(bench->samples || bench->time_ns);
    char line[80];
    snprintf(line, sizeof line, "1 %s", bench->id);
    CHECK_EQ(parse(line), 0);
    bool slope = !bench->slope_over;
    CHECK(bench->slope_over || !bench->slope_of);
    for (const rts_param *p = bench->params; p && p->name; p++) {
        CHECK(p->offset + sizeof(int64_t) <= RTS_PARAM_BYTES);
        CHECK(p->help && p->help[0]);
        slope = slope || !strcmp(p->name, bench->slope_over);
        for (const rts_param *q = rts_common_params; q->name; q++)
            CHECK(strcmp(p->name, q->name) != 0);
    }
    CHECK(slope);
}

static void test_every_table_is_sound(void)
{
    rts_registry_each(check_bench);
    CHECK(count >= 25);
}

TESTS(test_defaults_come_from_the_table, test_values, test_what_is_wrong_is_named,
      test_every_table_is_sound)
