#ifndef RTS_PHASE_LIB_H
#define RTS_PHASE_LIB_H

#include "phase.h"

/*
 * Numbers n stamps; counts: the device's counts of requests between them, or NULL. Returns how many
 * requests are missing.
 */
uint64_t phase_number(const uint64_t *m, const uint64_t *counts, uint64_t n, double period,
                      uint64_t *k);

/*
 * Fits a line below the activations and returns how far others are above it; 0: there is no line.
 */
int phase_excess(const uint64_t *k, const uint64_t *m, uint64_t n, double period,
                 const uint64_t *rest_k, const uint64_t *rest_m, uint64_t rest, double *excess,
                 double *line);

/* Returns the largest step between neighbours, relative to the line through y0 with this slope. */
double phase_largest_step(const uint64_t *k, const uint64_t *m, uint64_t n, double period,
                          double slope);

#endif
