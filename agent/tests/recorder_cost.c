/*
 * Generates N samples of mixed size and records them, or only generates them: for counting the
 * instructions that the recorder adds per sample.
 */
#include <stdlib.h>
#include <string.h>

#include "recorder.h"

static rts_rec r;
static volatile uint64_t sink;

static uint64_t next_sample(uint64_t *x)
{
    *x = *x * 6364136223846793005u + 1442695040888963407u;
    return *x >> 44;
}

static int record(uint64_t n)
{
    uint64_t x = 1, t = 0;
    rts_rec_setup setup = {.hz = 1000000000, .samples = n, .overhead = 20};
    rts_rec_init(&r, &setup);
    for (rts_rec_start(&r, 0); r.running; t += 1000)
        rts_rec_add(&r, next_sample(&x), t);
    rts_rec_finish(&r);
    return r.hist.n != n;
}

static int only_make(uint64_t n)
{
    uint64_t x = 1;
    for (uint64_t i = 0; i < n; i++)
        sink = next_sample(&x);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    uint64_t n = strtoull(argv[2], NULL, 10);
    return !strcmp(argv[1], "record") ? record(n) : only_make(n);
}
