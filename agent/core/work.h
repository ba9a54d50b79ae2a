/* Work that tasks do without calling the system, and that is reported with rts_worked(). */
#ifndef RTS_WORK_H
#define RTS_WORK_H

#include "port.h"

/* A fixed amount of work: n integer additions, each of whose sums the compiler has to compute. */
RTS_SHARED void rts_additions(uint64_t n);
RTS_SHARED void rts_additions(uint64_t n)
{
    uint64_t sum = 0, end = rts_work_to_do(n);
    for (uint64_t i = 0; i < end; i++) {
        sum += i;
        __asm__ volatile("" : "+r"(sum));
    }
    rts_worked(RTS_WORK_ADD, n);
}

/* Prevents the compiler from moving or removing memory accesses. */
#define RTS_BARRIER() __asm__ volatile("" ::: "memory")

#endif
