/* Parses the command for a case, and describes cases and benches to the host. */
#ifndef RTS_COMMAND_H
#define RTS_COMMAND_H

#include "bench.h"

/* Parses the command line of a case (docs/reference/wire.md) into *c. Returns 0, or -1 with
 * c->reason set. */
int rts_command_parse(rts_case *c, char *words);

/* Writes the values of the case's parameters as members of the current object. */
void rts_command_params(rts_wire *w, const rts_case *c);

/* Writes the value of the parameter called `name` as a member of that name. */
void rts_command_value(rts_wire *w, const rts_case *c, const char *name);

/* Sends the table of a bench as one record. */
void rts_command_describe(const rts_bench *bench);

#endif
