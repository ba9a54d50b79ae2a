/*
 * Other agents that are active during a case.
 *
 * The owner of a lock file is an agent if a process with that number exists, the file belongs to
 * the user of that process, and the process is not younger than the file: any user may lock a file
 * with such a name, but not on behalf of another user's process. An agent counts only if it, or a
 * descendant of it, has used the CPU meanwhile: one that waits disturbs nothing, whoever it claims
 * to be.
 */
#include <stdio.h>
#include <string.h>

#include "linux.h"

#define MOST 64     /* agents that are distinguished */
#define YOUNGER_S 2 /* tolerance for the difference between two clocks */

typedef struct agent {
    long number;
    uint64_t cpu_ns;
} agent;

typedef struct agents {
    agent member[MOST];
    unsigned n;
    bool unknown; /* there may be one that cannot be inspected */
} agents;

static agents before;

/* Returns whether the process belongs to the user who owns the file. */
static bool is_of_user(pid_t pid, uid_t user)
{
    char path[32], status[4096];
    long long real, effective;
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    const char *line =
        posix_read_file(path, status, sizeof status) > 0 ? strstr(status, "\nUid:") : NULL;
    if (!line)
        return false;
    line += strlen("\nUid:");
    return posix_number(&line, &real) && posix_number(&line, &effective) &&
           effective == (long long)user;
}

/* Returns when a process was started, in s of the clock of files; false: no such process. */
static bool start_of(pid_t pid, double *start)
{
    linux_process p;
    struct timespec now, up;
    if (!linux_read_process(pid, &p))
        return false;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_BOOTTIME, &up);
    *start = (double)(now.tv_sec - up.tv_sec) + (double)(now.tv_nsec - up.tv_nsec) / 1e9 +
             (double)p.start_clocks / (double)sysconf(_SC_CLK_TCK);
    return true;
}

static bool is_agent(const linux_lock *lock)
{
    double start;
    return start_of(lock->pid, &start) && start <= (double)lock->created.tv_sec + YOUNGER_S &&
           is_of_user(lock->pid, lock->user);
}

/* Returns true if it is impossible to find out whether an agent owns the file. */
static bool may_be_hidden(const linux_lock *lock)
{
    char line[64];
    if (lock->user == geteuid()) /* for example in another PID namespace */
        return linux_is_held(lock->number);
    return !posix_read_line("/proc/1/stat", line, sizeof line); /* others' are not shown: hidepid */
}

/* Returns the CPU time of a process and all its living descendants. */
static uint64_t family_ns(pid_t root)
{
    clockid_t clock;
    uint64_t ns = 0;
    unsigned n = linux_find_family(root, 0);
    for (unsigned i = 0; i < n; i++)
        ns += clock_getcpuclockid(linux_family[i].pid, &clock) ? 0 : posix_clock_ns(clock);
    return ns;
}

static void look(agents *a)
{
    linux_lock lock[MOST];
    int n_locks = linux_other_locks(lock, MOST);
    *a = (agents){.unknown = n_locks < 0 || n_locks > MOST};
    for (int i = 0; i < n_locks && i < MOST; i++) {
        if (is_agent(&lock[i]))
            a->member[a->n++] = (agent){lock[i].number, family_ns(lock[i].pid)};
        else if (may_be_hidden(&lock[i]))
            a->unknown = true;
    }
}

void posix_other_agents_start(void)
{
    look(&before);
}

static const agent *find(const agents *a, long number)
{
    for (unsigned i = 0; i < a->n; i++)
        if (a->member[i].number == number)
            return &a->member[i];
    return NULL;
}

int64_t posix_other_agents_at_work(void)
{
    static agents after;
    int64_t n = 0;
    look(&after);
    for (unsigned i = 0; i < after.n; i++) {
        const agent *then = find(&before, after.member[i].number);
        n += !then || then->cpu_ns != after.member[i].cpu_ns;
    }
    for (unsigned i = 0; i < before.n; i++)
        n += !find(&after, before.member[i].number); /* it has ended meanwhile */
    return n || !(before.unknown || after.unknown) ? n : -1;
}
