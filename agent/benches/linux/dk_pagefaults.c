/* env.setup, dk.pagefaults: the set-up of a real-time task, and its effect (Dankwardt). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench.h"
#include "linux.h"

#define AREA (64u << 10) /* bytes used of each: heap, stack and mapped memory */
#define AREAS 3
#define SECOND_NS INT64_C(1000000000)

typedef struct fault_params {
    int64_t lock;
} fault_params;

static const rts_param fault_param[] = {
    RTS_BOOL(fault_params, lock, 1, "lock and touch memory before the timed section"),
    RTS_PARAMS_END,
};

/* The memory of the section, and the result of each step: 0 or a negative error. */
typedef struct setup {
    bool lock, must;    /* lock memory; fail if that is impossible */
    size_t page, pages; /* size of a page, and their total number */
    uint64_t written;   /* pages written to */
    volatile unsigned char *area[AREAS];
    int scheduled, locked;
    struct rusage before, after;
} setup;

static void usage(struct rusage *u)
{
    getrusage(RUSAGE_SELF, u);
}

static long minor_faults(const setup *s)
{
    return s->after.ru_minflt - s->before.ru_minflt;
}

static long major_faults(const setup *s)
{
    return s->after.ru_majflt - s->before.ru_majflt;
}

/* Returns page i of all areas, in the order heap, stack, mapping. */
static volatile unsigned char *page_of(const setup *s, size_t i)
{
    size_t per_area = AREA / s->page;
    return s->area[i / per_area] + i % per_area * s->page;
}

/* Makes all pages as they are in a program that has not used them yet. */
static int make_fresh(const setup *s)
{
    for (int i = 0; i < AREAS; i++)
        if (madvise((void *)s->area[i], AREA, MADV_DONTNEED))
            return -errno;
    return 0;
}

static void touch_all(const setup *s)
{
    for (size_t i = 0; i < s->pages; i++)
        *page_of(s, i) = 1;
}

/* Steps 1 to 3: touch, take the priority, lock. Without lock, nothing is locked or touched. */
static int prepare(rts_case *c, setup *s)
{
    munlockall(); /* also what the agent locked, so that each step has an effect */
    c->job.evidence.locked = false;
    linux_small_pages();
    if (s->lock)
        touch_all(s);
    s->scheduled = rts_task_set_own_prio((int)c->common.prio, RTS_FIFO);
    if (!s->scheduled && !posix_may_realtime())
        s->scheduled = -EPERM;
    if (!s->lock)
        return make_fresh(s);
    s->locked = mlockall(MCL_CURRENT | MCL_FUTURE) ? -errno : 0;
    c->job.evidence.locked = !s->locked;
    return 0;
}

/* Steps 4 to 6: writes to every page once; each write is a sample. */
static int section(rts_case *c, setup *s)
{
    rts_rec *r = c->rec;
    int err = 0;
    rts_rec_start(r, rts_now());
    usage(&s->before);
    for (size_t i = 0; r->running && !err; i++) {
        if (i == s->pages) {
            i = 0;
            err = s->lock ? 0 : make_fresh(s);
        }
        volatile unsigned char *page = page_of(s, i);
        rts_tick a = rts_now();
        *page = 1;
        rts_tick b = rts_now();
        rts_rec_add(r, b - a, b);
        s->written++;
    }
    usage(&s->after);
    return err;
}

static void *page_aligned(void *memory, size_t page)
{
    unsigned char *m = memory;
    return m + (page - (uintptr_t)m % page) % page;
}

static int all_steps(rts_case *c, setup *s)
{
    int err = prepare(c, s);
    if (!err && s->must && s->locked)
        return rts_port_failed(c, "mlockall", s->locked);
    if (!err)
        err = section(c, s);
    return err ? rts_port_failed(c, "cannot give the pages back", err) : 0;
}

/* The stack area is in this function's frame, so everything that uses it is called from here. */
static __attribute__((noinline)) int with_areas(rts_case *c, setup *s, void *heap, void *mapped)
{
    unsigned char stack[AREA + 16384]; /* one spare page, of the largest page size in use */
    s->area[0] = page_aligned(heap, s->page);
    s->area[1] = page_aligned(stack, s->page);
    s->area[2] = mapped;
    int err = all_steps(c, s);
    s->area[1] = NULL;
    return err;
}

static int run_section(rts_case *c, setup *s)
{
    s->page = (size_t)sysconf(_SC_PAGESIZE);
    if (s->page < 1 || s->page > 16384)
        return rts_unsupported(c, "pages of %zu bytes: its stack is too small for them", s->page);
    s->pages = AREA / s->page * AREAS;
    void *heap = malloc(AREA + s->page);
    void *mapped = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int err = !heap || mapped == MAP_FAILED ? rts_unsupported(c, "no memory for the pages")
                                            : with_areas(c, s, heap, mapped);
    if (mapped != MAP_FAILED)
        munmap(mapped, AREA);
    free(heap);
    if (err)
        return err;
    rts_figure_add(c, "minor faults in the section", (double)minor_faults(s), "faults");
    rts_figure_add(c, "major faults in the section", (double)major_faults(s), "faults");
    rts_count_add(c, "pages written to", s->written, "pages");
    return 0;
}

static int run_pagefaults(rts_case *c)
{
    const fault_params *p = rts_params(c);
    setup s = {.lock = p->lock, .must = p->lock};
    return run_section(c, &s);
}

/* ---- env.setup: the same, step by step ------------------------------------------------------- */

static void row(rts_case *c, const char *step, const char *result, int err, const char *missing)
{
    rts_row(c, "%s\t%s\t%s\t%s", step, result, err ? rts_port_strerror(err) : "",
            err ? missing : "");
}

static void row_usage(rts_case *c, const char *step, const struct rusage *u)
{
    char result[80];
    snprintf(result, sizeof result, "%ld minor and %ld major faults", u->ru_minflt, u->ru_majflt);
    row(c, step, result, 0, "");
}

static void report_steps(rts_case *c, const setup *s)
{
    char result[120];
    long faults = minor_faults(s) + major_faults(s);
    rts_table(c, "Real-time set-up", "step\tresult\terror\tmissing");
    snprintf(result, sizeof result, "%zu pages of %zu bytes", s->pages, s->page);
    row(c, "1 allocate and touch heap, stack, mapping", result, 0, "");
    snprintf(result, sizeof result, "priority %d; the highest is %d, which the watchdog keeps",
             (int)c->common.prio, sched_get_priority_max(SCHED_FIFO));
    row(c, "2 sched_setscheduler(SCHED_FIFO)", s->scheduled ? "refused" : result, s->scheduled,
        rts_port_why_not(RTS_CAP_PRIORITIES));
    row(c, "3 mlockall(MCL_CURRENT | MCL_FUTURE)", s->locked ? "refused" : "locked", s->locked,
        "CAP_IPC_LOCK or a memlock limit above what the program maps");
    row_usage(c, "4 getrusage before", &s->before);
    snprintf(result, sizeof result, "%llu pages written to", (unsigned long long)s->written);
    row(c, "5 time-critical section", result, 0, "");
    row_usage(c, "6 getrusage after", &s->after);
    snprintf(result, sizeof result, "%ld faults in the section", faults);
    row(c, "difference", result, 0, "");
}

/* Adds a number of /proc/sys/kernel as a figure. */
static void figure_of(rts_case *c, const char *figure, const char *path)
{
    long long value = posix_read_number(path, INT64_MIN);
    if (value != INT64_MIN)
        rts_count_add(c, figure, value, "us");
}

static int run_setup(rts_case *c)
{
    setup s = {.lock = true};
    if (run_section(c, &s))
        return -1;
    report_steps(c, &s);
    figure_of(c, "real-time limit (-1: none)", "/proc/sys/kernel/sched_rt_runtime_us");
    figure_of(c, "in every", "/proc/sys/kernel/sched_rt_period_us");
    return 0;
}

static const rts_bench benches[] = {
    {.id = "env.setup",
     .title = RTS_SAY("Set-up of a real-time task, step by step"),
     .source = RTS_SAY("Dankwardt, part 1"),
     .help = RTS_SAY("Allocates and touches heap, stack and mapped memory, sets the real-time "
                     "priority, locks memory, and counts page faults around a section that writes "
                     "to all of it; the samples are these writes, one page each. The table gives "
                     "the result of each step, and what is missing if one was refused."),
     .needs = RTS_CAP_POSIX,
     .traits = RTS_RESTS,
     .samples = 1000,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_setup},
    {.id = "dk.pagefaults",
     .title = RTS_SAY("Page faults in a timed section"),
     .source = RTS_SAY("Dankwardt, part 1"),
     .help = RTS_SAY(
         "Duration of a write to a page of heap, stack or mapped memory that was touched and "
         "locked before or, with lock=off, is new; and the page faults that getrusage counts in "
         "the section. With locked memory there must be none; a new page takes at least one."),
     .params = fault_param,
     .needs = RTS_CAP_POSIX,
     .traits = RTS_RESTS,
     .samples = 1000,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_pagefaults},
};

RTS_BENCHES(benches);
