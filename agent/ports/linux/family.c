/* The descendants of a process, and the members of a group, from /proc. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "linux.h"

#define PROCESSES 16384 /* in the whole system, at most */

linux_process linux_family[PROCESSES];

/* Fields of /proc/PID/stat, counted from the state; CPU time is the sum of four. */
enum { PARENT = 0, GROUP = 1, USER = 10, CHILDREN_SYSTEM = 13, START = 18 };

bool linux_read_process(pid_t pid, linux_process *p)
{
    char path[32], line[512];
    long long number[START + 1];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (posix_read_file(path, line, sizeof line) < 0)
        return false;
    const char *rest = strrchr(line, ')'); /* the name before it may hold any character */
    if (!rest || strlen(rest) < sizeof ") S")
        return false;
    p->state = rest[2];
    rest += 3;
    for (int i = PARENT; i <= START; i++)
        if (!posix_number(&rest, &number[i]))
            return false;
    p->pid = pid;
    p->parent = (pid_t)number[PARENT];
    p->group = (pid_t)number[GROUP];
    p->start_clocks = (unsigned long long)number[START];
    p->cpu_clocks = 0;
    for (int i = USER; i <= CHILDREN_SYSTEM; i++)
        p->cpu_clocks += (unsigned long)number[i];
    return true;
}

static unsigned read_all(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && n < PROCESSES && (e = readdir(dir));) {
        pid_t pid = atoi(e->d_name);
        if (pid > 0 && linux_read_process(pid, &linux_family[n]))
            n++;
    }
    if (dir)
        closedir(dir);
    return n;
}

static bool is_child_of_member(unsigned i, unsigned members)
{
    for (unsigned k = 0; k < members; k++)
        if (linux_family[k].pid == linux_family[i].parent)
            return true;
    return false;
}

/* Moves members to the front: first the known ones, then repeatedly their children. */
unsigned linux_find_family(pid_t root, pid_t group)
{
    unsigned n = read_all(), members = 0;
    for (bool first = true, grown = true; grown; first = false) {
        grown = false;
        for (unsigned i = members; i < n; i++) {
            linux_process p = linux_family[i];
            if (first ? p.pid == root || (group && p.group == group)
                      : is_child_of_member(i, members)) {
                linux_family[i] = linux_family[members];
                linux_family[members++] = p;
                grown = true;
            }
        }
    }
    return members;
}

int64_t posix_family_cpu_ns(pid_t root)
{
    uint64_t clocks = 0;
    unsigned n = linux_find_family(root, 0);
    for (unsigned i = 0; i < n; i++)
        clocks += linux_family[i].cpu_clocks;
    return (int64_t)(clocks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK)));
}

void posix_kill_family(pid_t root, pid_t group)
{
    unsigned n = linux_find_family(root, group);
    for (unsigned i = 0; i < n; i++)
        if (linux_family[i].pid != getpid())
            kill(linux_family[i].pid, SIGKILL);
}
