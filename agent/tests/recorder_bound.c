/*
 * Counts the instructions of each single call of rts_rec_add() by single-stepping: prints median
 * and maximum over a series that includes all rare events. For x86-64.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "recorder.h"

enum { N = 1300, STEPS_MAX = 10000 };

static rts_rec r;
static volatile unsigned steps;
static unsigned taken[STEPS_MAX]; /* number of samples by instructions */

static void on_step(int signal)
{
    (void)signal;
    steps++;
}

#if defined __x86_64__
/* Sets and clears the trap flag; the cost of both is measured in an empty pair. */
#define STEPPED(call)                                                                              \
    do {                                                                                           \
        steps = 0;                                                                                 \
        __asm__ volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");             \
        call;                                                                                      \
        __asm__ volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");           \
    } while (0)
#else
#error "steps are known for x86-64"
#endif

static __attribute__((noinline)) void add(uint64_t value, uint64_t t)
{
    rts_rec_add(&r, value, t);
}

static __attribute__((noinline)) void nothing(uint64_t value, uint64_t t)
{
    __asm__ volatile("" ::"r"(value), "r"(t));
}

int main(void)
{
    const uint64_t hz = 1000000000;
    struct sigaction step = {.sa_handler = on_step};
    rts_rec_setup setup = {.hz = hz, .overhead = 20};
    sigaction(SIGTRAP, &step, NULL);
    rts_rec_init(&r, &setup);
    rts_rec_start(&r, 0);
    STEPPED(nothing(1, 1));
    const unsigned around = steps;
    unsigned most = 0, at = 0;
    uint64_t x = 1, t = 0;
    for (unsigned i = 0; i < N; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        t += hz / 40 + (i % 500 ? 0 : 2 * hz); /* windows of 40 samples, and some without any */
        uint64_t value = i % 7 ? x >> 54 : i;  /* increasing values: each is among the worst */
        STEPPED(add(value, t));
        unsigned n = steps - around;
        if (n >= STEPS_MAX)
            return 1;
        taken[n]++;
        if (n > most) {
            most = n;
            at = i;
        }
    }
    rts_rec_finish(&r);
    unsigned median = 0, below = taken[0];
    while (below < N / 2)
        below += taken[++median];
    printf("%u median, %u most, sample %u\n", median, most, at);
    return r.hist.n != N || r.block_samples == RTS_BLOCK_SAMPLES || r.window_ticks == hz ||
           r.batch_samples == RTS_BATCH_SAMPLES;
}
