/* Cleaning up after a case, for measurement.c. What a bench may call is in bench.h. */
#ifndef RTS_CASE_H
#define RTS_CASE_H

#include "bench.h"

/* Ends all helper tasks and destroys what the case has created. */
void rts_case_clean_up(rts_case *c);

#endif
