/*
 * See os.h. Uses neither signals nor threads: a context switch happens in pass(), and nowhere else.
 */
#include "os.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALL_TICKS 5 /* cost of a call */

static os_task *tasks, *self;
static uint64_t now = 1, turns;
static bool stdin_ended;

/* A task has its own stack on the host: glibc needs more than a microcontroller. */
#define HOST_STACK (256u << 10)

/* ---- the scheduler -------------------------------------------------------------------------- */

static void wake_sleepers(void)
{
    for (os_task *t = tasks; t; t = t->next)
        if (t->until && t->until <= now) {
            t->until = 0;
            t->waits = NULL;
            t->turn = ++turns;
        }
}

static bool ready(const os_task *t)
{
    return !t->suspended && !t->until && !t->waits;
}

static os_task *most_urgent(void)
{
    os_task *best = NULL;
    for (os_task *t = tasks; t; t = t->next)
        if (ready(t) &&
            (!best || t->prio > best->prio || (t->prio == best->prio && t->turn < best->turn)))
            best = t;
    return best;
}

/* No task is ready: the clock jumps to the end of the first sleep. */
static void idle(void)
{
    uint64_t first = UINT64_MAX;
    for (os_task *t = tasks; t; t = t->next)
        if (t->until && t->until < first)
            first = t->until;
    if (first == UINT64_MAX) {
        fprintf(stderr, "os: all tasks wait for ever\n");
        exit(3);
    }
    now = first > now ? first : now;
}

/* Lets the highest-priority ready task run. */
static void pass(void)
{
    os_task *from = self, *to;
    wake_sleepers();
    while (!(to = most_urgent())) {
        idle();
        wake_sleepers();
    }
    if (to == from)
        return;
    self = to;
    swapcontext(&from->context, &to->context);
}

static void call(void)
{
    now += CALL_TICKS;
    pass();
}

uint64_t os_counter(void)
{
    uint64_t reading = now++;
    wake_sleepers();
    os_task *best = most_urgent();
    if (best && self && best->prio > self->prio) /* a sleep has ended: the timer's interrupt */
        pass();
    return reading;
}

/* Advances up to the end of each sleep of a higher-priority task, which then runs. */
void os_worked(uint64_t ticks)
{
    while (ticks) {
        uint64_t step = ticks;
        for (os_task *t = tasks; t; t = t->next)
            if (t->until > now && t->until - now < step && t->prio > self->prio)
                step = t->until - now;
        now += step;
        ticks -= step;
        pass();
    }
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static void enter(void)
{
    self->run(self->arg);
    os_task_suspend(self);
}

void os_task_create(os_task *task, void (*run)(void *arg), void *arg, int prio, void *stack,
                    size_t bytes)
{
    (void)stack;
    (void)bytes;
    memset(task, 0, sizeof *task);
    task->run = run;
    task->arg = arg;
    task->prio = task->own_prio = prio;
    task->turn = ++turns;
    getcontext(&task->context);
    task->context.uc_stack.ss_sp = malloc(HOST_STACK);
    task->context.uc_stack.ss_size = HOST_STACK;
    makecontext(&task->context, enter, 0);
    task->next = tasks;
    tasks = task;
    if (self)
        call();
}

void os_task_delete(os_task *task)
{
    if (task == self)
        abort(); /* no task here does that to itself */
    for (os_task **at = &tasks; *at; at = &(*at)->next)
        if (*at == task) {
            *at = task->next;
            free(task->context.uc_stack.ss_sp);
            call();
            return;
        }
    abort();
}

os_task *os_task_self(void)
{
    return self;
}

void os_task_set_prio(os_task *task, int prio)
{
    task->prio = task->own_prio = prio;
    task->turn = ++turns;
    call();
}

void os_task_suspend(os_task *task)
{
    task->suspended = true;
    call();
}

void os_task_resume(os_task *task)
{
    task->suspended = false;
    task->turn = ++turns;
    call();
}

void os_yield(void)
{
    self->turn = ++turns;
    call();
}

void os_sleep_until(uint64_t time)
{
    if (time > now)
        self->until = time;
    call();
}

_Noreturn void os_start(void)
{
    ucontext_t here;
    self = most_urgent();
    swapcontext(&here, &self->context);
    abort();
}

_Noreturn void os_exit(int status)
{
    fflush(stdout);
    fprintf(stderr, "heap: %zu of %u bytes at most\n", os_heap_peak(), OS_HEAP_BYTES);
    exit(status);
}

void os_init(void)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
}

/* ---- objects -------------------------------------------------------------------------------- */

/*
 * Wakes the task with the highest priority that has waited longest for the object; NULL: none
 * waits.
 */
static os_task *wake(const void *object)
{
    os_task *best = NULL;
    for (os_task *t = tasks; t; t = t->next)
        if (t->waits == object &&
            (!best || t->prio > best->prio || (t->prio == best->prio && t->turn < best->turn)))
            best = t;
    if (!best)
        return NULL;
    best->waits = NULL;
    best->until = 0;
    best->granted = true;
    best->turn = ++turns;
    return best;
}

/* Returns false on a timeout. */
static bool wait_for(const void *object, uint64_t ticks)
{
    self->waits = object;
    self->granted = false;
    self->turn = ++turns;
    self->until = ticks == OS_FOR_EVER ? 0 : now + ticks;
    call();
    return self->granted;
}

void os_sem_init(os_sem *sem, unsigned value)
{
    sem->value = value;
    call();
}

void os_sem_delete(os_sem *sem)
{
    sem->value = 0;
    call();
}

void os_sem_give(os_sem *sem)
{
    if (!wake(sem))
        sem->value++;
    call();
}

bool os_sem_take(os_sem *sem, uint64_t ticks)
{
    if (!sem->value)
        return ticks ? wait_for(sem, ticks) : (call(), false);
    sem->value--;
    call();
    return true;
}

void os_mutex_init(os_mutex *mutex, bool inherits)
{
    *mutex = (os_mutex){.inherits = inherits};
    call();
}

void os_mutex_delete(os_mutex *mutex)
{
    mutex->owner = NULL;
    call();
}

void os_mutex_lock(os_mutex *mutex)
{
    if (!mutex->owner) {
        mutex->owner = self;
        call();
        return;
    }
    if (mutex->inherits && mutex->owner->prio < self->prio)
        mutex->owner->prio = self->prio;
    wait_for(mutex, OS_FOR_EVER);
}

/* Inheritance is from one mutex at a time: enough for the locks of the tests. */
void os_mutex_unlock(os_mutex *mutex)
{
    if (mutex->inherits)
        self->prio = self->own_prio;
    mutex->owner = wake(mutex);
    call();
}

void os_queue_init(os_queue *queue, void *messages, size_t length, size_t size)
{
    *queue = (os_queue){.messages = messages, .length = length, .size = size};
    queue->room.value = (unsigned)length;
}

void os_queue_delete(os_queue *queue)
{
    os_sem_delete(&queue->held);
}

/* No other task runs between this and the copy. */
static void take_or_wait(os_sem *sem)
{
    if (sem->value)
        sem->value--;
    else
        wait_for(sem, OS_FOR_EVER);
}

void os_queue_send(os_queue *queue, const void *message)
{
    take_or_wait(&queue->room);
    memcpy(queue->messages + queue->last * queue->size, message, queue->size);
    queue->last = (queue->last + 1) % queue->length;
    os_sem_give(&queue->held);
}

void os_queue_receive(os_queue *queue, void *message)
{
    take_or_wait(&queue->held);
    memcpy(message, queue->messages + queue->first * queue->size, queue->size);
    queue->first = (queue->first + 1) % queue->length;
    os_sem_give(&queue->room);
}

/* ---- heap and serial line ------------------------------------------------------------------- */

static size_t in_use, peak;

void *os_alloc(size_t size)
{
    size_t *block = in_use + size > OS_HEAP_BYTES ? NULL : malloc(sizeof(max_align_t) + size);
    call();
    if (!block)
        return NULL;
    *block = size;
    in_use += size;
    peak = in_use > peak ? in_use : peak;
    return (unsigned char *)block + sizeof(max_align_t);
}

void os_free(void *block)
{
    if (block) {
        size_t *head = (void *)((unsigned char *)block - sizeof(max_align_t));
        in_use -= *head;
        free(head);
    }
    call();
}

size_t os_heap_peak(void)
{
    return peak;
}

int os_uart_read(void)
{
    unsigned char byte;
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    bool alone = tasks && !tasks->next; /* only the listener is left: the host's time passes */
    if (stdin_ended && alone)
        os_exit(0);
    if (stdin_ended || poll(&input, 1, alone ? 20 : 0) <= 0)
        return -1;
    if (read(STDIN_FILENO, &byte, 1) == 1)
        return byte;
    stdin_ended = true;
    return -1;
}

void os_uart_write(char byte)
{
    putchar(byte);
}

void os_uart_drain(void)
{
    fflush(stdout);
}
