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

/* Returns the error of an attempt to open a queue that is not there: ENOENT where there are any. */
static int queue_error(int kind)
{
    if (kind == RTS_CHANNEL_SYSV)
        return msgget(0x72747374, 0) >= 0 ? ENOENT : errno;
    mqd_t queue = mq_open("/rtstone-none", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (queue < 0)
        return errno;
    mq_close(queue);
    return ENOENT;
}

/* Returns why there are no queues of this kind at all; NULL: there are. */
static const char *why_no_queues(int kind)
{
    bool posix = kind == RTS_CHANNEL_QUEUE;
    switch (queue_error(kind)) {
    case ENOSYS:
        return posix ? "this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)"
                     : "this kernel has no System V message queues (CONFIG_SYSVIPC)";
    case EPERM: /* another user's queue is EACCES */
        return posix ? LINUX_REFUSED("mq_open()") : LINUX_REFUSED("msgget()");
    default:
        return NULL;
    }
}

const char *rts_channel_limits(int kind)
{
    bool queues = kind == RTS_CHANNEL_QUEUE || kind == RTS_CHANNEL_SYSV;
    const char *none = queues ? why_no_queues(kind) : NULL;
    if (none)
        return none;
    switch (kind) {
    case RTS_CHANNEL_QUEUE:
        return "the limits are sysctl fs.mqueue.msgsize_max, msg_max and queues_max, which "
               "CAP_SYS_RESOURCE lifts, and ulimit -q";
    case RTS_CHANNEL_SYSV:
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
