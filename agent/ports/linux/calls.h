/* Long-running system calls: some loads make them, and dk.schedlat measures how long they block. */
#ifndef RTS_LINUX_CALLS_H
#define RTS_LINUX_CALLS_H

#include <stdint.h>

/* Maps `size` bytes and touches all pages; NULL: see errno. */
void *linux_call_map(uint64_t size);

/* Maps `size` bytes, touches all pages and unmaps them; returns 0 or -errno. */
int linux_call_unmap(uint64_t size);

/*
 * Forks a process that runs work(size), unless that is NULL, and exits; waits for it. Returns 0 or
 * -errno.
 */
int linux_call_fork(int (*work)(uint64_t size), uint64_t size);

#endif
