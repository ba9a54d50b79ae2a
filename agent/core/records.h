/* Sends the records of a case: its start, results and end (docs/reference/wire.md). */
#ifndef RTS_RECORDS_H
#define RTS_RECORDS_H

#include "bench.h"

/* Sends what concerns all cases: the clock and the conditions. */
void rts_send_clock(void);

void rts_send_case(const rts_case *c);
void rts_send_result(const rts_case *c, unsigned i);
void rts_send_end(const rts_case *c, bool ran);

#endif
