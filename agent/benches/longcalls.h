/* Long-running system calls, which the low-priority task of dk.schedlat makes continuously. */
#ifndef RTS_LONGCALLS_H
#define RTS_LONGCALLS_H

#include "bench.h"

typedef struct long_call {
    const char *name;        /* of its series */
    const char *figure_name; /* of the figure that counts its calls */
    uint32_t needs;          /* RTS_CAP_...: without these the kind is left out */
    int (*make)(void);
    int (*lacks)(void); /* why this system lacks it (it is then left out); NULL: it can */
} long_call;

/* Functions return 0, an error of the port, or LONG_CALL_NO_MEMORY; one task calls them all. */
typedef struct long_calls {
    const long_call *kind;
    unsigned n;
    const char *material; /* what prepare() could not allocate */
    int (*prepare)(rts_case *c);
    void (*clean_up)(void); /* also cleans up after prepare() has failed half-way */
} long_calls;

#define LONG_CALL_NO_MEMORY 1

/*
 * A port whose system has calls that take longer than those of port.h defines RTS_LONG_CALLS (the
 * capabilities that all of them need) and provides this table; the calls are then made by a process
 * that is not real-time.
 */
extern const long_calls rts_long_calls;

#endif
