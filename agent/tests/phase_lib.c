/* The estimator of the unknown phase, for tests from Python. */
#include "phase_lib.h"

#include <stdlib.h>

uint64_t phase_number(const uint64_t *m, const uint64_t *counts, uint64_t n, double period,
                      uint64_t *k)
{
    rts_numbering numbering = {.period = period};
    for (uint64_t i = 0; i < n; i++)
        k[i] = rts_phase_number(&numbering, m[i], counts ? counts[i] : 0).k;
    return numbering.missing;
}

int phase_excess(const uint64_t *k, const uint64_t *m, uint64_t n, double period,
                 const uint64_t *rest_k, const uint64_t *rest_m, uint64_t rest, double *excess,
                 double *line)
{
    rts_arrival *a = malloc((n + 1) * sizeof *a);
    uint32_t *hull = malloc((n + 1) * sizeof *hull);
    rts_line l;
    for (uint64_t i = 0; i < n; i++)
        a[i] = (rts_arrival){k[i], m[i]};
    bool fits = rts_phase_fit(a, n, period, hull, &l);
    for (uint64_t i = 0; fits && i < rest; i++)
        excess[i] = rts_phase_excess(&l, &(rts_arrival){rest_k[i], rest_m[i]});
    if (fits) {
        line[0] = l.y0;
        line[1] = l.slope;
    }
    free(a);
    free(hull);
    return fits;
}

double phase_largest_step(const uint64_t *k, const uint64_t *m, uint64_t n, double period,
                          double slope)
{
    rts_line l = {.period = period, .slope = slope};
    double largest = 0;
    for (uint64_t i = 1; i < n; i++) {
        double step =
            rts_phase_step(&l, &(rts_arrival){k[i - 1], m[i - 1]}, &(rts_arrival){k[i], m[i]});
        largest = step > largest ? step : largest;
    }
    return largest;
}
