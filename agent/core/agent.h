/* The agent, as a port's main() sees it. */
#ifndef RTS_AGENT_H
#define RTS_AGENT_H

/* Sends the tables of all benches and loads: the answer to --list. */
void rts_agent_list(void);

/* Carries out the host's commands until it says bye; the exit status. */
int rts_agent_serve(void);

#endif
