/* Memory of a case, its use, and its release when the case ends. */
#include <string.h>

#include "freertos.h"
#include "rtos.h"
#include "wire.h"

typedef struct block { /* header of an allocation, with the same alignment */
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

/* Frees what was allocated after `mark`; NULL: everything. */
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

static const block *mark;
static size_t free_before;

/*
 * Waits for the tick after the next multiple of 10 ms: whenever its command came, a case meets
 * ticks and releases where every run of it does. The tick after it, since the watchdog looks a
 * round time later, and would delay a task that is released there.
 */
static void await_start(void)
{
    const TickType_t apart = pdMS_TO_TICKS(10);
    TickType_t now = xTaskGetTickCount();
    TickType_t since = (now + (TickType_t)freertos_ticks_before) % apart;
    xTaskDelayUntil(&now, 2 * apart + 1 - since); /* from `now`, though a tick may come here */
}

void rtos_case_starts(void)
{
    await_start();
    mark = blocks;
    freertos_stack_used();
    free_before = xPortGetFreeHeapSize();
#if RTS_FREERTOS_HEAP_TELLS
    xPortResetHeapMinimumEverFreeHeapSize();
#endif
}

void rtos_case_ends(rts_job *job)
{
    freertos_silence();
    release_since(mark);
    job->evidence.stack_bytes = (int64_t)freertos_stack_used();
#if RTS_FREERTOS_HEAP_TELLS
    job->evidence.heap_bytes = (int64_t)(configTOTAL_HEAP_SIZE - xPortGetMinimumEverFreeHeapSize());
#endif
    rts_task *worker;
    if (!rtos_workers(&worker) && xPortGetFreeHeapSize() < free_before) /* loads have a heap too */
        rts_log("warn", "case %llu left %u bytes of the heap behind", (unsigned long long)job->id,
                (unsigned)(free_before - xPortGetFreeHeapSize()));
}
