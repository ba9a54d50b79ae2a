/* Series of samples of a case; how a bench opens one is in bench.h. */
#ifndef RTS_SERIES_H
#define RTS_SERIES_H

#include "bench.h"

/* Prepares the recorder of a series, with the limits of the case or for a short trial. */
void rts_series_setup(rts_case *c, rts_series_out *s, bool trial);

/* Leaves the CPU to others for a rest; tasks of the case see c->resting meanwhile. */
void rts_series_rest(rts_case *c);

/* Returns the size of the memory for the raw samples of one series, in bytes. */
size_t rts_series_raw_room(const rts_case *c);

#endif
