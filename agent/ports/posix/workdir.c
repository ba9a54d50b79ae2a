/* Where loads leave files: rtstone-OWNER in $TMPDIR, or else in /var/tmp or /tmp. */
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

static void path_of(char *path, size_t size, long owner)
{
    snprintf(path, size, "%s/rtstone-%ld", posix_temporary(), owner);
}

const char *posix_work_dir(void)
{
    static char path[256];
    path_of(path, sizeof path, posix_owner());
    return mkdir(path, 0700) && errno != EEXIST ? NULL : path;
}

#define DEPTH_MAX 64

/*
 * Removes what a directory holds, by its descriptor: names in it may be exchanged for links to
 * elsewhere meanwhile, and must not be followed.
 */
static void empty_dir(int fd, dev_t device, unsigned depth)
{
    struct stat status;
    DIR *dir = fdopendir(fd);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        int below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
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

void posix_remove_work_dir(long owner)
{
    char path[256];
    struct stat status;
    path_of(path, sizeof path, owner);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0)
        empty_dir(fd, status.st_dev, 0);
    else
        close(fd);
    rmdir(path);
}
