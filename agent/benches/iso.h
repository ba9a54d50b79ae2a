/*
 * iso.*: what other tasks take of a reservation. A task has a budget of CPU time in every period,
 * by one mechanism of the system; an antagonist, held by the same mechanism, tries to take it. Both
 * run in blocks that alternate: the reserved task alone, and beside the antagonist.
 */
#ifndef RTS_ISO_H
#define RTS_ISO_H

#include "bench.h"

typedef enum iso_role { ISO_RESERVED, ISO_ANTAGONIST } iso_role;

typedef struct iso_params {
    int64_t antagonist, period, budget, share; /* a kind; the rest in ns */
} iso_params;

typedef struct iso_mechanism iso_mechanism;

/* State of a case, in memory that all its tasks share. */
typedef struct iso {
    rts_case *c;
    const iso_params *p;
    const iso_mechanism *by;
    rts_sem *entered, *begin; /* given by the antagonist when it is in place; to it, for a block */
    volatile bool in_place;
    volatile rts_tick until;  /* end of the block in which the antagonist may run */
    volatile uint64_t done;   /* what it has done, in its unit */
    uint64_t additions;       /* a piece of the reserved task's work */
    rts_tick piece;           /* what it takes alone */
    uint64_t due[2], lost[2]; /* pieces of all samples: alone, beside */
    rts_event event;          /* of the antagonist `interrupts` */
} iso;

/*
 * A mechanism. Each call returns NULL, or why it is not possible; `admits` returns whether the
 * system accepts that budget of the calling reserved task, in ns, beside the antagonist's share,
 * and is NULL where nothing is declared that could be refused.
 */
struct iso_mechanism {
    const char *(*prepare)(iso *g);              /* by the measuring task, before all others */
    const char *(*enter)(iso *g, iso_role role); /* by each task, for itself */
    bool (*admits)(iso *g, uint64_t budget);
    void (*leave)(iso *g); /* by the reserved task, at its end */
    bool reclaims;         /* of deadlines */
};

/* A kind of antagonist; `step` is repeated in each block. NULL, or why it is not possible. */
typedef struct iso_kind {
    const char *unit; /* of what a step does one of */
    const char *(*begin)(iso *g);
    const char *(*step)(iso *g);
    void (*end)(iso *g);
} iso_kind;

/* Those that depend on the system: weak in iso.c, where a system has others of its own. */
extern const iso_kind iso_forks, iso_faults, iso_interrupts;

/* Reserves CPU time for the caller by deadline scheduling; 0, or the port's error. */
int iso_reserve(uint64_t runtime, uint64_t period, bool reclaims);

/* Measure: the procedure of every iso.*, and those by deadline. */
int iso_run(rts_case *c, const iso_mechanism *by);
int iso_run_deadline(rts_case *c, bool reclaims);

extern const rts_param iso_param[];
unsigned iso_series(const rts_case *c);

#define ISO_SECOND_NS INT64_C(1000000000)
#define ISO_COMMON                                                                                 \
    .source = RTS_SAY("procedure of rtstone"), .params = iso_param,                                \
    .traits = RTS_ONE_CPU | RTS_OWN_SERIES | RTS_OMITTED, .samples = 398, .warmup = 2,             \
    .time_ns = RTS_LIMIT(60 * ISO_SECOND_NS), .series = iso_series

#define ISO_HELP(mechanism)                                                                        \
    RTS_SAY(mechanism                                                                              \
            " In every period the reserved task wakes up and does work for three quarters of its " \
            "budget. The samples are how late it wakes up, and how much of that work was not "     \
            "done by the next release: the budget that it lost. Blocks of 200 periods alternate, " \
            "the reserved task alone, and beside the antagonist.")

#endif
