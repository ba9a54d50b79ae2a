/* Small files of /proc and /sys. */
#include <string.h>

#include "posix.h"

int posix_read_file(const char *path, char *buffer, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
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
