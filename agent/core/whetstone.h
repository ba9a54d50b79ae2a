/*
 * The small Whetstone: a fixed amount of floating point work (Weiderman, Hartstone; benchmarks
 * 6.2).
 */
#ifndef RTS_WHETSTONE_H
#define RTS_WHETSTONE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Executes about 1000 Whetstone instructions (1 KWI) `passes` times. Returns false if the result is
 * wrong, that is, if the work was not done correctly.
 */
bool rts_whetstone(uint64_t passes);

#endif
