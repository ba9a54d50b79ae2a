/* Shared by loads that change what users of the machine may notice. */
#ifndef RTS_LOAD_ALLOW_H
#define RTS_LOAD_ALLOW_H

#include "linux.h"
#include "load.h"

/* The source of the four loads that may need it. */
#define RTS_LOAD_MORTON "Dankwardt, actions that mask interrupts for long, after Morton"

/* Parameter `allow` of a struct that has this member. */
#define RTS_LOAD_ALLOW(S, change)                                                                  \
    RTS_BOOL(S, allow, 0,                                                                          \
             "allow it to " change " (rtstone run --yes); a guest of the lab, which nobody else "  \
             "uses, needs no permission")

/* Returns whether it may, by its parameter or because the guest runs nothing but the agent. */
static inline bool rts_load_may(int64_t allow)
{
    return allow || linux_start.guest;
}

#endif
