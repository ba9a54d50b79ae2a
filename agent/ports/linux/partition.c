/*
 * The partition of a case whose tasks are bound to one CPU and scheduled by deadline: a control
 * group (v2) that has this CPU alone, and with it a root domain of its own, for as long as the case
 * runs. The case's process and a load's workers on that CPU enter it; the agent and the case's
 * watchdog stay outside.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/vfs.h>

#include "linux.h"

#define GROUPS "/sys/fs/cgroup"
#define GROUPS_TYPE 0x63677270 /* CGROUP2_SUPER_MAGIC of linux/magic.h */
#define TRIES 100              /* what was killed leaves a group within milliseconds */

/* The partition of `rtstone tune apply`, and its agents' group (rtstone/system/settings.py). */
#define TUNED "rtstone"
#define TUNED_AGENTS TUNED "/agent"

static int open_group(int above, const char *name)
{
    return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static int open_root(void)
{
    struct statfs fs;
    int root = open_group(AT_FDCWD, GROUPS);
    if (root >= 0 && fstatfs(root, &fs) == 0 && fs.f_type == GROUPS_TYPE)
        return root;
    if (root >= 0)
        close(root);
    errno = ENOENT;
    return -1;
}

/* Writes to a file of a group; returns 0, or an error number. */
static int write_to(int group, const char *name, const char *text)
{
    int file = openat(group, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return errno;
    int err = write(file, text, strlen(text)) < 0 ? errno : 0;
    close(file);
    return err;
}

/* Reads a file of a group; "" if that is not possible. */
static void read_from(int group, const char *name, char *text, size_t size)
{
    int file = openat(group, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[n < 0 ? 0 : n] = '\0';
}

/* Reads which group this process is in, below the root; false: not known. */
static bool read_own(char *path, size_t size)
{
    char text[1024];
    const char *line = NULL;
    if (posix_read_file("/proc/self/cgroup", text, sizeof text) > 0)
        line = strstr(text, "0::/");
    if (!line)
        return false;
    line += strlen("0::/");
    snprintf(path, size, "%.*s", (int)strcspn(line, "\n"), line);
    return true;
}

static int move_to(int group, pid_t pid)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)pid);
    return write_to(group, "cgroup.procs", number);
}

static void name_of(char *name, size_t size, long number)
{
    snprintf(name, size, "rtstone-case-%ld", number);
}

/* ---- removal --------------------------------------------------------------------------------- */

/* Moves what is left in the group, the workers of a load, to where the agent is. */
static void empty(int root, int group)
{
    char own[512], pids[4096];
    int home = read_own(own, sizeof own) ? open_group(root, *own ? own : ".") : -1;
    read_from(group, "cgroup.procs", pids, sizeof pids);
    long long pid;
    for (const char *at = pids; posix_number(&at, &pid); at += *at == '\n')
        if (home < 0 || move_to(home, (pid_t)pid))
            move_to(root, (pid_t)pid);
    if (home >= 0)
        close(home);
}

/*
 * Removes that group, if it exists, once it is empty. It first gives its CPU back, which the kernel
 * would otherwise do some time after the removal.
 */
static void remove_group(int root, int above, const char *name)
{
    int group = open_group(above, name);
    if (group < 0)
        return;
    bool gone = false;
    for (int i = 0; i < TRIES && !gone; i++) {
        write_to(group, "cpuset.cpus.partition", "member");
        empty(root, group);
        gone = !unlinkat(above, name, AT_REMOVEDIR) || errno == ENOENT;
        if (!gone)
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
    }
    if (!gone)
        rts_log("warn", "the control group %s of a case cannot be removed: %s", name,
                strerror(errno));
    close(group);
}

void linux_remove_partition(long number)
{
    char name[48];
    int root = open_root();
    if (root < 0)
        return;
    name_of(name, sizeof name, number);
    remove_group(root, root, name);
    int tuned = open_group(root, TUNED);
    if (tuned >= 0) {
        remove_group(root, tuned, name);
        close(tuned);
    }
    close(root);
}

/* ---- of the case ----------------------------------------------------------------------------- */

/* Before 6.2 a partition, made or removed, resets the bindings of the processes around it. */
static bool keeps_bindings(void)
{
    struct utsname system;
    long long major = 0, minor = 0;
    const char *release = system.release;
    if (uname(&system) || !posix_number(&release, &major) || *release != '.')
        return false;
    release++;
    if (!posix_number(&release, &minor))
        return false;
    return major > 6 || (major == 6 && minor >= 2);
}

/* Opens the group in which that of the case is made. */
static int open_above(int root)
{
    char own[512];
    bool tuned = read_own(own, sizeof own) && !strcmp(own, TUNED_AGENTS);
    return open_group(root, tuned ? TUNED : ".");
}

/* Moves the workers of a load that run on this CPU alone; false: it runs on others as well. */
static bool move_load(int group, int cpu)
{
    const rts_cpuset *cpus = posix_load_cpus();
    if (!cpus || !rts_cpuset_has(cpus, (unsigned)cpu))
        return true;
    if (rts_cpuset_count(cpus) > 1)
        return false;
    for (unsigned pass = 0; pass < 2; pass++) { /* once more for what was just being started */
        unsigned n = linux_find_family(0, posix_load_group);
        for (unsigned i = 0; i < n; i++)
            move_to(group, linux_family[i].pid);
    }
    return true;
}

/* Makes the group a partition, and enters it. */
static const char *enter(int group, int cpu)
{
    static char state[96];
    char number[16];
    snprintf(number, sizeof number, "%d", cpu);
    int err = write_to(group, "cpuset.cpus", number);
    err = err ? err : write_to(group, "cpuset.cpus.partition", "root");
    if (err)
        return strerror(err);
    read_from(group, "cpuset.cpus.partition", state, sizeof state);
    state[strcspn(state, "\n")] = '\0';
    if (strcmp(state, "root") != 0)
        return *state ? state : "the kernel does not say whether it is valid";
    if (!move_load(group, cpu))
        return "the load runs on other CPUs as well: give it place=measured";
    err = move_to(group, 0);
    return err ? strerror(err) : NULL;
}

static const char *make(int root, int above, int cpu)
{
    char name[48];
    name_of(name, sizeof name, posix_owner);
    int err = write_to(above, "cgroup.subtree_control", "+cpuset");
    if (err == ENOENT || err == EINVAL)
        return "no cpuset in cgroup v2, only in v1 or not at all";
    if (err || mkdirat(above, name, 0755))
        return strerror(err ? err : errno);
    int group = open_group(above, name);
    const char *why = group < 0 ? strerror(errno) : enter(group, cpu);
    if (group >= 0)
        close(group);
    if (why)
        remove_group(root, above, name);
    return why;
}

const char *linux_enter_partition(int cpu)
{
    if (!keeps_bindings())
        return "before Linux 6.2 that resets the CPU bindings of other processes";
    int root = open_root();
    if (root < 0)
        return "cgroup v2 is not mounted at " GROUPS;
    int above = open_above(root);
    const char *why = above < 0 ? strerror(errno) : make(root, above, cpu);
    if (above >= 0)
        close(above);
    close(root);
    return why;
}
