#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

#include <errno.h>
#include <stdlib.h>

#define STUB_READ_NS 20   /* what a clock read costs */
#define STUB_CALL_NS 1000 /* what any other call costs */
#define STUB_WAKE_NS 5000 /* from the end of a sleep to the task's first instruction */

extern rts_tick stub_now;

/* Moves the clock to `time` or, if a stall lies there, to its end. */
void stub_advance_to(rts_tick time);

static inline rts_tick rts_now(void)
{
    rts_tick now = stub_now;
    stub_advance_to(now + STUB_READ_NS);
    return now;
}

static inline rts_tick rts_time(void)
{
    return rts_now();
}

static inline rts_tick rts_time_syscall(void)
{
    return rts_now();
}

static inline uint64_t rts_cpu_time(void)
{
    return stub_now;
}

static inline void rts_yield(void)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
}

static inline void rts_sleep_until(rts_tick time)
{
    if (time > stub_now)
        stub_advance_to(time + STUB_WAKE_NS);
}

static inline int rts_sem_create(rts_sem *sem, unsigned value)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    sem->value = value;
    return 0;
}

static inline int rts_sem_destroy(rts_sem *sem)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    sem->value = 0;
    return 0;
}

static inline int rts_sem_give(rts_sem *sem)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    sem->value++;
    return 0;
}

static inline int rts_sem_try(rts_sem *sem)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    if (!sem->value)
        return -EAGAIN;
    sem->value--;
    return 0;
}

static inline int rts_sem_take(rts_sem *sem)
{
    if (!sem->value)
        abort(); /* nobody else is there to give */
    return rts_sem_try(sem);
}

static inline int rts_mutex_lock(rts_mutex *mutex)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    mutex->locked++;
    return 0;
}

static inline int rts_mutex_unlock(rts_mutex *mutex)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    mutex->locked--;
    return 0;
}

static inline int rts_queue_send(rts_queue *queue, const void *message)
{
    (void)queue;
    (void)message;
    return -ENOSYS;
}

static inline int rts_queue_receive(rts_queue *queue, void *message)
{
    (void)queue;
    (void)message;
    return -ENOSYS;
}

static inline void *rts_malloc(size_t size)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    return malloc(size);
}

static inline void rts_free(void *block)
{
    stub_advance_to(stub_now + STUB_CALL_NS);
    free(block);
}

#endif
