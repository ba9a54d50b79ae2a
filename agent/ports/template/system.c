/* What the system is and offers, and what this port does without. */
#include "port.h"
#include "wire.h"

/* PORT: announce a capability once everything that it needs in port.h is implemented and tested. */
uint32_t rts_port_caps(void)
{
    return RTS_CAP_PRIORITIES | RTS_CAP_HEAP | RTS_CAP_SUSPEND;
}

/* PORT: shown in reports: what is missing, and what would provide it. */
const char *rts_port_why_not(uint32_t cap)
{
    return cap == RTS_CAP_SMP ? "this system uses one CPU" : "this port does not have it";
}

/* ---- clock and processor ------------------------------------------------------------------- */

/* PORT: the counter's name and frequency, measured or from the data sheet. */
int rts_port_clock_init(rts_clock *clock)
{
    clock->source = "template";
    clock->unit = "ns";
    clock->hz = RTS_TIME_HZ;
    return 0;
}

/* PORT: names; include the version of the system. */
void rts_port_hello(rts_wire *w)
{
    rts_wire_str(w, "port", "template");
    rts_wire_str(w, "os", "a system of its own 1.0");
    rts_wire_str(w, "arch", "none");
}

/* PORT: everything that can change a number: board, clock rate, caches, tick, kernel options. */
void rts_port_conditions(rts_wire *w)
{
    rts_wire_str(w, "board", "template");
    rts_wire_uint(w, "stack_bytes", RTS_STACK_DEFAULT);
}
