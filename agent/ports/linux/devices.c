/* Block devices: opened for reading alone, and those that are removable or slow. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "linux.h"

#define BLOCK "/sys/block"
#define SYSFS_PATH 320

int posix_open_source(const char *path, int flags)
{
    char same[32];
    struct stat status;
    int place = open(path, O_PATH | O_CLOEXEC | (flags & O_NOFOLLOW)), file = -1;
    if (place < 0)
        return -1;
    if (fstat(place, &status) == 0) {
        errno = ENOTBLK;
        if (S_ISBLK(status.st_mode) || S_ISREG(status.st_mode)) {
            snprintf(same, sizeof same, "/proc/self/fd/%d", place);
            file = open(same, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (flags & ~O_NOFOLLOW));
        }
    }
    int error = errno;
    close(place);
    errno = error;
    return file;
}

/* Reads a line of a device's file; false: it has no such file. */
static bool attribute(const char *name, const char *file, char *text, size_t size)
{
    char path[SYSFS_PATH];
    snprintf(path, sizeof path, BLOCK "/%s/%s", name, file);
    return posix_read_line(path, text, size);
}

/* Returns whether a device can be taken out, or is behind a bus of those that can. */
static bool is_slow(const char *name)
{
    char path[SYSFS_PATH], place[SYSFS_PATH], text[8];
    if (attribute(name, "removable", text, sizeof text) && text[0] == '1')
        return true;
    snprintf(path, sizeof path, BLOCK "/%s", name);
    ssize_t n = readlink(path, place, sizeof place - 1);
    place[n < 0 ? 0 : n] = '\0';
    return strstr(place, "/usb") || strstr(place, "/mmc_host/");
}

/* Makes the path of a device that has something in it; false: it has not, or the path is not its.
 */
static bool usable_path(const char *name, char *path, size_t size)
{
    char sectors[24], number[24], same[24];
    struct stat status;
    if (!attribute(name, "size", sectors, sizeof sectors) || strtoull(sectors, NULL, 10) == 0 ||
        !attribute(name, "dev", number, sizeof number) ||
        snprintf(path, size, "/dev/%s", name) >= (int)size || lstat(path, &status) ||
        !S_ISBLK(status.st_mode))
        return false;
    snprintf(same, sizeof same, "%u:%u", major(status.st_rdev), minor(status.st_rdev));
    return !strcmp(number, same);
}

bool posix_slow_device(char *path, size_t size)
{
    char first[sizeof((struct dirent *)0)->d_name] = "";
    DIR *dir = opendir(BLOCK);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        bool before = !first[0] || strcmp(e->d_name, first) < 0;
        if (e->d_name[0] != '.' && before && is_slow(e->d_name) &&
            usable_path(e->d_name, path, size))
            snprintf(first, sizeof first, "%s", e->d_name);
    }
    if (dir)
        closedir(dir);
    if (first[0] && usable_path(first, path, size))
        return true;
    path[0] = '\0';
    return false;
}
