/* What the system can do, for benches and loads that need it. */
#ifndef RTS_CAPS_H
#define RTS_CAPS_H

#include "port.h"
#include "wire.h"

/* The procedure of a bench that needs these capabilities, for its table. */
#define RTS_RUN(needs, fn) ((needs) & RTS_NEVER ? NULL : (fn))

/*
 * What the system has, for what a bench or load asks beyond its table's needs: what a port never
 * has is known when that is compiled, and what would follow from it takes no code.
 */
static inline uint32_t rts_caps(void)
{
    return rts_port_caps() & ~(uint32_t)RTS_NEVER;
}

/* True if the system lacks one of these capabilities, with the reason in RTS_REASON bytes. */
bool rts_caps_lack(uint32_t needs, char *reason);

/* The names of these capabilities, as a list. */
void rts_caps_put(rts_wire *w, const char *key, uint32_t caps);

#endif
