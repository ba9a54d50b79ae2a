/*
 * Workers of a load are asked to end, because what they have created is in shared memory, and
 * deleted if they do not.
 */
#include "freertos.h"
#include "rtos.h"

void rtos_pause_task(rts_task *task, bool pause)
{
    if (pause) {
        vTaskSuspend(task->handle);
        return;
    }
    freertos_resumed++;
    vTaskResume(task->handle);
}

/* A worker may sleep until its next period; one that waits for another worker does not end. */
void rtos_load_ends(rts_task *worker, unsigned n)
{
    rts_tick end = rts_time() + RTS_TIME_HZ / 4;
    for (unsigned i = 0; i < n && rts_time() < end;) {
        if (worker[i].ended)
            i++;
        else
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
    }
}

void rtos_load_ended(void)
{
    freertos_silence();
}
