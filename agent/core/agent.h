/* The agent's entry points, for a port's main(). */
#ifndef RTS_AGENT_H
#define RTS_AGENT_H

/* Sends the tables of all benches and loads: the answer to --list. */
void rts_agent_list(void);

/* Executes the host's commands until `bye`; returns the exit status. */
int rts_agent_serve(void);

#endif
