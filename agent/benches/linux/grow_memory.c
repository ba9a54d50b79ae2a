/* grow.*: services of memory, and fork, over maps, pages, descriptors and processes. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "grow.h"

static size_t page;
static char *region;
static size_t region_size;

static int map_region(rts_case *c, size_t pages)
{
    page = (size_t)sysconf(_SC_PAGESIZE);
    region_size = pages * page;
    region = mmap(NULL, region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        return grow_refused(c, "pages to map", 0);
    madvise(region, region_size, MADV_NOHUGEPAGE);
    return 0;
}

static void touch_region(void)
{
    volatile char *byte = region;
    for (size_t at = 0; at < region_size; at += page)
        byte[at] = 1;
}

/* ---- things ---------------------------------------------------------------------------------- */

/* Every second page of a region has other rights, and so each page is a map of its own. */
static int maps(rts_case *c, int n)
{
    if (map_region(c, 2 * (size_t)n + 2))
        return -1;
    for (int i = 0; i < n; i++)
        if (mprotect(region + page * (2 * (size_t)i + 1), page, PROT_READ))
            return grow_refused(c, "maps (vm.max_map_count)", i);
    return 0;
}

static int pages(rts_case *c, int n)
{
    if (map_region(c, (size_t)n))
        return -1;
    touch_region();
    return 0;
}

static int locked_pages(rts_case *c, int n)
{
    if (pages(c, n))
        return -1;
    return mlock(region, region_size) ? grow_refused(c, "locked pages (ulimit -l)", 0) : 0;
}

static int descriptors(rts_case *c, int n)
{
    for (int i = 0; i < n; i++)
        if (eventfd(0, 0) < 0)
            return grow_refused(c, "open descriptors", i);
    return 0;
}

/* Children that wait; they are of the case's process group, which is killed with it. */
static int processes(rts_case *c, int n)
{
    atomic_int *waiting = rts_alloc(c, sizeof *waiting);
    if (!waiting)
        return rts_failed(c, "no memory");
    for (int i = 0; i < n; i++) {
        pid_t child = fork();
        if (child < 0)
            return grow_refused(c, "processes (ulimit -u)", i);
        if (child == 0) {
            posix_die_with_parent(SIGKILL);
            rts_task_set_own_prio((int)c->common.prio - RTS_LEVELS + 1, RTS_FIFO);
            atomic_fetch_add(waiting, 1);
            for (;;)
                pause();
        }
    }
    grow_settle(waiting, n);
    return 0;
}

/* ---- services -------------------------------------------------------------------------------- */

static bool fork_child(int n, grow_span *span)
{
    pid_t child;
    (void)n;
    span->begin = rts_now();
    child = fork();
    if (child == 0)
        _exit(0);
    span->end = rts_now();
    return child > 0 && waitpid(child, NULL, 0) == child;
}

static bool map_page(int n, grow_span *span)
{
    void *map;
    (void)n;
    GROW_TIME(span,
              map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    return map != MAP_FAILED && !munmap(map, page);
}

static bool unmap_pages(int n, grow_span *span)
{
    int err;
    (void)n;
    GROW_TIME(span, err = munmap(region, region_size));
    region = mmap(NULL, region_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (err || region == MAP_FAILED)
        return false;
    madvise(region, region_size, MADV_NOHUGEPAGE);
    touch_region();
    return true;
}

static bool protect_pages(int n, grow_span *span)
{
    int err;
    (void)n;
    GROW_TIME(span, err = mprotect(region, region_size, PROT_READ));
    return !err && !mprotect(region, region_size, PROT_READ | PROT_WRITE);
}

static bool lock_pages(int n, grow_span *span)
{
    int err;
    (void)n;
    GROW_TIME(span, err = mlock(region, region_size));
    return !err && !munlock(region, region_size);
}

static bool wait_for_any(int n, grow_span *span)
{
    pid_t child;
    (void)n;
    GROW_TIME(span, child = waitpid(-1, NULL, WNOHANG));
    return child == 0; /* none has ended */
}

static bool list_processes(int n, grow_span *span)
{
    DIR *proc = opendir("/proc");
    int entries = 0;
    if (!proc)
        return false;
    span->begin = rts_now();
    while (readdir(proc))
        entries++;
    span->end = rts_now();
    closedir(proc);
    return entries > n;
}

static bool open_process(int n, grow_span *span)
{
    int file;
    (void)n;
    GROW_TIME(span, file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
    return file >= 0 && !close(file);
}

/* ---- benches --------------------------------------------------------------------------------- */

GROW_RUN(run_fork, fork_child, maps, pages, locked_pages, descriptors, processes)
GROW_RUN(run_mmap, map_page, maps)
GROW_RUN(run_munmap, unmap_pages, pages)
GROW_RUN(run_mprotect, protect_pages, pages)
GROW_RUN(run_mlock, lock_pages, pages)
GROW_RUN(run_wait, wait_for_any, processes)
GROW_RUN(run_readdir, list_processes, processes)
GROW_RUN(run_stat, open_process, processes)

GROW_PARAMS(fork_param, GROW_MAX, "maps|pages|locked-pages|open-descriptors|processes",
            "what the process has: maps, pages of memory, descriptors; or other processes, that "
            "wait");
GROW_PARAMS(maps_param, GROW_MAX, "maps", "maps of the process");
GROW_PARAMS(pages_param, GROW_MAX, "pages", "pages of the region, all present");
GROW_PARAMS(children_param, GROW_MAX, "children", "children, none of which has ended");
GROW_PARAMS(processes_param, GROW_MAX, "processes", "other processes, that wait");

static const rts_bench benches[] = {
    {GROW_COMMON, .id = "grow.fork", .title = RTS_SAY("fork"),
     .help = RTS_SAY("Duration of fork in the parent. The case's own memory comes on top."),
     .params = fork_param, .run = run_fork},
    {GROW_COMMON, .id = "grow.mmap", .title = RTS_SAY("mmap"),
     .help = RTS_SAY("Duration of mmap of a page."), .params = maps_param, .run = run_mmap},
    {GROW_COMMON, .id = "grow.munmap", .title = RTS_SAY("munmap"),
     .help = RTS_SAY("Duration of munmap of the region."), .params = pages_param,
     .run = run_munmap},
    {GROW_COMMON, .id = "grow.mprotect", .title = RTS_SAY("mprotect"),
     .help = RTS_SAY("Duration of mprotect of the region to read-only."), .params = pages_param,
     .run = run_mprotect},
    {GROW_COMMON, .id = "grow.mlock", .title = RTS_SAY("mlock"),
     .help = RTS_SAY("Duration of mlock of the region."), .params = pages_param, .run = run_mlock},
    {GROW_COMMON, .id = "grow.waitpid", .title = RTS_SAY("waitpid for any child"),
     .help = RTS_SAY("Duration of waitpid for any child, without waiting."),
     .params = children_param, .run = run_wait},
    {GROW_COMMON, .id = "grow.readdir", .title = RTS_SAY("readdir of /proc"),
     .help = RTS_SAY("Duration of reading the whole directory /proc."), .params = processes_param,
     .run = run_readdir},
    {GROW_COMMON, .id = "grow.open.process", .title = RTS_SAY("open of /proc/self/stat"),
     .help = RTS_SAY("Duration of open of the process's own file in /proc."),
     .params = processes_param, .run = run_stat},
};

RTS_BENCHES(benches);
