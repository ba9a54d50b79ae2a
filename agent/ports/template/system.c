/* What the system is and has, and what this port does without. */
#include "port.h"
#include "wire.h"

/* PORT: announce a capability when what belongs to it in port.h is there and tested. */
uint32_t rts_port_caps(void)
{
    return RTS_CAP_PRIORITIES | RTS_CAP_HEAP | RTS_CAP_SUSPEND;
}

/* PORT: a reader of a report sees it: what is missing, and what would bring it. */
const char *rts_port_why_not(uint32_t cap)
{
    return cap == RTS_CAP_SMP ? "this system uses one CPU" : "this port does not have it";
}

/* ---- clock and processor ------------------------------------------------------------------- */

/* PORT: the counter's name and its rate, measured or from the data sheet. */
int rts_port_clock_init(rts_clock *clock)
{
    clock->source = "template";
    clock->unit = "ns";
    clock->hz = RTS_TIME_HZ;
    return 0;
}

/* PORT: names; the version of the system belongs here. */
void rts_port_hello(rts_wire *w)
{
    rts_wire_str(w, "port", "template");
    rts_wire_str(w, "os", "a system of its own 1.0");
    rts_wire_str(w, "arch", "none");
}

/* PORT: whatever can change a number: board, clock rate, caches, tick, options of the kernel. */
void rts_port_conditions(rts_wire *w)
{
    rts_wire_str(w, "board", "template");
    rts_wire_uint(w, "stack_bytes", RTS_STACK_DEFAULT);
}
