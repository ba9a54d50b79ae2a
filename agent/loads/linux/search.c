/* Loads that read everything in a directory, and in /proc (Senoner, in Dankwardt). */
#include "search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "../posix/files.h"
#include "posix.h"

#define DEPTH_MAX 64
#define PROCFS_MAGIC 0x9fa0
static const char needle[] = "rtstone was here";

/* Reads one file; files in /proc can block, or have no end. */
static void scan_file(rts_worker *w, int dir, const char *name, size_t most)
{
    static char buffer[RTS_LOAD_BLOCK];
    static volatile unsigned matches; /* so that the search is not optimised away */
    int file = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0)
        return;
    ssize_t n;
    matches += strstr(name, needle) != NULL;
    for (size_t used = 0; used < most && (n = read(file, buffer, sizeof buffer)) > 0;
         used += (size_t)n)
        matches += memmem(buffer, (size_t)n, needle, sizeof needle - 1) != NULL;
    close(file);
    w->done++;
}

static unsigned char type_of(int dir, const struct dirent *e)
{
    struct stat status;
    if (e->d_type != DT_UNKNOWN)
        return e->d_type;
    if (fstatat(dir, e->d_name, &status, AT_SYMLINK_NOFOLLOW))
        return DT_UNKNOWN;
    return S_ISDIR(status.st_mode) ? DT_DIR : S_ISREG(status.st_mode) ? DT_REG : DT_UNKNOWN;
}

/*
 * Returns true for files of `dir` (named `parent`) that must not be read: reading kmsg consumes
 * lines of the kernel's log, kcore is the memory of kernel and devices, and reading the registers
 * of a device (bus/pci) can have any effect.
 */
static bool is_left_out(int dir, const char *parent, const char *name)
{
    struct statfs fs;
    return (!strcmp(name, "kmsg") || !strcmp(name, "kcore") ||
            (!strcmp(parent, "bus") && !strcmp(name, "pci"))) &&
           fstatfs(dir, &fs) == 0 && fs.f_type == PROCFS_MAGIC;
}

/*
 * Reads a directory and everything below it; returns -1 if it cannot be read. Files that vanish
 * meanwhile are skipped.
 */
static int scan_dir(rts_worker *w, int at, const char *name, size_t most, unsigned depth)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (depth ? O_NOFOLLOW : 0));
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (!dir) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (struct dirent *e; rts_load_goes_on(w) && (e = readdir(dir));) {
        unsigned char type = is_left_out(fd, name, e->d_name) ? DT_UNKNOWN : type_of(fd, e);
        if (type == DT_REG)
            scan_file(w, fd, e->d_name, most);
        else if (type == DT_DIR && depth < DEPTH_MAX && strcmp(e->d_name, ".") &&
                 strcmp(e->d_name, ".."))
            (void)scan_dir(w, fd, e->d_name, most, depth + 1);
    }
    closedir(dir);
    return 0;
}

void rts_load_search(rts_worker *w, const char *dir, size_t most)
{
    do {
        uint64_t before = w->done;
        if (scan_dir(w, AT_FDCWD, dir, most, 0))
            posix_worker_error(w, errno, "cannot read directory '%s'", dir);
        else if (w->done == before && rts_load_goes_on(w))
            rts_worker_failed(w, "there is no readable file in or below '%s'", dir);
    } while (!w->why[0] && rts_load_goes_on(w));
}

#define PROC_BYTES (256u << 10) /* some of its files have no end */

void rts_load_read_proc(rts_worker *w)
{
    rts_load_search(w, "/proc", PROC_BYTES);
}

static const rts_load loads[] = {
    {.id = "proc",
     .title = RTS_SAY("Read the /proc tree"),
     .source = RTS_SAY("Dankwardt, part 3, after Senoner's latencytest"),
     .help =
         RTS_SAY("Repeatedly reads all files of /proc except kmsg, kcore and those of bus/pci, up "
                 "to 256 KiB of each; a file that would block is skipped. Counted are files."),
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .component = RTS_PARTS(
         {.name = "proc", .title = "reading /proc", .unit = "files", .run = rts_load_read_proc})},
};

RTS_LOADS(loads);
