/* The hot operations of the POSIX port: the system's own call and nothing else. */
#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* True where the cycle counter may be used; set once at the start. */
extern bool rts_cycle_counter;

static inline rts_tick rts_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (rts_tick)now.tv_sec * RTS_TIME_HZ + (rts_tick)now.tv_nsec;
}

static inline rts_tick rts_time_syscall(void)
{
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (rts_tick)now.tv_sec * RTS_TIME_HZ + (rts_tick)now.tv_nsec;
}

/* The fence (or barrier) makes the counter wait for everything before it, as the kernel does. */
static inline rts_tick rts_now(void)
{
#if defined __x86_64__
    if (__builtin_expect(rts_cycle_counter, 1)) {
        uint32_t low, high;
        __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high)::"memory");
        return (rts_tick)high << 32 | low;
    }
#elif defined __aarch64__
    if (__builtin_expect(rts_cycle_counter, 1)) {
        rts_tick count;
        __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(count)::"memory");
        return count;
    }
#endif
    return rts_time();
}

static inline uint64_t rts_cpu_time(void)
{
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return (uint64_t)used.tv_sec * RTS_TIME_HZ + (uint64_t)used.tv_nsec;
}

static inline void rts_yield(void)
{
    sched_yield();
}

static inline void rts_sleep_until(rts_tick time)
{
    struct timespec until = {.tv_sec = (time_t)(time / RTS_TIME_HZ),
                             .tv_nsec = (long)(time % RTS_TIME_HZ)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

static inline int rts_sleep_for(rts_tick duration)
{
    const struct timespec request = {.tv_sec = (time_t)(duration / RTS_TIME_HZ),
                                     .tv_nsec = (long)(duration % RTS_TIME_HZ)};
    return nanosleep(&request, NULL) ? -errno : 0;
}

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

static inline int rts_mutex_lock(rts_mutex *mutex)
{
    return -pthread_mutex_lock(&mutex->m);
}

static inline int rts_mutex_unlock(rts_mutex *mutex)
{
    return -pthread_mutex_unlock(&mutex->m);
}

static inline int rts_queue_send(rts_queue *queue, const void *message)
{
    return mq_send(queue->q, message, queue->size, 0) ? -errno : 0;
}

static inline int rts_queue_receive(rts_queue *queue, void *message)
{
    return mq_receive(queue->q, message, queue->size, NULL) < 0 ? -errno : 0;
}

static inline void *rts_malloc(size_t size)
{
    return malloc(size);
}

static inline void rts_free(void *block)
{
    free(block);
}

#endif
