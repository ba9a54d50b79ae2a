/*
 * The workers of a load: tasks, which are asked to end, as what they have made lies in memory of
 * all, and removed if they do not.
 */
#include "load.h"

#include "freertos.h"

static rts_task *tasks;  /* one per worker */
static unsigned n_tasks; /* that were created */
static bool silent;
volatile uint32_t freertos_resumed;

static void work(void *arg)
{
    rts_worker *w = arg;
    w->component->run(w);
}

int rts_port_load_start(rts_running *l)
{
    silent = false;
    n_tasks = 0;
    tasks = rts_port_shared(l->n_workers * sizeof *tasks);
    if (!tasks)
        return -ENOMEM;
    for (unsigned i = 0; i < l->n_workers; i++) {
        rts_worker *w = &l->worker[i];
        rts_task_attr attr = {
            .run = work, .arg = w, .prio = w->prio, .policy = w->prio ? RTS_FIFO : RTS_OTHER};
        int err = rts_task_create(&tasks[i], &attr);
        if (err)
            return err;
        n_tasks++;
    }
    return 0;
}

bool rts_port_load_alive(rts_running *l, unsigned i)
{
    if (!tasks[i].ended)
        return true;
    rts_worker_failed(&l->worker[i], "it returned");
    return false;
}

int64_t rts_port_load_cpu_ns(rts_running *l, unsigned i)
{
    (void)l;
    (void)i;
    return -1;
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
void rts_port_load_stop(rts_running *l)
{
    if (tasks) {
        rts_port_quiet(false);
        await_ends();
    }
    freertos_kill_tasks(NULL);
    rts_port_unshare(tasks, l->n_workers * sizeof *tasks);
    tasks = NULL;
    freertos_silence();
}

void rts_port_quiet(bool quiet)
{
    if (!tasks || quiet == silent)
        return;
    silent = quiet;
    if (!quiet)
        freertos_resumed++;
    for (unsigned i = 0; i < n_tasks; i++) {
        if (quiet)
            vTaskSuspend(tasks[i].handle);
        else
            vTaskResume(tasks[i].handle);
    }
}
