/* Actions of load provoke: a swap file, devices that suspend, a GPU. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <unistd.h>

#include "../posix/files.h"
#include "linux.h"
#include "provoke.h"

#define MIB (1u << 20)

/* ---- swap ------------------------------------------------------------------------------------ */

#define SWAP_BLOCKS (16 * MIB / RTS_LOAD_BLOCK)
#define SWAP_MOST 12 /* MiB that are swapped: the file has room for them */
#define FIRST_CHOICE (SWAP_FLAG_PREFER | SWAP_FLAG_PRIO_MASK)

#define SWAP_FILE "swap"

static char swap_path[48];
static char *swapped;

/* Fills a file and makes it one that can be swapped to. */
static bool make_swap(rts_worker *w, int file)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    static const char mark[10] = "SWAPSPACE2"; /* not terminated */
    const uint32_t head[] = {1, (uint32_t)(SWAP_BLOCKS * RTS_LOAD_BLOCK / page) - 1};
    uint64_t at = 0;
    for (unsigned i = 0; i < SWAP_BLOCKS; i++)
        if (!rts_load_write_block(w, file, &at, (uint64_t)SWAP_BLOCKS * RTS_LOAD_BLOCK))
            return false;
    memset(provoke_bytes, 0, page);
    memcpy(provoke_bytes + 1024, head, sizeof head); /* version, and the last page */
    memcpy(provoke_bytes + page - sizeof mark, mark, sizeof mark);
    return provoke_good(w, pwrite(file, provoke_bytes, page, 0) == (ssize_t)page && !fsync(file),
                        "a swap file");
}

/* The kernel swaps to no file without a name: its directory is removed as that of readdir. */
static bool save_swap(rts_worker *w)
{
    char why[RTS_REASON];
    provoke_restore_file = posix_work_dir(why, sizeof why);
    if (provoke_restore_file < 0) {
        rts_worker_unsupported(w, "%s", why);
        return false;
    }
    snprintf(swap_path, sizeof swap_path, "/proc/self/fd/%d/" SWAP_FILE, provoke_restore_file);
    int file = openat(provoke_restore_file, SWAP_FILE, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (!provoke_good(w, file >= 0, "a swap file"))
        return false;
    bool good = make_swap(w, file);
    close(file);
    return good;
}

static void restore_swap(const void *unused, int file)
{
    (void)unused;
    snprintf(swap_path, sizeof swap_path, "/proc/self/fd/%d/" SWAP_FILE, file);
    swapoff(swap_path);
    unlinkat(file, SWAP_FILE, 0);
}

static bool begin_swap(rts_worker *w, unsigned n)
{
    if (n > SWAP_MOST) {
        rts_worker_unsupported(w, "%u MiB are too many to swap: %u at most", n, SWAP_MOST);
        return false;
    }
    swapped = provoke_pages(w, n * (size_t)MIB);
    return swapped;
}

/* Swaps n MiB of its own out, and all in by switching the file off. */
static bool swap_off(rts_worker *w, unsigned n)
{
    if (swapon(swap_path, FIRST_CHOICE)) {
        if (errno == EINVAL)
            rts_worker_unsupported(w, "no swap file on the file system of TMPDIR");
        else
            posix_worker_error(w, errno, "swapon()");
        return false;
    }
    bool good = !madvise(swapped, n * (size_t)MIB, MADV_PAGEOUT);
    return provoke_good(w, good && !swapoff(swap_path), "swapoff()");
}

/* ---- devices that suspend -------------------------------------------------------------------- */

#define BUSES "/sys/bus"
#define AGAIN_S 5 /* in which the device has to be suspended again */

static char power_control[512], power_status[512];

static bool is_line(const char *path, const char *expected)
{
    char line[32];
    return posix_read_line(path, line, sizeof line) && !strcmp(line, expected);
}

/* Finds a device that is suspended as nothing needs it, on a bus. */
static bool find_suspended(const char *bus)
{
    char path[300];
    struct dirent *entry;
    bool suspended = false;
    snprintf(path, sizeof path, BUSES "/%s/devices", bus);
    DIR *devices = opendir(path);
    while (devices && !suspended && (entry = readdir(devices))) {
        if (*entry->d_name == '.' ||
            snprintf(power_control, sizeof power_control, "%s/%s/power/control", path,
                     entry->d_name) >= (int)sizeof power_control ||
            snprintf(power_status, sizeof power_status, "%s/%s/power/runtime_status", path,
                     entry->d_name) >= (int)sizeof power_status)
            continue;
        suspended = is_line(power_control, "auto") && is_line(power_status, "suspended");
    }
    if (devices)
        closedir(devices);
    return suspended;
}

static bool save_suspended(rts_worker *w)
{
    struct dirent *entry;
    bool suspended = false;
    DIR *buses = opendir(BUSES);
    while (buses && !suspended && (entry = readdir(buses)))
        suspended = *entry->d_name != '.' && find_suspended(entry->d_name);
    if (buses)
        closedir(buses);
    if (!suspended)
        rts_worker_unsupported(w, "no device is suspended (" BUSES
                                  "/*/devices/*/power/runtime_status)");
    return suspended;
}

static void restore_suspended(const void *unused, int file)
{
    (void)unused, (void)file;
    provoke_write(power_control, "auto");
}

/* Wakes the device, and has the kernel suspend it again, in a thread of its own. */
static bool suspend(rts_worker *w, unsigned n)
{
    (void)n;
    const rts_tick end = rts_time() + AGAIN_S * RTS_TIME_HZ;
    if (!provoke_good(w, provoke_write(power_control, "on") && provoke_write(power_control, "auto"),
                      power_control))
        return false;
    while (!is_line(power_status, "suspended") && !w->load->stop) {
        if (rts_time() > end) {
            rts_worker_failed(w, "%s: not suspended again", power_control);
            return false;
        }
        rts_sleep_until(rts_time() + RTS_TIME_HZ / 1000);
    }
    return true;
}

/* ---- a GPU ----------------------------------------------------------------------------------- */

#define GPU "/dev/dri/card0"
#define ROW 1024 /* pixels of four bytes: 256 rows are 1 MiB */

/* As the kernel declares them, in a header that not every system has. */
typedef struct gpu_buffer {
    uint32_t height, width, bpp, flags, handle, pitch;
    uint64_t size;
} gpu_buffer;

typedef struct gpu_map {
    uint32_t handle, pad;
    uint64_t offset;
} gpu_map;

#define GPU_CREATE _IOWR('d', 0xB2, gpu_buffer)
#define GPU_MAP _IOWR('d', 0xB3, gpu_map)
#define GPU_DESTROY _IOWR('d', 0xB4, uint32_t)

static int gpu = -1;

static bool begin_gpu(rts_worker *w, unsigned n)
{
    (void)n;
    gpu = open(GPU, O_RDWR | O_CLOEXEC);
    return provoke_good(w, gpu >= 0, "a GPU (" GPU ")");
}

/* Makes a buffer of n MiB, writes each page, and removes it. */
static bool fill_buffer(rts_worker *w, unsigned n)
{
    gpu_buffer buffer = {.height = 256 * n, .width = ROW, .bpp = 32};
    if (!provoke_good(w, !ioctl(gpu, GPU_CREATE, &buffer), "a buffer (" GPU ")"))
        return false;
    gpu_map map = {.handle = buffer.handle};
    char *at = MAP_FAILED;
    if (!ioctl(gpu, GPU_MAP, &map))
        at = mmap(NULL, buffer.size, PROT_READ | PROT_WRITE, MAP_SHARED, gpu, (off_t)map.offset);
    bool good = provoke_good(w, at != MAP_FAILED, "the map of a buffer (" GPU ")");
    if (at != MAP_FAILED) {
        for (size_t i = 0; i < buffer.size; i += 4096)
            at[i] = 1;
        munmap(at, buffer.size);
    }
    return provoke_good(w, !ioctl(gpu, GPU_DESTROY, &buffer.handle), "a buffer (" GPU ")") && good;
}

const provoke_action provoke_devices[] = {
    {.name = "gpu", .n = 4, .begin = begin_gpu, .round = fill_buffer},
    {"swapoff", PROVOKE_SYSTEM, 8, begin_swap, swap_off, save_swap, restore_swap},
    {"suspend", PROVOKE_SYSTEM, .round = suspend, .save = save_suspended,
     .restore = restore_suspended},
    {0},
};
