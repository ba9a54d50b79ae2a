/* posix.metrics: which groups of POSIX.1 metrics are measured, and by which benches (Gutsalov). */
#include <string.h>

#include "bench.h"

/* The metric groups of ISO/IEC 9945-1:1996, named as in the source. */
static const char *const groups[] = {
    "signal exchange",
    "synchronous I/O",
    "asynchronous I/O",
    "semaphores",
    "mutexes and condition variables",
    "access to locked memory",
    "shared memory",
    "scheduling",
    "clocks and timers",
    "message passing",
    "thread management",
    "thread cancellation",
};

/* Static, as the iteration over all benches passes no argument. */
static struct {
    const char *group;
    unsigned n;
    char *ids;
} members;

#define IDS_BYTES 2048

static void collect(const rts_bench *bench)
{
    size_t used = strlen(members.ids);
    if (!bench->metric || strcmp(bench->metric, members.group) != 0)
        return;
    members.n++;
    rts_print(members.ids + used, IDS_BYTES - used, "%s%s", used ? " " : "", bench->id);
}

static int run_metrics(rts_case *c)
{
    unsigned covered = 0;
    members.ids = rts_alloc(c, IDS_BYTES);
    if (!members.ids)
        return rts_unsupported(c, "no memory for the names");
    rts_table(c, "POSIX.1 metric groups", "group\tmeasured by");
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
        members.group = groups[i];
        members.n = 0;
        members.ids[0] = '\0';
        rts_registry_each(collect);
        covered += members.n > 0;
        rts_row(c, "%s\t%s", groups[i], members.n ? members.ids : "not covered");
    }
    rts_figure_add(c, "groups covered", covered, "groups");
    return 0;
}

static const rts_bench benches[] = {
    {.id = "posix.metrics",
     .title = RTS_SAY("Groups of POSIX metrics"),
     .source = RTS_SAY("Gutsalov, after ISO/IEC 9945-1:1996"),
     .help = RTS_SAY("The metric groups of the standard, each with the benches that measure it. "
                     "There are no samples."),
     .samples = 1,
     .traits = RTS_NO_SAMPLES,
     .run = run_metrics},
};

RTS_BENCHES(benches);
