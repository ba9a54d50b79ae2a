/* grow.*: services of descriptors and files, over how many there are. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "grow.h"
#include "posix.h"

static int watcher = -1, event = -1; /* an epoll instance, and a descriptor apart from the others */
static int fd[GROW_MAX];

/* ---- epoll and poll -------------------------------------------------------------------------- */

/* n descriptors of events, watched by one instance, of which `ready` are ready. */
static int watch(rts_case *c, int n, int ready)
{
    watcher = epoll_create1(EPOLL_CLOEXEC);
    event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (int i = 0; i < n; i++) {
        struct epoll_event wanted = {.events = EPOLLIN};
        fd[i] = eventfd(i < ready, EFD_NONBLOCK | EFD_CLOEXEC);
        if (fd[i] < 0 || epoll_ctl(watcher, EPOLL_CTL_ADD, fd[i], &wanted))
            return grow_refused(c, "descriptors that an epoll instance watches", i);
    }
    return 0;
}

static int ready_descriptors(rts_case *c, int n)
{
    return watch(c, n, n);
}

static int quiet_descriptors(rts_case *c, int n)
{
    return watch(c, n, 1);
}

static bool epoll_all(int n, grow_span *span)
{
    static struct epoll_event events[GROW_MAX];
    int ready;
    GROW_TIME(span, ready = epoll_wait(watcher, events, n, 0));
    return ready > 0;
}

static bool epoll_one(int n, grow_span *span)
{
    struct epoll_event first;
    int ready;
    (void)n;
    GROW_TIME(span, ready = epoll_wait(watcher, &first, 1, 0));
    return ready == 1;
}

static bool epoll_add(int n, grow_span *span)
{
    struct epoll_event wanted = {.events = EPOLLIN};
    int err;
    (void)n;
    GROW_TIME(span, err = epoll_ctl(watcher, EPOLL_CTL_ADD, event, &wanted));
    return !err && !epoll_ctl(watcher, EPOLL_CTL_DEL, event, &wanted);
}

static bool poll_all(int n, grow_span *span)
{
    static struct pollfd polled[GROW_MAX];
    int ready;
    for (int i = 0; i < n; i++)
        polled[i] = (struct pollfd){.fd = fd[i], .events = POLLIN};
    GROW_TIME(span, ready = poll(polled, (nfds_t)n, 0));
    return ready >= 1;
}

/* ---- an event that others wait for ----------------------------------------------------------- */

static int epoll_instances(rts_case *c, int n)
{
    event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    for (int i = 0; i < n; i++) {
        struct epoll_event wanted = {.events = EPOLLIN};
        fd[i] = epoll_create1(EPOLL_CLOEXEC);
        if (fd[i] < 0 || epoll_ctl(fd[i], EPOLL_CTL_ADD, event, &wanted))
            return grow_refused(c, "epoll instances", i);
    }
    return 0;
}

static bool write_event(int n, grow_span *span)
{
    uint64_t count = 1, back;
    ssize_t size;
    (void)n;
    GROW_TIME(span, size = write(event, &count, sizeof count));
    return size == sizeof count && read(event, &back, sizeof back) == sizeof back;
}

/* ---- open files ------------------------------------------------------------------------------ */

static int open_descriptors(rts_case *c, int n)
{
    for (int i = 0; i < n; i++)
        if ((fd[i] = eventfd(0, EFD_CLOEXEC)) < 0)
            return grow_refused(c, "open descriptors", i);
    return 0;
}

static bool open_root(int n, grow_span *span)
{
    int file;
    (void)n;
    GROW_TIME(span, file = open("/", O_RDONLY | O_CLOEXEC));
    return file >= 0 && !close(file);
}

static int memory_file(rts_case *c)
{
    event = memfd_create("rtstone", MFD_CLOEXEC);
    return event < 0 ? grow_refused(c, "files in memory", 0) : 0;
}

static int file_locks(rts_case *c, int n)
{
    if (memory_file(c))
        return -1;
    for (int i = 0; i < n; i++) {
        struct flock range = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * i, .l_len = 1};
        if (fcntl(event, F_SETLK, &range))
            return grow_refused(c, "locks of a file", i);
    }
    return 0;
}

static bool lock_file(int n, grow_span *span)
{
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 2 * n + 10, .l_len = 1};
    int err;
    GROW_TIME(span, err = fcntl(event, F_SETLK, &range));
    range.l_type = F_UNLCK;
    return !err && !fcntl(event, F_SETLK, &range);
}

/*
 * Instances are few by default (fs.inotify.max_user_instances); that setting is left alone. Of
 * files without a name in any directory, as those in memory, newer kernels report nothing.
 */
static int inotify_instances(rts_case *c, int n)
{
    char path[32], why[RTS_REASON];
    event = posix_scratch_file(0, why, sizeof why);
    if (event < 0)
        return rts_unsupported(c, "%s", why);
    snprintf(path, sizeof path, "/proc/self/fd/%d", event);
    for (int i = 0; i < n; i++) {
        fd[i] = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (fd[i] < 0 || inotify_add_watch(fd[i], path, IN_MODIFY) < 0)
            return grow_refused(c, "inotify instances (fs.inotify.max_user_instances)", i);
    }
    if (pwrite(event, "x", 1, 0) != 1)
        return rts_port_failed(c, "cannot write a file", -errno);
    for (int i = 0; i < n; i++) {
        struct pollfd reported = {.fd = fd[i], .events = POLLIN};
        if (poll(&reported, 1, 0) != 1)
            return rts_unsupported(c, "inotify reports no write to this file");
    }
    return 0;
}

static bool write_file(int n, grow_span *span)
{
    ssize_t size;
    (void)n;
    GROW_TIME(span, size = pwrite(event, "x", 1, 0));
    return size == 1;
}

/* ---- benches --------------------------------------------------------------------------------- */

GROW_RUN(run_epoll_all, epoll_all, ready_descriptors)
GROW_RUN(run_epoll_one, epoll_one, ready_descriptors, quiet_descriptors)
GROW_RUN(run_epoll_add, epoll_add, ready_descriptors)
GROW_RUN(run_poll, poll_all, quiet_descriptors)
GROW_RUN(run_event, write_event, epoll_instances)
GROW_RUN(run_open, open_root, open_descriptors)
GROW_RUN(run_lock, lock_file, file_locks)
GROW_RUN(run_write, write_file, inotify_instances)

GROW_PARAMS(ready_param, GROW_MAX, "ready-descriptors", "events that an epoll instance watches");
GROW_PARAMS(one_param, GROW_MAX, "ready-descriptors|quiet-descriptors",
            "events that an epoll instance watches: all are ready, or one is");
GROW_PARAMS(poll_param, GROW_MAX, "quiet-descriptors",
            "events that are polled, of which one is ready");
GROW_PARAMS(event_param, GROW_MAX, "epoll-instances", "epoll instances that watch the event");
GROW_PARAMS(open_param, GROW_MAX, "open-descriptors", "descriptors of the process");
GROW_PARAMS(lock_param, GROW_MAX, "locks-of-the-file",
            "locks that the process holds on other bytes");
GROW_PARAMS(write_param, GROW_MAX, "inotify-instances", "instances that watch the file");

static const rts_bench benches[] = {
    {GROW_COMMON, .id = "grow.epoll.all", .title = RTS_SAY("epoll_wait for all"),
     .help = RTS_SAY("Duration of epoll_wait that returns all events that are ready."),
     .params = ready_param, .run = run_epoll_all},
    {GROW_COMMON, .id = "grow.epoll.one", .title = RTS_SAY("epoll_wait for one"),
     .help = RTS_SAY("Duration of epoll_wait that returns one event."), .params = one_param,
     .run = run_epoll_one},
    {GROW_COMMON, .id = "grow.epoll.add", .title = RTS_SAY("epoll_ctl that adds"),
     .help = RTS_SAY("Duration of epoll_ctl that adds a descriptor to those watched."),
     .params = ready_param, .run = run_epoll_add},
    {GROW_COMMON, .id = "grow.poll", .title = RTS_SAY("poll"),
     .help = RTS_SAY("Duration of poll of all descriptors, of which one is ready."),
     .params = poll_param, .run = run_poll},
    {GROW_COMMON, .id = "grow.eventfd", .title = RTS_SAY("eventfd write"),
     .help = RTS_SAY("Duration of a write that makes an event ready for whoever watches it."),
     .params = event_param, .run = run_event},
    {GROW_COMMON, .id = "grow.open", .title = RTS_SAY("open"),
     .help = RTS_SAY("Duration of open of the root directory."), .params = open_param,
     .run = run_open},
    {GROW_COMMON, .id = "grow.lock", .title = RTS_SAY("fcntl lock"),
     .help = RTS_SAY("Duration of fcntl that locks a byte of a file in memory."),
     .params = lock_param, .run = run_lock},
    {GROW_COMMON, .id = "grow.write", .title = RTS_SAY("file write"),
     .help = RTS_SAY("Duration of pwrite of one byte to a file in memory."), .params = write_param,
     .run = run_write},
};

RTS_BENCHES(benches);
