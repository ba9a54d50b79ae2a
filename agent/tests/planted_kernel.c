/*
 * The agent on a kernel whose clock and control groups are files in the directory $PLANTED: `rate`,
 * the frequency of adjtimex(), and `groups`, the root of all groups.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/timex.h>
#include <unistd.h>

#define GROUP "rtstone-provoke-"

static const char *const group_files[] = {"memory.max", "cgroup.procs", "cgroup.kill"};
#define FILES (sizeof group_files / sizeof group_files[0])

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
int __wrap_adjtimex(struct timex *t);
int __real_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const void *data);
int __wrap_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const void *data);
int __real_mkdirat(int dir, const char *name, mode_t mode);
int __wrap_mkdirat(int dir, const char *name, mode_t mode);
int __real_unlinkat(int dir, const char *name, int flags);
int __wrap_unlinkat(int dir, const char *name, int flags);
/* NOLINTEND(misc-use-internal-linkage) */

static void planted(char *path, size_t size, const char *name)
{
    const char *root = getenv("PLANTED");
    snprintf(path, size, "%s/%s", root ? root : "", name);
}

/* Knows the frequency alone: that the caller changes anything else ends it. */
int __wrap_adjtimex(struct timex *t)
{
    char path[512];
    planted(path, sizeof path, "rate");
    int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0 || (t->modes & ~(unsigned)ADJ_FREQUENCY))
        abort();
    ssize_t n = t->modes ? pwrite(file, &t->freq, sizeof t->freq, 0)
                         : pread(file, &t->freq, sizeof t->freq, 0);
    close(file);
    return n == sizeof t->freq ? TIME_OK : -1;
}

int __wrap_mount(const char *source, const char *target, const char *type, unsigned long flags,
                 const void *data)
{
    char path[512];
    if (!type || strcmp(type, "cgroup2"))
        return __real_mount(source, target, type, flags, data);
    planted(path, sizeof path, "groups");
    return __real_mount(path, target, NULL, MS_BIND, NULL);
}

static const char *file_of(const char *group, size_t i)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", group, group_files[i]);
    return path;
}

/* A group has its files from the beginning, and until its end. */
int __wrap_mkdirat(int dir, const char *name, mode_t mode)
{
    int failed = __real_mkdirat(dir, name, mode);
    if (!failed && !strncmp(name, GROUP, strlen(GROUP)))
        for (size_t i = 0; i < FILES; i++)
            close(openat(dir, file_of(name, i), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    return failed;
}

int __wrap_unlinkat(int dir, const char *name, int flags)
{
    if (flags == AT_REMOVEDIR && !strncmp(name, GROUP, strlen(GROUP)))
        for (size_t i = 0; i < FILES; i++)
            __real_unlinkat(dir, file_of(name, i), 0);
    return __real_unlinkat(dir, name, flags);
}
