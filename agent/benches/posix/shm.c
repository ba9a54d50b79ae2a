/* posix.shm.*: shared memory objects, and passing a block from process to process through one. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "../metric.h"
#include "posix.h"

#define GROUP "shared memory"

enum { LEVEL_H, LEVEL_A };

typedef struct shm_params {
    int64_t size;
} shm_params;

static const rts_param shm_param[] = {
    RTS_SIZE(shm_params, size, 4096, 1, 1 << 24, "size of the object"),
    RTS_PARAMS_END,
};

static size_t size_of(const rts_case *c)
{
    const shm_params *p = rts_params(c);
    return (size_t)p->size;
}

/* "/shm.rtstone-PID.SLOT": the agent removes objects of this name, even after a case was killed. */
static void object_name(const rts_case *c, char *name, size_t size)
{
    char base[32];
    posix_object_name(base, sizeof base, c->slot);
    snprintf(name, size, "/shm.%s", base + 1);
}

typedef struct object {
    int fd, error;
    unsigned char *memory; /* MAP_FAILED: none */
} object;

#define CREATE (O_RDWR | O_CREAT | O_EXCL)

/* Opens the object and maps it; a new object first gets its size. */
static inline __attribute__((always_inline)) object open_object(const char *name, int flags,
                                                                size_t size)
{
    object o = {.fd = shm_open(name, flags, 0600), .error = errno};
    int sized = flags & O_CREAT ? ftruncate(o.fd, (off_t)size) : 0;
    o.memory = sized ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, o.fd, 0);
    return o;
}

static void close_object(const object *o, size_t size)
{
    if (o->memory != MAP_FAILED)
        munmap(o->memory, size);
    if (o->fd >= 0)
        close(o->fd);
}

/* Reports which of the calls failed, and why. */
static int cannot_open(rts_case *c, const object *o)
{
    int error = o->fd < 0 ? o->error : ENOMEM;
    return rts_port_failed(c,
                           o->fd < 0 ? "cannot open a shared memory object"
                                     : "cannot size or map a shared memory object",
                           -error);
}

static int run_create(rts_case *c)
{
    char name[48];
    size_t size = size_of(c);
    uint64_t dirty = 0;
    object_name(c, name, sizeof name);
    RTS_SAMPLES(c) {
        rts_tick a = rts_now();
        object o = open_object(name, CREATE, size);
        rts_tick b = rts_now();
        shm_unlink(name);
        if (o.memory == MAP_FAILED) {
            close_object(&o, size);
            return cannot_open(c, &o);
        }
        dirty += o.memory[0] || o.memory[size - 1]; /* it must be zeroed and complete */
        close_object(&o, size);
        rts_rec_add(c->rec, b - a, b);
    }
    return dirty ? rts_failed(c, "a new shared memory object was not all zeros") : 0;
}

static int run_attach(rts_case *c)
{
    char name[48];
    size_t size = size_of(c);
    uint64_t wrong = 0, n = 0;
    object_name(c, name, sizeof name);
    object first = open_object(name, CREATE, size), o = first;
    if (first.memory == MAP_FAILED)
        shm_unlink(name);
    else
        RTS_SAMPLES(c) {
            first.memory[size - 1] = (unsigned char)++n;
            rts_tick a = rts_now();
            o = open_object(name, O_RDWR, size);
            rts_tick b = rts_now();
            if (o.memory == MAP_FAILED)
                break;
            wrong += o.memory[size - 1] != (unsigned char)n;
            close_object(&o, size);
            rts_rec_add(c->rec, b - a, b);
        }
    shm_unlink(name);
    close_object(&first, size);
    if (o.memory == MAP_FAILED)
        return cannot_open(c, &o);
    return wrong ? rts_failed(c, "two mappings of an object did not show the same") : 0;
}

static int run_unlink(rts_case *c)
{
    char name[48];
    size_t size = size_of(c);
    uint64_t left = 0;
    object_name(c, name, sizeof name);
    RTS_SAMPLES(c) {
        object o = open_object(name, CREATE, size);
        rts_tick a = rts_now();
        shm_unlink(name);
        rts_tick b = rts_now();
        close_object(&o, size);
        if (o.memory == MAP_FAILED)
            return cannot_open(c, &o);
        int fd = shm_open(name, O_RDWR, 0);
        left += fd >= 0;
        if (fd >= 0)
            close(fd);
        rts_rec_add(c->rec, b - a, b);
    }
    return left ? rts_failed(c, "an object could still be opened by the name taken from it") : 0;
}

/* ---- with another process -------------------------------------------------------------------- */

typedef struct shared {
    rts_case *c;
    char name[48];
    size_t size;
    rts_sem *gate;
    unsigned char *copy; /* each process has its own */
    volatile rts_tick end;
    volatile uint64_t reads, wrong;
    volatile bool attached;
} shared;

static unsigned char content(uint64_t n, size_t i)
{
    return (unsigned char)(n * 31 + i);
}

static void fill(unsigned char *block, size_t size, uint64_t n)
{
    for (size_t i = 0; i < size; i++)
        block[i] = content(n, i);
}

/* H: opens the object by its name, and reads it whenever it is released from its gate. */
static void reader(void *arg)
{
    shared *s = arg;
    object o = open_object(s->name, O_RDWR, s->size);
    s->attached = o.memory != MAP_FAILED;
    while (s->attached) {
        rts_sem_take(s->gate);
        if (s->c->stop)
            break;
        memcpy(s->copy, o.memory, s->size);
        s->end = rts_now();
        s->reads++;
        for (size_t i = 0; i < s->size; i++)
            if (s->copy[i] != content(s->reads, i)) {
                s->wrong++;
                break;
            }
    }
    close_object(&o, s->size);
}

/* TB: A writes the block and releases H, which has higher priority, to read it. */
static void hand_over(rts_case *c, shared *s, unsigned char *memory)
{
    uint64_t late = 0;
    RTS_SAMPLES(c) {
        uint64_t reads = s->reads;
        fill(s->copy, s->size, reads + 1);
        rts_tick a = rts_now();
        memcpy(memory, s->copy, s->size);
        rts_sem_give(s->gate);
        if (s->reads == reads) { /* H did not run at once */
            late++;
            while (s->reads == reads)
                rts_yield();
        }
        rts_rec_add(c->rec, s->end - a, s->end);
    }
    rts_count_add(c, "reader did not preempt", late, "samples");
    rts_count_add(c, "blocks read", s->reads, "blocks");
    rts_count_add(c, "blocks read wrong", s->wrong, "blocks");
}

static int run_hand_over(rts_case *c)
{
    shared *s = rts_alloc(c, sizeof *s);
    if (!s)
        return rts_failed(c, "no memory");
    s->c = c;
    s->size = size_of(c);
    s->copy = rts_malloc(s->size);
    s->gate = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!s->copy)
        return rts_failed(c, "no memory for a block of %zu bytes", s->size);
    if (!s->gate || rts_own_level(c, LEVEL_A, RTS_FIFO))
        return -1;
    object_name(c, s->name, sizeof s->name);
    object o = open_object(s->name, CREATE, s->size);
    bool started = o.memory != MAP_FAILED &&
                   !rts_task_start(c, reader, s, LEVEL_H, RTS_FIFO, true) && !rts_wait_idle(c);
    shm_unlink(s->name);
    if (started && s->attached)
        hand_over(c, s, o.memory);
    close_object(&o, s->size);
    if (o.memory == MAP_FAILED)
        return cannot_open(c, &o);
    if (started && !s->attached)
        return rts_failed(c, "another process cannot attach the object");
    return started ? 0 : -1;
}

#define NEEDS_TWO (RTS_CAP_POSIX | RTS_CAP_PROCESS | RTS_CAP_PRIORITIES)

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.shm.create", .metric = GROUP,
     .title = RTS_SAY("Create a shared memory object and map it"),
     .help = RTS_SAY("Duration of shm_open with a new name, ftruncate to the size and mmap. With "
                     "locked memory mmap also populates all its pages."),
     .params = shm_param, .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_create},
    {METRIC_COMMON, .id = "posix.shm.attach", .metric = GROUP,
     .title = RTS_SAY("Attach a shared memory object"),
     .help = RTS_SAY("Duration of shm_open and mmap of an existing object. With locked memory mmap "
                     "also maps all its pages."),
     .params = shm_param, .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_attach},
    {METRIC_COMMON, .id = "posix.shm.unlink", .metric = GROUP,
     .title = RTS_SAY("Unlink a shared memory object"),
     .help = RTS_SAY("Duration of shm_unlink of an object that is still mapped."),
     .params = shm_param, .needs = RTS_CAP_POSIX, .traits = RTS_RESTS, .run = run_unlink},
    {METRIC_COMMON, .id = "posix.shm.handover", .metric = GROUP,
     .title = RTS_SAY("Pass a block to another process"),
     .help =
         RTS_SAY("From the time stamp before a block is written to shared memory to the time stamp "
                 "after the higher-priority process, woken by a semaphore, has copied it out."),
     .params = shm_param, .needs = NEEDS_TWO, .traits = RTS_ONE_CPU | RTS_RESTS,
     .slope_over = "size", .run = run_hand_over},
};

RTS_BENCHES(benches);
