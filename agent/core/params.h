/* Parameters of benches and loads: their tables, and conversion from and to text. */
#ifndef RTS_PARAMS_H
#define RTS_PARAMS_H

#include "port.h"
#include "wire.h"

/* ---- tables -------------------------------------------------------------------------------- */

typedef enum rts_type {
    RTS_T_END, /* terminates a table of parameters */
    RTS_T_INT,
    RTS_T_DURATION, /* ns */
    RTS_T_SIZE,     /* bytes */
    RTS_T_BOOL,
    RTS_T_CHOICE, /* index into choices */
    RTS_T_CPUS,   /* an rts_cpuset */
    RTS_T_TEXT,   /* max + 1 characters; the values of all other types are int64_t */
} rts_type;

/*
 * Texts of a table for the reader: title, source, help. A port that defines RTS_WITHOUT_TEXTS has
 * no room for them, not even for pointers; the host then takes them from its own agent.
 */
#ifdef RTS_WITHOUT_TEXTS
typedef struct rts_text {
} rts_text;
#define RTS_SAY(text)                                                                              \
    {                                                                                              \
    }
#else
typedef const char *rts_text;
#define RTS_SAY(text) text
#endif

/* Writes such a text as a member of the current object, if there is one. */
static inline void rts_text_put(rts_wire *w, const char *key, rts_text text)
{
#ifdef RTS_WITHOUT_TEXTS
    (void)w;
    (void)key;
    (void)text;
#else
    rts_wire_str(w, key, text);
#endif
}

/*
 * Default and limits of a parameter. Where code size matters they are stored in 32 bits: a number
 * below 2^29 and a factor. A value that cannot be stored this way does not compile.
 */
#ifdef RTS_SMALL_CODE
typedef uint32_t rts_limit;
#define RTS_FITS(v, by) ((int64_t)(v) % (by) == 0 && (uint64_t)((v) / (by)) < UINT64_C(1) << 29)
#define RTS_KEEP(v, factor, by) ((uint32_t)(factor) << 29 | (uint32_t)((v) / (by)))
#define RTS_2_30 (INT64_C(1) << 30)
#define RTS_FITS_ANY(v)                                                                            \
    (RTS_FITS(v, 1) || RTS_FITS(v, 1000) || RTS_FITS(v, 1000000) || RTS_FITS(v, 1000000000) ||     \
     RTS_FITS(v, 1000000000000) || RTS_FITS(v, RTS_2_30) || RTS_FITS(v, -1))
#define RTS_LIMIT(v)                                                                               \
    (RTS_FITS(v, 1)               ? RTS_KEEP(v, 0, 1)                                              \
     : RTS_FITS(v, 1000)          ? RTS_KEEP(v, 1, 1000)                                           \
     : RTS_FITS(v, 1000000)       ? RTS_KEEP(v, 2, 1000000)                                        \
     : RTS_FITS(v, 1000000000)    ? RTS_KEEP(v, 3, 1000000000)                                     \
     : RTS_FITS(v, 1000000000000) ? RTS_KEEP(v, 4, 1000000000000)                                  \
     : RTS_FITS(v, RTS_2_30)      ? RTS_KEEP(v, 5, RTS_2_30)                                       \
                                  : RTS_KEEP(v, 6, -(int)sizeof(char[RTS_FITS_ANY(v) ? 1 : -1])))
#else
typedef int64_t rts_limit;
#define RTS_LIMIT(v) (v)
#endif

/* Returns the value that was passed to RTS_LIMIT(). */
int64_t rts_limit_value(rts_limit limit);

typedef struct rts_param {
    const char *name;
    rts_type type;
    uint16_t offset;         /* within the family's struct of parameters */
    const char *domain;      /* a number: its unit, or NULL; RTS_T_CHOICE: "fifo|rr" */
    rts_limit def, min, max; /* limits are inclusive */
    rts_text help;
} rts_param;

/* Offset of a parameter; does not compile if RTS_PARAM_BYTES is too small for the struct. */
#define RTS_AT(S, f) (offsetof(S, f) * sizeof(char[sizeof(S) <= RTS_PARAM_BYTES ? 1 : -1]))

/* Entries of a table: S is the struct of parameters, f the member and the parameter's name. */
#define RTS_INT(S, f, u, d, lo, hi, h)                                                             \
    {#f, RTS_T_INT, RTS_AT(S, f), u, RTS_LIMIT(d), RTS_LIMIT(lo), RTS_LIMIT(hi), RTS_SAY(h)}
#define RTS_DURATION(S, f, d, lo, hi, h)                                                           \
    {#f, RTS_T_DURATION, RTS_AT(S, f), "ns", RTS_LIMIT(d), RTS_LIMIT(lo), RTS_LIMIT(hi), RTS_SAY(h)}
#define RTS_SIZE(S, f, d, lo, hi, h)                                                               \
    {#f, RTS_T_SIZE, RTS_AT(S, f), "B", RTS_LIMIT(d), RTS_LIMIT(lo), RTS_LIMIT(hi), RTS_SAY(h)}
#define RTS_BOOL(S, f, d, h) {#f, RTS_T_BOOL, RTS_AT(S, f), NULL, d, 0, 1, RTS_SAY(h)}
#define RTS_CHOICE(S, f, c, d, h) {#f, RTS_T_CHOICE, RTS_AT(S, f), c, d, 0, 0, RTS_SAY(h)}
#define RTS_TEXT(S, f, h)                                                                          \
    {#f, RTS_T_TEXT, RTS_AT(S, f), NULL, 0, 0, sizeof(((S *)0)->f) - 1, RTS_SAY(h)}
#define RTS_PARAMS_END {.type = RTS_T_END}

/*
 * A bench may use levels down to RTS_LEVELS - 1 below the case's priority; loads that run below a
 * case stay below these.
 */
#define RTS_LEVELS 10

/* ---- commands ------------------------------------------------------------------------------ */

/*
 * Two tables of parameters, one common to the kind and one of the entry itself, and their values.
 */
typedef struct rts_args {
    const char *kind, *id; /* "bench", "null": for messages */
    const void *entry;     /* rts_bench or rts_load */
    const rts_param *common, *own;
    bool (*common_applies)(const void *entry, const rts_param *p); /* NULL: always */
    const char *(*common_absent)(const char *name); /* why one does not; NULL: no comment */
    int64_t (*common_default)(const void *entry, const rts_param *p);
    void *common_values, *own_values;
    char *reason; /* RTS_REASON bytes: why parsing failed */
} rts_args;

void rts_args_defaults(const rts_args *a);

/* Returns the next word of a command, or NULL; *rest is set to what follows it. */
char *rts_word(char **rest);

/*
 * Parses a decimal integer at *s and moves *s past it; returns false if there is none or it is too
 * large.
 */
bool rts_number(const char **s, int64_t *value);

/* Parses "NAME=VALUE ..." into the values. Returns 0, or -1 with a reason. */
int rts_args_parse(const rts_args *a, char *words);

/*
 * Returns the first text that is set among an entry's own values if rts_port_guard() forbids
 * texts: each names a program, a file or an address. NULL: there is none.
 */
static inline const rts_param *rts_args_guarded(const rts_param *own, const void *values)
{
    if (rts_port_guard())
        for (const rts_param *p = own; p && p->name; p++)
            if (p->type == RTS_T_TEXT && ((const char *)values)[p->offset])
                return p;
    return NULL;
}

/* Writes all values as members of the current object. */
void rts_args_put(rts_wire *w, const rts_args *a);

/* Writes the value of one parameter as a member. */
void rts_param_put(rts_wire *w, const char *key, const rts_param *p, const void *value);

/* Writes the members `needs` and `params` of a table's record. */
void rts_args_describe(rts_wire *w, const rts_args *a, uint32_t needs);

#endif
