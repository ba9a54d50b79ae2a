/* Actions of load provoke on FreeRTOS. */
#include <string.h>

#include "provoke.h"
#include "timers.h"
#include "work.h"

#define MANY (PROVOKE_MOST < 16 ? PROVOKE_MOST : 16) /* tasks or the like, as is usual */
#define SPINS 1000
#define MESSAGE 256 /* bytes */
#define HOLES 8
#define HOLE 32                         /* bytes of a hole in the heap */
#define HOUR pdMS_TO_TICKS(3600 * 1000) /* longer than a load runs */

/* ---- the round of helpers -------------------------------------------------------------------- */

/* A helper has done its part of the round. */
static void pass(provoke_work *k)
{
    taskENTER_CRITICAL();
    k->passed++;
    taskEXIT_CRITICAL();
}

/* Lets the helpers run until each of them has passed, or the load ends. */
static bool all_pass(provoke_work *k)
{
    while (k->passed < k->n && !k->worker->load->stop)
        taskYIELD();
    return true;
}

/* Has each helper go on from ulTaskNotifyTake(). */
static void notify_all(provoke_work *k)
{
    rts_task *helper = provoke_helpers(k);
    for (unsigned i = 0; i < k->n && !k->worker->load->stop; i++)
        xTaskNotifyGive(helper[i].handle);
}

static void wait_for_notice(void)
{
    ulTaskNotifyTake(pdTRUE, portMAX_DELAY);
}

/* ---- without helpers ------------------------------------------------------------------------- */

static bool spin(provoke_work *k)
{
    (void)k;
    rts_additions(SPINS);
    return true;
}

static void idle(void *unused)
{
    (void)unused;
    for (;;)
        vTaskSuspend(NULL);
}

static bool begin_tasks(provoke_work *k)
{
    return provoke_room(k, k->n * (configMINIMAL_STACK_SIZE * sizeof(StackType_t)));
}

/* Creates n tasks, which do not run before they are deleted. */
static bool tasks(provoke_work *k)
{
    TaskHandle_t *task = (TaskHandle_t *)provoke_pointers(k);
    unsigned n = 0;
    while (n < k->n && xTaskCreate(idle, "new", configMINIMAL_STACK_SIZE, NULL, FREERTOS_PRIO_OTHER,
                                   &task[n]) == pdPASS)
        n++;
    for (unsigned i = 0; i < n; i++)
        vTaskDelete(task[i]);
    if (n < k->n)
        rts_worker_unsupported(k->worker, "no memory for %u tasks", k->n);
    return n == k->n;
}

static bool begin_queues(provoke_work *k)
{
    k->queue = provoke_room(k, k->n * MESSAGE) ? xQueueCreate(k->n, MESSAGE) : NULL;
    if (!k->queue)
        rts_worker_unsupported(k->worker, "no memory for a queue of %u messages", k->n);
    return k->queue;
}

static void end_queues(provoke_work *k)
{
    if (k->queue)
        vQueueDelete(k->queue);
}

/* Fills the queue and empties it. */
static bool queues(provoke_work *k)
{
    char message[MESSAGE] = {0};
    for (unsigned i = 0; i < k->n; i++)
        xQueueSend(k->queue, message, 0);
    for (unsigned i = 0; i < k->n; i++)
        xQueueReceive(k->queue, message, 0);
    return true;
}

static bool begin_streams(provoke_work *k)
{
    k->stream = xStreamBufferCreate(MESSAGE, 1);
    if (!k->stream)
        rts_worker_unsupported(k->worker, "no memory for a stream buffer of %u bytes", MESSAGE);
    return k->stream;
}

static void end_streams(provoke_work *k)
{
    if (k->stream)
        vStreamBufferDelete(k->stream);
}

static bool streams(provoke_work *k)
{
    char message[MESSAGE] = {0};
    for (unsigned i = 0; i < k->n; i++) {
        xStreamBufferSend(k->stream, message, sizeof message, 0);
        xStreamBufferReceive(k->stream, message, sizeof message, 0);
    }
    return true;
}

/* Allocates a block of `size` bytes as the first of a list; false: there is no memory. */
static bool add_block(void **first, size_t size)
{
    void **block = pvPortMalloc(size);
    if (!block)
        return false;
    *block = *first;
    *first = (void *)block;
    return true;
}

static void free_blocks(void *first)
{
    while (first) {
        void *next = *(void **)first;
        vPortFree(first);
        first = next;
    }
}

/* Leaves HOLES holes for each of n in the heap, each between two blocks. */
static bool begin_heap(provoke_work *k)
{
    void *holes = NULL;
    bool good = add_block(&k->first, HOLE);
    for (unsigned i = 0; good && i < HOLES * k->n; i++)
        good = provoke_room(k, 2 * HOLE) && add_block(&holes, HOLE) && add_block(&k->first, HOLE);
    free_blocks(holes);
    if (!good)
        rts_worker_unsupported(k->worker, "no memory for %u holes", HOLES * k->n);
    return good;
}

static void end_heap(provoke_work *k)
{
    free_blocks(k->first);
}

/* A block for which no hole is large enough: both calls pass all of them. */
static bool heap(provoke_work *k)
{
    void *block = pvPortMalloc(MESSAGE);
    if (!block) {
        rts_worker_failed(k->worker, "no memory for a block of %u bytes", MESSAGE);
        return false;
    }
    vPortFree(block);
    return true;
}

/* ---- with helpers ---------------------------------------------------------------------------- */

static bool begin_events(provoke_work *k)
{
    k->group = xEventGroupCreateStatic(&k->group_store);
    return true;
}

static void help_events(provoke_work *k)
{
    for (unsigned turn = 0;; turn = !turn) {
        xEventGroupWaitBits(k->group, (EventBits_t)1 << turn, pdFALSE, pdFALSE, portMAX_DELAY);
        pass(k);
    }
}

/* Wakes all helpers by one call; one that does not wait yet finds the bit set. */
static bool events(provoke_work *k)
{
    taskYIELD();
    xEventGroupClearBits(k->group, (EventBits_t)1 << !k->turn);
    k->passed = 0;
    xEventGroupSetBits(k->group, (EventBits_t)1 << k->turn);
    k->turn = !k->turn;
    return all_pass(k);
}

static void help_notify(provoke_work *k)
{
    for (;;) {
        wait_for_notice();
        pass(k);
    }
}

static bool notify(provoke_work *k)
{
    k->passed = 0;
    notify_all(k);
    return all_pass(k);
}

static bool begin_waiters(provoke_work *k)
{
    k->queue = xSemaphoreCreateCountingStatic(k->n, 0, &k->queue_store);
    return true;
}

/* To wait at a semaphore is to enter a list that is sorted by priority. */
static void help_waiters(provoke_work *k)
{
    for (;;) {
        xSemaphoreTake(k->queue, portMAX_DELAY);
        pass(k);
    }
}

static bool waiters(provoke_work *k)
{
    k->passed = 0;
    for (unsigned i = 0; i < k->n; i++)
        xSemaphoreGive(k->queue);
    return all_pass(k);
}

static bool begin_mutexes(provoke_work *k)
{
    k->queue = xSemaphoreCreateMutexStatic(&k->queue_store);
    return true;
}

static void help_mutexes(provoke_work *k)
{
    for (;;) {
        wait_for_notice();
        xSemaphoreTake(k->queue, portMAX_DELAY);
        xSemaphoreGive(k->queue);
        pass(k);
    }
}

/* The helpers, which are more urgent, wait until the worker gives the mutex. */
static bool mutexes(provoke_work *k)
{
    rts_task *helper = provoke_helpers(k);
    k->passed = 0;
    xSemaphoreTake(k->queue, portMAX_DELAY);
    for (unsigned i = 0; i < k->n; i++) {
        xTaskNotifyGive(helper[i].handle);
        taskYIELD(); /* the worker has inherited the priority of the first */
    }
    xSemaphoreGive(k->queue);
    return all_pass(k);
}

static void help_names(provoke_work *k)
{
    (void)k;
    for (;;)
        wait_for_notice();
}

/* No task has the name, so that all are asked for theirs. */
static bool names(provoke_work *k)
{
    if (!xTaskGetHandle("rtx"))
        return true;
    rts_worker_failed(k->worker, "there is a task of name rtx");
    return false;
}

static void sleep_until(TickType_t due)
{
    TickType_t now = xTaskGetTickCount();
    if ((int32_t)(due - now) > 0)
        xTaskDelayUntil(&now, due - now);
}

static void help_sleepers(provoke_work *k)
{
    for (;;) {
        wait_for_notice();
        sleep_until(k->due);
        pass(k);
    }
}

/* All helpers wake up at one tick, late enough for all of them to sleep by then. */
static bool sleepers(provoke_work *k)
{
    k->passed = 0;
    k->due = xTaskGetTickCount() + 2 + k->n / 8;
    notify_all(k);
    return all_pass(k);
}

/* The first helper waits with a time limit, which is behind the ends of all others' sleeps. */
static void help_delays(provoke_work *k)
{
    taskENTER_CRITICAL();
    unsigned number = k->started++;
    taskEXIT_CRITICAL();
    if (number)
        for (;;)
            vTaskDelay(HOUR);
    for (;;) {
        ulTaskNotifyTake(pdTRUE, 2 * HOUR);
        k->passed = k->n;
    }
}

static bool delays(provoke_work *k)
{
    k->passed = 0;
    xTaskNotifyGive(provoke_helpers(k)[0].handle);
    return all_pass(k);
}

/* ---- timers ---------------------------------------------------------------------------------- */

#if configUSE_TIMERS
static void expire(TimerHandle_t timer)
{
    (void)timer;
}

static bool begin_softtimers(provoke_work *k)
{
    TimerHandle_t *timer = (TimerHandle_t *)provoke_pointers(k);
    for (unsigned i = 0; i < k->n; i++) {
        timer[i] = provoke_room(k, sizeof(StaticTimer_t))
                       ? xTimerCreate("rts", HOUR, pdFALSE, NULL, expire)
                       : NULL;
        if (!timer[i]) {
            rts_worker_unsupported(k->worker, "no memory for %u timers", k->n);
            return false;
        }
    }
    return true;
}

static void end_softtimers(provoke_work *k)
{
    TimerHandle_t *timer = (TimerHandle_t *)provoke_pointers(k);
    for (unsigned i = 0; i < k->n && timer[i]; i++)
        xTimerDelete(timer[i], portMAX_DELAY);
}

/* All expire at one tick; the kernel's task of timers is more urgent than the worker. */
static bool softtimers(provoke_work *k)
{
    TimerHandle_t *timer = (TimerHandle_t *)provoke_pointers(k);
    TickType_t due = xTaskGetTickCount() + 2 + k->n / 8;
    for (unsigned i = 0; i < k->n; i++) {
        TickType_t now = xTaskGetTickCount();
        xTimerChangePeriod(timer[i], (int32_t)(due - now) > 0 ? due - now : 1, portMAX_DELAY);
    }
    sleep_until(due + 1);
    return true;
}
#endif

const provoke_action provoke_actions[] = {
    {.name = "spin", .round = spin},
    {.name = "tasks", .n = 4, .begin = begin_tasks, .round = tasks},
    {.name = "queues", .n = MANY, .begin = begin_queues, .round = queues, .end = end_queues},
    {.name = "streams", .n = MANY, .begin = begin_streams, .round = streams, .end = end_streams},
    {.name = "heap", .n = MANY, .begin = begin_heap, .round = heap, .end = end_heap},
    {.name = "events", .n = MANY, .begin = begin_events, .help = help_events, .round = events},
    {.name = "notify", .n = MANY, .help = help_notify, .round = notify},
    {.name = "waiters", .n = MANY, .begin = begin_waiters, .help = help_waiters, .round = waiters},
    {"mutexes", .n = MANY, .begin = begin_mutexes, .help = help_mutexes, .urgent = true,
     .round = mutexes},
    {.name = "names", .n = MANY, .help = help_names, .round = names},
    {.name = "sleepers", .n = MANY, .help = help_sleepers, .round = sleepers},
    {.name = "delays", .n = MANY, .help = help_delays, .urgent = true, .round = delays},
#if configUSE_TIMERS
    {"softtimers", .n = MANY, .begin = begin_softtimers, .round = softtimers,
     .end = end_softtimers},
#endif
};
const unsigned provoke_n_actions = sizeof provoke_actions / sizeof provoke_actions[0];
