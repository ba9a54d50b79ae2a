/*
 * The hot operations of every POSIX system: only the system's own call. Included by a port's
 * port_inline.h.
 */
#ifndef RTS_POSIX_INLINE_H
#define RTS_POSIX_INLINE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Converts a time to the ns that rts_time() counts, and back. */
static inline rts_tick posix_ns(struct timespec time)
{
    return (rts_tick)time.tv_sec * RTS_TIME_HZ + (rts_tick)time.tv_nsec;
}

static inline struct timespec posix_timespec(rts_tick ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / RTS_TIME_HZ),
                             .tv_nsec = (long)(ns % RTS_TIME_HZ)};
}

static inline rts_tick rts_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return posix_ns(now);
}

/* ---- the cycle counter ---------------------------------------------------------------------- */

/*
 * posix_counter() reads it between two fences (barriers): the read waits for everything before it,
 * and everything after it waits for the read. POSIX_NOTHING is a no-op instruction as long as a
 * jump; without it the port knows no counter of the processor.
 */
#if defined __x86_64__
#define POSIX_NOTHING ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
static inline __attribute__((always_inline)) rts_tick posix_counter(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
    return (rts_tick)high << 32 | low;
}
#elif defined __aarch64__
#define POSIX_NOTHING "nop"
static inline __attribute__((always_inline)) rts_tick posix_counter(void)
{
    rts_tick count;
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(count)::"memory");
    return count;
}
#elif defined __thumb2__ && __ARM_ARCH >= 7
#define POSIX_NOTHING "nop.w"
static inline __attribute__((always_inline)) rts_tick posix_counter(void)
{
    rts_tick count;
    __asm__ volatile("isb\n\tmrrc p15, 1, %Q0, %R0, c14\n\tisb" : "=r"(count)::"memory");
    return count;
}
#elif defined __riscv && __riscv_xlen == 64
#define POSIX_NOTHING ".option push\n\t.option norvc\n\tnop\n\t.option pop"
/* To fences, reading a control register is input from a device (Zicsr, "CSR Access Ordering"). */
static inline __attribute__((always_inline)) rts_tick posix_counter(void)
{
    rts_tick count;
    __asm__ volatile("fence iorw, i\n\trdtime %0\n\tfence i, iorw" : "=r"(count)::"memory");
    return count;
}
#endif

/*
 * Which clock is read is decided once, when the agent starts, and never checked afterwards. There
 * is a no-op instruction here; if the counter is unreliable, clock.c replaces it with a jump to
 * `label`. Each such place is in a list, as two distances from the list entry: to the instruction
 * and to the label.
 */
#define POSIX_JUMP_WITHOUT_COUNTER(label)                                                          \
    __asm__ goto("1: " POSIX_NOTHING "\n\t"                                                        \
                 ".pushsection posix_clock_places, \"a\"\n\t"                                      \
                 ".balign 4\n\t"                                                                   \
                 ".long 1b - ., %l0 - .\n\t"                                                       \
                 ".popsection" ::                                                                  \
                     :                                                                             \
                 : label)

RTS_HOT rts_tick rts_now(void)
{
#ifdef POSIX_NOTHING
    POSIX_JUMP_WITHOUT_COUNTER(no_counter);
    return posix_counter();
no_counter:
    __attribute__((cold));
#endif
    return rts_time();
}

static inline uint64_t rts_cpu_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return posix_ns(used);
}

static inline void rts_yield(void)
{
    sched_yield();
}

static inline void rts_sleep_until(rts_tick time)
{
    const struct timespec until = posix_timespec(time);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static inline int rts_sleep_for(rts_tick duration)
{
    const struct timespec request = posix_timespec(duration);
    return nanosleep(&request, NULL) ? -errno : 0;
}

/* ---- semaphores, mutexes and queues --------------------------------------------------------- */

static inline int rts_sem_create(rts_sem *sem, unsigned value)
{
    if (sem->kind == RTS_SEM_NAMED) {
        sem->s = sem_open(sem->name, O_CREAT | O_EXCL, 0600, value);
        return sem->s == SEM_FAILED ? -errno : 0;
    }
    sem->s = &sem->own;
    return sem_init(&sem->own, sem->kind == RTS_SEM_PSHARED, value) ? -errno : 0;
}

static inline int rts_sem_destroy(rts_sem *sem)
{
    if (sem->kind == RTS_SEM_NAMED) {
        if (sem->name[0])
            sem_unlink(sem->name);
        return sem_close(sem->s) ? -errno : 0;
    }
    return sem_destroy(&sem->own) ? -errno : 0;
}

static inline int rts_sem_give(rts_sem *sem)
{
    return sem_post(sem->s) ? -errno : 0;
}

static inline int rts_sem_take(rts_sem *sem)
{
    return sem_wait(sem->s) ? -errno : 0;
}

static inline int rts_sem_try(rts_sem *sem)
{
    return sem_trywait(sem->s) ? -errno : 0;
}

/* Two calls, because the standard says nothing of the value of a new set. */
static inline int rts_set_create(rts_set *set, unsigned value)
{
    set->id = semget(set->key, 1, IPC_CREAT | IPC_EXCL | 0600);
    return set->id < 0 || semctl(set->id, 0, SETVAL, (int)value) ? -errno : 0;
}

static inline int rts_set_destroy(rts_set *set)
{
    return semctl(set->id, 0, IPC_RMID) ? -errno : 0;
}

/* A wait goes on after a signal, as that of sem_wait() does. */
static inline int posix_set_add(const rts_set *set, short amount, short flags)
{
    struct sembuf operation = {.sem_op = amount, .sem_flg = flags};
    while (semop(set->id, &operation, 1))
        if (errno != EINTR)
            return -errno;
    return 0;
}

static inline int rts_set_give(const rts_set *set)
{
    return posix_set_add(set, 1, 0);
}

static inline int rts_set_take(const rts_set *set)
{
    return posix_set_add(set, -1, 0);
}

static inline int rts_set_try(const rts_set *set)
{
    return posix_set_add(set, -1, IPC_NOWAIT);
}

static inline int rts_mutex_lock(rts_mutex *mutex)
{
    return -pthread_mutex_lock(&mutex->m);
}

static inline int rts_mutex_unlock(rts_mutex *mutex)
{
    return -pthread_mutex_unlock(&mutex->m);
}

static inline int rts_rwlock_read(rts_rwlock *lock)
{
    return -pthread_rwlock_rdlock(&lock->l);
}

static inline int rts_rwlock_write(rts_rwlock *lock)
{
    return -pthread_rwlock_wrlock(&lock->l);
}

static inline int rts_rwlock_unlock(rts_rwlock *lock)
{
    return -pthread_rwlock_unlock(&lock->l);
}

static inline int rts_barrier_wait(rts_barrier *barrier)
{
    int result = pthread_barrier_wait(&barrier->b);
    return result == PTHREAD_BARRIER_SERIAL_THREAD ? 1 : -result;
}

static inline int rts_spin_lock(rts_spin *lock)
{
    return -pthread_spin_lock(&lock->l);
}

static inline int rts_spin_unlock(rts_spin *lock)
{
    return -pthread_spin_unlock(&lock->l);
}

static inline int rts_queue_send(rts_queue *queue, const void *message)
{
    return mq_send(queue->q, message, queue->size, 0) ? -errno : 0;
}

static inline int rts_queue_receive(rts_queue *queue, void *message)
{
    return mq_receive(queue->q, message, queue->size, NULL) < 0 ? -errno : 0;
}

/* ---- channels (channel.c) ------------------------------------------------------------------- */

static inline bool rts_channel_passes_pointer(int kind)
{
    return kind == RTS_CHANNEL_MAILBOX;
}

/* Returns 0 if the whole message went through; messages are never split. */
static inline int posix_whole(ssize_t n, size_t size)
{
    return n == (ssize_t)size ? 0 : n < 0 ? -errno : -EIO;
}

/* The type of a System V message precedes it. */
static inline long *posix_typed(void *message)
{
    return (long *)message - 1;
}

/* `kind` is a constant where this is inlined, so that only one of the calls remains. */
static inline int rts_channel_send(rts_channel *channel, int kind, void *message)
{
    switch (kind) {
    case RTS_CHANNEL_QUEUE:
        return rts_queue_send(&channel->queue, message);
    case RTS_CHANNEL_SYSV:
        *posix_typed(message) = 1;
        return msgsnd(channel->id, posix_typed(message), channel->size, 0) ? -errno : 0;
    case RTS_CHANNEL_PIPE:
    case RTS_CHANNEL_FIFO:
        return posix_whole(write(channel->in, message, channel->size), channel->size);
    case RTS_CHANNEL_UNIX:
        return posix_whole(send(channel->in, message, channel->size, 0), channel->size);
    default:
        if (sem_wait(&channel->free))
            return -errno;
        channel->letter = message;
        return sem_post(&channel->full) ? -errno : 0;
    }
}

static inline int rts_channel_receive(rts_channel *channel, int kind, void **message)
{
    switch (kind) {
    case RTS_CHANNEL_QUEUE:
        return rts_queue_receive(&channel->queue, *message);
    case RTS_CHANNEL_SYSV:
        return posix_whole(msgrcv(channel->id, posix_typed(*message), channel->size, 0, 0),
                           channel->size);
    case RTS_CHANNEL_PIPE:
    case RTS_CHANNEL_FIFO:
        return posix_whole(read(channel->out, *message, channel->size), channel->size);
    case RTS_CHANNEL_UNIX:
        return posix_whole(recv(channel->out, *message, channel->size, 0), channel->size);
    default:
        if (sem_wait(&channel->full))
            return -errno;
        *message = channel->letter;
        return sem_post(&channel->free) ? -errno : 0;
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static inline void *rts_malloc(size_t size)
{
    return malloc(size);
}

static inline void rts_free(void *block)
{
    free(block);
}

#endif
