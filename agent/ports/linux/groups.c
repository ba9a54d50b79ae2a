/* Control groups that a case makes: how they are found, made, entered and removed. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "groups.h"

#define GROUPS "/sys/fs/cgroup"
#define TYPE_1 0x27e0eb   /* CGROUP_SUPER_MAGIC of linux/magic.h */
#define TYPE_2 0x63677270 /* CGROUP2_SUPER_MAGIC */
#define TRIES 100         /* what was killed leaves a group within milliseconds */
#define CASE "rtstone-case-"

static const char *const controllers[] = {"cpuset", "cpu"};
static const char *const suffixes[] = {"", LINUX_GROUP_RESERVED, LINUX_GROUP_ANTAGONIST,
                                       LINUX_GROUP_OTHERS}; /* removed in this order */

#define N(array) (sizeof(array) / sizeof(array)[0])

int linux_open_group(int above, const char *name)
{
    return openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int linux_write_group(int group, const char *name, const char *text)
{
    int file = openat(group, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return errno;
    int err = write(file, text, strlen(text)) < 0 ? errno : 0;
    close(file);
    return err;
}

void linux_read_group(int group, const char *name, char *text, size_t size)
{
    int file = openat(group, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : read(file, text, size - 1);
    if (file >= 0)
        close(file);
    text[n < 0 ? 0 : n] = '\0';
}

int linux_move_to_group(int group, pid_t pid)
{
    char number[16];
    snprintf(number, sizeof number, "%d", (int)pid);
    return linux_write_group(group, "cgroup.procs", number);
}

/* ---- hierarchies ----------------------------------------------------------------------------- */

static int open_root(const char *path, long type)
{
    struct statfs fs;
    int root = linux_open_group(AT_FDCWD, path);
    if (root >= 0 && fstatfs(root, &fs) == 0 && fs.f_type == type)
        return root;
    if (root >= 0)
        close(root);
    return -1;
}

static int open_2_if_mounted(void)
{
    int root = open_root(GROUPS, TYPE_2);
    return root < 0 ? open_root(GROUPS "/unified", TYPE_2) : root;
}

/* In a guest of the lab nobody else mounts it. */
static int open_2(void)
{
    int root = open_2_if_mounted();
    if (root < 0 && linux_start.guest && !mount("cgroup2", GROUPS, "cgroup2", 0, NULL))
        root = open_root(GROUPS, TYPE_2);
    return root;
}

static int open_1(const char *controller)
{
    char path[64];
    snprintf(path, sizeof path, GROUPS "/%s", controller);
    return open_root(path, TYPE_1);
}

static bool has_word(const char *text, const char *word)
{
    for (size_t n; *text; text += n + (text[n] != '\0')) {
        n = strcspn(text, " \n");
        if (n == strlen(word) && !strncmp(text, word, n))
            return true;
    }
    return false;
}

const char *linux_open_hierarchy(linux_hierarchy *hierarchy, const char *controller)
{
    static char why[80];
    char text[256];
    *hierarchy = (linux_hierarchy){open_2(), 2};
    bool mounted = hierarchy->root >= 0;
    if (mounted) {
        linux_read_group(hierarchy->root, "cgroup.controllers", text, sizeof text);
        if (has_word(text, controller))
            return NULL;
        close(hierarchy->root);
    }
    *hierarchy = (linux_hierarchy){open_1(controller), 1};
    if (hierarchy->root >= 0)
        return NULL;
    snprintf(why, sizeof why,
             mounted ? "the kernel has no control groups with the controller %s"
                     : "no control groups with the controller %s at " GROUPS,
             controller);
    return why;
}

/* A line of the file is ID:CONTROLLERS:PATH, with no controllers for v2. */
bool linux_own_group(const char *controller, int version, char *path, size_t size)
{
    char text[2048], end[32];
    if (posix_read_file("/proc/self/cgroup", text, sizeof text) <= 0)
        return false;
    snprintf(end, sizeof end, ":%s:/", version == 2 ? "" : controller);
    const char *at = strstr(text, end);
    if (!at)
        return false;
    at += strlen(end);
    snprintf(path, size, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static void name_of(char *name, size_t size, long number, const char *suffix)
{
    snprintf(name, size, CASE "%ld%s", number, suffix);
}

int linux_make_group(const linux_hierarchy *hierarchy, int above, const char *controller,
                     const char *suffix, int *group)
{
    char name[64], enable[32];
    name_of(name, sizeof name, posix_owner, suffix);
    snprintf(enable, sizeof enable, "+%s", controller);
    int err =
        hierarchy->version == 2 ? linux_write_group(above, "cgroup.subtree_control", enable) : 0;
    /* In a guest a case mounts v2 for itself alone: groups of its number stay for the next one. */
    if (!err && mkdirat(above, name, 0755) && errno != EEXIST)
        err = errno;
    if (err)
        return err;
    *group = linux_open_group(above, name);
    return *group < 0 ? errno : 0;
}

/* ---- removal --------------------------------------------------------------------------------- */

/* Moves what is left in the group, the workers of a load, to where the agent is. */
static void empty(const linux_hierarchy *h, const char *controller, int group)
{
    char own[512], pids[4096];
    int home = -1;
    if (linux_own_group(controller, h->version, own, sizeof own))
        home = linux_open_group(h->root, *own ? own : ".");
    linux_read_group(group, "cgroup.procs", pids, sizeof pids);
    long long pid;
    for (const char *at = pids; posix_number(&at, &pid); at += *at == '\n')
        if (home < 0 || linux_move_to_group(home, (pid_t)pid))
            linux_move_to_group(h->root, (pid_t)pid);
    if (home >= 0)
        close(home);
}

/* Returns whether another case has its CPU for itself by a partition of v1. */
static bool others_are_partitioned(int root)
{
    int copy = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    bool any = false;
    for (struct dirent *e; dir && !any && (e = readdir(dir));) {
        size_t n = strlen(e->d_name), end = strlen(LINUX_GROUP_OTHERS);
        any = !strncmp(e->d_name, CASE, strlen(CASE)) && n > end &&
              !strcmp(e->d_name + n - end, LINUX_GROUP_OTHERS);
    }
    if (dir)
        closedir(dir);
    return any;
}

/*
 * Removes that group, if it exists, once it is empty. In v2 a partition first gives its CPU back,
 * which the kernel would otherwise do some time after the removal.
 */
static void remove_group(const linux_hierarchy *h, const char *controller, int above,
                         const char *name)
{
    int group = linux_open_group(above, name);
    if (group < 0)
        return;
    bool gone = false;
    for (int i = 0; i < TRIES && !gone; i++) {
        if (h->version == 2)
            linux_write_group(group, "cpuset.cpus.partition", "member");
        empty(h, controller, group);
        gone = !unlinkat(above, name, AT_REMOVEDIR) || errno == ENOENT;
        if (!gone)
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
    }
    if (!gone)
        rts_log("warn", "the control group %s of a case cannot be removed: %s", name,
                strerror(errno));
    close(group);
}

static void remove_all(const linux_hierarchy *h, const char *controller, long number)
{
    char name[64];
    int tuned = h->version == 2 ? linux_open_group(h->root, LINUX_TUNED) : -1;
    for (size_t i = 0; i < N(suffixes); i++) {
        name_of(name, sizeof name, number, suffixes[i]);
        bool balance = h->version == 1 && !strcmp(suffixes[i], LINUX_GROUP_OTHERS) &&
                       !faccessat(h->root, name, F_OK, 0);
        remove_group(h, controller, h->root, name);
        if (tuned >= 0)
            remove_group(h, controller, tuned, name);
        if (balance && !others_are_partitioned(h->root))
            linux_write_group(h->root, "cpuset.sched_load_balance", "1");
    }
    if (tuned >= 0)
        close(tuned);
}

void linux_remove_groups(long number)
{
    linux_hierarchy v2 = {open_2_if_mounted(), 2};
    if (v2.root >= 0) {
        remove_all(&v2, "", number);
        close(v2.root);
    }
    for (size_t i = 0; i < N(controllers); i++) {
        linux_hierarchy v1 = {open_1(controllers[i]), 1};
        if (v1.root < 0)
            continue;
        remove_all(&v1, controllers[i], number);
        close(v1.root);
    }
}
