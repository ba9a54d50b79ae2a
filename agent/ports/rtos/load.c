/* The workers of a load: tasks, which are deleted with the load whatever they are doing. */
#include "rtos.h"

static rts_task *tasks;  /* one per worker */
static unsigned n_tasks; /* number created */
static bool paused;

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    (void)cpus;
    paused = false;
    n_tasks = 0;
    tasks = rts_port_shared(n * sizeof *tasks);
    if (!tasks)
        return RTS_E_NO_MEMORY;
    for (unsigned i = 0; i < n; i++) {
        rts_task_attr attr = rts_worker_attr(&worker[i]);
        int err = rts_task_create(&tasks[i], &attr);
        if (err)
            return err;
        n_tasks++;
    }
    return 0;
}

bool rts_port_load_alive(unsigned i)
{
    return !rtos_has_ended(&tasks[i]);
}

unsigned rtos_workers(rts_task **worker)
{
    *worker = tasks;
    return tasks ? n_tasks : 0;
}

/* Only the load's tasks are left: cases remove theirs. */
void rts_port_load_stop(void)
{
    if (tasks) {
        rts_port_load_pause(false);
        rtos_load_ends(tasks, n_tasks);
    }
    rtos_kill_tasks(NULL);
    rts_port_unshare(tasks, n_tasks * sizeof *tasks);
    tasks = NULL;
    rtos_load_ended();
}

void rts_port_load_pause(bool pause)
{
    if (!tasks || pause == paused)
        return;
    paused = pause;
    for (unsigned i = 0; i < n_tasks; i++)
        rtos_pause_task(&tasks[i], pause);
}

#define DEFAULT __attribute__((weak))

DEFAULT void rtos_load_ends(rts_task *worker, unsigned n)
{
    (void)worker;
    (void)n;
}

DEFAULT void rtos_load_ended(void)
{
}
