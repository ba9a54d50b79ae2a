/*
 * Names of kernel objects, and their removal after an agent that could not do it itself.
 *
 * An agent holds a lock on /dev/shm/rtstone-PID.lock for as long as it lives; the kernel lets go of
 * it however the agent ends.  Whoever gets the lock may remove what bears that number.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "posix.h"

#define SHM "/dev/shm"

static pid_t owner; /* of the names: the agent, also in the processes it forks */
static int lock_fd = -1;

static void lock_path(char *path, size_t size, const char *file)
{
    snprintf(path, size, SHM "/%s", file);
}

void posix_object_name(char *name, size_t size, unsigned slot)
{
    snprintf(name, size, "/rtstone-%d.%u", (int)owner, slot);
}

void posix_claim_names(void)
{
    char file[48], path[300];
    owner = getpid();
    snprintf(file, sizeof file, "rtstone-%d.lock", (int)owner);
    lock_path(path, sizeof path, file);
    lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd >= 0 && flock(lock_fd, LOCK_EX | LOCK_NB)) {
        close(lock_fd);
        lock_fd = -1;
    }
}

void posix_release_names(void)
{
    char file[48], path[300];
    if (lock_fd < 0)
        return;
    snprintf(file, sizeof file, "rtstone-%d.lock", (int)owner);
    lock_path(path, sizeof path, file);
    unlink(path);
    close(lock_fd);
    lock_fd = -1;
}

/* Queues cannot be listed everywhere; a case has few. */
#define QUEUE_SLOTS 64

/* Removes the semaphores and queues of agent `pid`; how many. */
static unsigned remove_objects(long pid)
{
    char prefix[48], path[300];
    unsigned removed = 0;
    for (unsigned slot = 0; slot < QUEUE_SLOTS; slot++) {
        snprintf(path, sizeof path, "/rtstone-%ld.%u", pid, slot);
        removed += mq_unlink(path) == 0;
    }
    DIR *dir = opendir(SHM);
    snprintf(prefix, sizeof prefix, "sem.rtstone-%ld.", pid);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (strncmp(e->d_name, prefix, strlen(prefix)))
            continue;
        lock_path(path, sizeof path, e->d_name);
        removed += unlink(path) == 0;
    }
    if (dir)
        closedir(dir);
    return removed;
}

unsigned posix_sweep(void)
{
    unsigned removed = 0;
    DIR *dir = opendir(SHM);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[300];
        long pid;
        char tail[8];
        if (sscanf(e->d_name, "rtstone-%ld.%7s", &pid, tail) != 2 || strcmp(tail, "lock"))
            continue;
        lock_path(path, sizeof path, e->d_name);
        int fd = open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        if (!flock(fd, LOCK_EX | LOCK_NB)) { /* its owner is gone */
            removed += remove_objects(pid) + 1;
            unlink(path);
        }
        close(fd);
    }
    if (dir)
        closedir(dir);
    return removed;
}
