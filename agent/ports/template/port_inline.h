/* The hot operations: the system's own call between two readings of the counter, nothing else. */
#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

/*
 * PORT: a free-running counter of at least 1 MHz, 64 bits wide, that never goes back; ordered after
 * what comes before it.  Of a 32-bit one count the overflows, with the interrupt masked.
 */
static inline rts_tick rts_now(void)
{
    return os_counter();
}

/* PORT: the clock of rts_sleep_until(), RTS_TIME_HZ a second; the same counter where possible. */
static inline rts_tick rts_time(void)
{
    return os_counter();
}

/* PORT: to the next task of the same priority; a call that sleeps for a tick is none. */
static inline void rts_yield(void)
{
    os_yield();
}

/*
 * PORT: until rts_time() >= time, never shorter; one that has passed returns at once.  Where the
 * system counts ticks: to the first tick at or after it, with a call that takes an absolute tick.
 */
static inline void rts_sleep_until(rts_tick time)
{
    os_sleep_until(time);
}

static inline int rts_sleep_for(rts_tick duration)
{
    os_sleep_until(os_counter() + duration);
    return 0;
}

static inline void rts_suspend(void)
{
    os_task_suspend(os_task_self()); /* PORT: or leave out RTS_SUSPEND */
}

static inline int rts_resume(rts_task *task)
{
    os_task_resume(&task->os);
    return 0;
}

/* PORT: nothing, on a processor.  The tests' system has none: there the clock goes on here. */
static inline void rts_worked(rts_work kind, uint64_t amount)
{
    os_worked(kind == RTS_WORK_KWI ? 10000 * amount : amount / 8);
}

/* ---- semaphores, mutexes, queues ------------------------------------------------------------ */

/* PORT: a counting one; of several tasks the most urgent one gets it. */
static inline int rts_sem_create(rts_sem *sem, unsigned value)
{
    os_sem_init(&sem->os, value);
    return 0;
}

static inline int rts_sem_destroy(rts_sem *sem)
{
    os_sem_delete(&sem->os);
    return 0;
}

/* PORT: a more urgent task that waits runs before this returns. */
static inline int rts_sem_give(rts_sem *sem)
{
    os_sem_give(&sem->os);
    return 0;
}

static inline int rts_sem_take(rts_sem *sem)
{
    return os_sem_take(&sem->os, OS_FOR_EVER) ? 0 : RTS_E_FAILED;
}

static inline int rts_sem_try(rts_sem *sem)
{
    return os_sem_take(&sem->os, 0) ? 0 : RTS_E_FAILED;
}

static inline int rts_mutex_lock(rts_mutex *mutex)
{
    os_mutex_lock(&mutex->os);
    return 0;
}

static inline int rts_mutex_unlock(rts_mutex *mutex)
{
    os_mutex_unlock(&mutex->os);
    return 0;
}

/* PORT: waits while the queue is full; the message is copied. */
static inline int rts_queue_send(rts_queue *queue, const void *message)
{
    os_queue_send(&queue->os, message);
    return 0;
}

static inline int rts_queue_receive(rts_queue *queue, void *message)
{
    os_queue_receive(&queue->os, message);
    return 0;
}

static inline bool rts_channel_passes_pointer(int kind)
{
    (void)kind;
    return false;
}

static inline int rts_channel_send(rts_channel *channel, int kind, void *message)
{
    (void)kind;
    return rts_queue_send(&channel->queue, message);
}

static inline int rts_channel_receive(rts_channel *channel, int kind, void **message)
{
    (void)kind;
    return rts_queue_receive(&channel->queue, *message);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* PORT: the system's heap, which mem.malloc.* measures. */
static inline void *rts_malloc(size_t size)
{
    return os_alloc(size);
}

static inline void rts_free(void *block)
{
    os_free(block);
}

#endif
