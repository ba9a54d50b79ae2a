/*
 * The instances of tracefs: their names, and their removal.
 *
 * Removing an instance disables its events. If the agent is killed, its keeper does it, or the next
 * agent of the same user. All containers share the instances of a kernel, so the name has the
 * agent's number and the identity of its lock file.
 */
#include "tracefs.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>

#include "linux.h"

#define TRACEFS 0x74726163 /* from linux/magic.h */
#define BUSY_TRIES 500     /* 10 ms each: a process that was killed may still have a file open */

int linux_open_instances(void)
{
    static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    struct statfs fs;
    int error = 0;
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        int root = open(places[i], flags), fd = -1;
        if (root >= 0 && fstatfs(root, &fs) == 0 && fs.f_type == TRACEFS)
            fd = openat(root, "instances", flags);
        if (fd < 0 && (errno == EACCES || errno == EPERM))
            error = errno;
        if (root >= 0)
            close(root);
        if (fd >= 0)
            return fd;
    }
    errno = error;
    return -1;
}

bool linux_remove_instance(int instances, const char *name)
{
    for (int i = 0; unlinkat(instances, name, AT_REMOVEDIR); i++) {
        if (errno != EBUSY || i == BUSY_TRIES)
            return false;
        rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
    }
    return true;
}

void linux_instance_prefix(char *prefix, size_t size, long number, int lock)
{
    struct stat status = {0};
    if (lock >= 0 && fstat(lock, &status))
        status.st_ino = 0;
    snprintf(prefix, size, "rtstone-%ld-%llx.%llx-", number, (unsigned long long)status.st_dev,
             (unsigned long long)status.st_ino);
}

/* In a directory that only root, or who root allows it, can write to. */
void linux_remove_instances(long number, int lock)
{
    char prefix[INSTANCE_NAME];
    struct stat status;
    int instances = linux_open_instances();
    DIR *dir = instances < 0 ? NULL : fdopendir(instances);
    linux_instance_prefix(prefix, sizeof prefix, number, lock);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (!strncmp(e->d_name, prefix, strlen(prefix)) &&
            fstatat(instances, e->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
            status.st_uid == geteuid())
            linux_remove_instance(instances, e->d_name);
    if (dir)
        closedir(dir);
    else if (instances >= 0)
        close(instances);
}
