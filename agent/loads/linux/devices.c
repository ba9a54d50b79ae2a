/*
 * Two of the actions that mask interrupts for long (Dankwardt, after Morton): reading
 * and setting what a disk is set to, as hdparm does, and closing a block device.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/hdreg.h>
#include <linux/loop.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../posix/files.h"
#include "allow.h"
#include "linux.h"

/* ---- settings of a disk ------------------------------------------------------------------- */

typedef struct disk_params {
    int64_t allow;
    char device[RTS_LOAD_PATH];
} disk_params;

static const rts_param disk_param[] = {
    RTS_TEXT(disk_params, device,
             "block device; default: the one with the directory for files, $TMPDIR or /var/tmp"),
    RTS_LOAD_ALLOW(disk_params, "set the disk's settings, each to the value that it has"),
    RTS_PARAMS_END,
};

/* Opens a block device, and nothing else. -1: see errno. */
static int open_block_device(const char *path)
{
    struct stat status;
    int device = posix_open_source(path, 0);
    if (device < 0 || (fstat(device, &status) == 0 && S_ISBLK(status.st_mode)))
        return device;
    close(device);
    errno = ENOTBLK;
    return -1;
}

/* Finds the block device on which a directory lies; false: there is none. */
static bool find_disk(const char *directory, char *path, size_t size)
{
    static const char key[] = "DEVNAME=";
    char name[64], text[1024];
    struct stat status;
    if (stat(directory, &status))
        return false;
    snprintf(name, sizeof name, "/sys/dev/block/%u:%u/uevent", major(status.st_dev),
             minor(status.st_dev));
    if (posix_read_file(name, text, sizeof text) < 0)
        return false;
    const char *device = strstr(text, key);
    if (!device)
        return false;
    device += sizeof key - 1;
    snprintf(path, size, "/dev/%.*s", (int)strcspn(device, "\n"), device);
    return true;
}

/* What hdparm shows of a disk; a disk need not have all of it. */
static const unsigned long readings[] = {
    BLKROGET,
    BLKRAGET,
    BLKBSZGET,
    BLKSSZGET,
    BLKPBSZGET,
    BLKIOMIN,
    BLKIOOPT,
    BLKALIGNOFF,
    BLKSECTGET,
    BLKROTATIONAL,
    BLKGETSIZE64,
    HDIO_GETGEO,
    HDIO_GET_IDENTITY,
    HDIO_GET_32BIT,
    HDIO_GET_MULTCOUNT,
    HDIO_GET_DMA,
    HDIO_GET_UNMASKINTR,
};

/* Reads all settings; returns how many the disk has. */
static unsigned read_settings(int disk)
{
    _Alignas(8) unsigned char value[512]; /* an identity is the longest */
    unsigned n = 0;
    for (size_t i = 0; i < sizeof readings / sizeof readings[0]; i++)
        n += ioctl(disk, readings[i], value) == 0;
    return n;
}

/*
 * Sets those settings that Linux can still set to the values that they have, so that there is
 * nothing to restore however this ends. Returns how many it has set, -1: see errno.
 */
static int set_settings(int disk)
{
    unsigned long read_ahead = 0, wide = 0;
    if (ioctl(disk, BLKRAGET, &read_ahead) || ioctl(disk, BLKRASET, read_ahead))
        return -1;
    return ioctl(disk, HDIO_GET_32BIT, &wide) == 0 && ioctl(disk, HDIO_SET_32BIT, wide) == 0 ? 2
                                                                                             : 1;
}

static int open_disk(const disk_params *p, char *path, size_t size)
{
    path[0] = '\0';
    if (p->device[0])
        snprintf(path, size, "%s", p->device);
    else if (!find_disk(posix_temporary(), path, size))
        return -1;
    return open_block_device(path);
}

static int prepare_hdparm(rts_running *l)
{
    const disk_params *p = rts_load_params(l);
    char path[RTS_LOAD_PATH];
    int disk = open_disk(p, path, sizeof path);
    if (!path[0])
        return rts_load_unsupported(l, "'%s' lies on no block device: name one with device=PATH",
                                    posix_temporary());
    if (disk < 0 && p->device[0])
        return rts_load_failed(l, "parameter device: '%s': %s", path, strerror(errno));
    if (disk < 0)
        return rts_load_unsupported(l, "'%s': %s", path, strerror(errno));
    bool sets = rts_load_may(p->allow), readable = read_settings(disk) > 0;
    int error = readable && sets && set_settings(disk) < 0 ? errno : 0;
    close(disk);
    if (!readable)
        return rts_load_unsupported(l, "'%s' has no settings that can be read", path);
    if (error)
        return rts_load_unsupported(l, "the settings of '%s' cannot be set: %s", path,
                                    strerror(error));
    rts_log("info", "load hdparm: %s the settings of %s%s", sets ? "reads and sets" : "only reads",
            path, sets ? "" : "; setting them needs allow=on (rtstone run --yes)");
    return 0;
}

static void run_hdparm(rts_worker *w)
{
    const disk_params *p = rts_load_params(w->load);
    char path[RTS_LOAD_PATH];
    int disk = open_disk(p, path, sizeof path);
    if (disk < 0)
        rts_worker_failed(w, "'%s': %s", path, strerror(errno));
    while (disk >= 0 && rts_load_goes_on(w)) {
        w->done += read_settings(disk);
        int set = rts_load_may(p->allow) ? set_settings(disk) : 0;
        if (set < 0) {
            rts_worker_failed(w, "the settings of '%s' cannot be set: %s", path, strerror(errno));
            return;
        }
        w->done += (unsigned)set;
    }
}

/* ---- closing a block device ---------------------------------------------------------------- */

#define LOOP_CONTROL "/dev/loop-control"
#define LOOP_MAJOR 7
#define ATTEMPTS 16 /* to get a loop device that another program does not take first */

typedef struct close_params {
    int64_t size, ram;
    char dir[RTS_LOAD_PATH];
} close_params;

static const rts_param close_param[] = {
    RTS_SIZE(close_params, size, 4 << 20, RTS_LOAD_BLOCK, INT64_C(1) << 30,
             "bytes written to the device before each close; less if there is no room for it"),
    RTS_LOAD_DIR(close_params),
    RTS_PARAMS_END,
};

/* Opens loop device `number`; -1: see errno. */
static int open_loop(int number)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/dev/loop%d", number);
    int device = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (device < 0)
        return -1;
    if (fstat(device, &status) == 0 && S_ISBLK(status.st_mode) &&
        major(status.st_rdev) == LOOP_MAJOR)
        return device;
    close(device);
    errno = ENOTBLK;
    return -1;
}

/*
 * Makes a block device of a file, which the kernel takes apart when the device is closed, so that
 * nothing is left whatever ends this process. -1: see errno.
 */
static int make_device(int control, int file)
{
    struct loop_config config = {.fd = (unsigned)file, .info.lo_flags = LO_FLAGS_AUTOCLEAR};
    for (int i = 0; i < ATTEMPTS; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        int device = number < 0 ? -1 : open_loop(number);
        if (device < 0)
            return -1;
        if (ioctl(device, LOOP_CONFIGURE, &config) == 0)
            return device;
        int error = errno;
        close(device);
        errno = error;
        if (error != EBUSY)
            return -1;
    }
    return -1;
}

static int open_control(void)
{
    return open(LOOP_CONTROL, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

static int prepare_close(rts_running *l)
{
    close_params *p = (close_params *)l->params;
    if (!rts_load_has_disk(l, p->dir, p->ram) || !(p->size = rts_load_size(l, p->dir, 1, p->size)))
        return -1;
    int control = open_control();
    if (control < 0)
        return rts_load_unsupported(l, "no loop device can be made: " LOOP_CONTROL ": %s%s",
                                    strerror(errno), errno == ENOENT ? " (modprobe loop)" : "");
    int file = posix_nameless_file(p->dir[0] ? p->dir : posix_temporary(), 0), device = -1;
    if (file >= 0 && ftruncate(file, p->size) == 0)
        device = make_device(control, file);
    int error = errno;
    for (int fd = 0; fd < 3; fd++) {
        int opened = (int[]){device, file, control}[fd];
        if (opened >= 0)
            close(opened);
    }
    return device >= 0 ? 0
                       : rts_load_unsupported(l, "no loop device can be made: %s", strerror(error));
}

static void run_close(rts_worker *w)
{
    const close_params *p = rts_load_params(w->load);
    int control = open_control(), file = rts_load_scratch(w, p->dir);
    if (file >= 0 && ftruncate(file, p->size))
        posix_worker_error(w, errno, "its file cannot have %lld bytes", (long long)p->size);
    while (!w->why[0] && rts_load_goes_on(w)) {
        uint64_t at = 0;
        int device = make_device(control, file);
        if (device < 0) {
            posix_worker_error(w, errno, "no loop device can be made");
            return;
        }
        do
            if (!rts_load_write_block(w, device, &at, (uint64_t)p->size))
                return;
        while (at && rts_load_goes_on(w));
        close(device);
        w->done++;
    }
}

/* ---- the table ----------------------------------------------------------------------------- */

static const rts_load loads[] = {
    {.id = "hdparm",
     .title = RTS_SAY("Read and set the settings of a disk"),
     .source = RTS_SAY(RTS_LOAD_MORTON),
     .help = RTS_SAY("Reads continuously what hdparm shows of a disk, by its requests to the "
                     "driver. Allowed to, it also sets what can still be set, read-ahead and on "
                     "ATA disks the width of transfers, each to the value that it has, so that "
                     "nothing has to be restored. Counted are settings read and set."),
     .params = disk_param,
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_hdparm,
     .component = RTS_PARTS(
         {.name = "hdparm", .title = "disk settings", .unit = "settings", .run = run_hdparm})},
    {.id = "blkdev",
     .title = RTS_SAY("Close a block device"),
     .source = RTS_SAY(RTS_LOAD_MORTON),
     .help = RTS_SAY("Makes a loop device of an unnamed file, writes to it and closes it: the "
                     "kernel then has to write and free all its pages, and takes the device "
                     "apart. Nothing is left of it. Counted are closes."),
     .params = close_param,
     .needs = RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_close,
     .component = RTS_PARTS(
         {.name = "blkdev", .title = "closing a device", .unit = "closes", .run = run_close})},
};

RTS_LOADS(loads);
