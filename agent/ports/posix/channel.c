/* Channels, through which ipc.* sends messages: the untimed part. */
#include <stdio.h>
#include <sys/stat.h>

#include "posix.h"

/* ---- queues ---------------------------------------------------------------------------------- */

static int create_posix(rts_channel *channel, size_t length, unsigned slot)
{
    int err = rts_queue_create(&channel->queue, length, channel->size, slot);
    if (err != -EMSGSIZE)
        return err;
    posix_allow_message(channel->size);
    return rts_queue_create(&channel->queue, length, channel->size, slot);
}

/* If the key exists, its queue is left from a case of this agent that was killed. */
static int new_queue(key_t key)
{
    int id = msgget(key, IPC_CREAT | IPC_EXCL | 0600);
    if (id >= 0 || errno != EEXIST)
        return id;
    if (!posix_remove_queue(key)) {
        errno = EEXIST; /* another user's, which it may not look at: no matter of limits */
        return -1;
    }
    return msgget(key, IPC_CREAT | IPC_EXCL | 0600);
}

static int create_sysv(rts_channel *channel, size_t bytes, unsigned slot)
{
    struct msqid_ds queue;
    if (!posix_allow_message(channel->size))
        return -EMSGSIZE;
    channel->id = new_queue(posix_object_key(slot));
    if (channel->id < 0 || msgctl(channel->id, IPC_STAT, &queue))
        return -errno;
    if (queue.msg_qbytes >= bytes)
        return 0;
    queue.msg_qbytes = bytes;
    if (msgctl(channel->id, IPC_SET, &queue) == 0)
        return 0;
    msgctl(channel->id, IPC_RMID, NULL);
    return -EMSGSIZE;
}

/* ---- descriptors ----------------------------------------------------------------------------- */

static int create_pipe(rts_channel *channel)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return -errno;
    channel->out = ends[0];
    channel->in = ends[1];
    return 0;
}

static int create_fifo(rts_channel *channel, unsigned slot)
{
    char name[32], path[64];
    posix_object_name(name, sizeof name, slot);
    snprintf(path, sizeof path, POSIX_FIFOS "/fifo.%s", name + 1);
    posix_remove_object(AT_FDCWD, path); /* left from a case of this agent that was killed */
    if (mkfifo(path, 0600))
        return -errno;
    /* Does not wait for a writer. */
    channel->out = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    channel->in = channel->out < 0 ? -1 : open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    int err = channel->in < 0 || fcntl(channel->out, F_SETFL, O_RDONLY) ? -errno : 0;
    /* The open descriptors suffice, also for processes that inherit them. */
    posix_remove_object(AT_FDCWD, path);
    return err;
}

#define SOCKET_OVERHEAD 1024 /* bytes, more than the kernel adds to a message */

static int create_socket(rts_channel *channel, size_t length)
{
    int ends[2], room = (int)(length * (2 * channel->size + SOCKET_OVERHEAD)), got = 0;
    socklen_t size = sizeof got;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return -errno;
    channel->out = ends[0];
    channel->in = ends[1];
    setsockopt(channel->in, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (getsockopt(channel->in, SOL_SOCKET, SO_SNDBUF, &got, &size))
        return -errno;
    return got < room ? -EMSGSIZE : 0;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

static int create(rts_channel *channel, int kind, size_t length, unsigned slot)
{
    size_t bytes = length * channel->size;
    int err;
    switch (kind) {
    case RTS_CHANNEL_QUEUE:
        return create_posix(channel, length, slot);
    case RTS_CHANNEL_SYSV:
        return create_sysv(channel, bytes, slot);
    case RTS_CHANNEL_PIPE:
    case RTS_CHANNEL_FIFO:
        err = kind == RTS_CHANNEL_PIPE ? create_pipe(channel) : create_fifo(channel, slot);
        if (!err && !posix_make_room(channel->in, bytes)) /* or a message would arrive in parts */
            err = -EMSGSIZE;
        return err;
    case RTS_CHANNEL_UNIX:
        return create_socket(channel, length);
    default: /* one slot for a message */
        return length > 1 || sem_init(&channel->free, 1, 1) || sem_init(&channel->full, 1, 0)
                   ? -EINVAL
                   : 0;
    }
}

int rts_channel_create(rts_channel *channel, int kind, size_t length, size_t size, unsigned slot)
{
    *channel = (rts_channel){.size = size, .id = -1, .in = -1, .out = -1};
    int err = create(channel, kind, length, slot);
    if (!err)
        return 0;
    if (channel->in >= 0)
        close(channel->in);
    if (channel->out >= 0)
        close(channel->out);
    return err;
}

int rts_channel_destroy(rts_channel *channel, int kind)
{
    switch (kind) {
    case RTS_CHANNEL_QUEUE:
        return rts_queue_destroy(&channel->queue);
    case RTS_CHANNEL_SYSV:
        return msgctl(channel->id, IPC_RMID, NULL) ? -errno : 0;
    case RTS_CHANNEL_MAILBOX:
        return sem_destroy(&channel->free) || sem_destroy(&channel->full) ? -errno : 0;
    default:
        return close(channel->in) || close(channel->out) ? -errno : 0;
    }
}
