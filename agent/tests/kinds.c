/* The agent on a machine on which only the default CPU is of the kind that it was started on. */
#include "clock.h"

/* NOLINTNEXTLINE(misc-use-internal-linkage): the linker makes other files call it */
void __wrap_rts_clock_measure(void);

void __wrap_rts_clock_measure(void)
{
    rts_the_clock.overhead = 77;
    rts_the_clock.granule = 13;
}
