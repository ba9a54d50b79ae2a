/* Long system calls: what some loads disturb with, and dk.schedlat measures the disturbance of. */
#ifndef RTS_LINUX_CALLS_H
#define RTS_LINUX_CALLS_H

#include <stddef.h>

/* Maps `size` bytes and fills them with pages; NULL: errno says why not. */
void *linux_call_map(size_t size);

/* Maps `size` bytes, fills them with pages and unmaps them; 0, or -errno. */
int linux_call_unmap(size_t size);

/* Forks a process that runs work(size), if there is such, and exits, and waits for it; 0, or
 * -errno. */
int linux_call_fork(int (*work)(size_t size), size_t size);

#endif
