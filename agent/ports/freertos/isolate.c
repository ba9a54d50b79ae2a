/*
 * One case: its tasks run below the agent's, which is the watchdog, and what it has made is removed
 * afterwards.  Tasks share memory: a case that writes where it should not can spoil the agent.
 */
#include <string.h>

#include "clock.h"
#include "freertos.h"
#include "port.h"
#include "text.h"
#include "wire.h"

#define LOOK_NS                                                                                    \
    UINT64_C(5000000000) /* the watchdog wakes up so seldom: it preempts what it watches */

/* ---- memory of a case ----------------------------------------------------------------------- */

typedef struct block { /* in front of what was asked for, and as well aligned */
    struct block *next, *previous;
} block;

static block *blocks;

void *freertos_alloc(size_t size)
{
    block *b = pvPortMalloc(sizeof *b + size);
    if (!b)
        return NULL;
    vTaskSuspendAll();
    b->previous = NULL;
    b->next = blocks;
    if (blocks)
        blocks->previous = b;
    blocks = b;
    xTaskResumeAll();
    return b + 1;
}

void freertos_release(void *memory)
{
    if (!memory)
        return;
    block *b = (block *)memory - 1;
    vTaskSuspendAll();
    if (b->previous)
        b->previous->next = b->next;
    else
        blocks = b->next;
    if (b->next)
        b->next->previous = b->previous;
    xTaskResumeAll();
    vPortFree(b);
}

/* Releases what was allocated after `mark`, NULL: everything. */
static void release_since(const block *mark)
{
    while (blocks && blocks != mark)
        freertos_release(blocks + 1);
}

void *rts_port_shared(size_t size)
{
    void *memory = pvPortMalloc(size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void rts_port_unshare(void *memory, size_t size)
{
    (void)size;
    vPortFree(memory);
}

/* ---- the watchdog --------------------------------------------------------------------------- */

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
    for (;;) {
        uint64_t look_ns = job->patience_ns / 2 < LOOK_NS ? job->patience_ns / 2 : LOOK_NS;
        if (freertos_await(task, (uint32_t)(look_ns / 1000000)))
            return true;
        uint64_t now = rts_job_heartbeat(job);
        if (now != beat) {
            beat = now;
            since = rts_time();
        } else if (rts_time() - since > rts_ns_to_ticks(job->patience_ns, RTS_TIME_HZ)) {
            return false;
        }
    }
}

int rts_port_isolate(rts_job *job, void (*run)(rts_job *job), char *why, size_t size)
{
    measured m = {job, run};
    rts_task task, *others = freertos_newest_task();
    const block *mark = blocks;
    rts_task_attr attr = {.run = measuring_task,
                          .arg = &m,
                          .prio = job->prio,
                          .policy = RTS_FIFO,
                          .stack = FREERTOS_MEASURING_STACK};
    job->evidence.prio = job->prio;
    job->evidence.sched = "fifo";
    job->evidence.locked = true; /* there is no other memory */
    freertos_stack_used();
    size_t before = xPortGetFreeHeapSize();
#if RTS_FREERTOS_HEAP_TELLS
    xPortResetHeapMinimumEverFreeHeapSize();
#endif
    job->error = rts_task_create(&task, &attr);
    if (job->error)
        return 0;
    bool ended = await(job, &task);
    freertos_silence();
    freertos_kill_tasks(others);
    release_since(mark);
    job->evidence.stack_bytes = (int64_t)freertos_stack_used();
#if RTS_FREERTOS_HEAP_TELLS
    job->evidence.heap_bytes = (int64_t)(configTOTAL_HEAP_SIZE - xPortGetMinimumEverFreeHeapSize());
#endif
    if (xPortGetFreeHeapSize() < before)
        rts_log("warn", "case %llu has left %u bytes of the heap behind",
                (unsigned long long)job->id, (unsigned)(before - xPortGetFreeHeapSize()));
    if (ended)
        return 0;
    rts_print(why, size, "it made no progress for %u s", (unsigned)(job->patience_ns / 1000000000));
    return -1;
}

static rts_tick section;

void rts_port_section_start(rts_job *job)
{
    (void)job;
    section = rts_time();
}

void rts_port_section_end(rts_job *job)
{
    rts_tick length = rts_time() - section;
    job->evidence.section_ns = (int64_t)((double)length * 1e9 / (double)RTS_TIME_HZ);
}
