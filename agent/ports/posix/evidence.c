/* What happened in the system around the timed section. */
#include <sys/resource.h>

#include "posix.h"

typedef struct snapshot {
    int64_t time_ns, cpu_ns;
    long minflt, majflt, nvcsw, nivcsw;
    posix_events events;
} snapshot;

/* For the only case that this process runs. */
static struct {
    snapshot start;
    int started; /* the first of several measuring tasks starts it */
} around;

static void take_counts(snapshot *s)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    s->minflt = usage.ru_minflt;
    s->majflt = usage.ru_majflt;
    s->nvcsw = usage.ru_nvcsw;
    s->nivcsw = usage.ru_nivcsw;
    s->cpu_ns = posix_tasks_cpu_ns();
    s->time_ns = (int64_t)posix_clock_ns(CLOCK_MONOTONIC);
}

void rts_port_section_start(rts_job *job)
{
    if (__atomic_exchange_n(&around.started, 1, __ATOMIC_ACQ_REL))
        return;
    /* Read outside the counts, as reading may take time and page faults. */
    around.start.events = posix_evidence_read(job);
    take_counts(&around.start);
}

/* Adds what a count of `long` has grown by, which may have begun anew: at 2^32 on 32 bits. */
static void add_count(int64_t *sum, long end, long start)
{
    *sum = (*sum < 0 ? 0 : *sum) + (int64_t)((unsigned long)end - (unsigned long)start);
}

/* Adds what happened in a section; -1: unknown, so that the sum is, too. */
static void add(int64_t *sum, int64_t end, int64_t start)
{
    if (end < 0 || start < 0)
        *sum = -1;
    else
        *sum = (*sum < 0 ? 0 : *sum) + end - start;
}

void rts_port_section_end(rts_job *job)
{
    rts_evidence *e = &job->evidence;
    const snapshot *a = &around.start;
    snapshot b;
    if (!__atomic_exchange_n(&around.started, 0, __ATOMIC_ACQ_REL))
        return;
    take_counts(&b);
    b.events = posix_evidence_read(job);
    add(&e->section_ns, b.time_ns, a->time_ns);
    add(&e->cpu_ns, b.cpu_ns, a->cpu_ns);
    add_count(&e->minflt, b.minflt, a->minflt);
    add_count(&e->majflt, b.majflt, a->majflt);
    add_count(&e->nvcsw, b.nvcsw, a->nvcsw);
    add_count(&e->nivcsw, b.nivcsw, a->nivcsw);
    add(&e->migrations, b.events.migrations, a->events.migrations);
    add(&e->steal_ns, b.events.steal_ns, a->events.steal_ns);
    add(&e->quota_periods, b.events.quota_periods, a->events.quota_periods);
    add(&e->smi, b.events.smi, a->events.smi);
    int64_t least = b.events.suspended_least_ns, most = a->events.suspended_most_ns;
    add(&e->suspended_ns, least < 0 || least > most ? least : most, most); /* for certain */
}
