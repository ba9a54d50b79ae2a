/* mem.*: heap and block operations (Sjöblom, operating-system primitives; template TA). */
#include <string.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define SMALL_MAX 19584 /* 16 * 1224: the source's boundary between heap and main memory */
#define LARGE_MAX 1000000
#define PAGE 4096

/*
 * Park-Miller "minimal standard", x <- 16807 x mod (2^31 - 1), seed 123. The source gives the seed
 * but not the generator; with this one every system gets the same sequence.
 */
static uint32_t next_random(uint32_t *x)
{
    *x = (uint32_t)((uint64_t)*x * 16807 % 2147483647);
    return *x;
}

static size_t random_size(uint32_t *x, size_t low, size_t high)
{
    return low + next_random(x) % (high - low + 1);
}

/* ---- malloc and free ----------------------------------------------------------------------- */

typedef struct heap_params {
    int64_t budget, touch, order;
} heap_params;

enum { FIFO, LIFO, RANDOM };

static const rts_param malloc_param[] = {
    RTS_SIZE(heap_params, budget, RTS_BUDGET_DEFAULT, 1 << 20, INT64_C(1) << 34,
             "bytes to allocate before everything is freed, untimed"),
    RTS_BOOL(heap_params, touch, 0, "write to each page of the new block within the interval"),
    RTS_PARAMS_END,
};

static const rts_param free_param[] = {
    RTS_SIZE(heap_params, budget, RTS_BUDGET_DEFAULT, 1 << 20, INT64_C(1) << 34,
             "bytes allocated, untimed, before each free is timed"),
    RTS_CHOICE(heap_params, order, "fifo|lifo|random", FIFO, "order in which blocks are freed"),
    RTS_PARAMS_END,
};

/* A budget beyond what a pointer reaches is spent when the heap is. */
static size_t budget_of(const heap_params *p)
{
    return (uint64_t)p->budget < SIZE_MAX / 2 ? (size_t)p->budget : SIZE_MAX / 2;
}

/* The blocks to keep: as many blocks of the smallest average size as the budget allows. */
typedef struct blocks {
    void **block;
    size_t n, room, bytes;
} blocks;

static int keep_init(rts_case *c, blocks *k, size_t budget, size_t mean)
{
    k->room = 2 * budget / mean + 64;
    k->n = k->bytes = 0;
    k->block = rts_malloc(k->room * sizeof *k->block);
    if (!k->block) {
        rts_unsupported(c, "no memory for a list of %zu blocks", k->room);
        return -1;
    }
    memset(k->block, 0, k->room * sizeof *k->block); /* touched outside the intervals */
    return 0;
}

static bool is_full(const blocks *k, size_t budget)
{
    return k->n == k->room || k->bytes >= budget;
}

static void free_all(blocks *k)
{
    for (size_t i = 0; i < k->n; i++)
        rts_free(k->block[i]);
    k->n = k->bytes = 0;
}

/* Reports that the heap cannot provide even a single block. */
static int no_heap(rts_case *c, blocks *k, size_t size)
{
    rts_free(k->block);
    return rts_unsupported(c, "no memory for a block of %zu bytes (ulimit -v, ulimit -l)", size);
}

static void *malloc_touched(size_t size)
{
    volatile char *p = rts_malloc(size);
    size_t end = (size_t)rts_work_to_do(size);
    for (size_t i = 0; p && i < end; i += PAGE)
        p[i] = 1;
    if (p)
        p[size - 1] = 1; /* a block may span pages without starting on one */
    return (void *)p;
}

static int run_malloc(rts_case *c, size_t low, size_t high)
{
    const heap_params *p = rts_params(c);
    uint32_t random = 123;
    uint64_t failures = 0;
    blocks k;
    if (keep_init(c, &k, budget_of(p), (low + high) / 2))
        return -1;
    RTS_SAMPLES(c) {
        if (is_full(&k, budget_of(p)))
            free_all(&k);
        size_t size = random_size(&random, low, high);
        void *block;
        rts_tick a, b;
        if (p->touch) {
            a = rts_now();
            block = malloc_touched(size);
            b = rts_now();
        } else {
            a = rts_now();
            block = rts_malloc(size);
            b = rts_now();
        }
        if (!block) { /* a failed call takes a different time: not what is measured */
            failures++;
            if (!k.n)
                return no_heap(c, &k, size);
            free_all(&k);
            continue;
        }
        rts_rec_add(c->rec, b - a, b);
        k.block[k.n++] = block;
        k.bytes += size;
    }
    free_all(&k);
    rts_free(k.block);
    rts_count_add(c, "failed allocations", failures, "calls");
    return 0;
}

static int run_malloc_small(rts_case *c)
{
    return run_malloc(c, 1, SMALL_MAX);
}

static int run_malloc_large(rts_case *c)
{
    return run_malloc(c, SMALL_MAX, LARGE_MAX);
}

/*
 * Returns the i-th block to free; unless the order is FIFO, the last remaining block takes its
 * place.
 */
static void *pick(blocks *k, size_t i, int64_t order, uint32_t *random)
{
    size_t left = k->n - i;
    if (order == FIFO)
        return k->block[i];
    size_t at = order == LIFO ? left - 1 : next_random(random) % left;
    void *block = k->block[at];
    k->block[at] = k->block[left - 1];
    return block;
}

static int run_free(rts_case *c)
{
    const heap_params *p = rts_params(c);
    uint32_t sizes = 123, choice = 123;
    uint64_t failures = 0;
    blocks k;
    if (keep_init(c, &k, budget_of(p), LARGE_MAX / 2))
        return -1;
    size_t next = 0;
    RTS_SAMPLES(c) {
        if (next == k.n) {
            k.n = k.bytes = next = 0;
            do {
                size_t size = random_size(&sizes, 1, LARGE_MAX);
                void *block = rts_malloc(size);
                if (!block && !k.n)
                    return no_heap(c, &k, size);
                if (!block) { /* continue with fewer blocks */
                    failures++;
                    break;
                }
                k.block[k.n++] = block;
                k.bytes += size;
            } while (!is_full(&k, budget_of(p)));
        }
        void *block = pick(&k, next++, p->order, &choice);
        rts_tick a = rts_now();
        rts_free(block);
        rts_tick b = rts_now();
        rts_rec_add(c->rec, b - a, b);
    }
    while (next < k.n)
        rts_free(pick(&k, next++, p->order, &choice));
    rts_free(k.block);
    rts_count_add(c, "failed allocations", failures, "calls");
    return 0;
}

/* ---- copy and set -------------------------------------------------------------------------- */

typedef struct block_params {
    int64_t size;
} block_params;

static const rts_param block_param[] = {
    RTS_SIZE(block_params, size, 1024, 2, 1 << 28, "bytes per call"),
    RTS_PARAMS_END,
};

/*
 * A buffer, and a template in which every position within PATTERN bytes has a different value. The
 * buffer is filled from a different offset of the template each time, so that bytes which an
 * operation did not write are detected. Filling and checking are outside the interval (Sjöblom).
 */
#define PATTERN 251

typedef struct contents {
    unsigned char *buffer, *template;
    size_t size;
    unsigned shift;
} contents;

static int contents_init(rts_case *c, contents *k, size_t size)
{
    *k = (contents){.size = size};
    k->buffer = rts_malloc(size);
    k->template = rts_malloc(size + PATTERN);
    if (!k->buffer || !k->template) {
        rts_free(k->buffer);
        rts_free(k->template);
        rts_unsupported(c, "no memory for 2 * %zu bytes", size);
        return -1;
    }
    for (size_t i = 0; i < size + PATTERN; i++)
        k->template[i] = (unsigned char)(i % PATTERN);
    memset(k->buffer, 0, size);
    return 0;
}

static void contents_free(contents *k)
{
    rts_free(k->buffer);
    rts_free(k->template);
}

/* Refills n bytes at p of the buffer. */
static void refill(contents *k, unsigned char *p, size_t n)
{
    k->shift = (k->shift + 1) % PATTERN;
    memcpy(p, k->template + k->shift, n);
    RTS_BARRIER();
}

/*
 * Returns whether p holds the n bytes that refill() wrote `from` bytes after the start of the
 * buffer.
 */
static bool holds(const contents *k, const unsigned char *p, size_t n, size_t from)
{
    return !memcmp(p, k->template + k->shift + from, n);
}

static int finish(rts_case *c, contents *k, bool right)
{
    contents_free(k);
    if (!right)
        return rts_failed(c, "wrong contents after the operation");
    return 0;
}

static int run_memcpy(rts_case *c, bool reverse)
{
    const block_params *p = rts_params(c);
    size_t n = (size_t)p->size;
    contents k;
    bool right = true;
    if (contents_init(c, &k, 2 * n))
        return -1;
    unsigned char *from = k.buffer + (reverse ? n : 0), *to = k.buffer + (reverse ? 0 : n);
    RTS_SAMPLES(c) {
        refill(&k, from, n);
        RTS_TIMED(c, memcpy(to, from, n); RTS_BARRIER(); rts_worked(RTS_WORK_COPY, n));
        right = right && holds(&k, to, n, 0);
    }
    return finish(c, &k, right);
}

static int run_memcpy_fwd(rts_case *c)
{
    return run_memcpy(c, false);
}

static int run_memcpy_rev(rts_case *c)
{
    return run_memcpy(c, true);
}

/*
 * Source and target overlap by half their size, within a buffer of twice the size, as for memcpy
 * (Sjöblom). Moving up, the source starts at the start of the buffer; moving down, it ends at its
 * end. If several moves are timed together, the outer half of the source spreads over the whole
 * target.
 */
static int run_memmove(rts_case *c, bool up)
{
    const block_params *p = rts_params(c);
    size_t half = (size_t)p->size / 2, n = 2 * half;
    contents k;
    bool right = true;
    if (contents_init(c, &k, 2 * n))
        return -1;
    size_t source = up ? 0 : n, outer = up ? 0 : 3 * half;
    unsigned char *from = k.buffer + source, *to = k.buffer + half;
    RTS_SAMPLES(c) {
        refill(&k, k.buffer, 2 * n);
        RTS_TIMED(c, memmove(to, from, n); RTS_BARRIER(); rts_worked(RTS_WORK_COPY, n));
        if (c->batch == 1)
            right = right && holds(&k, to, n, source);
        else
            right = right && holds(&k, to, half, outer) && holds(&k, to + half, half, outer);
    }
    return finish(c, &k, right);
}

static int run_memmove_up(rts_case *c)
{
    return run_memmove(c, true);
}

static int run_memmove_down(rts_case *c)
{
    return run_memmove(c, false);
}

/* Returns whether every byte equals the first, and the first is the fill value. */
static bool is_set(const unsigned char *p, size_t n)
{
    /* NOLINTNEXTLINE(clang-analyzer-security.ArrayBound): reads p[0] to p[n - 1] */
    return n > 1 && p[0] == 123 && !memcmp(p, p + 1, n - 1);
}

static int run_memset(rts_case *c)
{
    const block_params *p = rts_params(c);
    size_t n = (size_t)p->size;
    contents k;
    bool right = true;
    if (contents_init(c, &k, n))
        return -1;
    RTS_SAMPLES(c) {
        refill(&k, k.buffer, n);
        RTS_TIMED(c, memset(k.buffer, 123, n); RTS_BARRIER(); rts_worked(RTS_WORK_SET, n));
        right = right && is_set(k.buffer, n);
    }
    return finish(c, &k, right);
}

#define HEAP_COMMON                                                                                \
    .source = RTS_SAY("Sjöblom, operating-system primitives"), .needs = RTS_CAP_HEAP,              \
    .samples = RTS_SAMPLES_DEFAULT, .warmup = 10, .time_ns = RTS_LIMIT(10 * SECOND_NS),            \
    .traits = RTS_RESTS

#define BLOCK_COMMON                                                                               \
    .source = RTS_SAY("Sjöblom, operating-system primitives"), .needs = RTS_CAP_HEAP,              \
    .samples = RTS_SAMPLES_DEFAULT, .warmup = 10, .time_ns = RTS_LIMIT(10 * SECOND_NS),            \
    .params = block_param, .traits = RTS_RESTS | RTS_BATCHES, .slope_over = "size"

static const rts_bench benches[] = {
    {HEAP_COMMON, .id = "mem.malloc.small", .title = RTS_SAY("malloc of up to 19,584 bytes"),
     .help = RTS_SAY("One malloc of a random size from 1 to 19,584 bytes. Blocks are kept until "
                     "the budget is used and then freed, untimed."),
     .params = malloc_param, .run = RTS_RUN(RTS_CAP_HEAP, run_malloc_small)},
    {HEAP_COMMON, .id = "mem.malloc.large", .title = RTS_SAY("malloc of up to 1,000,000 bytes"),
     .help = RTS_SAY(
         "One malloc of a random size from 19,584 to 1,000,000 bytes. The boundary is OSE's; glibc "
         "uses mmap from 128 KiB at first, and later from the size of the largest block freed. "
         "With all memory locked the kernel populates new pages within the call."),
     .params = malloc_param, .run = RTS_RUN(RTS_CAP_HEAP, run_malloc_large)},
    {HEAP_COMMON, .id = "mem.free", .title = RTS_SAY("free"),
     .help = RTS_SAY("One free of a block of 1 to 1,000,000 bytes from a budget of blocks "
                     "allocated before; freeing what was just allocated would be unrealistic."),
     .params = free_param, .run = RTS_RUN(RTS_CAP_HEAP, run_free)},
    {BLOCK_COMMON, .id = "mem.memcpy.fwd",
     .title = RTS_SAY("memcpy, first half of a buffer to the second"),
     .help = RTS_SAY("One memcpy of `size` bytes; contents are checked outside the interval."),
     .run = RTS_RUN(RTS_CAP_HEAP, run_memcpy_fwd)},
    {BLOCK_COMMON, .id = "mem.memcpy.rev",
     .title = RTS_SAY("memcpy, second half of a buffer to the first"),
     .help = RTS_SAY("One memcpy of `size` bytes; contents are checked outside the interval."),
     .run = RTS_RUN(RTS_CAP_HEAP, run_memcpy_rev)},
    {BLOCK_COMMON, .id = "mem.memmove.up",
     .title = RTS_SAY("memmove to a higher, overlapping address"),
     .help =
         RTS_SAY("One memmove of `size` bytes (an even number) by half of its size upwards, within "
                 "a buffer of twice the size; contents are checked outside the interval."),
     .run = RTS_RUN(RTS_CAP_HEAP, run_memmove_up)},
    {BLOCK_COMMON, .id = "mem.memmove.down",
     .title = RTS_SAY("memmove to a lower, overlapping address"),
     .help =
         RTS_SAY("One memmove of `size` bytes (an even number) by half of its size downwards, "
                 "within a buffer of twice the size; contents are checked outside the interval."),
     .run = RTS_RUN(RTS_CAP_HEAP, run_memmove_down)},
    {BLOCK_COMMON, .id = "mem.memset", .title = RTS_SAY("memset"),
     .help =
         RTS_SAY("One memset of `size` bytes to 123; contents are checked outside the interval."),
     .run = RTS_RUN(RTS_CAP_HEAP, run_memset)},
};

RTS_BENCHES(benches);
