/* The processes that descend from one, or belong to a group: what /proc says of them. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "posix.h"

#define PROCESSES 16384 /* of the whole system, at most */

posix_process posix_family[PROCESSES];

/* False: it is gone. */
static bool read_process(pid_t pid, posix_process *p)
{
    char path[32], line[512];
    int parent, group;
    unsigned long user, system;
    long children_user, children_system;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    if (!posix_read_line(path, line, sizeof line))
        return false;
    const char *rest = strrchr(line, ')'); /* the name before it may hold anything */
    if (!rest ||
        sscanf(rest, ") %c %d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &p->state,
               &parent, &group, &user, &system, &children_user, &children_system) != 7)
        return false;
    p->pid = pid;
    p->parent = parent;
    p->group = group;
    p->cpu_clocks = user + system + (unsigned long)children_user + (unsigned long)children_system;
    return true;
}

static unsigned read_all(void)
{
    unsigned n = 0;
    DIR *dir = opendir("/proc");
    for (struct dirent *e; dir && n < PROCESSES && (e = readdir(dir));) {
        pid_t pid = atoi(e->d_name);
        if (pid > 0 && read_process(pid, &posix_family[n]))
            n++;
    }
    if (dir)
        closedir(dir);
    return n;
}

static bool is_child_of_member(unsigned i, unsigned members)
{
    for (unsigned k = 0; k < members; k++)
        if (posix_family[k].pid == posix_family[i].parent)
            return true;
    return false;
}

/* Moves the members to the front, first those that are known, then, again and again, children. */
unsigned posix_find_family(pid_t root, pid_t group)
{
    unsigned n = read_all(), members = 0;
    for (bool first = true, found = true; found; first = false) {
        found = false;
        for (unsigned i = members; i < n; i++) {
            posix_process p = posix_family[i];
            if (first ? p.pid == root || (group && p.group == group)
                      : is_child_of_member(i, members)) {
                posix_family[i] = posix_family[members];
                posix_family[members++] = p;
                found = true;
            }
        }
    }
    return members;
}

void posix_kill_family(pid_t root, pid_t group)
{
    unsigned n = posix_find_family(root, group);
    for (unsigned i = 0; i < n; i++)
        if (posix_family[i].pid != getpid())
            kill(posix_family[i].pid, SIGKILL);
}
