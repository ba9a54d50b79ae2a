/*
 * Control groups that a case makes, of cgroup v2 or, where a controller is mounted there, v1. They
 * have the name of the agent's number, and are removed when the case ends, however it does
 * (linux_remove_groups() in linux.h); no other group is ever written to, except that v2 needs the
 * controller enabled in the group above, and v1 load balancing disabled there (partition.c).
 */
#ifndef RTS_LINUX_GROUPS_H
#define RTS_LINUX_GROUPS_H

#include "linux.h"

/* Where groups with a controller are made: the root of a hierarchy, open. */
typedef struct linux_hierarchy {
    int root;    /* -1: none */
    int version; /* 1 or 2 */
} linux_hierarchy;

/*
 * Opens the hierarchy that has that controller, "cpuset" or "cpu". Returns NULL, or why there is
 * none; then nothing is open.
 */
const char *linux_open_hierarchy(linux_hierarchy *hierarchy, const char *controller);

/*
 * Makes the group of this agent's case with that suffix, "" or one of groups.c, in the group
 * `above`. Sets *group to it, open; returns 0, or an error number.
 */
int linux_make_group(const linux_hierarchy *hierarchy, int above, const char *controller,
                     const char *suffix, int *group);

/* Opens a group by its name in another, or the other one itself: "."; -1: with errno. */
int linux_open_group(int above, const char *name);

/* Reads which group of the hierarchy this process is in, below the root; false: not known. */
bool linux_own_group(const char *controller, int version, char *path, size_t size);

/* Writes to a file of a group; returns 0, or an error number. */
int linux_write_group(int group, const char *name, const char *text);

/* Reads a line from a file of a group; "" if that is not possible. */
void linux_read_group(int group, const char *name, char *text, size_t size);

/* Moves a process, 0: this one, to a group; returns 0, or an error number. */
int linux_move_to_group(int group, pid_t pid);

/* Suffixes of the names of groups: of the CPUs that are not in a partition of v1, and of iso.*. */
#define LINUX_GROUP_OTHERS "-others"
#define LINUX_GROUP_RESERVED "-reserved"
#define LINUX_GROUP_ANTAGONIST "-antagonist"

/* The partition of `rtstone tune apply`, and its agents' group (rtstone/system/settings.py). */
#define LINUX_TUNED "rtstone"
#define LINUX_TUNED_AGENTS LINUX_TUNED "/agent"

#endif
