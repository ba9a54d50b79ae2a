/* The parameters of all grow.*: how many there are, and of what. */
#ifndef RTS_GROW_PARAMS_H
#define RTS_GROW_PARAMS_H

#include "bench.h"

typedef struct grow_params {
    int64_t n, over;
} grow_params;

/* Defines a table of parameters: at most so many of these things. */
#define GROW_PARAMS(table, most, things, help)                                                     \
    static const rts_param table[] = {                                                             \
        RTS_INT(grow_params, n, NULL, 1, 1, most, "how many there are of what `over` names"),      \
        RTS_CHOICE(grow_params, over, things, 0, help),                                            \
        RTS_PARAMS_END,                                                                            \
    }

#endif
