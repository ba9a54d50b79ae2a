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
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "posix.h"

#define SHM "/dev/shm"

static long owner; /* of the names: the agent's number, also in the processes it forks */
static int lock_fd = -1;

/* The file whose lock agent `number` holds. */
static void lock_path(char *path, size_t size, long number)
{
    snprintf(path, size, SHM "/rtstone-%ld.lock", number);
}

void posix_object_name(char *name, size_t size, unsigned slot)
{
    snprintf(name, size, "/rtstone-%ld.%u", owner, slot);
}

long posix_owner(void)
{
    return owner;
}

/*
 * A key that no chance is likely to give to another program: agent numbers have 25 bits (PID_LIMIT
 * and TRIES), and a case has at most four such objects.
 */
#define KEY_SLOTS 4
static key_t object_key(long number, unsigned slot)
{
    return (key_t)(0x15u << 27 | (unsigned)number << 2 | slot % KEY_SLOTS);
}

int posix_object_key(unsigned slot)
{
    return object_key(owner, slot);
}

unsigned posix_remove_system_v(long number)
{
    unsigned removed = 0;
    for (unsigned slot = 0; slot < KEY_SLOTS; slot++) {
        key_t key = object_key(number, slot);
        int queue = msgget(key, 0), set = semget(key, 0, 0), segment = shmget(key, 0, 0);
        removed += queue >= 0 && msgctl(queue, IPC_RMID, NULL) == 0;
        removed += set >= 0 && semctl(set, 0, IPC_RMID) == 0;
        removed += segment >= 0 && shmctl(segment, IPC_RMID, NULL) == 0;
    }
    return removed;
}

/* True if the lock on the file of `owner` is ours, and the file is still the one of that name. */
static bool take_lock(void)
{
    char path[64];
    struct stat status;
    lock_path(path, sizeof path, owner);
    lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd < 0)
        return false;
    if (flock(lock_fd, LOCK_EX | LOCK_NB) == 0 && fstat(lock_fd, &status) == 0 && status.st_nlink)
        return true;
    close(lock_fd);
    lock_fd = -1;
    return false;
}

#define PID_LIMIT (1L << 22) /* of Linux */
#define TRIES 8

void posix_claim_names(void)
{
    /* Taken: by a sweep just now, or in another process number space that shares /dev/shm. */
    owner = getpid();
    for (int i = 0; i < TRIES && !take_lock(); i++)
        owner += PID_LIMIT;
}

/* Queues cannot be listed everywhere; a case has few. */
#define QUEUE_SLOTS 64

/* True for "sem.rtstone-PID.SLOT", and so with "shm." and "fifo.". */
static bool is_object(const char *name, long pid)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, ".rtstone-%ld.", pid);
    const char *dot = strchr(name, '.');
    return dot && !strncmp(dot, prefix, strlen(prefix)) &&
           (!strncmp(name, "sem.", 4) || !strncmp(name, "shm.", 4) || !strncmp(name, "fifo.", 5));
}

/* Removes the semaphores, shared memory, fifos and queues of agent `pid`, and its lock file; how
 * many. */
static unsigned remove_objects(long pid)
{
    char path[300];
    unsigned removed = posix_remove_system_v(pid);
    for (unsigned slot = 0; slot < QUEUE_SLOTS; slot++) {
        snprintf(path, sizeof path, "/rtstone-%ld.%u", pid, slot);
        removed += mq_unlink(path) == 0;
    }
    DIR *dir = opendir(SHM);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!is_object(e->d_name, pid))
            continue;
        snprintf(path, sizeof path, SHM "/%s", e->d_name);
        removed += unlink(path) == 0;
    }
    if (dir)
        closedir(dir);
    posix_remove_work_dir(pid);
    lock_path(path, sizeof path, pid);
    return removed + (unlink(path) == 0);
}

void posix_release_names(void)
{
    if (lock_fd < 0)
        return;
    remove_objects(owner); /* a case that was killed could not */
    close(lock_fd);
    lock_fd = -1;
}

/* The agent that a file is the lock of; -1: it is none. */
static long pid_of_lock(const char *name)
{
    static const char prefix[] = "rtstone-";
    long long pid;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return -1;
    name += sizeof prefix - 1;
    return posix_number(&name, &pid) && !strcmp(name, ".lock") ? (long)pid : -1;
}

/*
 * Calls what(pid) for every lock file: of agents that live if `alive`, else of those that are gone,
 * with their lock held.  The sum of what it returns.
 */
static unsigned each_agent(bool alive, unsigned (*what)(long pid))
{
    unsigned sum = 0;
    DIR *dir = opendir(SHM);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        char path[64];
        long pid = pid_of_lock(e->d_name);
        if (pid < 0)
            continue;
        lock_path(path, sizeof path, pid);
        int fd = pid == owner ? -1 : open(path, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            continue;
        bool gone = flock(fd, LOCK_EX | LOCK_NB) == 0;
        if (gone != alive)
            sum += what(pid);
        close(fd);
    }
    if (dir)
        closedir(dir);
    return sum;
}

static unsigned one(long pid)
{
    (void)pid;
    return 1;
}

unsigned posix_other_agents(void)
{
    return each_agent(true, one);
}

unsigned posix_sweep(void)
{
    return each_agent(false, remove_objects);
}
