/*
 * A small operating system for the template port, within one process of the host: fixed priorities,
 * one processor, tasks that yield only in system calls, and a clock that advances with the calls
 * and jumps when all tasks sleep. So every run is the same.
 */
#ifndef OS_H
#define OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#define OS_FOR_EVER UINT64_MAX

typedef struct os_task {
    ucontext_t context;
    void (*run)(void *arg);
    void *arg;
    int prio, own_prio;
    bool suspended;
    const void *waits; /* the object that it waits for, or NULL */
    bool granted;      /* it has got what it waited for */
    uint64_t until;    /* sleeps until then; 0: does not sleep */
    uint64_t turn;     /* among equals the smallest comes first */
    struct os_task *next;
} os_task;

typedef struct os_sem {
    unsigned value;
} os_sem;

typedef struct os_mutex {
    os_task *owner;
    bool inherits;
} os_mutex;

typedef struct os_queue {
    unsigned char *messages;
    size_t length, size, first, last;
    os_sem held, room;
} os_queue;

void os_init(void);
_Noreturn void os_start(void);
_Noreturn void os_exit(int status);

/* Returns the counter, at 10 MHz. */
uint64_t os_counter(void);

/* The caller has worked for this time; tasks of higher priority ran meanwhile. */
void os_worked(uint64_t ticks);

/* The task runs at once if it has higher priority. */
void os_task_create(os_task *task, void (*run)(void *arg), void *arg, int prio, void *stack,
                    size_t bytes);
void os_task_delete(os_task *task);
os_task *os_task_self(void);
void os_task_set_prio(os_task *task, int prio);
void os_task_suspend(os_task *task);
void os_task_resume(os_task *task);
void os_yield(void);
void os_sleep_until(uint64_t time);

/* Of several waiting tasks the one with the highest priority gets it; false: not within `ticks`. */
void os_sem_init(os_sem *sem, unsigned value);
void os_sem_delete(os_sem *sem);
void os_sem_give(os_sem *sem);
bool os_sem_take(os_sem *sem, uint64_t ticks);

void os_mutex_init(os_mutex *mutex, bool inherits);
void os_mutex_delete(os_mutex *mutex);
void os_mutex_lock(os_mutex *mutex);
void os_mutex_unlock(os_mutex *mutex);

void os_queue_init(os_queue *queue, void *messages, size_t length, size_t size);
void os_queue_delete(os_queue *queue);
void os_queue_send(os_queue *queue, const void *message);
void os_queue_receive(os_queue *queue, void *message);

/* Allocates from a heap of OS_HEAP_BYTES; NULL: it is exhausted. */
#define OS_HEAP_BYTES (56u << 10)
void *os_alloc(size_t size);
void os_free(void *block);

/* Returns the most that was ever in use. */
size_t os_heap_peak(void);

/* Standard input and output; the end of the input is the character ctrl-D. */
int os_uart_read(void); /* -1: nothing received */
void os_uart_write(char byte);
void os_uart_drain(void);

#endif
