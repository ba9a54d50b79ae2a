/* What happened in the system around the timed section. */
#include <sys/resource.h>

#include "posix.h"

typedef struct snapshot {
    int64_t time_ns, cpu_ns, minflt, majflt, nvcsw, nivcsw;
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
    s->cpu_ns = (int64_t)posix_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
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

static int64_t since(int64_t end, int64_t start)
{
    return end < 0 || start < 0 ? -1 : end - start;
}

void rts_port_section_end(rts_job *job)
{
    rts_evidence *e = &job->evidence;
    const snapshot *a = &around.start;
    snapshot b;
    if (!around.started)
        return;
    take_counts(&b);
    b.events = posix_evidence_read(job);
    e->section_ns = b.time_ns - a->time_ns;
    e->cpu_ns = b.cpu_ns - a->cpu_ns;
    e->minflt = b.minflt - a->minflt;
    e->majflt = b.majflt - a->majflt;
    e->nvcsw = b.nvcsw - a->nvcsw;
    e->nivcsw = b.nivcsw - a->nivcsw;
    e->migrations = since(b.events.migrations, a->events.migrations);
    e->steal_ns = since(b.events.steal_ns, a->events.steal_ns);
    e->smi = since(b.events.smi, a->events.smi);
}
