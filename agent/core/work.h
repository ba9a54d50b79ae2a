/* Work that tasks do by themselves, and that is counted. */
#ifndef RTS_WORK_H
#define RTS_WORK_H

#include "port.h"

/* A fixed piece of work: n integer additions, of which each sum is formed. */
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

/* Keeps the compiler from moving or removing accesses to memory. */
#define RTS_BARRIER() __asm__ volatile("" ::: "memory")

#endif
