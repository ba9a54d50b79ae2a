/* An agent that was uploaded for one run removes its own program, which is then only in memory. */
#include <string.h>
#include <sys/stat.h>

#include "linux.h"

#define PREFIX "rtstone-upload-" /* of the directories that rtstone/targets/ssh.py makes */

/* Splits a path at its last '/': returns the name behind it; the path keeps what is before. */
static char *split(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    return slash + 1;
}

/* Returns whether `name` in `dir` is the file that this process executes. */
static bool is_program(int dir, const char *name)
{
    struct stat program, entry;
    return stat("/proc/self/exe", &program) == 0 &&
           fstatat(dir, name, &entry, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(entry.st_mode) &&
           entry.st_dev == program.st_dev && entry.st_ino == program.st_ino;
}

/*
 * Another user may have exchanged anything on the way to the file, so nothing is removed by a path:
 * only an entry that is this very program, in a directory with the name of an upload, and then that
 * directory, which is refused unless it is empty.
 */
void posix_remove_upload(void)
{
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    char *file = split(path), *name = file ? split(path) : NULL;
    if (!name || strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return;
    int parent = open(path[0] ? path : "/", POSIX_SEARCH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int dir = parent < 0 ? -1 : posix_open_below(parent, name);
    if (dir >= 0 && is_program(dir, file) && unlinkat(dir, file, 0) == 0)
        unlinkat(parent, name, AT_REMOVEDIR);
    if (dir >= 0)
        close(dir);
    if (parent >= 0)
        close(parent);
}
