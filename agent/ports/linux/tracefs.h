/* The instances of tracefs (tracefs.c), of which a traced case has one. */
#ifndef RTS_LINUX_TRACEFS_H
#define RTS_LINUX_TRACEFS_H

#include <stdbool.h>
#include <stddef.h>

#define INSTANCE_NAME 96 /* bytes of an instance's name */

/* Opens the directory of all instances; -1: see errno, which is 0 without tracefs. */
int linux_open_instances(void);

/* Removes an instance, and waits for those who have a file of it open. */
bool linux_remove_instance(int instances, const char *name);

/* Writes how the names of the instances of agent `number`, which has this lock file, begin. */
void linux_instance_prefix(char *prefix, size_t size, long number, int lock);

/*
 * Removes the instances of tracefs that agent `number` of this user, with this lock file, has left
 * behind.
 */
void linux_remove_instances(long number, int lock);

#endif
