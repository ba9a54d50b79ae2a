/* The agent, as a port's main() sees it. */
#ifndef RTS_AGENT_H
#define RTS_AGENT_H

#include "bench.h"
#include "wire.h"

#define RTS_VERSION "0.1.0"
#define RTS_WIRE_VERSION 1

/* Sends the tables of all benches: the answer to --list. */
void rts_agent_list(void);

/* Carries out the host's commands until it says bye; the exit status. */
int rts_agent_serve(void);

/* One progress record for a case that runs; called from outside of the case. */
void rts_agent_progress(const rts_case *c);

/* The benches that are linked in. */
const rts_bench *rts_registry_find(const char *id);
void rts_registry_each(void (*call)(const rts_bench *bench));

/* Command line of a case (docs/wire.md) into *c; 0, or -1 with c->reason set. */
int rts_command_parse(rts_case *c, char *words);

/* Values of the parameters as members of the object in progress. */
void rts_command_params(rts_wire *w, const rts_case *c);

/* The value of the common parameter of that name, as a member of that name. */
void rts_command_value(rts_wire *w, const rts_case *c, const char *name);

/* The table of a bench as one record. */
void rts_command_describe(const rts_bench *bench);

/* ---- between the files of core/ ------------------------------------------------------------ */

/* Prepares the recorder of a series: with the limits of the case, or for a short trial. */
void rts_series_setup(rts_case *c, rts_series_out *s, bool trial);

/* Bytes that the raw samples of one series need. */
size_t rts_series_raw_room(const rts_case *c);

/* Ends all helper tasks and destroys what the case made. */
void rts_case_clean_up(rts_case *c);

void rts_send_case(const rts_case *c);
void rts_send_result(const rts_case *c, unsigned i);
void rts_send_end(const rts_case *c, bool ran);

#endif
