#include <string.h>

#include "bench.h"

/* The linker collects what RTS_BENCHES() registers between these two symbols. */
extern const rts_family __start_rts_families[], __stop_rts_families[];

void rts_registry_each(void (*call)(const rts_bench *bench))
{
    for (const rts_family *f = __start_rts_families; f < __stop_rts_families; f++)
        for (unsigned i = 0; i < f->n; i++)
            call(&f->bench[i]);
}

const rts_bench *rts_registry_find(const char *id)
{
    for (const rts_family *f = __start_rts_families; f < __stop_rts_families; f++)
        for (unsigned i = 0; i < f->n; i++)
            if (!strcmp(f->bench[i].id, id))
                return &f->bench[i];
    return NULL;
}
