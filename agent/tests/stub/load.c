/* Loads on the stub, which has no second task for workers. */
#include <errno.h>

#include "port.h"

int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus)
{
    (void)worker;
    (void)n;
    (void)cpus;
    return -ENOSYS;
}

bool rts_port_load_alive(unsigned i)
{
    (void)i;
    return false;
}

void rts_port_load_stop(void)
{
}

void rts_port_load_pause(bool pause)
{
    (void)pause;
}
