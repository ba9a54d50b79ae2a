/* The agent, as a port's main() sees it. */
#ifndef RTS_AGENT_H
#define RTS_AGENT_H

#include "bench.h"
#include "wire.h"

#define RTS_WIRE_VERSION 1

/* Sends the tables of all benches and loads: the answer to --list. */
void rts_agent_list(void);

/* Carries out the host's commands until it says bye; the exit status. */
int rts_agent_serve(void);

/* One progress record for a case that runs; called from outside of the case. */
void rts_agent_progress(const rts_case *c);

/* A number that changes as long as a case that runs makes progress. */
uint64_t rts_agent_heartbeat(const rts_case *c);

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

/* ---- parameters of benches and loads ------------------------------------------------------- */

/* Two tables of parameters, the one of the kind and the one of the entry itself, and their values.
 */
typedef struct rts_args {
    const char *kind, *id; /* "bench", "null": for what is said of them */
    const void *entry;     /* rts_bench or rts_load */
    const rts_param *common, *own;
    bool (*common_applies)(const void *entry, const rts_param *p); /* NULL: always */
    int64_t (*common_default)(const void *entry, const rts_param *p);
    void *common_values, *own_values;
    char *reason; /* RTS_REASON bytes: what was wrong */
} rts_args;

void rts_args_defaults(const rts_args *a);

/* The next word of a command, or NULL; what is behind it is left in *rest. */
char *rts_word(char **rest);

/* Whole decimal number from *s, which moves behind it; false: there is none, or it is too large. */
bool rts_number(const char **s, int64_t *value);

/* "NAME=VALUE ..." into the values; 0, or -1 with a reason. */
int rts_args_parse(const rts_args *a, char *words);

/* All values as members of the object in progress. */
void rts_args_put(rts_wire *w, const rts_args *a);

/* Members `needs` and `params` of a table's record. */
void rts_args_describe(rts_wire *w, const rts_args *a, uint32_t needs);

/* True if the system lacks one of these capabilities, with the reason in RTS_REASON bytes. */
bool rts_missing(uint32_t needs, char *reason);

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
