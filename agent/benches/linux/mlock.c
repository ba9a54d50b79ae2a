/* posix.mlock.*: locking memory, and accessing it with and without locking. */
#include <sys/mman.h>
#include <sys/resource.h>

#include "../metric.h"

#define GROUP "access to locked memory"
#define SIZE_MAX_B (INT64_C(1) << 28)

typedef struct mlock_params {
    int64_t size;
} mlock_params;

static const rts_param size_param[] = {
    RTS_SIZE(mlock_params, size, 65536, 1, SIZE_MAX_B, "size of the region"),
    RTS_PARAMS_END,
};

/* A private mapping, accessed page by page. */
typedef struct region {
    unsigned char *memory;
    size_t size, page, pages;
    unsigned char *resident; /* for mincore() */
} region;

static void drop(const region *g)
{
    munmap(g->memory, g->size);
    rts_free(g->resident);
}

static int make(rts_case *c, region *g, size_t size)
{
    g->size = size;
    g->page = (size_t)sysconf(_SC_PAGESIZE);
    g->pages = (size + g->page - 1) / g->page;
    g->resident = rts_malloc(g->pages);
    g->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (g->memory != MAP_FAILED && g->resident)
        return 0;
    rts_free(g->resident);
    rts_unsupported(c, "no memory for a region of %zu bytes (ulimit -v, ulimit -l)", size);
    return -1;
}

/* Returns how many of its pages are resident. */
static size_t pages_resident(const region *g)
{
    size_t n = 0;
    mincore(g->memory, g->size, g->resident);
    for (size_t i = 0; i < g->pages; i++)
        n += g->resident[i] & 1;
    return n;
}

/* Discards the pages; the system refuses to for locked memory. */
static bool discard(const region *g)
{
    return madvise(g->memory, g->size, MADV_DONTNEED) == 0;
}

static int cannot_lock(rts_case *c, const region *g, int error)
{
    drop(g);
    if (error)
        rts_port_failed(c, "cannot lock memory", -error);
    else
        rts_failed(c, "memory was not as mlock or munlock have to leave it");
    return -1;
}

/* Times mlock() of resident or of missing pages. */
static int lock_pages(rts_case *c, bool populated)
{
    const mlock_params *p = rts_params(c);
    region g;
    uint64_t wrong = 0, fetched = 0;
    if (make(c, &g, (size_t)p->size))
        return -1;
    RTS_SAMPLES(c) {
        munlock(g.memory, g.size);
        wrong += !discard(&g);
        for (size_t i = 0; populated && i < g.size; i += g.page)
            g.memory[i] = 1;
        size_t before = pages_resident(&g);
        rts_tick a = rts_now();
        int err = mlock(g.memory, g.size);
        rts_tick b = rts_now();
        if (err)
            return cannot_lock(c, &g, errno);
        wrong += discard(&g) || pages_resident(&g) != g.pages;
        fetched += g.pages - before;
        rts_rec_add(c->rec, b - a, b);
    }
    if (wrong)
        return cannot_lock(c, &g, 0);
    drop(&g);
    rts_count_add(c, "pages fetched", fetched, "pages");
    return 0;
}

static int run_lock(rts_case *c)
{
    return lock_pages(c, true);
}

static int run_populate(rts_case *c)
{
    return lock_pages(c, false);
}

static int run_unlock(rts_case *c)
{
    const mlock_params *p = rts_params(c);
    region g;
    uint64_t wrong = 0;
    if (make(c, &g, (size_t)p->size))
        return -1;
    RTS_SAMPLES(c) {
        if (mlock(g.memory, g.size))
            return cannot_lock(c, &g, errno);
        wrong += discard(&g);
        rts_tick a = rts_now();
        munlock(g.memory, g.size);
        rts_tick b = rts_now();
        wrong += !discard(&g);
        rts_rec_add(c->rec, b - a, b);
    }
    if (wrong)
        return cannot_lock(c, &g, 0);
    drop(&g);
    return 0;
}

/* ---- access ---------------------------------------------------------------------------------- */

/* A locked region, and a walk over it that reads a word of each page in turn. */
typedef struct walk {
    region g;
    size_t at;
    uint64_t sum;
} walk;

static int lock_walk(rts_case *c, walk *w)
{
    const mlock_params *p = rts_params(c);
    *w = (walk){0};
    if (make(c, &w->g, (size_t)p->size))
        return -1;
    return mlock(w->g.memory, w->g.size) ? cannot_lock(c, &w->g, errno) : 0;
}

static int end_walk(rts_case *c, const walk *w)
{
    if (discard(&w->g) || pages_resident(&w->g) != w->g.pages)
        return cannot_lock(c, &w->g, 0);
    drop(&w->g);
    return 0;
}

static inline volatile unsigned char *next_page(walk *w)
{
    volatile unsigned char *byte = &w->g.memory[w->at];
    w->at = w->at + w->g.page < w->g.size ? w->at + w->g.page : 0;
    return byte;
}

static int run_read(rts_case *c)
{
    walk w;
    if (lock_walk(c, &w))
        return -1;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, w.sum += *next_page(&w));
    }
    if (w.sum) /* nothing wrote to it */
        return cannot_lock(c, &w.g, 0);
    return end_walk(c, &w);
}

static int run_write(rts_case *c)
{
    walk w;
    if (lock_walk(c, &w))
        return -1;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, *next_page(&w) = 1);
    }
    return end_walk(c, &w);
}

static long faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

/* What locking avoids: the first write to a page that is not resident. */
static int run_fault(rts_case *c)
{
    region g;
    uint64_t other = 0;
    if (make(c, &g, (size_t)sysconf(_SC_PAGESIZE)))
        return -1;
    munlock(g.memory, g.size);
    RTS_SAMPLES(c) {
        bool gone = discard(&g);
        volatile unsigned char *byte = g.memory;
        long before = faults();
        rts_tick a = rts_now();
        *byte = 1;
        rts_tick b = rts_now();
        other += faults() != before + 1 || !gone;
        rts_rec_add(c->rec, b - a, b);
    }
    drop(&g);
    rts_count_add(c, "not one page fault", other, "samples");
    return 0;
}

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.mlock.lock", .metric = GROUP,
     .title = RTS_SAY("Lock memory that is resident"),
     .help = RTS_SAY("Duration of mlock of a region whose pages are all resident."),
     .params = size_param, .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_lock},
    {METRIC_COMMON, .id = "posix.mlock.populate", .metric = GROUP,
     .title = RTS_SAY("Lock memory that is not yet resident"),
     .help = RTS_SAY("Duration of mlock of a region none of whose pages is resident."),
     .params = size_param, .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_populate},
    {METRIC_COMMON, .id = "posix.mlock.unlock", .metric = GROUP, .title = RTS_SAY("Unlock memory"),
     .help = RTS_SAY("Duration of munlock of a region."), .params = size_param,
     .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .slope_over = "size", .run = run_unlock},
    {METRIC_COMMON, .id = "posix.mlock.read", .metric = GROUP,
     .title = RTS_SAY("Read locked memory"),
     .help =
         RTS_SAY("Duration of reading one byte of a locked region, from another page each time."),
     .params = size_param, .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_read},
    {METRIC_COMMON, .id = "posix.mlock.write", .metric = GROUP,
     .title = RTS_SAY("Write locked memory"),
     .help = RTS_SAY("Duration of writing one byte of a locked region, to another page each time."),
     .params = size_param, .needs = RTS_CAP_POSIX, .traits = ALONE, .run = run_write},
    {METRIC_COMMON, .id = "posix.mlock.fault", .metric = GROUP,
     .title = RTS_SAY("Write to a page that is neither locked nor resident"),
     .help = RTS_SAY("Duration of the first write to a page, which causes a page fault: the cost "
                     "that locking avoids."),
     .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .run = run_fault},
};

RTS_BENCHES(benches);
