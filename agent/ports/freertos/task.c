/* Tasks, children, periodic timers. */
#include <string.h>

#include "freertos.h"
#include "rtos.h"

/* ---- tasks --------------------------------------------------------------------------------- */

static rts_task *newest; /* of all tasks that were created and not removed */
static size_t most_stack;

static void body(void *arg)
{
    rts_task *t = arg;
    t->run(t->arg);
    t->ended = true;
    if (t->joiner)
        xTaskNotifyGiveIndexed(t->joiner, FREERTOS_JOIN);
    for (;;)
        vTaskSuspend(NULL); /* until it is removed */
}

static UBaseType_t priority(int prio, rts_policy policy)
{
    return policy == RTS_OTHER ? FREERTOS_PRIO_OTHER : (UBaseType_t)prio;
}

/* Makes only a complete task visible to others: one of higher priority runs within this call. */
int rts_task_create(rts_task *task, const rts_task_attr *attr)
{
    size_t bytes = attr->stack ? attr->stack : RTS_STACK_DEFAULT;
    if (attr->process || (attr->policy == RTS_RR && !configUSE_TIME_SLICING))
        return RTS_E_ABSENT;
    *task = (rts_task){.run = attr->run, .arg = attr->arg, .stack_bytes = bytes};
    task->stack = freertos_alloc(bytes);
    if (!task->stack)
        return RTS_E_NO_MEMORY;
    vTaskSuspendAll();
    task->next = newest;
    newest = task;
    task->handle = xTaskCreateStatic(body, "rts", (uint32_t)(bytes / sizeof(StackType_t)), task,
                                     priority(attr->prio, attr->policy), task->stack, &task->store);
    xTaskResumeAll();
    return 0;
}

/* Removes the task, which is not the caller, whatever it is doing. */
static void dismiss(rts_task *task)
{
    size_t left = uxTaskGetStackHighWaterMark(task->handle) * sizeof(StackType_t);
    size_t used = task->stack_bytes - left;
    most_stack = used > most_stack ? used : most_stack;
    vTaskDelete(task->handle);
    freertos_release(task->stack);
    for (rts_task **link = &newest; *link; link = &(*link)->next)
        if (*link == task) {
            *link = task->next;
            break;
        }
    if (!left)
        freertos_fault("stack overflow", task->stack_bytes, (unsigned long)(uintptr_t)task->run, 0);
}

/*
 * The waiter registers before it checks, and the ending task checks afterwards: no end is missed.
 */
bool rtos_await(rts_task *task, uint32_t ms)
{
    task->joiner = xTaskGetCurrentTaskHandle();
    while (!task->ended)
        if (!ulTaskNotifyTakeIndexed(FREERTOS_JOIN, pdTRUE, ms ? pdMS_TO_TICKS(ms) : portMAX_DELAY))
            return task->ended;
    return true;
}

bool rtos_has_ended(const rts_task *task)
{
    return task->ended;
}

int rts_task_join(rts_task *task)
{
    rtos_await(task, 0);
    dismiss(task);
    return 0;
}

void rtos_kill_tasks(const rts_task *from)
{
    while (newest && newest != from)
        dismiss(newest);
}

rts_task *rtos_newest_task(void)
{
    return newest;
}

size_t freertos_stack_used(void)
{
    size_t used = most_stack;
    most_stack = 0;
    return used;
}

int rts_task_set_own_prio(int prio, rts_policy policy)
{
    if (policy == RTS_RR && !configUSE_TIME_SLICING)
        return RTS_E_ABSENT;
    vTaskPrioritySet(NULL, priority(prio, policy));
    return 0;
}

uint64_t rts_port_slice_ns(rts_policy policy)
{
    return policy == RTS_RR && configUSE_TIME_SLICING ? 1000000000 / configTICK_RATE_HZ : 0;
}

#if configGENERATE_RUN_TIME_STATS
uint64_t rts_task_cpu_time(const rts_task *task)
{
    return freertos_cpu_time(task->handle);
}

/* A yield to another task counts, too; the tasks of a case that asks do not yield. */
uint64_t rts_preemptions(void)
{
    taskENTER_CRITICAL(); /* two loads on a processor of 32 bits */
    uint64_t n = freertos_preemptions;
    taskEXIT_CRITICAL();
    return n;
}
#endif

/* ---- children ------------------------------------------------------------------------------ */

/* A child that has suspended itself has run, according to the kernel. */
void freertos_child(void *unused)
{
    (void)unused;
    for (;;)
        vTaskSuspend(NULL);
}

int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack)
{
    *child = (rts_child){.prio = prio, .words = (uint32_t)(stack / sizeof(StackType_t))};
    if (child->words < configMINIMAL_STACK_SIZE)
        child->words = configMINIMAL_STACK_SIZE;
    if (kind == RTS_CHILD_THREAD)
        return 0;
    child->stack = freertos_alloc(child->words * sizeof(StackType_t));
    return child->stack ? 0 : RTS_E_NO_MEMORY;
}

void rts_child_release(rts_child *child)
{
    freertos_release(child->stack);
    *child = (rts_child){0};
}

int rts_child_prio(const rts_child *child, int kind)
{
    (void)kind;
    return (int)uxTaskPriorityGet(child->handle);
}

bool rts_child_ran(const rts_child *child, int kind)
{
    (void)kind;
    return eTaskGetState(child->handle) == eSuspended;
}
