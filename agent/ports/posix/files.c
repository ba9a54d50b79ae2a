/* Small files, and files without a name. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "posix.h"

int posix_read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); /* a pipe would wait */
    if (fd < 0)
        return -1;
    size_t used = 0;
    for (ssize_t n; used < size - 1 && (n = read(fd, buffer + used, size - 1 - used)) > 0;)
        used += (size_t)n;
    close(fd);
    buffer[used] = '\0';
    return (int)used;
}

bool posix_read_line(const char *path, char *buffer, size_t size)
{
    if (posix_read_file(path, buffer, size) < 0)
        return false;
    buffer[strcspn(buffer, "\n")] = '\0';
    return true;
}

bool posix_number(const char **text, long long *value)
{
    char *end;
    *value = strtoll(*text, &end, 10);
    if (end == *text)
        return false;
    *text = end;
    return true;
}

long long posix_read_number(const char *path, long long otherwise)
{
    char line[32];
    const char *text = line;
    long long value;
    return posix_read_line(path, line, sizeof line) && posix_number(&text, &value) ? value
                                                                                   : otherwise;
}

/* ---- files without a name ---------------------------------------------------------------------
 */

/*
 * A guest that has just started may have no random numbers yet, but it has no other users either.
 */
void posix_new_name(char *name, size_t size)
{
    uint64_t number;
    if (!posix_random(&number))
        number = posix_clock_ns(CLOCK_MONOTONIC);
    snprintf(name, size, "rtstone-%d-%016llx", (int)getpid(), (unsigned long long)number);
}

int posix_nameless_file(const char *directory, int flags)
{
    char name[POSIX_NAME];
    flags |= O_RDWR | O_CLOEXEC;
    int fd = posix_open_nameless(directory, flags);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR))
        return fd;
    int dir = open(directory, POSIX_SEARCH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    posix_new_name(name, sizeof name);
    fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | flags, 0600);
    if (fd >= 0)
        unlinkat(dir, name, 0);
    int error = errno;
    close(dir);
    errno = error;
    return fd;
}

int posix_scratch_file(int flags, char *why, size_t size)
{
    const char *directories[] = {getenv("TMPDIR"), "/var/tmp"};
    for (size_t i = 0; i < sizeof directories / sizeof directories[0]; i++) {
        if (!directories[i] || !directories[i][0])
            continue;
        int fd = posix_nameless_file(directories[i], flags);
        if (fd < 0) {
            snprintf(why, size, "no file can be made in %s (%s): set TMPDIR to where it can",
                     directories[i], strerror(errno));
            continue;
        }
        if (!posix_is_in_memory(directories[i]))
            return fd;
        close(fd);
        snprintf(why, size, "%s is kept in memory: set TMPDIR to a directory on a disk",
                 directories[i]);
    }
    return -1;
}
