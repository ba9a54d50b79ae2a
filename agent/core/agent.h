/* The agent's entry points, for a port's main(). */
#ifndef RTS_AGENT_H
#define RTS_AGENT_H

#include <stdbool.h>

/* Sends the tables of all benches and loads: the answer to --list. */
void rts_agent_list(void);

/*
 * Carries out the commands of one host: until `bye`, the end of its lease or of the input. Returns
 * whether another host may come, who then begins with `hello`.
 */
bool rts_agent_serve(void);

#endif
