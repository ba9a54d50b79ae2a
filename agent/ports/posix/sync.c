/* Semaphores, locks and queues: the untimed part. */
#include <stdio.h>
#include <string.h>

#include "posix.h"

void rts_sem_prepare(rts_sem *sem, rts_sem_kind kind, unsigned slot)
{
    sem->kind = (int)kind;
    sem->name[0] = '\0';
    if (kind == RTS_SEM_NAMED)
        posix_object_name(sem->name, sizeof sem->name, slot);
}

void rts_sem_unlink(rts_sem *sem)
{
    if (sem->name[0])
        sem_unlink(sem->name);
    sem->name[0] = '\0';
}

void rts_set_prepare(rts_set *set, unsigned slot)
{
    *set = (rts_set){.key = posix_object_key(slot), .id = -1};
    posix_remove_set(set->key);
}

int rts_mutex_create(rts_mutex *mutex, rts_protocol protocol, int ceiling)
{
    static const int protocols[] = {
        [RTS_LOCK_NONE] = PTHREAD_PRIO_NONE,
        [RTS_LOCK_INHERIT] = PTHREAD_PRIO_INHERIT,
        [RTS_LOCK_PROTECT] = PTHREAD_PRIO_PROTECT,
    };
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    int err = pthread_mutexattr_setprotocol(&attr, protocols[protocol]);
    if (!err && protocol == RTS_LOCK_PROTECT)
        err = pthread_mutexattr_setprioceiling(&attr, ceiling);
    if (!err)
        err = pthread_mutex_init(&mutex->m, &attr);
    pthread_mutexattr_destroy(&attr);
    return -err;
}

int rts_mutex_destroy(rts_mutex *mutex)
{
    return -pthread_mutex_destroy(&mutex->m);
}

int rts_rwlock_create(rts_rwlock *lock)
{
    return -pthread_rwlock_init(&lock->l, NULL);
}

int rts_rwlock_destroy(rts_rwlock *lock)
{
    return -pthread_rwlock_destroy(&lock->l);
}

int rts_barrier_create(rts_barrier *barrier, unsigned tasks)
{
    return -pthread_barrier_init(&barrier->b, NULL, tasks);
}

int rts_spin_create(rts_spin *lock)
{
    return -pthread_spin_init(&lock->l, PTHREAD_PROCESS_PRIVATE);
}

int rts_spin_destroy(rts_spin *lock)
{
    return -pthread_spin_destroy(&lock->l);
}

int rts_queue_create(rts_queue *queue, size_t length, size_t size, unsigned slot)
{
    char name[32];
    struct mq_attr attr = {.mq_maxmsg = (long)length, .mq_msgsize = (long)size};
    posix_object_name(name, sizeof name, slot);
    queue->size = size;
    queue->q = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
    if (queue->q == (mqd_t)-1) /* for users, a system limit is no invalid argument */
        return errno == EINVAL ? -EMSGSIZE : -errno;
    mq_unlink(name); /* the open descriptor suffices, also for processes that inherit it */
    return 0;
}

int rts_queue_destroy(rts_queue *queue)
{
    return mq_close(queue->q) ? -errno : 0;
}
