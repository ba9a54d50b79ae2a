/* Tasks, and the objects they share. */
#include "rtos.h"

static rts_task *newest;

static void forget(const rts_task *task)
{
    for (rts_task **at = &newest; *at; at = &(*at)->next)
        if (*at == task) {
            *at = task->next;
            return;
        }
}

/* The task's first and last statements. */
static void enter(void *arg)
{
    rts_task *task = arg;
    task->run(task->arg);
    task->finished = true;
    os_sem_give(&task->ended);
    os_task_suspend(os_task_self()); /* PORT: deleted by the task that joins it */
}

int rts_task_create(rts_task *task, const rts_task_attr *attr)
{
    size_t bytes = attr->stack ? attr->stack : RTS_STACK_DEFAULT;
    int prio = attr->policy == RTS_OTHER ? TEMPLATE_PRIO_OTHER : attr->prio;
    *task = (rts_task){.run = attr->run, .arg = attr->arg, .next = newest};
    task->stack = os_alloc(bytes); /* PORT: or whatever your call to create a task needs */
    if (!task->stack)
        return RTS_E_NO_MEMORY;
    os_sem_init(&task->ended, 0);
    newest = task;
    os_task_create(&task->os, enter, task, prio, task->stack, bytes); /* PORT: it may run at once */
    return 0;
}

static void end(rts_task *task)
{
    os_task_delete(&task->os); /* PORT: whatever it is doing or waiting for */
    forget(task);
    os_sem_delete(&task->ended);
    os_free(task->stack);
}

int rts_task_join(rts_task *task)
{
    os_sem_take(&task->ended, OS_FOR_EVER);
    end(task);
    return 0;
}

rts_task *rtos_newest_task(void)
{
    return newest;
}

void rtos_kill_tasks(const rts_task *from)
{
    while (newest && newest != from)
        end(newest);
}

bool rtos_await(rts_task *task, uint32_t ms)
{
    return os_sem_take(&task->ended, ms * RTS_TIME_HZ / 1000);
}

bool rtos_has_ended(const rts_task *task)
{
    return task->finished;
}

void rtos_pause_task(rts_task *task, bool pause)
{
    if (pause)
        os_task_suspend(&task->os);
    else
        os_task_resume(&task->os);
}

int rts_task_set_own_prio(int prio, rts_policy policy)
{
    os_task_set_prio(os_task_self(), policy == RTS_OTHER ? TEMPLATE_PRIO_OTHER : prio);
    return 0;
}

/* ---- semaphores, mutexes, queues ------------------------------------------------------------ */

/* PORT: RTS_LOCK_NONE must not inherit: use a binary semaphore if all mutexes do. */
int rts_mutex_create(rts_mutex *mutex, rts_protocol protocol, int ceiling)
{
    (void)ceiling;
    if (protocol == RTS_LOCK_PROTECT)
        return RTS_E_ABSENT;
    os_mutex_init(&mutex->os, protocol == RTS_LOCK_INHERIT);
    return 0;
}

int rts_mutex_destroy(rts_mutex *mutex)
{
    os_mutex_delete(&mutex->os);
    return 0;
}

int rts_queue_create(rts_queue *queue, size_t length, size_t size, unsigned slot)
{
    (void)slot;
    queue->messages = os_alloc(length * size);
    if (!queue->messages)
        return RTS_E_NO_MEMORY;
    os_queue_init(&queue->os, queue->messages, length, size);
    return 0;
}

int rts_queue_destroy(rts_queue *queue)
{
    os_queue_delete(&queue->os);
    os_free(queue->messages);
    return 0;
}

int rts_channel_create(rts_channel *channel, int kind, size_t length, size_t size, unsigned slot)
{
    (void)kind;
    return rts_queue_create(&channel->queue, length, size, slot);
}

int rts_channel_destroy(rts_channel *channel, int kind)
{
    (void)kind;
    return rts_queue_destroy(&channel->queue);
}

const char *rts_channel_limits(int kind)
{
    (void)kind;
    return "the heap is too small for them";
}
