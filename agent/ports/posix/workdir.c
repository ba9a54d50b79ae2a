/*
 * Where loads put files: a directory with an unpredictable name in $TMPDIR, or else in /var/tmp or
 * /tmp.
 *
 * Other users may write there too. So the directory is used through its descriptor and never by its
 * name, and a directory is emptied only if this agent made it, or an agent of the same user that no
 * longer exists: its identity is noted in that agent's lock file, which other users cannot write.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "posix.h"

const char *posix_temporary(void)
{
    const char *named = getenv("TMPDIR");
    if (named && named[0])
        return named;
    return access("/var/tmp", F_OK) ? "/tmp" : "/var/tmp"; /* an initial RAM disk has no /var */
}

/* ---- removal --------------------------------------------------------------------------------- */

#define DEPTH_MAX 64

/* Removes the contents of a directory, and closes it. */
static void empty_dir(int fd, dev_t device, unsigned depth)
{
    struct stat status;
    DIR *dir = fdopendir(fd);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        int below = posix_open_below(fd, e->d_name);
        if (below >= 0 && depth < DEPTH_MAX && fstat(below, &status) == 0 &&
            status.st_dev == device)
            empty_dir(below, device, depth + 1);
        else if (below >= 0)
            close(below);
        unlinkat(fd, e->d_name, below >= 0 ? AT_REMOVEDIR : 0);
    }
    if (dir)
        closedir(dir);
    else
        close(fd);
}

/* Returns whether only this user can have made the directory, and only this user may use it. */
static bool is_own(const struct stat *status)
{
    return S_ISDIR(status->st_mode) && status->st_uid == geteuid() && !(status->st_mode & 0077);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Empties and removes the directory `name` in `parent` if it is identical to `identity`. If it is
 * not known ever to have been entered (st_ino 0), only the name is removed, and only if the
 * directory is empty.
 */
static void remove_dir(int parent, const char *name, const struct stat *identity)
{
    struct stat status;
    int fd = posix_open_below(parent, name);
    if (fd < 0)
        return;
    bool ours = fstat(fd, &status) == 0 && is_own(&status);
    if (ours && identity->st_ino && is_same(&status, identity))
        empty_dir(fd, status.st_dev, 0);
    else
        close(fd);
    if (ours && (!identity->st_ino || is_same(&status, identity)))
        unlinkat(parent, name, AT_REMOVEDIR);
}

/* ---- the note in the lock file --------------------------------------------------------------- */

#define NUMBERS 42 /* "DEVICE INODE ", of 20 digits each */

/* Replaces the note; false: see errno. A note without a newline was not written completely. */
static bool note(const char *parent, const char *name, const struct stat *identity)
{
    int lock = posix_lock_file();
    char *text;
    if (lock < 0) /* without a lock file, nothing looks for a note */
        return true;
    int n = asprintf(&text, "%020llu %020llu %s/%s\n", (unsigned long long)identity->st_dev,
                     (unsigned long long)identity->st_ino, parent, name);
    if (n < 0)
        return false;
    ssize_t written = pwrite(lock, text, (size_t)n, 0);
    free(text);
    if (written >= 0 && written < n)
        errno = ENOSPC;
    return written == n;
}

void posix_remove_noted(int lock)
{
    static char text[NUMBERS + 4096 + POSIX_NAME + 1];
    struct stat identity = {0};
    long long device, inode;
    ssize_t n = pread(lock, text, sizeof text - 1, 0);
    if (n <= NUMBERS || text[n - 1] != '\n')
        return;
    text[n - 1] = '\0';
    const char *number = text;
    char *name = strrchr(text, '/');
    if (!posix_number(&number, &device) || !posix_number(&number, &inode) || text[NUMBERS] != '/')
        return;
    identity.st_dev = (dev_t)device;
    identity.st_ino = (ino_t)inode;
    *name = '\0';
    int parent =
        open(name == text + NUMBERS ? "/" : text + NUMBERS, POSIX_SEARCH | O_DIRECTORY | O_CLOEXEC);
    if (parent < 0)
        return;
    remove_dir(parent, name + 1, &identity);
    close(parent);
}

/* ---- the directory of this agent ------------------------------------------------------------- */

static struct {
    int parent, fd;
    char name[POSIX_NAME];
    struct stat identity;
} work = {.parent = -1, .fd = -1};

/* Returns whether only root and this user can replace this user's entries in a directory. */
static bool is_safe(int dir)
{
    struct stat status;
    if (fstat(dir, &status) || (status.st_uid && status.st_uid != geteuid()))
        return false;
    mode_t writers = S_IWOTH | (status.st_gid == getegid() ? 0 : S_IWGRP);
    return !(status.st_mode & writers) || status.st_mode & S_ISVTX;
}

/* Creates `name` in a directory whose path is `path`; returns its descriptor, or -1. */
static int make_in(int parent, const char *path, const char *name, struct stat *identity)
{
    *identity = (struct stat){0};
    if (!note(path, name, identity) || mkdirat(parent, name, 0700))
        return -1;
    int fd = posix_open_below(parent, name);
    if (fd >= 0 && fstat(fd, identity) == 0 && is_own(identity) && note(path, name, identity))
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    unlinkat(parent, name, AT_REMOVEDIR); /* it is empty */
    errno = error;
    return -1;
}

/* Notes the resolved path, as `where` may be a link or a relative path; returns 0 or errno. */
static int make(const char *where)
{
    posix_new_name(work.name, sizeof work.name);
    char *path = realpath(where, NULL);
    work.parent = path ? open(path, POSIX_SEARCH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (work.parent >= 0 && !is_safe(work.parent))
        errno = EXDEV; /* does not occur otherwise */
    else if (work.parent >= 0)
        work.fd = make_in(work.parent, path, work.name, &work.identity);
    int error = work.fd < 0 ? errno : 0;
    if (error && work.parent >= 0) {
        close(work.parent);
        work.parent = -1;
    }
    free(path);
    return error;
}

int posix_work_dir(char *why, size_t size)
{
    const char *where = posix_temporary();
    int error = work.fd < 0 ? make(where) : 0;
    if (error == EXDEV)
        snprintf(why, size,
                 "others may exchange what lies in '%.100s': set TMPDIR to a directory of yours, "
                 "or to one of root's that is sticky",
                 where);
    else if (error)
        snprintf(why, size, "no directory can be made in '%.100s': %s; set TMPDIR to where it can",
                 where, strerror(error));
    return work.fd;
}

void posix_remove_work_dir(void)
{
    int lock = posix_lock_file();
    if (work.fd < 0)
        return;
    remove_dir(work.parent, work.name, &work.identity);
    close(work.fd);
    close(work.parent);
    work.fd = work.parent = -1;
    if (lock >= 0)
        (void)!ftruncate(lock, 0);
}
