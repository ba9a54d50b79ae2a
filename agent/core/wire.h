/*
 * Writes records (docs/reference/wire.md): one JSON object per line, streamed, so that no buffer is
 * needed.
 */
#ifndef RTS_WIRE_H
#define RTS_WIRE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rts_wire rts_wire;

/* Numbers the following records from 0: for a host that has not seen those before. */
void rts_wire_restart(void);

/* Starts a record of kind `t`; returns the one record in progress. */
rts_wire *rts_wire_begin(const char *t);

/* Ends the record: appends checksum and end of line, and sends it to the host. */
void rts_wire_end(rts_wire *w);

/* Write members of an object; inside a list the key is NULL. */
void rts_wire_str(rts_wire *w, const char *key, const char *value); /* NULL value: null */
void rts_wire_strn(rts_wire *w, const char *key, const char *value, unsigned n);
void rts_wire_int(rts_wire *w, const char *key, int64_t value);
void rts_wire_uint(rts_wire *w, const char *key, uint64_t value);
void rts_wire_sum(rts_wire *w, const char *key, uint64_t high, uint64_t low); /* high 2^64 + low */
void rts_wire_optional(rts_wire *w, const char *key, int64_t value); /* negative: left out */
void rts_wire_real(rts_wire *w, const char *key, double value);      /* three decimals */
void rts_wire_bool(rts_wire *w, const char *key, bool value);
void rts_wire_null(rts_wire *w, const char *key);
void rts_wire_open(rts_wire *w, const char *key, char bracket); /* '{' or '[' */
void rts_wire_close(rts_wire *w, char bracket);                 /* '}' or ']' */

/* How a case or a load ended: the members `status` and `reason`. */
typedef enum rts_status { RTS_S_OK, RTS_S_UNSUPPORTED, RTS_S_FAILED } rts_status;
void rts_wire_status(rts_wire *w, rts_status status, const char *reason);

/* Returns the CRC-32 (IEEE 802.3, reflected) of n bytes, continuing from crc (initially 0). */
uint32_t rts_crc32(uint32_t crc, const char *bytes, unsigned n);

/* Sends one `log` record. */
void rts_log(const char *level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
