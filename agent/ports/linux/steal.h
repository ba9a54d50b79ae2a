/* When time was stolen from the measured CPUs (steal.c). */
#ifndef RTS_LINUX_STEAL_H
#define RTS_LINUX_STEAL_H

#include <stdint.h>

#ifndef LINUX_THEFTS
#define LINUX_THEFTS 4096 /* kept at most; then two that follow each other become one */
#endif

/* Begins anew: at a look at `now`, in ns of rts_time(), the count of stolen time was `steal_ns`. */
void linux_steal_begin(uint64_t now, int64_t steal_ns);

/* Adds a look; the count may not be known then (-1). */
void linux_steal_look(uint64_t now, int64_t steal_ns);

/*
 * Returns by how much the count grew between looks around this time, and in `*span_ns` how far
 * those are apart; 0: it did not grow there; -1: there were no looks.
 */
int64_t linux_steal_around(uint64_t from, uint64_t to, uint64_t *span_ns);

/* Returns for how long there were looks, and in `*near_ns` between how much of it the count grew.
 */
uint64_t linux_steal_watched(uint64_t *near_ns);

#endif
