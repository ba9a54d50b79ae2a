/* The host's commands: each is carried out once, in order, however bad the line
 * (docs/reference/wire.md). */
#ifndef RTS_HOST_H
#define RTS_HOST_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Waits for the next command and returns its words, which may be changed; NULL at the end of input,
 * and when the host has not spoken for as long as it promised.
 */
char *rts_host_command(void);

/*
 * Called by the port while a case or a load needs the agent's attention: takes what has arrived,
 * and returns whether the host wants it to end. Without a lease nothing is read: the input may be
 * a script, behind which no host waits.
 */
bool rts_host_stops(void);

/* Returns whether rts_host_stops() would read: the port then may wait for input. */
bool rts_host_listens(void);

/* Returns whether there may be more commands: false after the end of input. */
bool rts_host_may_return(void);

/* Returns the number of the newest accepted command, for `hello`. */
int64_t rts_host_newest(void);

#endif
