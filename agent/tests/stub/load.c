/* Loads on the stub: there is no second task that could be one. */
#include <errno.h>

#include "load.h"

int rts_port_load_start(rts_running *l)
{
    (void)l;
    return -ENOSYS;
}

bool rts_port_load_alive(rts_running *l, unsigned i)
{
    (void)l;
    (void)i;
    return false;
}

int64_t rts_port_load_cpu_ns(rts_running *l, unsigned i)
{
    (void)l;
    (void)i;
    return -1;
}

void rts_port_load_stop(rts_running *l)
{
    (void)l;
}

void rts_port_quiet(bool quiet)
{
    (void)quiet;
}
