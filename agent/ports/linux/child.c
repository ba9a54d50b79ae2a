/* Children, which proc.* creates and kills: the untimed part. */
#include <string.h>
#include <sys/prctl.h>

#include "linux.h"

/*
 * A spawned child runs the agent's own file, which exits before main() in any program linked with
 * this.
 */
__attribute__((constructor)) static void end_at_once(int argc, char **argv, char **env)
{
    (void)env;
    if (argc == 1 && !strcmp(argv[0], LINUX_CHILD_PROGRAM))
        _exit(0);
}

/* A cancellation point, where pthread_cancel() ends the thread. */
void *linux_child_thread(void *unused)
{
    (void)unused;
    for (;;)
        pause();
}

/*
 * A child process must not outlive its parent. A clone shares the parent's errno, so it makes no
 * call that sets it: prctl() succeeds, and pause() returns only when the clone ends.
 */
int linux_child_body(void *parent)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == *(const pid_t *)parent)
        pause();
    return 0;
}

int linux_child_end(void *unused)
{
    (void)unused;
    return 0;
}

static int prepare_thread(rts_child *child, size_t stack)
{
    int err = pthread_attr_init(&child->attr);
    if (!err)
        err = pthread_attr_setstack(&child->attr, child->stack, stack);
    if (!err && posix_may_realtime())
        err = posix_set_policy(&child->attr, child->prio, RTS_FIFO);
    return -err;
}

static int prepare_spawn(rts_child *child)
{
    static char name[] = LINUX_CHILD_PROGRAM;
    struct sched_param param = {.sched_priority = child->prio};
    struct linux_spawn *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    child->spawn = s;
    s->argv[0] = name;
    posix_spawnattr_init(&s->attr);
    if (!posix_may_realtime())
        return 0;
    posix_spawnattr_setschedpolicy(&s->attr, SCHED_FIFO);
    posix_spawnattr_setschedparam(&s->attr, &param);
    return -posix_spawnattr_setflags(&s->attr, POSIX_SPAWN_SETSCHEDULER);
}

#define STACK_ALIGNMENT 4096

int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack)
{
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    *child = (rts_child){.prio = prio, .parent = getpid()};
    if (kind == RTS_CHILD_SPAWN)
        return prepare_spawn(child);
    stack = stack > least ? stack : least;
    stack = (stack + STACK_ALIGNMENT - 1) / STACK_ALIGNMENT * STACK_ALIGNMENT;
    child->stack = aligned_alloc(STACK_ALIGNMENT, stack);
    if (!child->stack)
        return -ENOMEM;
    memset(child->stack, 0, stack);
    child->stack_end = child->stack + stack;
    return kind == RTS_CHILD_THREAD ? prepare_thread(child, stack) : 0;
}

void rts_child_release(rts_child *child)
{
    free(child->stack);
    free(child->spawn);
    *child = (rts_child){0};
}

int rts_child_lower(const rts_child *child, int kind)
{
    struct sched_param param = {.sched_priority = child->prio};
    if ((kind != RTS_CHILD_FORK && kind != RTS_CHILD_CLONE) || !posix_may_realtime())
        return 0;
    return sched_setscheduler(child->pid, SCHED_FIFO, &param) ? -errno : 0;
}

int rts_child_prio(const rts_child *child, int kind)
{
    struct sched_param param;
    int policy;
    if (kind == RTS_CHILD_THREAD) {
        int err = pthread_getschedparam(child->thread, &policy, &param);
        return err ? -err : param.sched_priority;
    }
    return sched_getparam(child->pid, &param) ? -errno : param.sched_priority;
}

bool rts_child_ran(const rts_child *child, int kind)
{
    clockid_t clock;
    int err = kind == RTS_CHILD_THREAD ? pthread_getcpuclockid(child->thread, &clock)
                                       : clock_getcpuclockid(child->pid, &clock);
    return err || posix_clock_ns(clock) > 0;
}
