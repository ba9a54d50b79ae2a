/* Semaphores, locks, barriers and queues of the simulated kernel. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* Returns the cost of waking the first task of the list. */
static sim_op wake_of(const sim_list *list, sim_op same_space, sim_op other_space)
{
    return list->first->space == sim_self->space ? same_space : other_space;
}

/* ---- semaphores ---------------------------------------------------------------------------- */

int sim_sem_create(rts_sem *sem, unsigned value)
{
    *sem = (rts_sem){.value = value};
    sim_call(SIM_SEM_CREATE, 0);
    return 0;
}

int sim_sem_destroy(rts_sem *sem)
{
    (void)sem;
    sim_call(SIM_SEM_DELETE, 0);
    return 0;
}

int sim_sem_give(rts_sem *sem)
{
    sim_charge(SIM_SEM_GIVE, 0, sem->waiters.n);
    if (sem->waiters.n)
        sim_charge(wake_of(&sem->waiters, SIM_SEM_WAKE, SIM_SEM_WAKE_SPACE), 0, sem->waiters.n);
    if (!sim_wake(&sem->waiters))
        sem->value++;
    sim_leave();
    return 0;
}

int sim_sem_take(rts_sem *sem)
{
    sim_charge(SIM_SEM_TAKE, 0, sem->waiters.n);
    if (sem->value) {
        sem->value--;
    } else {
        sim_charge(SIM_SEM_BLOCK, 0, sem->waiters.n);
        sim_block(&sem->waiters);
    }
    sim_leave();
    return 0;
}

int sim_sem_try(rts_sem *sem)
{
    sim_charge(SIM_SEM_TRY, 0, sem->waiters.n);
    int err = sem->value ? 0 : -EAGAIN;
    sem->value -= err ? 0 : 1;
    sim_leave();
    return err;
}

/* ---- mutexes ------------------------------------------------------------------------------- */

int rts_mutex_create(rts_mutex *mutex, rts_protocol protocol, int ceiling)
{
    unsigned lacks = sim_the_model.lacks;
    if ((protocol == RTS_LOCK_INHERIT && lacks & SIM_LACKS_INHERIT) ||
        (protocol == RTS_LOCK_PROTECT && lacks & SIM_LACKS_PROTECT))
        return -ENOTSUP;
    *mutex = (rts_mutex){.protocol = (int)protocol, .ceiling = ceiling};
    sim_call(SIM_MUTEX_CREATE, 0);
    return 0;
}

int rts_mutex_destroy(rts_mutex *mutex)
{
    if (mutex->owner)
        return -EBUSY;
    sim_call(SIM_MUTEX_DELETE, 0);
    return 0;
}

static void own(rts_mutex *mutex, sim_task *t)
{
    mutex->owner = t;
    mutex->next = t->holds;
    t->holds = mutex;
    t->wants = NULL;
    sim_settle_chain(t);
}

int sim_mutex_lock(rts_mutex *mutex)
{
    sim_charge(SIM_MUTEX_LOCK, 0, mutex->waiters.n);
    if (mutex->protocol == RTS_LOCK_PROTECT && sim_self->prio > mutex->ceiling) {
        sim_leave();
        return -EINVAL;
    }
    if (!mutex->owner) {
        own(mutex, sim_self);
    } else {
        sim_charge(SIM_MUTEX_BLOCK, 0, mutex->waiters.n);
        sim_self->wants = mutex;
        sim_block(&mutex->waiters);
        if (mutex->protocol == RTS_LOCK_INHERIT)
            sim_settle_chain(mutex->owner);
    }
    sim_leave();
    return 0;
}

int sim_mutex_unlock(rts_mutex *mutex)
{
    rts_mutex **link = &sim_self->holds;
    if (mutex->owner != sim_self)
        return -EPERM;
    sim_charge(SIM_MUTEX_UNLOCK, 0, mutex->waiters.n);
    while (*link != mutex)
        link = &(*link)->next;
    *link = mutex->next;
    mutex->owner = NULL;
    sim_settle(sim_self);
    if (mutex->waiters.n) {
        sim_charge(SIM_MUTEX_WAKE, 0, mutex->waiters.n);
        own(mutex, sim_wake(&mutex->waiters));
    }
    sim_leave();
    return 0;
}

/* ---- read-write locks ---------------------------------------------------------------------- */

int rts_rwlock_create(rts_rwlock *lock)
{
    *lock = (rts_rwlock){0};
    return 0;
}

int rts_rwlock_destroy(rts_rwlock *lock)
{
    return lock->writer || lock->readers ? -EBUSY : 0;
}

static unsigned waiting(const rts_rwlock *lock)
{
    return lock->to_read.n + lock->to_write.n;
}

/* Returns whether a waiting writer precedes a reader of that level. */
static bool writer_before(const rts_rwlock *lock, int level)
{
    return lock->to_write.n && lock->to_write.first->level >= level;
}

int sim_rwlock_read(rts_rwlock *lock)
{
    sim_charge(SIM_RWLOCK_READ, 0, waiting(lock));
    if (!lock->writer && !writer_before(lock, sim_self->level)) {
        lock->readers++;
    } else {
        sim_charge(SIM_RWLOCK_BLOCK, 0, waiting(lock));
        sim_block(&lock->to_read);
    }
    sim_leave();
    return 0;
}

int sim_rwlock_write(rts_rwlock *lock)
{
    sim_charge(SIM_RWLOCK_WRITE, 0, waiting(lock));
    if (!lock->writer && !lock->readers) {
        lock->writer = sim_self;
    } else {
        sim_charge(SIM_RWLOCK_BLOCK, 0, waiting(lock));
        sim_block(&lock->to_write);
    }
    sim_leave();
    return 0;
}

/*
 * The lock is free: passes it to the most urgent waiter; to a reader together with all others that
 * no writer precedes.
 */
static void pass_on(rts_rwlock *lock)
{
    if (lock->to_write.n && (!lock->to_read.n || writer_before(lock, lock->to_read.first->level))) {
        sim_charge(SIM_RWLOCK_WAKE, 0, waiting(lock));
        lock->writer = sim_wake(&lock->to_write);
        return;
    }
    while (lock->to_read.n && !writer_before(lock, lock->to_read.first->level)) {
        sim_charge(SIM_RWLOCK_WAKE, 0, waiting(lock));
        sim_wake(&lock->to_read);
        lock->readers++;
    }
}

int sim_rwlock_unlock(rts_rwlock *lock)
{
    if (lock->writer ? lock->writer != sim_self : !lock->readers)
        return -EPERM;
    sim_charge(SIM_RWLOCK_UNLOCK, 0, waiting(lock));
    if (lock->writer)
        lock->writer = NULL;
    else
        lock->readers--;
    if (!lock->readers)
        pass_on(lock);
    sim_leave();
    return 0;
}

/* ---- barriers and spin locks --------------------------------------------------------------- */

int rts_barrier_create(rts_barrier *barrier, unsigned tasks)
{
    *barrier = (rts_barrier){.tasks = tasks};
    return tasks ? 0 : -EINVAL;
}

/* The last task to arrive is the one that gets 1. */
int sim_barrier_wait(rts_barrier *barrier)
{
    bool last = barrier->waiting.n + 1 == barrier->tasks;
    sim_charge(SIM_BARRIER_WAIT, 0, barrier->waiting.n);
    if (last)
        sim_charge(SIM_BARRIER_WAKE, barrier->waiting.n, barrier->waiting.n);
    while (last && sim_wake(&barrier->waiting))
        ;
    if (!last) {
        sim_charge(SIM_BARRIER_BLOCK, 0, barrier->waiting.n);
        sim_block(&barrier->waiting);
    }
    sim_leave();
    return last;
}

int rts_spin_create(rts_spin *lock)
{
    *lock = (rts_spin){0};
    return 0;
}

int rts_spin_destroy(rts_spin *lock)
{
    return lock->owner ? -EBUSY : 0;
}

/* There is only one CPU, so a task that spins would do so forever. */
int sim_spin_lock(rts_spin *lock)
{
    sim_charge(SIM_SPIN_LOCK, 0, 0);
    int err = lock->owner ? -EDEADLK : 0;
    if (!err)
        lock->owner = sim_self;
    sim_leave();
    return err;
}

int sim_spin_unlock(rts_spin *lock)
{
    int err = lock->owner == sim_self ? 0 : -EPERM;
    sim_charge(SIM_SPIN_UNLOCK, 0, 0);
    lock->owner = err ? lock->owner : NULL;
    sim_leave();
    return err;
}

/* ---- queues and channels ------------------------------------------------------------------- */

int rts_queue_create(rts_queue *queue, size_t length, size_t size, unsigned slot)
{
    (void)slot;
    *queue = (rts_queue){.length = length, .size = size, .ring = malloc(length * size)};
    sim_call(SIM_QUEUE_CREATE, 0);
    return queue->ring ? 0 : -ENOMEM;
}

int rts_queue_destroy(rts_queue *queue)
{
    free(queue->ring);
    sim_call(SIM_QUEUE_DELETE, 0);
    return 0;
}

/* A task that waits is charged afterwards for its own part, the copy. */
static void wait_for_room(const rts_queue *queue, sim_list *list, size_t full)
{
    while (queue->n == full) {
        sim_charge(SIM_QUEUE_BLOCK, 0, list->n);
        sim_block(list);
        sim_leave();
    }
}

static void wake_first(sim_list *list)
{
    if (list->n)
        sim_charge(wake_of(list, SIM_QUEUE_WAKE, SIM_QUEUE_WAKE_SPACE), 0, list->n);
    sim_wake(list);
    sim_leave();
}

int sim_queue_send(rts_queue *queue, const void *message)
{
    sim_op op = queue->pointers ? SIM_POINTER_SEND : SIM_QUEUE_SEND;
    wait_for_room(queue, &queue->senders, queue->length);
    sim_charge(op, queue->pointers ? 0 : queue->size, queue->receivers.n);
    size_t end = (queue->begin + queue->n++) % queue->length;
    memcpy(queue->ring + end * queue->size, message, queue->size);
    wake_first(&queue->receivers);
    return 0;
}

int sim_queue_receive(rts_queue *queue, void *message)
{
    sim_op op = queue->pointers ? SIM_POINTER_RECEIVE : SIM_QUEUE_RECEIVE;
    wait_for_room(queue, &queue->receivers, 0);
    sim_charge(op, queue->pointers ? 0 : queue->size, queue->senders.n);
    memcpy(message, queue->ring + queue->begin * queue->size, queue->size);
    queue->begin = (queue->begin + 1) % queue->length;
    queue->n--;
    wake_first(&queue->senders);
    return 0;
}

int rts_channel_create(rts_channel *channel, int kind, size_t length, size_t size, unsigned slot)
{
    bool pointers = kind == SIM_CHANNEL_MAILBOX;
    int err = rts_queue_create(&channel->queue, length, pointers ? sizeof(void *) : size, slot);
    channel->queue.pointers = pointers;
    return err;
}

int rts_channel_destroy(rts_channel *channel, int kind)
{
    (void)kind;
    return rts_queue_destroy(&channel->queue);
}

const char *rts_channel_limits(int kind)
{
    (void)kind;
    return "the memory of this machine";
}
