/*
 * What the agent spends memory on.  A port that has little says so in its port_types.h; these are
 * the values where there is plenty.  docs/porting.md has what each of them costs.
 */
#ifndef RTS_SIZES_H
#define RTS_SIZES_H

#include <stdint.h>

#include "port_types.h"

/*
 * A port with little room for code defines RTS_SMALL_CODE: what is inline only for speed, and never
 * between two stamps, is then one function for all, of whose copies the linker keeps one (with
 * -ffunction-sections and --gc-sections).
 */
#if defined RTS_SMALL_CODE && !defined RTS_SHARED
#define RTS_SHARED __attribute__((weak, noinline))
#else
#define RTS_SHARED static inline
#endif

/* What stands between two stamps, whatever else a compiler thinks of it. */
#define RTS_HOT static inline __attribute__((always_inline))

/* Capabilities that this port never has: benches that need them are left out, but for their tables.
 */
#ifndef RTS_NEVER
#define RTS_NEVER 0
#endif

/* ---- of each series of samples ------------------------------------------------------------- */

/* Values of 2^RANGE ticks and above have no bucket of a histogram: they count as overflow. */
#ifndef RTS_HIST_RANGE
#define RTS_HIST_RANGE 64
#endif

/* Width of a bucket's counter, 64 or 32; with 32 a series ends before one could overflow. */
#ifndef RTS_COUNT_BITS
#define RTS_COUNT_BITS 64
#endif

/* Samples in each of the first blocks, of which the maximum is kept. */
#ifndef RTS_BLOCK_SAMPLES
#define RTS_BLOCK_SAMPLES 64
#endif

/* Windows of the trace; when they run out, two become one of twice the width. */
#ifndef RTS_TRACE
#define RTS_TRACE 4096
#endif

/* Block maxima; likewise. */
#ifndef RTS_BLOCKS
#define RTS_BLOCKS 2048
#endif

/*
 * Batches of successive samples, that tell how much these depend on one another; likewise.  Each
 * takes a histogram with counters of 32 bits.  0: no batches.
 */
#ifndef RTS_BATCH_MAX
#define RTS_BATCH_MAX 32
#endif

/* The shortest of them; a series of so many samples a batch or fewer is kept whole to be cut. */
#ifndef RTS_BATCH_SAMPLES
#define RTS_BATCH_SAMPLES 512
#endif

/* ---- of each case -------------------------------------------------------------------------- */

/* Bytes for a bench's own state, beside its series. */
#ifndef RTS_STATE_BYTES
#define RTS_STATE_BYTES (2048u << 10)
#endif

/* Bytes of the rows of a table of texts, which is part of that state. */
#ifndef RTS_TABLE_BYTES
#define RTS_TABLE_BYTES (256 << 10)
#endif

/* Helper tasks, and semaphores that end with the case. */
#ifndef RTS_TASKS_MAX
#define RTS_TASKS_MAX 1200
#endif
#ifndef RTS_SEMS_MAX
#define RTS_SEMS_MAX 1200
#endif

/* Bytes of the largest struct of parameters; checked when a table is compiled. */
#ifndef RTS_PARAM_BYTES
#define RTS_PARAM_BYTES 1024
#endif

/* What different tasks write lies so many bytes apart. */
#ifndef RTS_CACHE_LINE
#define RTS_CACHE_LINE 64
#endif

/* ---- of a load ----------------------------------------------------------------------------- */

#ifndef RTS_WORKERS_MAX
#define RTS_WORKERS_MAX 1001
#endif

/* Components of one load; checked when a table is compiled. */
#ifndef RTS_COMPONENTS
#define RTS_COMPONENTS 12
#endif

/* How often, in a little more than a second, it is noted how far a load is. */
#ifndef RTS_MARKS
#define RTS_MARKS 32
#endif

/* ---- of the agent -------------------------------------------------------------------------- */

/* CPUs that can be told apart: a multiple of 64. */
#ifndef RTS_CPUS
#define RTS_CPUS 1024
#endif

/* Characters of a command: a text of a load is up to three a byte. */
#ifndef RTS_COMMAND_BYTES
#define RTS_COMMAND_BYTES 4096
#endif

/* Bytes that are handed to the port at once. */
#ifndef RTS_WIRE_BYTES
#define RTS_WIRE_BYTES 512
#endif

/* Readings from which the clock's granule is found, at 8 bytes of stack each. */
#ifndef RTS_GRANULE_READS
#define RTS_GRANULE_READS 512
#endif

_Static_assert(RTS_HIST_RANGE > 7 && RTS_HIST_RANGE <= 64, "RTS_HIST_RANGE");
_Static_assert(RTS_COUNT_BITS == 32 || RTS_COUNT_BITS == 64, "RTS_COUNT_BITS");
_Static_assert(RTS_BLOCK_SAMPLES >= 2, "RTS_BLOCK_SAMPLES");
_Static_assert(RTS_TRACE >= 2 && (RTS_TRACE & (RTS_TRACE - 1)) == 0, "a power of two");
_Static_assert(RTS_BLOCKS >= 2 && (RTS_BLOCKS & (RTS_BLOCKS - 1)) == 0, "a power of two");
_Static_assert(RTS_BATCH_MAX % 2 == 0 && RTS_BATCH_MAX < 255, "RTS_BATCH_MAX is even");
_Static_assert(RTS_CPUS >= 64 && RTS_CPUS % 64 == 0, "RTS_CPUS is a multiple of 64");
_Static_assert(RTS_MARKS >= 4, "RTS_MARKS");

#endif
