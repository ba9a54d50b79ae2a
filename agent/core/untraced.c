/* What the calls of tracing.h do where the port cannot trace: tracing.c replaces these. */
#include "execution.h"
#include "tracing.h"

#define DEFAULT __attribute__((weak))

/* NOLINTNEXTLINE(readability-non-const-parameter): tracing.c cuts it into words */
DEFAULT bool rts_tracing_command(char *words)
{
    (void)words;
    return false;
}

DEFAULT void rts_tracing_forget(void)
{
}

DEFAULT void rts_tracing_run(rts_case *c)
{
    rts_execution_run(c);
}

DEFAULT void rts_tracing_look(void *arg, const rts_rec *r, const rts_sample *sample)
{
    (void)arg;
    (void)r;
    (void)sample;
}
