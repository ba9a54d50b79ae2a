/* A port to a system that has what POSIX requires, and nothing more. */
#ifndef RTS_PORT_TYPES_H
#define RTS_PORT_TYPES_H

#include "posix_types.h"

#define RTS_PRIO_MIN 1
#define RTS_PRIO_MAX 31 /* POSIX has at least 32, and the last is for the watchdog */

#endif
