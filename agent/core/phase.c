#include "phase.h"

rts_arrival rts_phase_number(rts_numbering *n, uint64_t m, uint64_t count)
{
    uint64_t before = n->k, periods = count;
    if (!count)
        periods = (uint64_t)((double)(m - n->m) / n->period + 0.5);
    if (n->begun) {
        n->k += periods;
        n->missing += periods > 1 ? periods - 1 : 0;
    }
    bool pending = n->begun && count; /* serves the oldest of the requests counted */
    n->begun = true;
    n->m = m;
    return (rts_arrival){pending ? before + 1 : n->k, m};
}

/*
 * Distance from the nominal line through the origin's activation: small, so products do not
 * overflow.
 */
static double height(const rts_line *l, const rts_arrival *a)
{
    return (double)(int64_t)(a->m - l->m0) - (double)(a->k - l->k0) * l->period;
}

/* Returns true if b is on or above the line from a to c, and so is no corner of the lower hull. */
static bool above(const rts_line *l, const rts_arrival *a, const rts_arrival *b,
                  const rts_arrival *c)
{
    double ha = height(l, a);
    return (height(l, b) - ha) * (double)(c->k - a->k) >=
           (height(l, c) - ha) * (double)(b->k - a->k);
}

/*
 * Lower hull by Andrew's monotone chain; of several activations with the same k, only the earliest.
 */
static size_t lower_hull(const rts_arrival *a, size_t n, const rts_line *l, uint32_t *hull)
{
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        if (used && a[hull[used - 1]].k == a[i].k) {
            if (height(l, &a[i]) >= height(l, &a[hull[used - 1]]))
                continue;
            used--;
        }
        while (used > 1 && above(l, &a[hull[used - 2]], &a[hull[used - 1]], &a[i]))
            used--;
        hull[used++] = (uint32_t)i;
    }
    return used;
}

bool rts_phase_fit(const rts_arrival *a, size_t n, double period, uint32_t *hull, rts_line *line)
{
    double mean = 0;
    if (!n)
        return false;
    *line = (rts_line){.k0 = a[0].k, .m0 = a[0].m, .period = period};
    for (size_t i = 0; i < n; i++)
        mean += (double)(a[i].k - line->k0) / (double)n;
    size_t corners = lower_hull(a, n, line, hull), i = 1;
    if (corners < 2)
        return false;
    while (i + 1 < corners && (double)(a[hull[i]].k - line->k0) < mean)
        i++;
    const rts_arrival *left = &a[hull[i - 1]], *right = &a[hull[i]];
    line->slope = (height(line, right) - height(line, left)) / (double)(right->k - left->k);
    line->y0 = height(line, left) - line->slope * (double)(left->k - line->k0);
    return true;
}

double rts_phase_excess(const rts_line *line, const rts_arrival *a)
{
    /* Signed: the line also extends to before its origin. */
    double dk = (double)(int64_t)(a->k - line->k0);
    return (double)(int64_t)(a->m - line->m0) - dk * line->period - line->y0 - line->slope * dk;
}

double rts_phase_step(const rts_line *line, const rts_arrival *a, const rts_arrival *b)
{
    double dk = (double)(int64_t)(b->k - a->k);
    return (double)(int64_t)(b->m - a->m) - dk * (line->period + line->slope);
}
