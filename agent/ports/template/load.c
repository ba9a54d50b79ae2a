/* The workers of a load: tasks, which are removed without being asked. */
#include "load.h"

#include "template.h"

static rts_task *tasks; /* one per worker */
static unsigned n_tasks;
static bool *ended;
static bool silent;

static void work(void *arg)
{
    rts_worker *w = arg;
    w->component->run(w);
    ended[w - w->load->worker] = true;
}

int rts_port_load_start(rts_running *l)
{
    silent = false;
    n_tasks = 0;
    tasks = rts_port_shared(l->n_workers * (sizeof *tasks + sizeof *ended));
    if (!tasks)
        return TEMPLATE_NO_MEMORY;
    ended = (bool *)&tasks[l->n_workers];
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
    if (!ended[i])
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

/* Its tasks are the only ones left: cases remove theirs. */
void rts_port_load_stop(rts_running *l)
{
    template_kill_tasks(NULL);
    rts_port_unshare(tasks, l->n_workers * (sizeof *tasks + sizeof *ended));
    tasks = NULL;
}

/* PORT: workers get no CPU until they are let go on; one that waits, may wait on. */
void rts_port_quiet(bool quiet)
{
    if (!tasks || quiet == silent)
        return;
    silent = quiet;
    for (unsigned i = 0; i < n_tasks; i++) {
        if (quiet)
            os_task_suspend(&tasks[i].os);
        else
            os_task_resume(&tasks[i].os);
    }
}
