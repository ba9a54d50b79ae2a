/* The long-running system calls of dk.schedlat (Dankwardt, part 2). */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../longcalls.h"
#include "calls.h"
#include "linux.h"

#define CHUNK (4u << 20)    /* bytes read or written by one call */
#define MAPPING (16u << 20) /* bytes mapped, touched and unmapped */

/* What the calls work on, in the process that makes them. */
static int file; /* an unnamed file of CHUNK bytes */
static unsigned char *buffer;

static int call_read(void)
{
    return pread(file, buffer, CHUNK, 0) == CHUNK ? 0 : -errno;
}

static int call_write(void)
{
    return pwrite(file, buffer, CHUNK, 0) == CHUNK ? 0 : -errno;
}

static int call_fork(void)
{
    return linux_call_fork(NULL, 0);
}

static int call_mmap(void)
{
    return linux_call_unmap(MAPPING);
}

static int call_scan(void)
{
    DIR *directory = opendir("/proc");
    if (!directory)
        return -errno;
    while (readdir(directory))
        ;
    return closedir(directory) ? -errno : 0;
}

/* Many drivers do their work in open() or close(). */
static int call_open(void)
{
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd < 0 || close(fd) ? -errno : 0;
}

static int prepare_calls(rts_case *c)
{
    (void)c;
    buffer = malloc(CHUNK);
    file = posix_nameless_file("/tmp", 0);
    if (file < 0)
        return -errno;
    if (!buffer)
        return -ENOMEM;
    memset(buffer, 1, CHUNK);
    return call_write();
}

static void clean_up_calls(void)
{
    free(buffer);
    if (file >= 0)
        close(file);
}

static const long_call kinds[] = {
    {"read", "calls of read (4 MiB)", 0, call_read, NULL},
    {"write", "calls of write (4 MiB)", 0, call_write, NULL},
    {"fork", "calls of fork, exit and wait", 0, call_fork, NULL},
    {"mmap", "calls of mmap and munmap (16 MiB)", 0, call_mmap, NULL},
    {"scan", "scans of the directory /proc", 0, call_scan, call_scan},
    {"open", "calls of open and close (/dev/ptmx)", 0, call_open, call_open},
};

const long_calls rts_long_calls = {kinds, sizeof kinds / sizeof kinds[0], "a file of 4 MiB in /tmp",
                                   prepare_calls, clean_up_calls};
