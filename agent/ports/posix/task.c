/* Tasks: threads, or processes that share the memory returned by rts_port_shared(). */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "posix.h"

bool posix_may_realtime(void)
{
    static int may = -1;
    if (may < 0) {
        /* Try it: privileges, limits and RT group scheduling can all prevent it. At the
         * watchdog's priority, because no task may run without a watchdog above it. */
        struct sched_param param = {.sched_priority = RTS_PRIO_MAX + 1}, back = {0};
        may = sched_setscheduler(0, SCHED_FIFO, &param) == 0;
        if (may)
            sched_setscheduler(0, SCHED_OTHER, &back);
    }
    return may;
}

static int posix_policy(rts_policy policy)
{
    return policy == RTS_OTHER ? SCHED_OTHER : policy == RTS_RR ? SCHED_RR : SCHED_FIFO;
}

/* Time sharing has no priorities. */
static struct sched_param posix_param(int prio, rts_policy policy)
{
    return (struct sched_param){.sched_priority = policy == RTS_OTHER ? 0 : prio};
}

int posix_set_policy(pthread_attr_t *attr, int prio, rts_policy policy)
{
    struct sched_param param = posix_param(prio, policy);
    pthread_attr_setinheritsched(attr, PTHREAD_EXPLICIT_SCHED);
    int err = pthread_attr_setschedpolicy(attr, posix_policy(policy));
    return err ? err : pthread_attr_setschedparam(attr, &param);
}

int posix_set_attributes(pthread_attr_t *attr, const rts_task_attr *a)
{
    size_t stack = a->stack ? a->stack : RTS_STACK_DEFAULT;
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);
    int err = pthread_attr_setstacksize(attr, stack > least ? stack : least);
    if (!err && a->cpu >= 0)
        err = -posix_bind_thread(attr, a->cpu);
    return err || !posix_may_realtime() ? err : posix_set_policy(attr, a->prio, a->policy);
}

static void *thread_main(void *arg)
{
    const rts_task *task = arg;
    task->run(task->arg);
    return NULL;
}

static int create_thread(rts_task *task, const rts_task_attr *a)
{
    pthread_attr_t attr;
    task->run = a->run;
    task->arg = a->arg;
    pthread_attr_init(&attr);
    int err = posix_set_attributes(&attr, a);
    if (!err)
        err = pthread_create(&task->thread, &attr, thread_main, task);
    pthread_attr_destroy(&attr);
    return -err;
}

static int bind_to(int cpu)
{
    rts_cpuset target = {{0}};
    rts_cpuset_add(&target, (unsigned)cpu);
    return posix_bind(&target);
}

/* Tasks of the case that are processes, and have not been joined. */
static struct {
    pid_t pid[RTS_TASKS_MAX];
    unsigned n;
} processes;

static int create_process(rts_task *task, const rts_task_attr *a)
{
    if (processes.n == RTS_TASKS_MAX)
        return -EAGAIN;
    pid_t pid = fork();
    if (pid < 0)
        return -errno;
    if (pid == 0) {
        posix_die_with_parent(SIGKILL);
        posix_exact_timers();
        posix_lock_memory();
        int err = a->cpu >= 0 ? bind_to(a->cpu) : 0;
        if (!err)
            err = rts_task_set_own_prio(a->prio, a->policy);
        if (!err)
            a->run(a->arg);
        _exit(err ? 1 : 0);
    }
    task->process = pid;
    processes.pid[processes.n++] = pid;
    return 0;
}

static void forget_process(pid_t pid)
{
    for (unsigned i = 0; i < processes.n; i++)
        if (processes.pid[i] == pid)
            processes.pid[i] = processes.pid[--processes.n];
}

int rts_task_create(rts_task *task, const rts_task_attr *attr)
{
    memset(task, 0, sizeof *task);
    return attr->process ? create_process(task, attr) : create_thread(task, attr);
}

int rts_task_join(rts_task *task)
{
    if (!task->process)
        return -pthread_join(task->thread, NULL);
    int status;
    while (waitpid(task->process, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    forget_process(task->process);
    return status ? -ECHILD : 0;
}

void posix_how_ended(int status, char *why, size_t size)
{
    if (status < 0)
        snprintf(why, size, "its process was lost: %s", strerror(errno));
    else if (WIFSIGNALED(status))
        snprintf(why, size, "killed by signal %d (%s%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), posix_kill_hint(WTERMSIG(status)));
    else
        snprintf(why, size, "exit status %d", WEXITSTATUS(status));
}

int rts_task_set_own_prio(int prio, rts_policy policy)
{
    struct sched_param param = posix_param(prio, policy);
    if (!posix_may_realtime())
        return 0;
    /* Not sched_setscheduler(): mutexes with a ceiling use the priority that the library knows. */
    return -pthread_setschedparam(pthread_self(), posix_policy(policy), &param);
}

uint64_t posix_clock_ns(clockid_t clock)
{
    struct timespec used;
    if (clock_gettime(clock, &used))
        return 0;
    return posix_ns(used);
}

uint64_t rts_task_cpu_time(const rts_task *task)
{
    clockid_t clock;
    int err = task->process ? clock_getcpuclockid(task->process, &clock)
                            : pthread_getcpuclockid(task->thread, &clock);
    return err ? 0 : posix_clock_ns(clock);
}

int64_t posix_tasks_cpu_ns(void)
{
    struct rusage ended;
    clockid_t clock;
    getrusage(RUSAGE_CHILDREN, &ended);
    uint64_t ns = posix_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    ns += (uint64_t)(ended.ru_utime.tv_sec + ended.ru_stime.tv_sec) * 1000000000;
    ns += (uint64_t)(ended.ru_utime.tv_usec + ended.ru_stime.tv_usec) * 1000;
    for (unsigned i = 0; i < processes.n; i++)
        if (!clock_getcpuclockid(processes.pid[i], &clock))
            ns += posix_clock_ns(clock);
    return (int64_t)ns;
}

/* For the measuring process; tasks that are processes themselves are not included. */
uint64_t rts_preemptions(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_nivcsw;
}
