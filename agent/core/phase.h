/*
 * The unknown-phase method (Gutsalov).
 *
 * A periodic source requests at s(k) = phi + k T. Neither phi nor T is known exactly, and the time
 * of a request cannot be read. Activation k is time-stamped at m(k) = s(k) + L(k). As the latency L
 * is never negative, all points (k, m) lie on or above a line, and the points with the least
 * latency touch it.
 */
#ifndef RTS_PHASE_H
#define RTS_PHASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One activation: the number of its request, and its time stamp in ticks. */
typedef struct rts_arrival {
    uint64_t k, m;
} rts_arrival;

/* Numbers activations in order of arrival. */
typedef struct rts_numbering {
    double period; /* nominal, in ticks */
    uint64_t k, m; /* number of the last request, and time stamp of the last activation */
    uint64_t
        missing; /* requests without an activation of their own: lost, or merged with another */
    bool begun;
} rts_numbering;

/*
 * Returns the request that an activation stamped m serves. `count` is the device's count of
 * requests since the last activation: if several were merged, the activation serves the first,
 * which has waited longest. 0 means that the device does not count; the request is then derived
 * from the time since the last activation, which is correct as long as successive latencies differ
 * by less than half a period. Requests are never renumbered later.
 */
rts_arrival rts_phase_number(rts_numbering *n, uint64_t m, uint64_t count);

/* s(k) + least latency = m0 + y0 + (k - k0) (period + slope). */
typedef struct rts_line {
    uint64_t k0, m0;
    double y0, slope, period; /* ticks; ticks per request; nominal ticks per request */
} rts_line;

/*
 * Fits the line below all n activations (in ascending order of k) with the least sum of distances:
 * the edge of their lower convex hull that spans the mean of k. `hull` has room for n indexes.
 * Returns false if there are fewer than two different k.
 */
bool rts_phase_fit(const rts_arrival *a, size_t n, double period, uint32_t *hull, rts_line *line);

/*
 * Returns how far an activation lies above the line, in ticks: its latency less the least latency.
 */
double rts_phase_excess(const rts_line *line, const rts_arrival *a);

/*
 * Returns a lower bound of the range of latencies that does not depend on the phase: how much later
 * b came than the latency of its predecessor a would have it. The largest of these values is at
 * most the largest latency less the least one.
 */
double rts_phase_step(const rts_line *line, const rts_arrival *a, const rts_arrival *b);

#endif
