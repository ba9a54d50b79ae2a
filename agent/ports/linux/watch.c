/* What the agent does while a case runs: looks when time was stolen, and collects snapshots. */
#include "linux.h"
#include "steal.h"

/*
 * The agent looks only where the hypervisor has taken some since the system's start, and not where
 * that would take a measured CPU.
 */
#define LOOK_MS 100

static int looks = -1; /* the agent's file /proc/stat while it looks, else -1 */

void posix_watch_begin(const rts_job *job)
{
    looks = job->evidence.shared ? -1 : open("/proc/stat", O_RDONLY | O_CLOEXEC);
    int64_t steal_ns = linux_steal_ns(looks, job->cpus);
    linux_steal_begin(rts_time_ns().ns, steal_ns);
    if (looks < 0 || steal_ns > 0)
        return;
    close(looks);
    looks = -1;
}

unsigned posix_watch_case(const rts_job *job)
{
    linux_watch_trace();
    if (looks < 0)
        return 0;
    linux_steal_look(rts_time_ns().ns, linux_steal_ns(looks, job->cpus));
    return LOOK_MS;
}

void posix_watch_end(rts_job *job)
{
    uint64_t near_ns, watched_ns;
    if (looks < 0)
        return;
    linux_steal_look(rts_time_ns().ns, linux_steal_ns(looks, job->cpus));
    close(looks);
    looks = -1;
    watched_ns = linux_steal_watched(&near_ns);
    job->evidence.steal_near_ns = (int64_t)near_ns;
    job->evidence.steal_watched_ns = (int64_t)watched_ns;
}

int64_t rts_port_steal_around(uint64_t from_ns, uint64_t to_ns, uint64_t *span_ns)
{
    return linux_steal_around(from_ns, to_ns, span_ns);
}
