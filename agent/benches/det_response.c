/* det.response: does a fixed amount of work always take the same time (Obenland, table 8)? */
#include <string.h>

#include "bench.h"
#include "whetstone.h"

#define SECOND_NS INT64_C(1000000000)
#define TRIES 10
/* two buffers have to fit */
#define COPY_BYTES (RTS_STATE_BYTES < (256u << 10) ? RTS_STATE_BYTES / 4 : 64u << 10)

enum { ADD, COPY, WHET };

typedef struct response_params {
    int64_t work, block;
} response_params;

static const rts_param response_param[] = {
    RTS_CHOICE(response_params, work, "add|copy|whet", ADD,
               "integer additions, copies of memory, or the small Whetstone"),
    RTS_DURATION(response_params, block, 10000000, 100000, SECOND_NS / 10,
                 "duration that the block is calibrated to: that of the shortest of 10 tries"),
    RTS_PARAMS_END,
};

typedef struct block {
    int64_t work;
    uint64_t count; /* number of repetitions of the piece of work */
    unsigned char *from, *to;
    bool wrong;
} block;

static void carry_out(block *b)
{
    switch (b->work) {
    case ADD:
        rts_additions(b->count);
        break;
    case COPY:
        for (uint64_t i = 0; i < b->count; i++) {
            memcpy(b->to, b->from, COPY_BYTES);
            RTS_BARRIER();
        }
        rts_worked(RTS_WORK_COPY, b->count * COPY_BYTES);
        break;
    default:
        b->wrong |= !rts_whetstone(b->count);
    }
}

/*
 * Returns the shortest of several tries; rests after each, to stay below the RT throttling limit.
 */
static rts_tick shortest_of(block *b, int tries)
{
    rts_tick shortest = UINT64_MAX;
    while (tries-- > 0) {
        rts_tick begin = rts_time(), start = rts_now();
        carry_out(b);
        rts_tick took = rts_now() - start;
        shortest = took < shortest ? took : shortest;
        rts_tick end = rts_time();
        if (end - begin > RTS_TIME_HZ / 1000)
            rts_sleep_until(end + (end - begin) / 8);
    }
    return shortest > rts_the_clock.overhead ? shortest - rts_the_clock.overhead : 0;
}

/* A larger count is not tried: any of these kinds of work takes seconds at this one. */
#define MOST (UINT64_C(1) << 34)

/*
 * Finds the count with which the shortest of 10 tries takes `wanted` ticks, and returns that time.
 * 0: the clock stands still. If the count is 0, a single piece takes longer than that.
 */
static rts_tick calibrate(block *b, rts_tick wanted)
{
    for (b->count = 1; shortest_of(b, 1) < wanted / 16; b->count *= 2)
        if (b->count > MOST)
            return 0;
    rts_tick took = 0;
    for (int round = 0; round < 3; round++) {
        took = shortest_of(b, TRIES);
        double ratio = (double)wanted / (double)took;
        if (ratio > 0.999 && ratio < 1.001)
            break;
        b->count = (uint64_t)((double)b->count * ratio + 0.5);
        if (!b->count)
            return 0;
        took = 0;
    }
    return took ? took : shortest_of(b, TRIES);
}

static int get_memory(rts_case *c, block *b)
{
    b->from = rts_alloc(c, COPY_BYTES);
    b->to = rts_alloc(c, COPY_BYTES);
    if (!b->from || !b->to)
        return rts_unsupported(c, "no memory to copy");
    memset(b->from, 1, COPY_BYTES);
    memset(b->to, 2, COPY_BYTES);
    return 0;
}

static int run_response(rts_case *c)
{
    const response_params *p = rts_params(c);
    rts_tick wanted = rts_ns_to_ticks((uint64_t)p->block, rts_the_clock.hz);
    block b = {.work = p->work};
    if (p->work == COPY && get_memory(c, &b))
        return -1;
    rts_port_load_pause(true); /* calibrated on the unloaded system */
    rts_tick took = calibrate(&b, wanted);
    rts_port_load_pause(false);
    if (!b.count)
        return rts_unsupported(c, "one piece of this work takes longer than the block");
    if (!took)
        return rts_failed(c, "the clock does not go on while work is done");
    RTS_SAMPLES(c) {
        rts_stamp start = rts_stamp_now();
        carry_out(&b);
        rts_stamp end = rts_stamp_now();
        rts_rec_span(c->rec, start, end);
    }
    rts_rec_finish(c->rec);
    if (b.wrong)
        return rts_failed(c, "the Whetstone's result was wrong");
    rts_count_add(c, "pieces of work in a block", b.count, "pieces");
    rts_figure_add(c, "shortest of 10 tries", rts_clock_ns((double)took), "ns");
    rts_figure_add(c, "stretch", (double)c->rec->hist.max / (double)wanted, "(largest / block)");
    return 0;
}

static const rts_bench benches[] = {
    {.id = "det.response",
     .title = RTS_SAY("Response time of a fixed piece of work"),
     .source = RTS_SAY("Obenland, table 8"),
     .help = RTS_SAY(
         "A block of work, calibrated to take `block`, between two time stamps. Anything that "
         "takes the CPU or slows it down stretches the block."),
     .params = response_param,
     .traits = RTS_RESTS,
     .samples = 1000,
     .warmup = 2,
     .time_ns = RTS_LIMIT(30 * SECOND_NS),
     .run = run_response},
};

RTS_BENCHES(benches);
