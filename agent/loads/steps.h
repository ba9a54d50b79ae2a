/* Programs of actions: what is done in each cycle, and when. */
#ifndef RTS_LOAD_STEPS_H
#define RTS_LOAD_STEPS_H

#include "load.h"

#define RTS_STEPS 16 /* the most of a program */

typedef struct rts_step {
    const void *action; /* as rts_action_find has it */
    unsigned n;         /* how many of what it uses; 0: as many as is usual for it */
    uint64_t at;        /* since the start of the cycle, in ns */
} rts_step;

/* Returns the action of that name, `length` characters long; NULL: there is none. */
typedef const void *rts_action_find(const char *name, size_t length);

/*
 * Reads the step at *text, of at most `most` of what its action uses, and moves *text past it and
 * its comma; false: it is none.
 */
bool rts_step_read(const char **text, rts_action_find *find, int64_t most, rts_step *step);

/*
 * Refuses a load whose text is no program of cycles of `every` ns, or has a step whose action
 * allowed() refuses (NULL: it allows all); returns -1 then.
 */
int rts_steps_check(rts_running *l, const char *text, rts_action_find *find, int64_t most,
                    uint64_t every, int (*allowed)(rts_running *l, const void *action));

/*
 * Sleeps until the next cycle's `at`, where the last one began at *cycle; 0: none has. All workers
 * have the same cycles; those that have passed since the last one are missed.
 */
void rts_step_await(rts_worker *w, uint64_t every, uint64_t at, uint64_t *cycle);

/* Puts the step at `text` before the reason for which its worker has failed, if it has. */
void rts_step_failed(rts_worker *w, const char *text);

/* 4.937 ms is no multiple of a usual period, so that the steps come at all times of it in turn. */
#define RTS_STEP_PARAMS(S)                                                                         \
    RTS_DURATION(S, every, 4937000, 1000000, RTS_NS_PER_S, "length of a cycle"),                   \
        RTS_TEXT(S, steps,                                                                         \
                 "what is done in each cycle, and when: ACTION*N@TIMEus,... with the actions of "  \
                 "load provoke, how many each uses (without *N as many as is usual for it), and "  \
                 "the time since the start of the cycle")

#endif
