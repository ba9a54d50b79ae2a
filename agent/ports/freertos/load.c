/*
 * The workers of a load: tasks, which are asked to end, as what they have made lies in memory of
 * all, and removed if they do not.
 */
#include "freertos.h"
#include "port.h"

static rts_task *tasks;  /* one per worker */
static unsigned n_tasks; /* that were created */
static bool silent;
volatile uint32_t freertos_resumed;

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    (void)cpus;
    silent = false;
    n_tasks = 0;
    tasks = rts_port_shared(n * sizeof *tasks);
    if (!tasks)
        return RTS_E_NO_MEMORY;
    for (unsigned i = 0; i < n; i++) {
        rts_worker *w = &worker[i];
        rts_task_attr attr = {.run = rts_worker_run,
                              .arg = w,
                              .prio = w->prio,
                              .policy = w->prio ? RTS_FIFO : RTS_OTHER};
        int err = rts_task_create(&tasks[i], &attr);
        if (err)
            return err;
        n_tasks++;
    }
    return 0;
}

bool rts_port_load_alive(unsigned i)
{
    return !tasks[i].ended;
}

bool freertos_is_worker(TaskHandle_t task)
{
    for (unsigned i = 0; tasks && i < n_tasks; i++)
        if (tasks[i].handle == task)
            return true;
    return false;
}

/* A worker may sleep until its next period; one that waits for another does not end. */
static void await_ends(void)
{
    rts_tick end = rts_time() + RTS_TIME_HZ / 4;
    for (unsigned i = 0; i < n_tasks && rts_time() < end;) {
        if (tasks[i].ended)
            i++;
        else
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
    }
}

/* Its tasks are the only ones left: cases remove theirs. */
void rts_port_load_stop(void)
{
    if (tasks) {
        rts_port_load_pause(false);
        await_ends();
    }
    freertos_kill_tasks(NULL);
    rts_port_unshare(tasks, 0);
    tasks = NULL;
    freertos_silence();
}

void rts_port_load_pause(bool pause)
{
    if (!tasks || pause == silent)
        return;
    silent = pause;
    if (!pause)
        freertos_resumed++;
    for (unsigned i = 0; i < n_tasks; i++) {
        if (pause)
            vTaskSuspend(tasks[i].handle);
        else
            vTaskResume(tasks[i].handle);
    }
}
