/*
 * One case: its tasks run below the agent's, which is the watchdog, and what it has made is removed
 * afterwards.  Tasks share memory: a case that writes where it should not can spoil the agent.
 */
#include "text.h"
#include <string.h>

#include "agent.h"
#include "freertos.h"

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
    for (;;) {
        uint64_t look_ns = c->patience_ns / 2 < LOOK_NS ? c->patience_ns / 2 : LOOK_NS;
        if (freertos_await(task, (uint32_t)(look_ns / 1000000)))
            return true;
        uint64_t now = rts_agent_heartbeat(c);
        if (now != beat) {
            beat = now;
            since = rts_time();
        } else if (rts_time() - since > rts_ns_to_ticks(c->patience_ns, RTS_TIME_HZ)) {
            return false;
        }
    }
}

int rts_port_isolate(rts_case *c, void (*run)(rts_case *c), char *why, size_t size)
{
    job j = {c, run};
    rts_task task, *others = freertos_newest_task();
    const block *mark = blocks;
    rts_task_attr attr = {.run = measuring_task,
                          .arg = &j,
                          .prio = (int)c->common.prio,
                          .policy = RTS_FIFO,
                          .stack = FREERTOS_MEASURING_STACK};
    c->evidence.prio = c->common.prio;
    c->evidence.sched = "fifo";
    c->evidence.locked = true; /* there is no other memory */
    freertos_stack_used();
    size_t before = xPortGetFreeHeapSize();
#if RTS_FREERTOS_HEAP_TELLS
    xPortResetHeapMinimumEverFreeHeapSize();
#endif
    if (rts_task_create(&task, &attr)) {
        rts_print(why, size, "no memory for its task");
        return -1;
    }
    bool ended = await(c, &task);
    freertos_silence();
    freertos_kill_tasks(others);
    release_since(mark);
    c->evidence.stack_bytes = (int64_t)freertos_stack_used();
#if RTS_FREERTOS_HEAP_TELLS
    c->evidence.heap_bytes = (int64_t)(configTOTAL_HEAP_SIZE - xPortGetMinimumEverFreeHeapSize());
#endif
    if (xPortGetFreeHeapSize() < before)
        rts_log("warn", "case %llu has left %u bytes of the heap behind", (unsigned long long)c->id,
                (unsigned)(before - xPortGetFreeHeapSize()));
    if (ended)
        return 0;
    rts_print(why, size, "it made no progress for %u s", (unsigned)(c->patience_ns / 1000000000));
    return -1;
}

static rts_tick section;

void rts_port_section_start(rts_case *c)
{
    (void)c;
    section = rts_time();
}

void rts_port_section_end(rts_case *c)
{
    rts_tick length = rts_time() - section;
    c->evidence.section_ns = (int64_t)((double)length * 1e9 / (double)RTS_TIME_HZ);
}
