/* The small Whetstone: a fixed piece of floating point work (Weiderman, Hartstone; benchmarks 6.2).
 */
#ifndef RTS_WHETSTONE_H
#define RTS_WHETSTONE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Does `passes` times about 1000 Whetstone instructions (1 KWI).  False: the result is wrong, so
 * the work was not done as it should have been.
 */
bool rts_whetstone(uint64_t passes);

#endif
