/*
 * sys.footprint: the memory that system and agent use (Sjöblom considers it when choosing a system;
 * Obenland gives 97 KB for a kernel).
 */
#include "bench.h"

#ifdef RTS_FOOTPRINT
static void put(void *to, const char *name, double bytes)
{
    rts_figure_add(to, name, bytes, "B");
}

static int run_footprint(rts_case *c)
{
    rts_port_footprint(put, c);
    return c->status == RTS_S_OK && !c->figures ? rts_failed(c, "nothing of it is known") : 0;
}
#define RUN run_footprint
#else
#define RUN NULL
#endif

static const rts_bench benches[] = {
    {.id = "sys.footprint",
     .title = RTS_SAY("Memory footprint of the system"),
     .source = RTS_SAY("Sjöblom, chapter 1; Obenland"),
     .help = RTS_SAY(
         "Bytes of memory: for the image of a board its code, data and heap; for Linux the memory "
         "in use, the kernel's code and data where the system reports them (to root), and the "
         "agent's own program. It is measured when the case runs and includes agent and case: run "
         "alone and first, it shows what the system uses after boot. There are no samples."),
     .needs = RTS_CAP_FOOTPRINT,
     .traits = RTS_NO_SAMPLES,
     .samples = 1,
     .run = RUN},
};

RTS_BENCHES(benches);
