/*
 * Other agents that are at work beside a case.
 *
 * Who has a lock file is an agent if it is the process of that number, if the file belongs to that
 * process's user, and if the process is not younger than the file: anybody may hold a lock on a
 * file of such a name, but not for another's process.  And it counts only if it, or a process of
 * its own, has used the CPU meanwhile: one that waits disturbs nobody, whoever says what it is.
 */
#include <stdio.h>
#include <string.h>

#include "linux.h"

#define MOST 64     /* that are told from one another */
#define YOUNGER_S 2 /* by which clocks that are not the same may differ */

typedef struct agent {
    long number;
    uint64_t cpu_ns;
} agent;

typedef struct agents {
    agent of[MOST];
    unsigned n;
    bool unknown; /* there may be one that cannot be looked at */
} agents;

static agents before;

/* True if the user that has the file is the one of the process. */
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

/* When a process has started, in s of the clock of files; false: there is none. */
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
    return start_of(lock->pid, &start) && start <= (double)lock->made.tv_sec + YOUNGER_S &&
           is_of_user(lock->pid, lock->user);
}

/* True if it cannot be found out whether there is an agent that has the file. */
static bool may_be_hidden(const linux_lock *lock)
{
    char line[64];
    if (lock->user == geteuid()) /* of another process number space, say */
        return linux_is_held(lock->number);
    return !posix_read_line("/proc/1/stat", line, sizeof line); /* others' are not shown: hidepid */
}

/* CPU time of a process and all that descend from it and live. */
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
    int found = linux_other_locks(lock, MOST);
    *a = (agents){.unknown = found < 0 || found > MOST};
    for (int i = 0; i < found && i < MOST; i++) {
        if (is_agent(&lock[i]))
            a->of[a->n++] = (agent){lock[i].number, family_ns(lock[i].pid)};
        else if (may_be_hidden(&lock[i]))
            a->unknown = true;
    }
}

void posix_others_start(void)
{
    look(&before);
}

static const agent *find(const agents *a, long number)
{
    for (unsigned i = 0; i < a->n; i++)
        if (a->of[i].number == number)
            return &a->of[i];
    return NULL;
}

int64_t posix_others_at_work(void)
{
    static agents after;
    int64_t n = 0;
    look(&after);
    for (unsigned i = 0; i < after.n; i++) {
        const agent *then = find(&before, after.of[i].number);
        n += !then || then->cpu_ns != after.of[i].cpu_ns;
    }
    for (unsigned i = 0; i < before.n; i++)
        n += !find(&after, before.of[i].number); /* it has ended meanwhile */
    return n || !(before.unknown || after.unknown) ? n : -1;
}
