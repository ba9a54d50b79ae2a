/* What the system can do, for benches and loads that depend on it. */
#ifndef RTS_CAPS_H
#define RTS_CAPS_H

#include "port.h"
#include "wire.h"

/* For a bench's table: its procedure, or NULL if this port can never meet these needs. */
#define RTS_RUN(needs, fn) ((needs) & RTS_NEVER ? NULL : (fn))

/*
 * Returns the system's capabilities, for a bench or load that asks for more than its table's needs.
 * Those in RTS_NEVER are known to be missing at compile time, so code that depends on them is
 * dropped.
 */
static inline uint32_t rts_caps(void)
{
    return rts_port_caps() & ~(uint32_t)RTS_NEVER;
}

/*
 * Returns true if the system lacks one of these capabilities; writes why to `reason` (RTS_REASON
 * bytes).
 */
bool rts_caps_lack(uint32_t needs, char *reason);

/* Writes the names of these capabilities as a list. */
void rts_caps_put(rts_wire *w, const char *key, uint32_t caps);

#endif
