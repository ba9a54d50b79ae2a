/* What a port to a POSIX system has to provide itself. */
#include "posix.h"

void rts_port_conditions(rts_wire *w)
{
    rts_wire_bool(w, "rights.realtime", posix_may_realtime());
}

const char *rts_channel_limits(int kind)
{
    (void)kind;
    return "the limits are the system's";
}
