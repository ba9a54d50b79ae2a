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

/*
 * Limits the following cases: "MISS STOP", the time in ns above which a sample is a miss, and that
 * above which it ends its case; 0: none. Returns false if it is not of that form, or there is no
 * room for misses.
 */
bool rts_last_case_limit(char *words);

/* Begins with another host, who has not received the clock, nor asked for traces or limits. */
void rts_last_case_new_host(void);

#endif
