/* The functions that a bench may call while it runs (bench.h). */
#include "case.h"

#include <stdarg.h>
#include <string.h>

void *rts_alloc(rts_case *c, size_t size)
{
    const size_t line = RTS_CACHE_LINE;
    size = (size + line - 1) & ~(line - 1); /* objects of different tasks share no cache line */
    if (size > c->arena_size - c->arena_used)
        return NULL;
    void *block = c->arena + c->arena_used;
    c->arena_used += size;
    return block;
}

static int vgive_up(rts_case *c, rts_status status, const char *format, va_list args)
{
    if (c->status == RTS_S_OK) { /* the first reason is the root cause */
        c->status = status;
        rts_vprint(c->reason, sizeof c->reason, format, args);
    }
    return -1;
}

int rts_unsupported(rts_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vgive_up(c, RTS_S_UNSUPPORTED, format, args);
    va_end(args);
    return -1;
}

int rts_failed(rts_case *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vgive_up(c, RTS_S_FAILED, format, args);
    va_end(args);
    return -1;
}

int rts_port_failed(rts_case *c, const char *failure, int error)
{
    if (rts_port_is_limit(error))
        return rts_unsupported(c, "%s: %s", failure, rts_port_strerror(error));
    return rts_failed(c, "%s: %s", failure, rts_port_strerror(error));
}

void rts_figure_add(rts_case *c, const char *name, double value, const char *unit)
{
    if (c->figures < RTS_FIGURES)
        c->figure[c->figures++] = (rts_figure){name, unit, value};
    else
        rts_failed(c, "more than %d figures", RTS_FIGURES);
}

void rts_count_add(rts_case *c, const char *name, int64_t value, const char *unit)
{
    rts_figure_add(c, name, (double)value, unit);
}

/* Leaves the last table the memory of its rows alone, if nothing was allocated since. */
static void trim_table(rts_case *c)
{
    char *end = (char *)c->arena + c->arena_used;
    size_t used = strlen(c->table_rows) + 1;
    if (c->table_rows + RTS_TABLE_BYTES != end)
        return;
    c->arena_used -= RTS_TABLE_BYTES;
    rts_alloc(c, used);
    memset(c->table_rows + used, 0, RTS_TABLE_BYTES - used);
}

void rts_table(rts_case *c, const char *title, const char *columns)
{
    if (c->table_rows)
        trim_table(c);
    c->table_rows = NULL;
    if (c->tables == RTS_TABLES || !(c->table_rows = rts_alloc(c, RTS_TABLE_BYTES))) {
        rts_unsupported(c, "more than %d tables, or no memory for them", RTS_TABLES);
        return;
    }
    c->table[c->tables++] = (rts_text_table){title, columns, c->table_rows};
}

void rts_row(rts_case *c, const char *format, ...)
{
    if (!c->table_rows)
        return;
    size_t used = strlen(c->table_rows);
    va_list args;
    va_start(args, format);
    int n = rts_vprint(c->table_rows + used, RTS_TABLE_BYTES - used, format, args);
    va_end(args);
    if (n < 0 || used + (size_t)n + 2 > RTS_TABLE_BYTES) {
        c->table_rows[used] = '\0';
        rts_unsupported(c, "a table of more than %d bytes", RTS_TABLE_BYTES);
        return;
    }
    memcpy(c->table_rows + used + n, "\n", 2);
}

void rts_progress(rts_case *c, unsigned done, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rts_vprint(c->progress, sizeof c->progress, format, args);
    va_end(args);
    c->progress_done = done;
    c->progress_n++;
}

static int start_task(rts_case *c, const rts_task_attr *attr)
{
    if (!c->task)
        c->task = rts_alloc(c, RTS_TASKS_MAX * sizeof *c->task);
    if (c->n_tasks == RTS_TASKS_MAX)
        return rts_unsupported(c, "there is room for %d tasks", RTS_TASKS_MAX);
    rts_task *task = c->task ? c->task[c->n_tasks] : NULL; /* left by a task that has ended */
    if (c->task && !task)
        task = c->task[c->n_tasks] = rts_alloc(c, sizeof *task);
    if (!task)
        return rts_unsupported(c, "no memory for task %u of the case", c->n_tasks + 1);
    int err = rts_task_create(task, attr);
    if (err) {
        char failure[64];
        rts_print(failure, sizeof failure, "cannot create task %u of the case on CPU %d",
                  c->n_tasks + 1, attr->cpu);
        return rts_port_failed(c, failure, err);
    }
    c->n_tasks++;
    c->peak_tasks = c->n_tasks > c->peak_tasks ? c->n_tasks : c->peak_tasks;
    return 0;
}

int rts_task_start(rts_case *c, void (*run)(void *), void *arg, int below, rts_policy policy,
                   bool process)
{
    rts_task_attr attr = {.run = run,
                          .arg = arg,
                          .prio = (int)c->common.prio - below,
                          .policy = policy,
                          .cpu = c->job.cpu,
                          .process = process};
    return start_task(c, &attr);
}

int rts_task_start_on(rts_case *c, void (*run)(void *), void *arg, int cpu)
{
    rts_task_attr attr = {
        .run = run, .arg = arg, .prio = (int)c->common.prio, .policy = RTS_FIFO, .cpu = cpu};
    return start_task(c, &attr);
}

int rts_own_level(rts_case *c, int below, rts_policy policy)
{
    int prio = (int)c->common.prio - below;
    int err = rts_task_set_own_prio(prio, policy);
    if (c->job.evidence.prio >= 0) {
        c->job.evidence.prio = prio;
        c->job.evidence.sched = policy == RTS_RR ? "rr" : policy == RTS_FIFO ? "fifo" : "other";
    }
    if (err && policy == RTS_RR && !(rts_caps() & RTS_CAP_ROUND_ROBIN))
        return rts_unsupported(c, "policy=rr: %s", rts_port_why_not(RTS_CAP_ROUND_ROBIN));
    return err ? rts_port_failed(c, "cannot set the priority", err) : 0;
}

rts_sem *rts_sem_make(rts_case *c, rts_sem_kind kind, unsigned value)
{
    if (!c->sem)
        c->sem = rts_alloc(c, RTS_SEMS_MAX * sizeof *c->sem);
    rts_sem *sem = rts_alloc(c, sizeof *sem);
    if (!sem || !c->sem || c->n_sems == RTS_SEMS_MAX) {
        rts_unsupported(c, "no room for %u semaphores", c->n_sems + 1);
        return NULL;
    }
    rts_sem_prepare(sem, kind, c->slot++);
    int err = rts_sem_create(sem, value);
    if (err) {
        rts_port_failed(c, "cannot create a semaphore", err);
        return NULL;
    }
    rts_sem_unlink(sem);
    c->sem[c->n_sems++] = sem;
    return sem;
}

rts_set *rts_set_make(rts_case *c)
{
    rts_set *set = rts_alloc(c, sizeof *set);
    if (!set) {
        rts_unsupported(c, "no memory for a semaphore");
        return NULL;
    }
    rts_set_prepare(set, c->slot++);
    int err = rts_set_create(set, 0);
    if (err) {
        rts_port_failed(c, "cannot create a semaphore", err);
        return NULL;
    }
    return c->set = set;
}

static void idle_task(void *arg)
{
    rts_case *c = arg;
    for (;;) {
        rts_sem_take(c->idle_gate);
        if (c->stop)
            return;
        rts_sem_give(c->idle_done);
    }
}

int rts_wait_idle(rts_case *c)
{
    if (!c->idle_gate) {
        c->idle_gate = rts_sem_make(c, RTS_SEM_PSHARED, 0);
        c->idle_done = rts_sem_make(c, RTS_SEM_PSHARED, 0);
        if (!c->idle_gate || !c->idle_done ||
            rts_task_start(c, idle_task, c, RTS_LEVELS, RTS_FIFO, false))
            return -1;
    }
    rts_sem_give(c->idle_gate);
    rts_sem_take(c->idle_done);
    return 0;
}

void rts_case_clean_up(rts_case *c)
{
    c->stop = true;
    if (c->set) /* which ends the waits for it */
        rts_set_destroy(c->set);
    c->set = NULL;
    for (unsigned i = 0; i < c->n_sems; i++)
        for (unsigned k = 0; k < c->n_tasks; k++)
            rts_sem_give(c->sem[i]);
    for (unsigned i = 0; i < c->n_tasks; i++)
        rts_task_join(c->task[i]);
    for (unsigned i = 0; i < c->n_sems; i++)
        rts_sem_destroy(c->sem[i]);
    c->stop = false;
    c->n_tasks = c->n_sems = 0;
    c->idle_gate = c->idle_done = NULL;
}
