/* The workers of a load: tasks, which are removed without being asked. */
#include "template.h"

static rts_worker *workers;
static rts_task *tasks; /* one per worker */
static unsigned n_tasks;
static bool *ended;
static bool silent;

static void work(void *arg)
{
    rts_worker *w = arg;
    rts_worker_run(w);
    ended[w - workers] = true;
}

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    (void)cpus;
    silent = false;
    n_tasks = 0;
    workers = worker;
    tasks = rts_port_shared(n * (sizeof *tasks + sizeof *ended));
    if (!tasks)
        return RTS_E_NO_MEMORY;
    ended = (bool *)&tasks[n];
    for (unsigned i = 0; i < n; i++) {
        rts_worker *w = &worker[i];
        rts_task_attr attr = {
            .run = work, .arg = w, .prio = w->prio, .policy = w->prio ? RTS_FIFO : RTS_OTHER};
        int err = rts_task_create(&tasks[i], &attr);
        if (err)
            return err;
        n_tasks++;
    }
    return 0;
}

bool rts_port_load_alive(unsigned i)
{
    return !ended[i];
}

/* Its tasks are the only ones left: cases remove theirs. */
void rts_port_load_stop(void)
{
    template_kill_tasks(NULL);
    rts_port_unshare(tasks, 0);
    tasks = NULL;
}

/* PORT: workers get no CPU until they are let go on; one that waits, may wait on. */
void rts_port_load_pause(bool pause)
{
    if (!tasks || pause == silent)
        return;
    silent = pause;
    for (unsigned i = 0; i < n_tasks; i++) {
        if (pause)
            os_task_suspend(&tasks[i].os);
        else
            os_task_resume(&tasks[i].os);
    }
}
