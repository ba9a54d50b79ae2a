/*
 * Runs one case: its tasks have lower priority than the agent's, which is the watchdog, and what
 * the case has created is removed afterwards. Tasks share memory, so a case with a wild pointer can
 * corrupt the agent.
 */
#include "clock.h"
#include "host.h"
#include "rtos.h"
#include "text.h"

static rts_tick section; /* when it started; 0: it has not */

/* Waits for the measuring task to end; returns false if it makes no progress any more. */
static bool await(rts_job *job, rts_task *task)
{
    uint64_t beat = rts_job_heartbeat(job);
    rts_tick since = rts_time();
    for (;;) { /* a bench may change its patience */
        uint64_t look_ns =
            job->patience_ns / 2 < RTOS_LOOK_NS ? job->patience_ns / 2 : RTOS_LOOK_NS;
        if (rtos_await(task, (uint32_t)(look_ns / 1000000)))
            return true;
        uint64_t now = rts_job_heartbeat(job);
        if (rts_host_stops())
            job->stop_requested = true;
        if (now != beat) {
            beat = now;
            since = rts_time();
        } else if (rts_time() - since > rts_ns_to_ticks(job->patience_ns, RTS_TIME_HZ)) {
            return false;
        }
    }
}

int rts_port_isolate(rts_job *job, char *why, size_t size)
{
    rts_task task, *previous = rtos_newest_task();
    rts_task_attr attr = {.run = rts_job_run,
                          .arg = job,
                          .prio = job->prio,
                          .policy = RTS_FIFO,
                          .stack = RTOS_MEASURING_STACK};
    job->evidence.prio = job->prio;
    job->evidence.sched = "fifo";
    job->evidence.locked = true; /* there is no virtual memory */
    section = 0;
    rtos_case_starts();
    job->error = rts_task_create(&task, &attr);
    if (job->error)
        return 0;
    bool ended = await(job, &task);
    rtos_kill_tasks(previous);
    rtos_case_ends(job);
    if (ended)
        return 0;
    rts_print(why, size, "it made no progress for %u s", (unsigned)(job->patience_ns / 1000000000));
    return -1;
}

void rts_port_section_start(rts_job *job)
{
    (void)job;
    section = rts_time();
}

void rts_port_section_end(rts_job *job)
{
    rts_tick length = rts_time() - section;
    int64_t *sum = &job->evidence.section_ns;
    if (section)
        *sum = (*sum < 0 ? 0 : *sum) + (int64_t)((double)length * 1e9 / (double)RTS_TIME_HZ);
    section = 0;
}

/* ---- optional parts of a port ---------------------------------------------------------------- */

#define DEFAULT __attribute__((weak))

DEFAULT void rtos_case_starts(void)
{
}

DEFAULT void rtos_case_ends(rts_job *job)
{
    (void)job;
}
