/*
 * When time was stolen from the measured CPUs. The kernel counts it, but has no times for it, so
 * the agent looks at the count every now and then, from outside the case, and keeps between which
 * looks it grew.
 */
#include "steal.h"

#include <string.h>

/* It is counted at the CPU's next tick, and shown in steps of 10 ms. */
#define LAG_NS UINT64_C(10000000)

typedef struct theft {
    uint64_t from, to; /* ns: the looks before and after it */
    int64_t ns;
} theft;

static struct {
    uint64_t begin, last; /* first and last look */
    int64_t steal_ns;     /* then */
    unsigned n;
    theft theft[LINUX_THEFTS];
} own;

void linux_steal_begin(uint64_t now, int64_t steal_ns)
{
    own.begin = own.last = now;
    own.steal_ns = steal_ns;
    own.n = 0;
}

static void join_pairs(void)
{
    for (unsigned i = 0; i < own.n / 2; i++)
        own.theft[i] = (theft){own.theft[2 * i].from, own.theft[2 * i + 1].to,
                               own.theft[2 * i].ns + own.theft[2 * i + 1].ns};
    own.n /= 2;
}

void linux_steal_look(uint64_t now, int64_t steal_ns)
{
    if (steal_ns < 0 || now <= own.last)
        return; /* the next look covers its time, too */
    if (steal_ns > own.steal_ns) {
        if (own.n == LINUX_THEFTS)
            join_pairs();
        own.theft[own.n++] = (theft){own.last, now, steal_ns - own.steal_ns};
    }
    own.steal_ns = steal_ns;
    own.last = now;
}

int64_t linux_steal_around(uint64_t from, uint64_t to, uint64_t *span_ns)
{
    int64_t sum = 0;
    uint64_t first = 0;
    *span_ns = 0;
    if (own.last == own.begin || to < own.begin || from > own.last)
        return -1;
    for (unsigned i = 0; i < own.n; i++) {
        const theft *t = &own.theft[i];
        if (t->to <= from || t->from >= to + LAG_NS)
            continue;
        first = sum ? first : t->from;
        sum += t->ns;
        *span_ns = t->to - first;
    }
    return sum;
}

uint64_t linux_steal_watched(uint64_t *near_ns)
{
    *near_ns = 0;
    for (unsigned i = 0; i < own.n; i++)
        *near_ns += own.theft[i].to - own.theft[i].from;
    return own.last - own.begin;
}
