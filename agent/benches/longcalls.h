/* Long calls of the kernel: what the less urgent task of dk.schedlat makes without pause. */
#ifndef RTS_LONGCALLS_H
#define RTS_LONGCALLS_H

#include "bench.h"

typedef struct long_call {
    const char *name; /* of its series */
    const char *what; /* of the figure that counts it */
    uint32_t needs;   /* RTS_CAP_...: without them the kind is left out */
    int (*make)(void);
    int (*lacks)(void); /* why this system cannot: then it is left out; NULL: it can */
} long_call;

/* Functions return 0, an error of the port, or LONG_CALL_NO_MEMORY; one task calls them all. */
typedef struct long_calls {
    const long_call *kind;
    unsigned n;
    const char *material; /* what prepare() could not get */
    int (*prepare)(rts_case *c);
    void (*clean_up)(void); /* also of what prepare() got before it failed */
} long_calls;

#define LONG_CALL_NO_MEMORY 1

/*
 * A port whose system has longer ones than port.h knows defines RTS_LONG_CALLS, the capabilities
 * that all of them need, and has this table; they are then made by a process that is not real-time.
 */
extern const long_calls rts_long_calls;

#endif
