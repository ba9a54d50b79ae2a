/*
 * One case: its tasks run below the agent's, which is the watchdog, and what is left of them is
 * removed afterwards.
 */
#include <string.h>

#include "template.h"
#include "text.h"

/* The watchdog preempts what it watches, so it looks seldom. */
#define LOOK_TICKS (2 * RTS_TIME_HZ)

void *rts_port_shared(size_t size)
{
    void *memory = os_alloc(size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void rts_port_unshare(void *memory, size_t size)
{
    (void)size;
    os_free(memory);
}

typedef struct measured {
    rts_job *job;
    void (*run)(rts_job *job);
} measured;

static void measuring_task(void *arg)
{
    const measured *m = arg;
    m->run(m->job);
}

/* True once the measuring task has ended; false: there is no progress any more. */
static bool await(rts_job *job, rts_task *task)
{
    uint64_t beat = rts_job_heartbeat(job);
    rts_tick since = rts_time();
    while (!os_sem_take(&task->ended, LOOK_TICKS)) {
        uint64_t now = rts_job_heartbeat(job);
        rts_tick patience =
            rts_ns_to_ticks(job->patience_ns, RTS_TIME_HZ); /* a bench may change it */
        job->stop_asked = job->stop_asked || template_stop_asked();
        if (now != beat) {
            beat = now;
            since = rts_time();
        } else if (rts_time() - since > patience) {
            return false;
        }
    }
    return true;
}

int rts_port_isolate(rts_job *job, void (*run)(rts_job *job), char *why, size_t size)
{
    measured m = {job, run};
    rts_task task, *others = template_newest_task();
    rts_task_attr attr = {.run = measuring_task,
                          .arg = &m,
                          .prio = job->prio,
                          .policy = RTS_FIFO,
                          .stack = TEMPLATE_STACK_MEASURING};
    job->evidence.prio = job->prio;
    job->evidence.sched = "fifo";
    job->evidence.locked = true; /* there is no other memory */
    job->error = rts_task_create(&task, &attr);
    if (job->error)
        return 0;
    bool ended = await(job, &task);
    template_kill_tasks(others);
    if (ended)
        return 0;
    rts_print(why, size, "it made no progress for %u s", (unsigned)(job->patience_ns / 1000000000));
    return -1;
}

static rts_tick section;

/* PORT: and what else your system counts: switches, CPU time; what it does not stays unknown. */
void rts_port_section_start(rts_job *job)
{
    (void)job;
    section = rts_time();
}

void rts_port_section_end(rts_job *job)
{
    double length = (double)(rts_time() - section);
    job->evidence.section_ns = (int64_t)(length * 1e9 / (double)RTS_TIME_HZ);
}
