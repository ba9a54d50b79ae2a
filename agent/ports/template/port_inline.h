/*
 * The hot operations: the system's own call between two readings of the counter, and nothing else.
 */
#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

/*
 * PORT: a free-running counter of at least 1 MHz, 64 bits wide, that never goes backwards; ordered
 * after all preceding instructions. For a 32-bit counter count the overflows, with interrupts
 * masked.
 */
static inline rts_tick rts_now(void)
{
    return os_counter();
}

/* PORT: the clock of rts_sleep_until(), RTS_TIME_HZ per second; the same counter if possible. */
static inline rts_tick rts_time(void)
{
    return os_counter();
}

/* PORT: yields to the next task of the same priority; a call that sleeps for a tick will not do. */
static inline void rts_yield(void)
{
    os_yield();
}

/*
 * PORT: sleeps until rts_time() >= time, never shorter; returns at once if that has passed. If the
 * system counts ticks: until the first tick at or after it, with a call that takes an absolute
 * tick.
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

/* PORT: empty on a processor. The tests' system has none, so its clock advances here. */
static inline void rts_worked(rts_work kind, uint64_t amount)
{
    os_worked(kind == RTS_WORK_KWI ? 10000 * amount : amount / 8);
}

/* ---- semaphores, mutexes, queues ------------------------------------------------------------ */

/*
 * PORT: a counting semaphore; of several waiting tasks, the one with the highest priority gets it.
 */
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

/* PORT: a waiting task of higher priority runs before this returns. */
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

/* PORT: waits while the queue is full; copies the message. */
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
