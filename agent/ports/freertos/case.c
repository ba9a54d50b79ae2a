/* The start and the end of a case: what it used is recorded, and what it left is removed. */
#include "freertos.h"
#include "rtos.h"
#include "wire.h"

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
    freertos_memory_mark();
    freertos_stack_used();
    free_before = xPortGetFreeHeapSize();
#if RTS_FREERTOS_HEAP_STATISTICS
    xPortResetHeapMinimumEverFreeHeapSize();
#endif
}

void rtos_case_ends(rts_job *job)
{
    freertos_silence();
    freertos_memory_release();
    job->evidence.stack_bytes = (int64_t)freertos_stack_used();
#if RTS_FREERTOS_HEAP_STATISTICS
    job->evidence.heap_bytes = (int64_t)(configTOTAL_HEAP_SIZE - xPortGetMinimumEverFreeHeapSize());
#endif
    rts_task *worker;
    if (!rtos_workers(&worker) && xPortGetFreeHeapSize() < free_before) /* loads have a heap too */
        rts_log("warn", "case %llu left %u bytes of the heap behind", (unsigned long long)job->id,
                (unsigned)(free_before - xPortGetFreeHeapSize()));
}
