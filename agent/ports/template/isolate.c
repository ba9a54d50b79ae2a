/*
 * One case: its tasks run below the agent's, which is the watchdog, and what is left of them is
 * removed afterwards.
 */
#include <string.h>

#include "agent.h"
#include "template.h"

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

typedef struct job {
    rts_case *c;
    void (*run)(rts_case *c);
} job;

static void measuring_task(void *arg)
{
    const job *j = arg;
    j->run(j->c);
}

/* True once the measuring task has ended; false: there is no progress any more. */
static bool await(rts_case *c, rts_task *task)
{
    uint64_t beat = rts_agent_heartbeat(c);
    rts_tick since = rts_time();
    while (!os_sem_take(&task->ended, LOOK_TICKS)) {
        uint64_t now = rts_agent_heartbeat(c);
        rts_tick patience =
            rts_ns_to_ticks(c->patience_ns, RTS_TIME_HZ); /* a bench may change it */
        c->stop_asked = c->stop_asked || template_stop_asked();
        if (now != beat) {
            beat = now;
            since = rts_time();
        } else if (rts_time() - since > patience) {
            return false;
        }
    }
    return true;
}

int rts_port_isolate(rts_case *c, void (*run)(rts_case *c), char *why, size_t size)
{
    job j = {c, run};
    rts_task task, *others = template_newest_task();
    rts_task_attr attr = {.run = measuring_task,
                          .arg = &j,
                          .prio = (int)c->common.prio,
                          .policy = RTS_FIFO,
                          .stack = TEMPLATE_STACK_MEASURING};
    c->evidence.prio = c->common.prio;
    c->evidence.sched = "fifo";
    c->evidence.locked = true; /* there is no other memory */
    if (rts_task_create(&task, &attr)) {
        rts_print(why, size, "no memory for its task");
        return -1;
    }
    bool ended = await(c, &task);
    template_kill_tasks(others);
    if (ended)
        return 0;
    rts_print(why, size, "it made no progress for %u s", (unsigned)(c->patience_ns / 1000000000));
    return -1;
}

static rts_tick section;

/* PORT: and what else your system counts: switches, CPU time; what it does not stays unknown. */
void rts_port_section_start(rts_case *c)
{
    (void)c;
    section = rts_time();
}

void rts_port_section_end(rts_case *c)
{
    double length = (double)(rts_time() - section);
    c->evidence.section_ns = (int64_t)(length * 1e9 / (double)RTS_TIME_HZ);
}
