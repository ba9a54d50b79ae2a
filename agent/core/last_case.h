/* The last case of the host, from command to result; its records are kept as long as possible. */
#ifndef RTS_LAST_CASE_H
#define RTS_LAST_CASE_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Carries out the command of a case and sends all its records. Progress is reported every so many
 * ms, 0: never.
 */
void rts_last_case_run(char *words, unsigned progress_ms);

/* Sends all records of a case once more; returns false if they are not kept any more. */
bool rts_last_case_send_again(uint64_t id);

/* Frees what the last case has kept. */
void rts_last_case_free(void);

/* Begins with another host, who has not received the clock, nor asked for traces. */
void rts_last_case_new_host(void);

#endif
