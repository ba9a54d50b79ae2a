/*
 * Loads that take from others what all CPUs share: room in caches, and the way to memory. They need
 * no call of the system, so what they delay is no matter of its scheduler.
 */
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "posix.h"

#define LINE 64         /* bytes; of larger lines each is touched several times */
#define TURN (1u << 16) /* lines or bytes between two looks at whether it goes on */
#define UNKNOWN_CACHE (8u << 20)

typedef struct antagonist_params {
    int64_t processes, size;
} antagonist_params;

static const rts_param bandwidth_param[] = {
    RTS_INT(antagonist_params, processes, NULL, 1, 1, 64, "processes that copy"),
    RTS_SIZE(antagonist_params, size, 64 << 20, 1 << 20, INT64_C(1) << 34,
             "memory of each process, which no cache should hold"),
    RTS_PARAMS_END,
};

static const rts_param cache_param[] = {
    RTS_INT(antagonist_params, processes, NULL, 1, 1, 64, "processes that use the caches"),
    RTS_SIZE(antagonist_params, size, 0, 0, INT64_C(1) << 34,
             "memory of each process; 0: as much as the largest cache holds"),
    RTS_PARAMS_END,
};

/* Returns that much memory, all of it touched; NULL: the worker has failed. */
static unsigned char *memory_of(rts_worker *w, size_t size)
{
    unsigned char *memory = malloc(size);
    if (memory)
        memset(memory, 1, size);
    else
        rts_worker_unsupported(w, "no memory for %zu bytes", size);
    return memory;
}

static void run_bandwidth(rts_worker *w)
{
    const antagonist_params *p = rts_load_params(w->load);
    const size_t half = (size_t)p->size / 2 / TURN * TURN;
    unsigned char *memory = memory_of(w, 2 * half);
    for (size_t at = 0; memory && rts_load_goes_on(w); at = (at + TURN) % half) {
        memcpy(memory + half + at, memory + at, TURN);
        w->done += TURN;
    }
    free(memory);
}

/* Adds to a line at random, so that no prefetcher hides that it is elsewhere. */
static void run_cache(rts_worker *w)
{
    const antagonist_params *p = rts_load_params(w->load);
    size_t largest = posix_largest_cache(), size = (size_t)p->size;
    if (!size)
        size = largest ? largest : UNKNOWN_CACHE;
    const size_t lines = size < LINE ? 1 : size / LINE;
    unsigned char *memory = memory_of(w, lines * LINE);
    uint64_t random = 1;
    while (memory && rts_load_goes_on(w)) {
        for (unsigned i = 0; i < TURN / LINE; i++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            memory[(random >> 24) % lines * LINE]++;
        }
        w->done += TURN;
    }
    free(memory);
}

static const rts_load loads[] = {
    {.id = "bandwidth",
     .title = RTS_SAY("Copy memory, which all CPUs reach by one way"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("Time-sharing processes copy memory that no cache holds, on the CPUs that "
                     "are not measured. Counted are bytes copied."),
     .params = bandwidth_param,
     .needs = RTS_CAP_PROCESS,
     .component = RTS_PARTS({.name = "bandwidth",
                             .title = "copying memory",
                             .unit = "bytes",
                             .workers = "processes",
                             .run = run_bandwidth})},
    {.id = "cache",
     .title = RTS_SAY("Fill the caches that CPUs share"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("Time-sharing processes add to lines of memory at random, on the CPUs that "
                     "are not measured, so that a shared cache loses what others had in it. "
                     "Counted are bytes of lines, 64 each."),
     .params = cache_param,
     .needs = RTS_CAP_PROCESS,
     .component = RTS_PARTS({.name = "cache",
                             .title = "lines of memory",
                             .unit = "bytes",
                             .workers = "processes",
                             .run = run_cache})},
};
RTS_LOADS(loads);
