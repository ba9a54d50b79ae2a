#ifndef RTS_PORT_INLINE_H
#define RTS_PORT_INLINE_H

#include "posix_inline.h"

#endif
