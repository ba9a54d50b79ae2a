/*
 * dk.schedlat: how long a system call of a less urgent process keeps the CPU from a task that has
 * become ready (Dankwardt, part 2).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../periodic.h"
#include "calls.h"

#define SECOND_NS INT64_C(1000000000)
#define LEAD_NS 2000000
#define CHUNK (4u << 20)    /* bytes that one call reads or writes */
#define MAPPING (16u << 20) /* bytes mapped, filled with pages, and unmapped */

typedef struct schedlat_params {
    int64_t period;
} schedlat_params;

static const rts_param schedlat_param[] = {
    RTS_DURATION(schedlat_params, period, 1000000, 100000, SECOND_NS,
                 "time between two wake-ups of the more urgent task"),
    RTS_PARAMS_END,
};

/* What the calls work on; in the process that makes them. */
typedef struct material {
    int file; /* CHUNK bytes, without a name */
    unsigned char *buffer;
} material;

static int call_read(const material *m)
{
    return pread(m->file, m->buffer, CHUNK, 0) == CHUNK ? 0 : -errno;
}

static int call_write(const material *m)
{
    return pwrite(m->file, m->buffer, CHUNK, 0) == CHUNK ? 0 : -errno;
}

static int call_fork(const material *m)
{
    (void)m;
    return posix_call_fork(NULL, 0);
}

static int call_mmap(const material *m)
{
    (void)m;
    return posix_call_unmap(MAPPING);
}

static int call_scan(const material *m)
{
    (void)m;
    DIR *directory = opendir("/proc");
    if (!directory)
        return -errno;
    while (readdir(directory))
        ;
    return closedir(directory) ? -errno : 0;
}

/* Many a driver does its work here. */
static int call_open(const material *m)
{
    (void)m;
    int fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    return fd < 0 || close(fd) ? -errno : 0;
}

static const struct {
    const char *name, *what;
    int (*call)(const material *m);
} kind[] = {
    {"read", "calls of read (4 MiB)", call_read},
    {"write", "calls of write (4 MiB)", call_write},
    {"fork", "calls of fork, exit and wait", call_fork},
    {"mmap", "calls of mmap and munmap (16 MiB)", call_mmap},
    {"scan", "scans of the directory /proc", call_scan},
    {"open", "calls of open and close (/dev/ptmx)", call_open},
};

#define KINDS (sizeof kind / sizeof kind[0])

/* Between the two tasks. */
typedef struct duel {
    rts_case *c;
    volatile unsigned now; /* the kind that L makes */
    volatile uint64_t made[KINDS];
    const char *volatile doing; /* what L could not do */
    volatile int error;         /* and why; 0: it goes on */
} duel;

static int get_material(material *m)
{
    m->buffer = malloc(CHUNK);
    m->file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (m->file < 0)
        return -errno;
    if (!m->buffer)
        return -ENOMEM;
    memset(m->buffer, 1, CHUNK);
    return call_write(m);
}

/* L, a process of its own: what it does to its memory is not H's concern. */
static void less_urgent(void *arg)
{
    duel *d = arg;
    material m;
    int err = get_material(&m);
    d->doing = "a file of 4 MiB in /tmp";
    while (!err && !d->c->stop) {
        unsigned k = d->now;
        d->doing = kind[k].what;
        err = kind[k].call(&m);
        d->made[k]++;
    }
    d->error = err;
    free(m.buffer);
    if (m.file >= 0)
        close(m.file);
}

/* Waits until L makes calls of kind k or gives up; -1: neither in 10 s. */
static int await_calls(duel *d, unsigned k)
{
    d->now = k;
    for (int i = 0; i < 10000 && !d->made[k] && !d->error; i++)
        rts_sleep_until(rts_time() + rts_ns_to_ticks(1000000, RTS_TIME_HZ));
    return d->made[k] || d->error ? 0 : -1;
}

/* H: its lateness while L makes calls of kind k; returns how many L has made meanwhile, or -1. */
static int64_t measure_kind(rts_case *c, duel *d, unsigned k)
{
    const schedlat_params *p = rts_params(c);
    rts_tick period = rts_ns_to_ticks((uint64_t)p->period, RTS_TIME_HZ);
    rts_hist *omitted;
    rts_rec *r = rts_series(c, kind[k].name, RTS_TIME_HZ, 0, true, &omitted);
    if (!r)
        return -1;
    if (await_calls(d, k))
        return rts_failed(c, "the less urgent process did not run for 10 s");
    uint64_t before = d->made[k];
    rts_tick release = rts_time() + rts_ns_to_ticks(LEAD_NS, RTS_TIME_HZ);
    for (rts_rec_start(r, release); r->running && !d->error;)
        periodic_wake_up(r, omitted, &release, period);
    rts_end(c, r);
    if (d->error)
        return rts_unsupported(c, "%s: %s", d->doing, rts_port_strerror(d->error));
    return (int64_t)(d->made[k] - before);
}

static int run_schedlat(rts_case *c)
{
    duel *d = rts_alloc(c, sizeof *d);
    if (!d)
        return rts_failed(c, "no memory");
    d->c = c;
    if (rts_task_start(c, less_urgent, d, 1, RTS_OTHER, true))
        return -1;
    for (unsigned k = 0; k < KINDS; k++) {
        int64_t made = measure_kind(c, d, k);
        if (made < 0)
            return -1;
        rts_figure_add(c, kind[k].what, (double)made, "calls");
    }
    return 0;
}

static unsigned kinds(const rts_case *c)
{
    (void)c;
    return KINDS;
}

static const rts_bench benches[] = {
    {.id = "dk.schedlat",
     .title = RTS_SAY("Wake-up while the kernel serves a less urgent task"),
     .source = RTS_SAY("Dankwardt, part 2"),
     .help = RTS_SAY(
         "A task of the highest priority wakes up every millisecond on the CPU of a process that "
         "is not real-time and makes long system calls without pause; the sample is how late "
         "it runs. A series for each kind of call: the longest delay of each is its maximum."),
     .params = schedlat_param,
     .needs = RTS_CAP_POSIX | RTS_CAP_PROCESS | RTS_CAP_FILES | RTS_CAP_PRIORITIES,
     .traits = RTS_OWN_SERIES | RTS_ONE_CPU | RTS_OMITTED,
     .samples = 10000,
     .warmup = 2,
     .series = kinds,
     .run = run_schedlat},
};

RTS_BENCHES(benches);
