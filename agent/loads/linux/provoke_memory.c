/* Actions of load provoke: pages, their reclaim, and groups with a limit to their memory. */
#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../posix/files.h"
#include "linux.h"
#include "provoke.h"

#define MIB (1u << 20)
#define REGION (64 * (size_t)MIB)
#define HUGE_PAGE (2 * (size_t)MIB) /* of most architectures; no other is split */
#define CHANGES 20

static bool change_protection(rts_worker *w, unsigned n)
{
    (void)n;
    char *at = provoke_pages(w, REGION);
    bool good = at;
    for (unsigned i = 0; good && i < CHANGES; i++)
        good = provoke_good(w, !mprotect(at, REGION, i % 2 ? PROT_READ | PROT_WRITE : PROT_READ),
                            "mprotect()");
    if (at)
        munmap(at, REGION);
    return good;
}

/* Fills huge pages, of which each is then split, as one small page of it is given up. */
static bool split_huge(rts_worker *w, unsigned n)
{
    const size_t size = (size_t)n * HUGE_PAGE;
    char *map =
        mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || !map)
        return provoke_good(w, false, "mmap()");
    char *at = map + (HUGE_PAGE - (uintptr_t)map % HUGE_PAGE) % HUGE_PAGE;
    bool good = provoke_good(w, !madvise(at, size, MADV_HUGEPAGE), "huge pages");
    for (size_t i = 0; good && i < size; i += 4096)
        at[i] = 1;
    for (unsigned i = 0; good && i < n; i++)
        good =
            provoke_good(w, !madvise(at + i * HUGE_PAGE + 4096, 4096, MADV_DONTNEED), "madvise()");
    munmap(map, size + HUGE_PAGE);
    return good;
}

static bool drop(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_read(w, "/proc/self/exe") &&
           provoke_good(w, provoke_write("/proc/sys/vm/drop_caches", "3"),
                        "/proc/sys/vm/drop_caches");
}

static bool compact(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w, provoke_write("/proc/sys/vm/compact_memory", "1"),
                        "/proc/sys/vm/compact_memory");
}

static bool membarrier(rts_worker *w, unsigned n)
{
    (void)n;
    return provoke_good(w, !syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0), "membarrier()");
}

/* ---- control groups -------------------------------------------------------------------------- */

#define GROUPS "/sys/fs/cgroup"
#define LIMIT "16777216"
#define TRIES 200

static char group_name[2][64];
static bool memory_was_on;
static int scratch = -1;

/* Opens the root of all groups (v2), which this process alone sees there; -1: see errno. */
static int open_groups(void)
{
    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", GROUPS, "cgroup2", 0, NULL))
        return -1;
    return open(GROUPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool write_below(int groups, const char *name, const char *file, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s%s%s", name, *name ? "/" : "", file);
    int out = openat(groups, path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    bool good = out >= 0 && write(out, text, strlen(text)) > 0;
    int error = errno;
    if (out >= 0)
        close(out);
    errno = error;
    return good;
}

/* In a child, as it moves to a view of the groups of its own. */
static int note_memory(void)
{
    char text[512] = "";
    int groups = open_groups();
    int file = groups < 0 ? -1 : openat(groups, "cgroup.subtree_control", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    return read(file, text, sizeof text - 1) > 0 && strstr(text, "memory") ? 0 : ENODATA;
}

/* Notes the names of the groups, and whether groups below the root have a limit already. */
static bool save_groups(rts_worker *w)
{
    for (unsigned i = 0; i < 2; i++)
        snprintf(group_name[i], sizeof group_name[i], "rtstone-provoke-%ld-%u", posix_owner, i);
    scratch = rts_load_scratch(w, "");
    if (scratch < 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        _exit(note_memory());
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return provoke_good(w, false, "no process can be made");
    memory_was_on = !status;
    return true;
}

static void remove_groups(const void *unused, int file)
{
    (void)unused, (void)file;
    int groups = open_groups();
    for (unsigned i = 0; groups >= 0 && i < 2; i++) {
        write_below(groups, group_name[i], "cgroup.kill", "1");
        for (unsigned tries = 0; tries < TRIES; tries++) {
            if (!unlinkat(groups, group_name[i], AT_REMOVEDIR) || errno == ENOENT)
                break;
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
        }
    }
    if (groups >= 0 && !memory_was_on)
        write_below(groups, "", "cgroup.subtree_control", "-memory");
}

static int all_groups;

static bool make_groups(rts_worker *w, bool limited)
{
    all_groups = open_groups();
    if (!provoke_good(w, all_groups >= 0, "control groups (v2)"))
        return false;
    if (limited &&
        !provoke_good(
            w, memory_was_on || write_below(all_groups, "", "cgroup.subtree_control", "+memory"),
            "control groups with a limit to their memory"))
        return false;
    for (unsigned i = 0; i < 2; i++)
        if (!provoke_good(w, !mkdirat(all_groups, group_name[i], 0700), "a control group"))
            return false;
    return !limited || provoke_good(w, write_below(all_groups, group_name[0], "memory.max", LIMIT),
                                    "memory.max");
}

static bool begin_limited(rts_worker *w, unsigned n)
{
    (void)n;
    return make_groups(w, true);
}

static bool begin_moves(rts_worker *w, unsigned n)
{
    (void)n;
    return make_groups(w, false);
}

/* A process in a group of 16 MiB writes n blocks of a file, for which the kernel has to free
 * others. */
static bool reclaim(rts_worker *w, unsigned n)
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t at = 0;
        posix_die_with_parent(SIGKILL);
        if (!write_below(all_groups, group_name[0], "cgroup.procs", "0"))
            _exit(errno);
        for (unsigned i = 0; i < n; i++)
            if (!rts_load_write_block(w, scratch, &at, (uint64_t)n * RTS_LOAD_BLOCK))
                _exit(EIO);
        _exit(0);
    }
    return provoke_reaped(w, child);
}

/* A process in a group of 16 MiB takes four times as much, and is killed. */
static bool out_of_memory(rts_worker *w, unsigned n)
{
    (void)n;
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        posix_die_with_parent(SIGKILL);
        if (!write_below(all_groups, group_name[0], "cgroup.procs", "0"))
            _exit(errno);
        (void)!provoke_pages(w, REGION);
        _exit(0);
    }
    if (!provoke_good(w, child > 0 && waitpid(child, &status, 0) == child, "its child"))
        return false;
    errno = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    if (!provoke_good(w, !errno, "cgroup.procs"))
        return false;
    errno = ENODATA;
    return provoke_good(w, WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
                        "the group's limit kills nothing");
}

static bool move(rts_worker *w, unsigned n)
{
    (void)n;
    for (unsigned i = 0; i < 2; i++)
        if (!provoke_good(w, write_below(all_groups, group_name[i], "cgroup.procs", "0"),
                          "cgroup.procs"))
            return false;
    return true;
}

#define IN_GROUPS .save = save_groups, .restore = remove_groups

const provoke_action provoke_memory[] = {
    {.name = "mprotect", .round = change_protection},
    {.name = "hugesplit", .n = 32, .round = split_huge},
    {.name = "memcg",
     PROVOKE_SHARED,
     .n = 500,
     .begin = begin_limited,
     .round = reclaim,
     IN_GROUPS},
    {.name = "oom", PROVOKE_SHARED, .begin = begin_limited, .round = out_of_memory, IN_GROUPS},
    {.name = "cgmove", PROVOKE_SHARED, .begin = begin_moves, .round = move, IN_GROUPS},
    {.name = "drop", PROVOKE_SHARED, .round = drop},
    {.name = "compact", PROVOKE_SHARED, .round = compact},
    {.name = "membarrier", PROVOKE_SHARED, .round = membarrier},
    {0},
};
