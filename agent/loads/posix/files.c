/*
 * Loads on files: copying, reading and writing a file (Senoner, in Dankwardt), and a slow device.
 */
#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "posix.h"

/* ---- directories and files --------------------------------------------------------------- */

static const char *dir_of(const char *dir)
{
    return dir[0] ? dir : posix_temporary();
}

bool rts_load_has_disk(rts_running *l, const char *dir, bool ram)
{
    dir = dir_of(dir);
    if (access(dir, W_OK))
        return !rts_load_failed(l, "parameter dir: '%s': %s", dir, strerror(errno));
    if (!ram && posix_is_in_memory(dir))
        return !rts_load_unsupported(l,
                                     "'%s' lies in memory, not on a disk: name a directory that "
                                     "does with dir=PATH, or want it so with ram=1",
                                     dir);
    return true;
}

int64_t rts_load_size(rts_running *l, const char *dir, unsigned files, int64_t wanted)
{
    struct statvfs fs;
    dir = dir_of(dir);
    if (statvfs(dir, &fs))
        return wanted;
    uint64_t half = (uint64_t)fs.f_bavail * fs.f_frsize / 2;
    if (half / files >= (uint64_t)wanted)
        return wanted;
    int64_t size = (int64_t)(half / files / RTS_LOAD_BLOCK * RTS_LOAD_BLOCK);
    if (!size)
        rts_load_unsupported(l, "'%s' is full: %llu bytes are free", dir,
                             (unsigned long long)half * 2);
    else
        rts_log("info", "load %s: files of %lld bytes instead of %lld, as no more is free in '%s'",
                l->load->id, (long long)size, (long long)wanted, dir);
    return size;
}

int rts_load_scratch(rts_worker *w, const char *dir)
{
    dir = dir_of(dir);
    int file = posix_nameless_file(dir, 0);
    if (file < 0)
        posix_worker_error(w, errno, "cannot make a file in '%s'", dir);
    return file;
}

/* Returns the data to write: no zeros, which a file system might not store. */
static unsigned char *block(void)
{
    static unsigned char bytes[RTS_LOAD_BLOCK] __attribute__((aligned(4096)));
    for (uint32_t i = 0, x = 1; i < sizeof bytes && !bytes[sizeof bytes - 1]; i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (unsigned char)(x >> 24 | 1);
    }
    return bytes;
}

bool rts_load_write_block(rts_worker *w, int file, uint64_t *at, uint64_t size)
{
    ssize_t n = pwrite(file, block(), RTS_LOAD_BLOCK, (off_t)*at);
    if (n <= 0) {
        posix_worker_error(w, errno, "cannot write its file");
        return false;
    }
    *at = *at + (uint64_t)n < size ? *at + (uint64_t)n : 0;
    return true;
}

/* ---- copy, read, write ------------------------------------------------------------------- */

typedef struct file_params {
    int64_t size, cache, ram;
    char dir[RTS_LOAD_PATH];
} file_params;

enum { CACHE_DROP, CACHE_KEEP };

static const rts_param file_param[] = {
    RTS_SIZE(
        file_params, size, 256 << 20, RTS_LOAD_BLOCK, INT64_MAX / 2,
        "size of the file; reduced if it would take more than half of the free space on the disk"),
    RTS_CHOICE(file_params, cache, "drop|keep", CACHE_DROP,
               "drop the file from the page cache after each pass, so that the disk is used; or "
               "keep it, for files larger than memory"),
    RTS_LOAD_DIR(file_params),
    RTS_PARAMS_END,
};

static int prepare_files(rts_running *l, unsigned files)
{
    file_params *p = (file_params *)l->params;
    if (!rts_load_has_disk(l, p->dir, p->ram))
        return -1;
    p->size = rts_load_size(l, p->dir, files, p->size);
    return p->size ? 0 : -1;
}

static int prepare_file(rts_running *l)
{
    return prepare_files(l, 1);
}

static int prepare_copy(rts_running *l)
{
    return prepare_files(l, 2);
}

/* Ends a pass: flushes what was written to the disk, and drops what was read from memory. */
static bool end_pass(rts_worker *w, int file)
{
    const file_params *p = rts_load_params(w->load);
    if (fsync(file)) {
        posix_worker_error(w, errno, "cannot write its file");
        return false;
    }
    if (p->cache == CACHE_DROP)
        (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    return true;
}

/* Creates a file to read from; -1: the worker has failed. */
static int fill_scratch(rts_worker *w)
{
    const file_params *p = rts_load_params(w->load);
    int file = rts_load_scratch(w, p->dir);
    uint64_t at = 0;
    if (file < 0)
        return -1;
    do
        if (w->load->stop || !rts_load_write_block(w, file, &at, (uint64_t)p->size))
            return -1;
    while (at);
    return end_pass(w, file) ? file : -1;
}

/* Reads the next block of a file at *at, which wraps at its end; returns 0, or -1 on failure. */
static ssize_t read_block(rts_worker *w, int file, void *buffer, uint64_t *at)
{
    ssize_t n = pread(file, buffer, RTS_LOAD_BLOCK, (off_t)*at);
    if (n < 0)
        rts_worker_failed(w, "cannot read at byte %llu: %s", (unsigned long long)*at,
                          strerror(errno));
    *at = n > 0 ? *at + (uint64_t)n : 0;
    return n;
}

static unsigned char read_buffer[RTS_LOAD_BLOCK] __attribute__((aligned(4096)));

static void read_file(rts_worker *w)
{
    int file = fill_scratch(w);
    uint64_t at = 0;
    while (file >= 0 && rts_load_goes_on(w)) {
        ssize_t n = read_block(w, file, read_buffer, &at);
        if (n < 0 || (n == 0 && !end_pass(w, file)))
            return;
        w->done += (uint64_t)n;
    }
}

static void write_file(rts_worker *w)
{
    const file_params *p = rts_load_params(w->load);
    int file = rts_load_scratch(w, p->dir);
    uint64_t at = 0;
    while (file >= 0 && rts_load_goes_on(w)) {
        if (!rts_load_write_block(w, file, &at, (uint64_t)p->size) ||
            (at == 0 && !end_pass(w, file)))
            return;
        w->done += RTS_LOAD_BLOCK;
    }
}

static void copy_file(rts_worker *w)
{
    const file_params *p = rts_load_params(w->load);
    int from = fill_scratch(w);
    int to = from < 0 ? -1 : rts_load_scratch(w, p->dir);
    uint64_t at = 0;
    while (to >= 0 && rts_load_goes_on(w)) {
        uint64_t start = at;
        ssize_t n = read_block(w, from, read_buffer, &at);
        if (n < 0 || (n == 0 && (!end_pass(w, from) || !end_pass(w, to))))
            return;
        if (n > 0 && pwrite(to, read_buffer, (size_t)n, (off_t)start) != n) {
            posix_worker_error(w, errno, "cannot write its copy");
            return;
        }
        w->done += (uint64_t)n;
    }
}

/* ---- driver ------------------------------------------------------------------------------ */

typedef struct driver_params {
    int64_t allow;
    char device[RTS_LOAD_PATH];
} driver_params;

static const rts_param driver_param[] = {
    RTS_TEXT(driver_params, device,
             "block device or file to read; a slow one, such as a USB stick or an SD card"),
    RTS_BOOL(driver_params, allow, 0,
             "allow it to look for a removable or slow block device where none is named, and to "
             "read that (rtstone run --yes); nothing is written"),
    RTS_PARAMS_END,
};

#ifndef O_DIRECT /* not every system has it */
#define O_DIRECT 0
#endif

/*
 * Opens a device for reading, bypassing the page cache if its file system supports that. A link
 * that a user named is followed.
 */
static int open_device(const char *path)
{
    struct stat status;
    int follow = lstat(path, &status) == 0 && S_ISLNK(status.st_mode) ? 0 : O_NOFOLLOW;
    int file = posix_open_source(path, follow | O_DIRECT);
    return file < 0 && errno == EINVAL ? posix_open_source(path, follow) : file;
}

static int prepare_driver(rts_running *l)
{
    driver_params *p = (driver_params *)l->params;
    struct stat status;
    if (!p->device[0] && !p->allow)
        return rts_load_unsupported(l, "no block device is named: name one with device=PATH, or "
                                       "have it look for one with allow=on (rtstone run --yes)");
    if (!p->device[0] && !posix_slow_device(p->device, sizeof p->device))
        return rts_load_unsupported(l, "this system has no removable or slow block device with "
                                       "something in it (USB, SD card, floppy disk)");
    int file = open_device(p->device);
    if (file < 0 && errno != ENOTBLK)
        return rts_load_failed(l, "parameter device: '%s': %s", p->device, strerror(errno));
    bool usable =
        file >= 0 && fstat(file, &status) == 0 && (S_ISBLK(status.st_mode) || status.st_size > 0);
    if (file >= 0)
        close(file);
    return usable ? 0
                  : rts_load_failed(l,
                                    "parameter device: '%s' is neither a block device nor a "
                                    "file with something in it",
                                    p->device);
}

/* Reads from the first block to the last, repeatedly. */
static void scan_device(rts_worker *w)
{
    const driver_params *p = rts_load_params(w->load);
    int file = open_device(p->device);
    uint64_t at = 0;
    if (file < 0) {
        rts_worker_failed(w, "'%s': %s", p->device, strerror(errno));
        return;
    }
    while (rts_load_goes_on(w)) {
        bool start = at == 0;
        ssize_t n = read_block(w, file, read_buffer, &at);
        if (n < 0)
            return;
        if (n == 0 && start) {
            rts_worker_failed(w, "'%s' is empty", p->device);
            return;
        }
        w->done += (uint64_t)n;
        if (n == 0)
            (void)posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    }
}

/* ---- the table --------------------------------------------------------------------------- */

#define SENONER "Dankwardt, part 3, after Senoner's latencytest"

static const rts_load loads[] = {
    {.id = "driver",
     .title = RTS_SAY("Read a slow block device from end to end"),
     .source = RTS_SAY("Gutsalov; a read scan of a USB stick or SD card instead of a floppy disk"),
     .help = RTS_SAY(
         "Reads the device repeatedly in blocks of 64 KiB from the first to the last, "
         "as badblocks does, bypassing the page cache. Measuring starts 5 s later. Where no "
         "device is named and it is allowed to, it reads the first that is removable "
         "or on USB or an SD bus; nothing is written."),
     .params = driver_param,
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED, /* Gutsalov had one CPU */
     .ramp_up_ns = UINT64_C(5000000000),
     .prepare = prepare_driver,
     .component =
         RTS_PARTS({.name = "scan", .title = "read scan", .unit = "bytes", .run = scan_device})},
    {.id = "copy",
     .title = RTS_SAY("Copy a file on disk"),
     .source = RTS_SAY(SENONER),
     .help = RTS_SAY("Repeatedly copies one file to another in blocks of 64 KiB and flushes the "
                     "copy to disk. Both files are unnamed, so nothing is left of them."),
     .params = file_param,
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_copy,
     .component =
         RTS_PARTS({.name = "copy", .title = "copying", .unit = "bytes", .run = copy_file})},
    {.id = "read",
     .title = RTS_SAY("Read a file on disk"),
     .source = RTS_SAY(SENONER),
     .help = RTS_SAY("Repeatedly reads one file in blocks of 64 KiB. The file is unnamed, so "
                     "nothing is left of it."),
     .params = file_param,
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_file,
     .component =
         RTS_PARTS({.name = "read", .title = "reading", .unit = "bytes", .run = read_file})},
    {.id = "write",
     .title = RTS_SAY("Write a file on disk"),
     .source = RTS_SAY(SENONER),
     .help = RTS_SAY("Repeatedly writes one file in blocks of 64 KiB and flushes it to disk. The "
                     "file is unnamed, so nothing is left of it."),
     .params = file_param,
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_file,
     .component =
         RTS_PARTS({.name = "write", .title = "writing", .unit = "bytes", .run = write_file})},
};

RTS_LOADS(loads);
