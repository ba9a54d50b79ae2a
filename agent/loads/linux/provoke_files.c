/* Actions of load provoke: files, descriptors and what watches them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../posix/files.h"
#include "linux.h"
#include "provoke.h"

#define RING 256 /* entries of a ring */

/* The descriptor that the others watch; they are provoke_fd. */
static int watched = -1;

/* n epoll instances watch one descriptor. */
static bool begin_epolls(rts_worker *w, unsigned n)
{
    struct epoll_event event = {.events = EPOLLIN};
    watched = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!provoke_good(w, watched >= 0, "eventfd()") || !provoke_descriptors(w, n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        provoke_fd[i] = epoll_create1(EPOLL_CLOEXEC);
        if (!provoke_good(
                w, provoke_fd[i] >= 0 && !epoll_ctl(provoke_fd[i], EPOLL_CTL_ADD, watched, &event),
                "epoll (/proc/sys/fs/epoll/max_user_watches)"))
            return false;
    }
    return true;
}

static bool epolls(rts_worker *w, unsigned n)
{
    (void)n;
    uint64_t count = 1;
    return provoke_good(
        w, write(watched, &count, sizeof count) > 0 && read(watched, &count, sizeof count),
        "eventfd");
}

static bool begin_poll(rts_worker *w, unsigned n)
{
    if (!provoke_descriptors(w, n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        provoke_fd[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (!provoke_good(w, provoke_fd[i] >= 0, "eventfd()"))
            return false;
    }
    return true;
}

static bool poll_all(rts_worker *w, unsigned n)
{
    static struct pollfd set[PROVOKE_MOST];
    for (unsigned i = 0; i < n; i++)
        set[i] = (struct pollfd){.fd = provoke_fd[i], .events = POLLIN};
    return provoke_good(w, poll(set, n, 0) >= 0, "poll()");
}

/* n inotify instances watch one file; a user may have 128, as the system is usually set. */
static bool begin_inotify(rts_worker *w, unsigned n)
{
    char path[32];
    watched = rts_load_scratch(w, "");
    if (watched < 0 || !provoke_descriptors(w, n))
        return false;
    snprintf(path, sizeof path, "/proc/self/fd/%d", watched);
    for (unsigned i = 0; i < n; i++) {
        provoke_fd[i] = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
        if (!provoke_good(
                w, provoke_fd[i] >= 0 && inotify_add_watch(provoke_fd[i], path, IN_MODIFY) >= 0,
                "inotify (/proc/sys/fs/inotify/max_user_instances)"))
            return false;
    }
    return true;
}

static bool inotify(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w, pwrite(watched, "x", 1, 0) == 1, "its file");
}

static bool begin_file(rts_worker *w, unsigned n)
{
    (void)n;
    watched = rts_load_scratch(w, "");
    return watched >= 0;
}

/* Takes n locks of a file, each of a byte, and gives them back by one call. */
static bool locks(rts_worker *w, unsigned n)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1};
    for (unsigned i = 0; i < n; i++) {
        lock.l_start = 2 * (off_t)i;
        if (!provoke_good(w, !fcntl(watched, F_SETLK, &lock), "a lock"))
            return false;
    }
    lock = (struct flock){.l_type = F_UNLCK, .l_whence = SEEK_SET};
    return provoke_good(w, !fcntl(watched, F_SETLK, &lock), "a lock");
}

/* The directory is removed when the load stops, or by the next agent. */
static bool begin_readdir(rts_worker *w, unsigned n)
{
    char why[RTS_REASON], name[48];
    watched = posix_work_dir(why, sizeof why);
    if (watched < 0) {
        rts_worker_unsupported(w, "%s", why);
        return false;
    }
    for (unsigned i = 0; i < n && !w->load->stop; i++) {
        snprintf(name, sizeof name, "a-file-of-some-name-%u", i);
        int file = openat(watched, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
        if (!provoke_good(w, file >= 0, "a file"))
            return false;
        close(file);
    }
    return true;
}

static bool read_dir(rts_worker *w, unsigned n)
{
    (void)n;
    long bytes = provoke_good(w, !lseek(watched, 0, SEEK_SET), "a directory") ? 1 : -1;
    while (bytes > 0)
        bytes = syscall(SYS_getdents64, watched, provoke_bytes, sizeof provoke_bytes);
    return provoke_good(w, bytes == 0, "a directory");
}

/* Closed, each is freed only after a grace period of the kernel. */
static bool descriptors(rts_worker *w, unsigned n)
{
    unsigned opened = 0;
    if (!provoke_descriptors(w, n))
        return false;
    while (opened < n && (provoke_fd[opened] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        opened++;
    bool good = provoke_good(w, opened == n, "/dev/null");
    while (opened)
        close(provoke_fd[--opened]);
    return good;
}

static bool rings(rts_worker *w, unsigned n)
{
    (void)n;
    struct io_uring_params params = {0};
    int ring = (int)syscall(SYS_io_uring_setup, RING, &params);
    if (!provoke_good(w, ring >= 0, "io_uring_setup() (/proc/sys/kernel/io_uring_disabled)"))
        return false;
    close(ring);
    return true;
}

/* Writes n blocks of its file. */
static bool write_blocks(rts_worker *w, unsigned n)
{
    uint64_t at = 0;
    for (unsigned i = 0; i < n; i++)
        if (!rts_load_write_block(w, watched, &at, (uint64_t)n * RTS_LOAD_BLOCK))
            return false;
    return true;
}

static bool flush_one(rts_worker *w, unsigned n)
{
    return write_blocks(w, n) && provoke_good(w, !fsync(watched), "fsync()");
}

static bool flush_all(rts_worker *w, unsigned n)
{
    bool good = write_blocks(w, n);
    sync();
    return good;
}

/* In a view of the mounts that this process alone has, so that they end with it. */
static bool begin_mounts(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w,
                        !unshare(CLONE_NEWNS) && !mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL),
                        "mounts of its own");
}

static bool mounts(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w, !mount("none", "/proc", "tmpfs", 0, NULL) && !umount("/proc"),
                        "mount()");
}

const provoke_action provoke_files[] = {
    {.name = "epolls", .n = 1000, .begin = begin_epolls, .round = epolls},
    {.name = "poll", .n = 1000, .begin = begin_poll, .round = poll_all},
    {.name = "inotify", .n = 100, .begin = begin_inotify, .round = inotify},
    {.name = "locks", .n = 4000, .begin = begin_file, .round = locks},
    {.name = "readdir", .n = 10000, .begin = begin_readdir, .round = read_dir},
    {.name = "descriptors", .n = 1000, .round = descriptors},
    {.name = "iouring", .round = rings},
    {.name = "fsync", PROVOKE_SHARED, .n = 4, .begin = begin_file, .round = flush_one},
    {.name = "sync", PROVOKE_SHARED, .n = 64, .begin = begin_file, .round = flush_all},
    {.name = "mount", PROVOKE_SHARED, .begin = begin_mounts, .round = mounts},
    {0},
};
