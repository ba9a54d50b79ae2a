/*
 * Sizes that determine the agent's memory use. A port with little memory overrides them in its
 * port_types.h; these are the defaults. docs/guides/porting.md gives the cost of each.
 */
#ifndef RTS_SIZES_H
#define RTS_SIZES_H

#include <stdint.h>

#include "port_types.h"

/*
 * A port with little room for code defines RTS_SMALL_CODE: functions that are inline only for
 * speed, and never between two time stamps, are then not inlined, and the linker keeps one copy of
 * each (with -ffunction-sections and --gc-sections).
 */
#if defined RTS_SMALL_CODE && !defined RTS_SHARED
#define RTS_SHARED __attribute__((weak, noinline))
#else
#define RTS_SHARED static inline
#endif

/* Always inlined: functions used between two time stamps. */
#define RTS_HOT static inline __attribute__((always_inline))

/* Capabilities that this port never has: benches that need them are left out, except their tables.
 */
#ifndef RTS_NEVER
#define RTS_NEVER 0
#endif

/* ---- of each series of samples ------------------------------------------------------------- */

/* Values of 2^RANGE ticks and above are outside the histogram and count as overflow. */
#ifndef RTS_HIST_RANGE
#define RTS_HIST_RANGE 64
#endif

/* Width of a bucket's counter, 64 or 32; with 32 a series ends before one could overflow. */
#ifndef RTS_COUNT_BITS
#define RTS_COUNT_BITS 64
#endif

/* Samples in each of the first blocks, whose maxima are stored. */
#ifndef RTS_BLOCK_SAMPLES
#define RTS_BLOCK_SAMPLES 64
#endif

/* Windows of the trace; when there is no room for more, adjacent windows are merged in pairs. */
#ifndef RTS_TRACE
#define RTS_TRACE 4096
#endif

/* Block maxima; merged in the same way. */
#ifndef RTS_BLOCKS
#define RTS_BLOCKS 2048
#endif

/*
 * Batches of successive samples, from which their correlation is estimated; merged in the same way.
 * Each takes a histogram with 32-bit counters. 0: no batches.
 */
#ifndef RTS_BATCH_MAX
#define RTS_BATCH_MAX 32
#endif

/*
 * Misses whose closeness is known: how few successive activations held 1, 2, up to so many of them,
 * a power of two. Takes 16 bytes for each. 0: no room for them nor for the code, so that a case can
 * have no limit either.
 */
#ifndef RTS_MISSES
#define RTS_MISSES 32
#endif

/*
 * Whether calls that are timed in batches are also timed one by one, for their maximum: takes a
 * second series. 0: no room for it; host and documents then say that there is none.
 */
#ifndef RTS_SINGLE
#define RTS_SINGLE 1
#endif

/* Samples in the shortest batch; shorter series are stored whole and divided at the end. */
#ifndef RTS_BATCH_SAMPLES
#define RTS_BATCH_SAMPLES 512
#endif

/* ---- of each case -------------------------------------------------------------------------- */

/* Bytes for a bench's own state, besides its series. */
#ifndef RTS_STATE_BYTES
#define RTS_STATE_BYTES (2048u << 10)
#endif

/* Bytes for the rows of a table of texts; part of that state. */
#ifndef RTS_TABLE_BYTES
#define RTS_TABLE_BYTES (256 << 10)
#endif

/* Helper tasks and semaphores of a case. */
#ifndef RTS_TASKS_MAX
#define RTS_TASKS_MAX 1200
#endif
#ifndef RTS_SEMS_MAX
#define RTS_SEMS_MAX 1200
#endif

/* Bytes of the largest struct of parameters; checked when a table is compiled. */
#ifndef RTS_PARAM_BYTES
#define RTS_PARAM_BYTES 2048
#endif

/* Alignment of data written by different tasks (bytes). */
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

/* Records of a load's counts, kept for a little more than a second. */
#ifndef RTS_MARKS
#define RTS_MARKS 32
#endif

/* ---- of the agent -------------------------------------------------------------------------- */

/* Largest number of CPUs: a multiple of 64. */
#ifndef RTS_CPUS
#define RTS_CPUS 1024
#endif

/* Characters of a command: a byte of a load's text takes up to three. */
#ifndef RTS_COMMAND_BYTES
#define RTS_COMMAND_BYTES 4096
#endif

/* Bytes passed to the port at a time. */
#ifndef RTS_WIRE_BYTES
#define RTS_WIRE_BYTES 512
#endif

/* Readings used to determine the clock's granule, 8 bytes of stack each. */
#ifndef RTS_GRANULE_READS
#define RTS_GRANULE_READS 512
#endif

_Static_assert(RTS_HIST_RANGE > 7 && RTS_HIST_RANGE <= 64, "RTS_HIST_RANGE");
_Static_assert(RTS_COUNT_BITS == 32 || RTS_COUNT_BITS == 64, "RTS_COUNT_BITS");
_Static_assert(RTS_BLOCK_SAMPLES >= 2, "RTS_BLOCK_SAMPLES");
_Static_assert(RTS_TRACE >= 2 && (RTS_TRACE & (RTS_TRACE - 1)) == 0, "a power of two");
_Static_assert(RTS_BLOCKS >= 2 && (RTS_BLOCKS & (RTS_BLOCKS - 1)) == 0, "a power of two");
_Static_assert((RTS_MISSES & (RTS_MISSES - 1)) == 0, "a power of two, or none");
_Static_assert(RTS_BATCH_MAX % 2 == 0 && RTS_BATCH_MAX < 255, "RTS_BATCH_MAX is even");
_Static_assert(RTS_CPUS >= 64 && RTS_CPUS % 64 == 0, "RTS_CPUS is a multiple of 64");
_Static_assert(RTS_MARKS >= 4, "RTS_MARKS");

#endif
