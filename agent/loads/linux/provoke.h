/*
 * What load provoke does: actions of other programs, one at a time. An action is a row of a table:
 * what it prepares in its worker, and a round of it, which is bounded and repeated.
 */
#ifndef RTS_LOAD_PROVOKE_H
#define RTS_LOAD_PROVOKE_H

#include "load.h"

/* What an action needs consent for. */
typedef enum provoke_consent {
    PROVOKE_OWN,    /* nothing: an unprivileged process can do it, and it ends with the process */
    PROVOKE_SHARED, /* it slows others or leaves caches cold, and that passes by itself */
    PROVOKE_SYSTEM, /* it changes what has to be restored, and is, also after SIGKILL */
    PROVOKE_LAB,    /* it may lose data, hang or set the clock: guests of the lab only */
} provoke_consent;

typedef struct provoke_action {
    const char *name; /* NULL: end of the table */
    provoke_consent consent;
    unsigned n;                               /* how many of what it uses, unless `n` says so */
    bool (*begin)(rts_worker *w, unsigned n); /* NULL: nothing; false: the worker has failed */
    bool (*round)(rts_worker *w, unsigned n); /* false: the worker has failed */
    bool (*save)(rts_worker *w);              /* notes what restore() needs, also a file, as
                                                 provoke_restore_file; false: the worker has failed */
    void (*restore)(const void *context,
                    int file); /* as rts_load_restorer() calls it; NULL: none */
} provoke_action;

/* The tables, by what the actions are about. */
extern const provoke_action provoke_tasks[], provoke_memory[], provoke_files[], provoke_kernel[],
    provoke_devices[], provoke_net[];

/* Returns the action of that name, `length` characters long; NULL: there is none. */
const provoke_action *provoke_named(const char *name, size_t length);

/* Returns 0 if an action may be done with consent up to `most`; -1: the load is refused. */
int provoke_allowed(rts_running *l, const provoke_action *a, provoke_consent most);

/*
 * Does rounds of an action until the load ends: one after the other, or one in every cycle of
 * `every` ns, `at` ns after its start. All workers have the same cycles; those that pass during a
 * round are missed.
 */
void provoke_repeat(rts_worker *w, const provoke_action *a, unsigned n, uint64_t every,
                    uint64_t at);

/* Returns `good`; if it is not, the worker has failed in `action`, for the reason in errno. */
bool provoke_good(rts_worker *w, bool good, const char *action);

/* Waits for a child to exit with 0; false: it did not, and the worker has failed. */
bool provoke_reaped(rts_worker *w, int child);

/* Reads a file to its end. */
bool provoke_read(rts_worker *w, const char *path);

/* Writes a text to a file of the kernel; false: see errno. */
bool provoke_write(const char *path, const char *text);

/* Maps `size` bytes of small pages and touches them all, unless a fifth of the memory is not free
 * then; NULL: the worker has failed. */
char *provoke_pages(rts_worker *w, size_t size);

/* Raises the limit of descriptors to n and some more; false: the worker has failed. */
bool provoke_descriptors(rts_worker *w, unsigned n);

/* Descriptors of the action: room for PROVOKE_MOST. */
#define PROVOKE_MOST 20000
extern int provoke_fd[PROVOKE_MOST + 1];

/* The file that restore() is called with; -1: none. */
extern int provoke_restore_file;

#define PROVOKE_CONSENTS "own|shared|system"

#define PROVOKE_BYTES (256u << 10)
extern char provoke_bytes[PROVOKE_BYTES];

#endif
