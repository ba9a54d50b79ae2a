/* The hot operations of Linux, in addition to those of every POSIX system. */
#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "posix_inline.h"

static inline rts_tick rts_time_syscall(void)
{
    struct {
        long s, ns; /* words of the machine, however wide time_t is */
    } now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (rts_tick)now.s * RTS_TIME_HZ + (rts_tick)now.ns;
}

/* ---- the wall clock (wall.c) ---------------------------------------------------------------- */

/* After SIGRTMIN, which timers use, and that of interrupts. */
#define LINUX_WALL_SIGNAL (SIGRTMIN + 2)

static inline rts_tick rts_wall_time(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return posix_ns(now);
}

static inline void rts_wall_sleep_until(rts_tick time)
{
    const struct timespec until = posix_timespec(time);
    clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &until, NULL);
}

/* ---- children (child.c) ------------------------------------------------------------------- */

/* Shares everything but the thread group: a member of the parent's group cannot be killed alone. */
#define LINUX_CLONE_FLAGS                                                                          \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_SYSVSEM | CLONE_IO)

struct linux_spawn {
    posix_spawnattr_t attr;
    char *argv[2];
};

void *linux_child_thread(void *unused);
int linux_child_body(void *parent);
int linux_child_end(void *unused);

/*
 * Implements vfork() by its flags, because vfork() itself cannot be inlined. A child of fork() must
 * not write to *child, which may be in memory shared with its parent.
 */
static inline int rts_child_create(rts_child *child, int kind)
{
    pid_t pid;
    switch (kind) {
    case RTS_CHILD_THREAD:
        return -pthread_create(&child->thread, &child->attr, linux_child_thread, NULL);
    case RTS_CHILD_CLONE:
        pid = clone(linux_child_body, child->stack_end, LINUX_CLONE_FLAGS, &child->parent);
        break;
    case RTS_CHILD_FORK:
        pid = fork();
        if (pid == 0)
            _exit(linux_child_body(&child->parent));
        break;
    case RTS_CHILD_SPAWN:
        return -posix_spawn(&child->pid, "/proc/self/exe", NULL, &child->spawn->attr,
                            child->spawn->argv, NULL);
    default:
        pid = clone(linux_child_end, child->stack_end, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
    }
    child->pid = pid;
    return pid < 0 ? -errno : 0;
}

static inline int rts_child_kill(rts_child *child, int kind)
{
    if (kind == RTS_CHILD_THREAD)
        return -pthread_cancel(child->thread);
    return kill(child->pid, SIGKILL) ? -errno : 0;
}

static inline int rts_child_reap(rts_child *child, int kind)
{
    if (kind == RTS_CHILD_THREAD)
        return -pthread_join(child->thread, NULL);
    return waitpid(child->pid, NULL, __WALL) < 0 ? -errno : 0;
}

/* ---- an interrupt on request (irq.c) ------------------------------------------------------ */

/* After SIGRTMIN, which timers use. */
#define LINUX_IRQ_SIGNAL (SIGRTMIN + 1)

static inline int rts_irq_raise(rts_irq *irq)
{
    static const uint64_t increment = 1;
    if (irq->fd >= 0)
        return write(irq->fd, &increment, sizeof increment) < 0 ? -errno : 0;
    return syscall(SYS_tgkill, irq->process, irq->task, LINUX_IRQ_SIGNAL) ? -errno : 0;
}

#endif
