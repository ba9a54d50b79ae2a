/* A case from the host's command, and what the host is told of it and of benches. */
#ifndef RTS_COMMAND_H
#define RTS_COMMAND_H

#include "bench.h"

/* Command line of a case (docs/wire.md) into *c; 0, or -1 with c->reason set. */
int rts_command_parse(rts_case *c, char *words);

/* Values of the parameters as members of the object in progress. */
void rts_command_params(rts_wire *w, const rts_case *c);

/* The value of the parameter of that name, as a member of that name. */
void rts_command_value(rts_wire *w, const rts_case *c, const char *name);

/* The table of a bench as one record. */
void rts_command_describe(const rts_bench *bench);

#endif
