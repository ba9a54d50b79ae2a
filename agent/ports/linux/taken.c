/* What tasks of other processes, and the hypervisor, take of the CPU that is measured. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "linux.h"

#define MOST 4096 /* tasks of the system */

typedef struct task_time {
    int tid, cpu; /* CPU: where it ran last */
    uint64_t ns;
} task_time;

typedef struct snapshot {
    int n; /* -1: not all can be seen */
    task_time task[MOST];
    int64_t steal_ns;
} snapshot;

static snapshot snapshots[2];

/* Returns the CPU that a task ran on last: the 39th member, counted from the end of its name. */
static bool read_cpu(int task, int *cpu)
{
    char text[1024];
    ssize_t n = read(task, text, sizeof text - 1);
    if (n <= 0)
        return false;
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    for (int i = 2; at && i < 39; i++)
        at = strchr(at + 1, ' ');
    long long value;
    if (!at || !posix_number(&at, &value))
        return false;
    *cpu = (int)value;
    return true;
}

static int open_of(int tasks, const char *tid, const char *file)
{
    char path[64];
    snprintf(path, sizeof path, "%.32s/%s", tid, file);
    return openat(tasks, path, O_RDONLY | O_CLOEXEC);
}

/* Adds a task; one that ends meanwhile is left out. */
static void add_task(snapshot *s, int tasks, const char *tid)
{
    char text[64];
    long long number, ns;
    const char *at = tid, *value = text;
    int stat = open_of(tasks, tid, "stat"), times = open_of(tasks, tid, "schedstat");
    ssize_t n = times < 0 ? -1 : read(times, text, sizeof text - 1);
    text[n > 0 ? n : 0] = '\0';
    task_time *t = &s->task[s->n];
    if (stat >= 0 && posix_number(&at, &number) && posix_number(&value, &ns) &&
        read_cpu(stat, &t->cpu)) {
        t->tid = (int)number;
        t->ns = (uint64_t)ns;
        s->n++;
    }
    if (stat >= 0)
        close(stat);
    if (times >= 0)
        close(times);
}

/* Adds the tasks of a process. */
static void add_tasks(snapshot *s, int proc, const char *pid)
{
    char path[64];
    snprintf(path, sizeof path, "%.32s/task", pid);
    int fd = proc < 0 ? -1 : openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *tasks = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *e; tasks && s->n < MOST && (e = readdir(tasks));)
        if (e->d_name[0] != '.')
            add_task(s, fd, e->d_name);
    if (tasks)
        closedir(tasks);
    else if (fd >= 0)
        close(fd);
}

static bool is_other_process(const char *name)
{
    long long pid;
    return posix_number(&name, &pid) && !*name && pid != getpid();
}

/* All tasks but those of this process, which is the case's. */
static void look(snapshot *s, const rts_cpuset *cpus)
{
    DIR *proc = opendir("/proc");
    int stat = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    bool all = !access("/proc/1/stat", R_OK) &&                  /* not with hidepid */
               posix_read_number("/proc/self/schedstat", 0) > 0; /* 0: the kernel does not count */
    s->n = 0;
    s->steal_ns = linux_steal_ns(stat, cpus);
    for (struct dirent *e; proc && s->n < MOST && (e = readdir(proc));)
        if (is_other_process(e->d_name))
            add_tasks(s, dirfd(proc), e->d_name);
    if (!proc || !all || s->n == MOST || s->steal_ns < 0)
        s->n = -1;
    if (proc)
        closedir(proc);
    if (stat >= 0)
        close(stat);
}

static const task_time *find(const snapshot *s, int tid)
{
    for (int i = 0; i < s->n; i++)
        if (s->task[i].tid == tid)
            return &s->task[i];
    return NULL;
}

/* Counts what a task ran on if it was on the measured CPU before or after that. */
static int64_t taken_by(const snapshot *before, const task_time *t, int cpu)
{
    const task_time *then = find(before, t->tid);
    bool here = t->cpu == cpu || (then && then->cpu == cpu);
    uint64_t begin = then && then->ns <= t->ns ? then->ns : 0;
    return here ? (int64_t)(t->ns - begin) : 0;
}

int64_t rts_port_taken_ns(const rts_job *job)
{
    static unsigned looks;
    const snapshot *before = &snapshots[looks % 2];
    snapshot *now = &snapshots[++looks % 2];
    look(now, job->cpus);
    if (looks == 1 || before->n < 0 || now->n < 0 || job->cpu < 0)
        return -1;
    int64_t sum = now->steal_ns - before->steal_ns;
    for (int i = 0; i < now->n; i++)
        sum += taken_by(before, &now->task[i], job->cpu);
    return sum;
}
