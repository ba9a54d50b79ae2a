/*
 * The hot operations of the simulated system. They are calls, because between a clock reading and
 * an operation only the time passes that the model specifies.
 */
#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

extern uint64_t sim_now; /* ns */

uint64_t sim_read(int op);
int sim_sem_create(rts_sem *sem, unsigned value);
int sim_sem_destroy(rts_sem *sem);
int sim_sem_give(rts_sem *sem);
int sim_sem_take(rts_sem *sem);
int sim_sem_try(rts_sem *sem);
int sim_mutex_lock(rts_mutex *mutex);
int sim_mutex_unlock(rts_mutex *mutex);
int sim_rwlock_read(rts_rwlock *lock);
int sim_rwlock_write(rts_rwlock *lock);
int sim_rwlock_unlock(rts_rwlock *lock);
int sim_barrier_wait(rts_barrier *barrier);
int sim_spin_lock(rts_spin *lock);
int sim_spin_unlock(rts_spin *lock);
int sim_queue_send(rts_queue *queue, const void *message);
int sim_queue_receive(rts_queue *queue, void *message);
void sim_yield(void);
void sim_sleep_until(uint64_t ns);
uint64_t sim_cpu_time(void);
void sim_suspend(void);
int sim_resume(sim_task *task);
void sim_worked(rts_work kind, uint64_t amount);
int sim_raise(rts_irq *irq);
int sim_child_create(rts_child *child, int kind);
int sim_child_kill(rts_child *child);
int sim_child_reap(rts_child *child);
void *sim_malloc(size_t size);
void sim_free(void *block);

/* One call of a simulated device's driver, which runs with interrupts masked. */
void sim_device(void);

enum { SIM_READ_COUNTER, SIM_READ_TIME, SIM_READ_SYSCALL };

static inline rts_tick rts_now(void)
{
    return sim_read(SIM_READ_COUNTER) * SIM_COUNTER_PER_NS;
}

static inline rts_tick rts_time(void)
{
    return sim_read(SIM_READ_TIME) * SIM_TIME_PER_NS;
}

static inline rts_tick rts_time_syscall(void)
{
    return sim_read(SIM_READ_SYSCALL) * SIM_TIME_PER_NS;
}

static inline uint64_t rts_cpu_time(void)
{
    return sim_cpu_time();
}

static inline void rts_yield(void)
{
    sim_yield();
}

/* Converts ticks of rts_time() to ns, rounded up. */
static inline uint64_t sim_ns(rts_tick time)
{
    return time / SIM_TIME_PER_NS + (time % SIM_TIME_PER_NS != 0);
}

static inline void rts_sleep_until(rts_tick time)
{
    sim_sleep_until(sim_ns(time));
}

static inline int rts_sleep_for(rts_tick duration)
{
    sim_sleep_until(sim_now + sim_ns(duration));
    return 0;
}

static inline void rts_suspend(void)
{
    sim_suspend();
}

static inline int rts_resume(rts_task *task)
{
    return sim_resume(task->task);
}

static inline void rts_worked(rts_work kind, uint64_t amount)
{
    sim_worked(kind, amount);
}

static inline int rts_irq_raise(rts_irq *irq)
{
    return sim_raise(irq);
}

static inline int rts_sem_create(rts_sem *sem, unsigned value)
{
    return sim_sem_create(sem, value);
}

static inline int rts_sem_destroy(rts_sem *sem)
{
    return sim_sem_destroy(sem);
}

static inline int rts_sem_give(rts_sem *sem)
{
    return sim_sem_give(sem);
}

static inline int rts_sem_take(rts_sem *sem)
{
    return sim_sem_take(sem);
}

static inline int rts_sem_try(rts_sem *sem)
{
    return sim_sem_try(sem);
}

static inline int rts_mutex_lock(rts_mutex *mutex)
{
    return sim_mutex_lock(mutex);
}

static inline int rts_mutex_unlock(rts_mutex *mutex)
{
    return sim_mutex_unlock(mutex);
}

static inline int rts_rwlock_read(rts_rwlock *lock)
{
    return sim_rwlock_read(lock);
}

static inline int rts_rwlock_write(rts_rwlock *lock)
{
    return sim_rwlock_write(lock);
}

static inline int rts_rwlock_unlock(rts_rwlock *lock)
{
    return sim_rwlock_unlock(lock);
}

static inline int rts_barrier_wait(rts_barrier *barrier)
{
    return sim_barrier_wait(barrier);
}

static inline int rts_spin_lock(rts_spin *lock)
{
    return sim_spin_lock(lock);
}

static inline int rts_spin_unlock(rts_spin *lock)
{
    return sim_spin_unlock(lock);
}

static inline int rts_queue_send(rts_queue *queue, const void *message)
{
    return sim_queue_send(queue, message);
}

static inline int rts_queue_receive(rts_queue *queue, void *message)
{
    return sim_queue_receive(queue, message);
}

static inline int rts_child_create(rts_child *child, int kind)
{
    return sim_child_create(child, kind);
}

static inline int rts_child_kill(rts_child *child, int kind)
{
    (void)kind;
    return sim_child_kill(child);
}

static inline int rts_child_reap(rts_child *child, int kind)
{
    (void)kind;
    return sim_child_reap(child);
}

static inline bool rts_channel_passes_pointer(int kind)
{
    return kind == SIM_CHANNEL_MAILBOX;
}

static inline int rts_channel_send(rts_channel *channel, int kind, void *message)
{
    return sim_queue_send(&channel->queue, kind == SIM_CHANNEL_MAILBOX ? &message : message);
}

static inline int rts_channel_receive(rts_channel *channel, int kind, void **message)
{
    return sim_queue_receive(&channel->queue, kind == SIM_CHANNEL_MAILBOX ? message : *message);
}

static inline void *rts_malloc(size_t size)
{
    return sim_malloc(size);
}

static inline void rts_free(void *block)
{
    sim_free(block);
}

#endif
