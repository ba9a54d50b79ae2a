/*
 * Names of kernel objects, and their removal. Other users can create objects with these names, so
 * nothing is removed that does not belong to this user.
 */
#include <stdio.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>

#include "posix.h"

long posix_owner;

void posix_object_name(char *name, size_t size, unsigned slot)
{
    snprintf(name, size, "/rtstone-%ld.%u", posix_owner, slot);
}

/*
 * A key that is unlikely to be used by another program: agent numbers have 25 bits, and a case has
 * at most four such objects.
 */
static key_t object_key(long number, unsigned slot)
{
    return (key_t)(0x15u << 27 | (unsigned)number << 2 | slot % RTS_SETS);
}

int posix_object_key(unsigned slot)
{
    return object_key(posix_owner, slot);
}

bool posix_remove_queue(key_t key)
{
    struct msqid_ds queue;
    int id = msgget(key, 0);
    return id >= 0 && msgctl(id, IPC_STAT, &queue) == 0 && queue.msg_perm.cuid == geteuid() &&
           msgctl(id, IPC_RMID, NULL) == 0;
}

void posix_remove_set(key_t key)
{
    struct semid_ds set = {0};
    union semun {
        struct semid_ds *status;
    } argument = {.status = &set};
    int id = semget(key, 0, 0);
    if (id >= 0 && semctl(id, 0, IPC_STAT, argument) == 0 && set.sem_perm.cuid == geteuid())
        semctl(id, 0, IPC_RMID);
}

/* Like posix_remove_queue(), for a segment of shared memory. */
static void remove_segment(key_t key)
{
    struct shmid_ds segment;
    int id = shmget(key, 0, 0);
    if (id >= 0 && shmctl(id, IPC_STAT, &segment) == 0 && segment.shm_perm.cuid == geteuid())
        shmctl(id, IPC_RMID, NULL);
}

void posix_remove_system_v(long number)
{
    for (unsigned slot = 0; slot < RTS_SETS; slot++) {
        key_t key = object_key(number, slot);
        posix_remove_queue(key);
        posix_remove_set(key);
        remove_segment(key);
    }
}

void posix_remove_object(int dir, const char *name)
{
    struct stat status;
    if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_uid == geteuid())
        unlinkat(dir, name, 0);
}
