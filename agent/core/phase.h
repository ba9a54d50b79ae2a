/*
 * The unknown-phase method (Gutsalov; benchmarks 4.3).
 *
 * A periodic source requests at s(k) = phi + k T; neither phi nor T is known exactly, and when a
 * request was made cannot be read.  Activation k is stamped at m(k) = s(k) + L(k), and a latency L
 * is never negative: all points (k, m) lie on or above a line, and the promptest touch it.
 */
#ifndef RTS_PHASE_H
#define RTS_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One activation: the number of its request, and its stamp in ticks. */
typedef struct rts_arrival {
    uint64_t k, m;
} rts_arrival;

/* Numbers activations as they come. */
typedef struct rts_numbering {
    double period; /* nominal, in ticks */
    uint64_t k, m; /* the last request there was, and the last activation */
    uint64_t
        missing; /* requests without an activation of their own: lost, or merged with another */
    bool begun;
} rts_numbering;

/*
 * The request that an activation stamped m serves.  `count`: requests since the last activation as
 * the device counts them; several have merged, and it serves the first, which has waited longest.
 * 0: the device does not count; then the request follows from the time since the last activation,
 * which holds as long as a latency differs from the next by less than half a period.  Nothing is
 * renumbered later.
 */
rts_arrival rts_phase_number(rts_numbering *n, uint64_t m, uint64_t count);

/* s(k) + least latency = m0 + y0 + (k - k0) (period + slope). */
typedef struct rts_line {
    uint64_t k0, m0;
    double y0, slope, period; /* ticks; ticks per request; nominal ticks per request */
} rts_line;

/*
 * The line below all n activations, in rising order of k, with the least sum of distances: the edge
 * of their lower convex hull that spans the mean of k.  `hull` has room for n indexes.  False:
 * fewer than two different k.
 */
bool rts_phase_fit(const rts_arrival *a, size_t n, double period, uint32_t *hull, rts_line *line);

/* How far an activation lies above the line, in ticks: its latency less the least one. */
double rts_phase_excess(const rts_line *line, const rts_arrival *a);

/*
 * A bound that needs no phase: how much later b came than the one before it, a, would have had it;
 * its largest value is at most the largest latency less the least one.
 */
double rts_phase_step(const rts_line *line, const rts_arrival *a, const rts_arrival *b);

#endif
