#include "whetstone.h"

#include "port.h"

#include <math.h>
#include <string.h>

static const double T = 0.499975, T1 = 0.50025, T2 = 2.0;

enum { N8 = 10, N9 = 7 };

#define RESULT 0.941377

/* Opaque to the compiler: nothing of a pass may be computed in advance. */
typedef struct state {
    double e[8]; /* 1 to 7, as in the original */
    double y, z, sum;
    int64_t ij, ik, il;
} state;

static __attribute__((noinline)) void p3(double x, double y, double *z)
{
    double xt = T * (*z + x);
    double yt = T * (xt + y);
    *z = (xt + yt) / T2;
}

static __attribute__((noinline)) void p0(state *s, int64_t i)
{
    s->e[s->ij] = s->e[s->ik];
    s->e[s->ik] = s->e[s->il];
    s->e[i] = s->e[s->ij];
}

static __attribute__((noinline)) void pass(state *s)
{
    memset(s->e, 0, sizeof s->e);
    s->ij = (s->ik - s->ij) * (s->il - s->ik);
    s->ik = s->il - (s->ik - s->ij);
    s->il = (s->il - s->ik) * (s->ik + s->il);
    s->e[s->il - 1] = (double)(s->ij + s->ik + s->il);
    s->e[s->ik - 1] = sin((double)s->il);
    s->z = s->e[4];
    for (int i = 1; i <= N8; i++)
        p3(s->y * i, s->y + s->z, &s->z);
    s->ij = s->il - (s->il - 3) * s->ik;
    s->il = (s->il - s->ik) * (s->ik - s->ij);
    s->ik = (s->il - s->ik) * s->ik;
    s->e[s->il - 1] = (double)(s->ij + s->ik + s->il);
    s->e[s->ik + 1] = fabs(cos(s->z));
    for (int64_t i = 1; i <= N9; i++)
        p0(s, i);
    s->z = sqrt(exp(log(s->e[7]) / T1));
    s->sum += s->z;
    if (fabs(s->z - RESULT) > 1e-5) {
        s->sum *= 2;
        s->ij++;
    }
}

bool rts_whetstone(uint64_t passes)
{
    state s = {.y = 1.0, .ij = 1, .ik = 2, .il = 3};
    uint64_t done = rts_work_to_do(passes);
    for (uint64_t i = 0; i < done; i++) {
        __asm__ volatile("" : "+m"(s));
        pass(&s);
    }
    rts_worked(RTS_WORK_KWI, passes);
    return fabs(s.sum / (double)done - RESULT) < 1e-5 * (double)done;
}
