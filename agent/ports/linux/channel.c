/* Maximum size of messages, and what limits it. */
#include <stdio.h>
#include <sys/msg.h>

#include "linux.h"

#define SYSV_LIMIT "/proc/sys/kernel/msgmax"
#define POSIX_LIMIT "/proc/sys/fs/mqueue/msgsize_max"

static size_t limit(const char *file)
{
    return (size_t)posix_read_number(file, 0);
}

static void raise_limit(const char *file, size_t size)
{
    int fd = limit(file) < size ? open(file, O_WRONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    dprintf(fd, "%zu\n", size);
    close(fd);
}

/*
 * Gives the case an IPC namespace of its own, if CAP_SYS_ADMIN allows it: its queues are removed
 * with it however it ends, and messages may be as large as necessary without changing the system's
 * limits.
 */
bool posix_allow_message(size_t size)
{
    static bool tried; /* all channels of a case are in the same namespace */
    if (!tried && access(SYSV_LIMIT, W_OK) == 0 && unshare(CLONE_NEWIPC) == 0) {
        raise_limit(SYSV_LIMIT, size);
        raise_limit(POSIX_LIMIT, size);
    }
    tried = true;
    return limit(SYSV_LIMIT) >= size;
}

bool posix_make_room(int pipe, size_t bytes)
{
    int room = fcntl(pipe, F_GETPIPE_SZ);
    if (room >= 0 && (size_t)room < bytes)
        room = fcntl(pipe, F_SETPIPE_SZ, (int)bytes);
    return room >= 0 && (size_t)room >= bytes;
}

/* Returns whether the kernel was built with these queues, which it says to any attempt. */
static bool has_queues(int kind)
{
    if (kind == RTS_CHANNEL_SYSV)
        return msgget(0x72747374, 0) >= 0 || errno != ENOSYS;
    mqd_t queue = mq_open("/rtstone-none", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    bool has = queue >= 0 || errno != ENOSYS;
    if (queue >= 0)
        mq_close(queue);
    return has;
}

const char *rts_channel_limits(int kind)
{
    switch (kind) {
    case RTS_CHANNEL_QUEUE:
        if (!has_queues(kind))
            return "this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)";
        return "the limits are sysctl fs.mqueue.msgsize_max and msg_max, which CAP_SYS_RESOURCE "
               "lifts, and ulimit -q";
    case RTS_CHANNEL_SYSV:
        if (!has_queues(kind))
            return "this kernel has no System V message queues (CONFIG_SYSVIPC)";
        return "the limits are sysctl kernel.msgmax, msgmnb and msgmni";
    case RTS_CHANNEL_PIPE:
        return "the limits are sysctl fs.pipe-max-size and fs.pipe-user-pages-soft";
    case RTS_CHANNEL_FIFO:
        return "/dev/shm has to be writable; the limits are sysctl fs.pipe-max-size and "
               "fs.pipe-user-pages-soft";
    case RTS_CHANNEL_UNIX:
        return "the limit is sysctl net.core.wmem_max";
    default:
        return "it needs no more than two semaphores";
    }
}
