/* Operations on files, and formats of them, that only Linux has. */
#include <linux/openat2.h>
#include <sys/random.h>
#include <sys/statfs.h>

#include "linux.h"

int posix_open_nameless(const char *directory, int flags)
{
    return open(directory, O_TMPFILE | flags, 0600);
}

/*
 * Does not follow into another file system mounted there either, even into a part of the same one.
 */
int posix_open_below(int dir, const char *name)
{
    struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV};
    int fd = (int)syscall(SYS_openat2, dir, name, &how, sizeof how);
    return fd < 0 && errno == ENOSYS ? openat(dir, name, (int)how.flags) : fd; /* before 5.6 */
}

/* From linux/magic.h: file systems that keep their files in memory. */
#define TMPFS 0x01021994
#define RAMFS 0x858458f6

bool posix_is_in_memory(const char *directory)
{
    struct statfs fs;
    return statfs(directory, &fs) == 0 && (fs.f_type == TMPFS || (unsigned long)fs.f_type == RAMFS);
}

bool posix_file_system(int fd, unsigned long *type, long *block_size)
{
    struct statfs fs;
    if (fstatfs(fd, &fs))
        return false;
    *type = (unsigned long)fs.f_type;
    *block_size = (long)fs.f_bsize;
    return true;
}

bool posix_random(uint64_t *number)
{
    return getrandom(number, sizeof *number, GRND_NONBLOCK) == sizeof *number;
}

bool linux_read_cpus(const char *path, rts_cpuset *set)
{
    char text[4096];
    long long first, last;
    *set = (rts_cpuset){{0}};
    if (!posix_read_line(path, text, sizeof text))
        return false;
    for (const char *s = text; *s; s++) {
        bool good = posix_number(&s, &first) && first >= 0;
        last = first;
        if (good && *s == '-') {
            s++;
            good = posix_number(&s, &last) && last >= first;
        }
        if (!good || (*s && *s != ',')) {
            *set = (rts_cpuset){{0}};
            return false;
        }
        for (; first <= last && first < RTS_CPUS; first++)
            rts_cpuset_add(set, (unsigned)first);
        if (!*s)
            break;
    }
    return true;
}
