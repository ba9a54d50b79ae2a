/* mq.latency, mq.throughput: the system's message queues (Obenland, table 10). */
#include <stdatomic.h>
#include <string.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define LENGTH 10 /* messages that fit in the queue: the limit for unprivileged users of Linux */

enum { THREAD, PROCESS };

typedef struct queue_params {
    int64_t entity, size, messages;
} queue_params;

/* The start of every message. */
typedef struct head {
    rts_tick sent;
    uint64_t number;
    bool last;
} head;

typedef struct traffic {
    rts_case *c;
    rts_queue queue;
    rts_sem *done; /* given when the receiver has a complete block */
    size_t size;
    uint64_t block;
    unsigned char *out, *in; /* messages of sender and receiver */
    rts_stamp sent, end;
    uint64_t taken, wrong; /* messages; the receiver's */
    atomic_uint received;  /* the same modulo 2^32: what the receiver wrote before is then there */
} traffic;

/* Returns whether the receiver has taken that many messages, and no others are under way. */
static bool has_received(traffic *t, uint64_t number)
{
    return atomic_load_explicit(&t->received, memory_order_acquire) == (unsigned)number;
}

static head *head_of(unsigned char *message)
{
    return (head *)(void *)message;
}

/* Checks that messages are complete and in order; returns true if this was the last one. */
static bool take_message(traffic *t)
{
    rts_queue_receive(&t->queue, t->in);
    t->end = rts_stamp_now();
    const head *h = head_of(t->in);
    t->wrong += h->number != t->taken || t->in[t->size - 1] != (unsigned char)h->number;
    t->sent = h->sent;
    bool last = h->last;
    /* After this the sender may destroy the queue. */
    atomic_store_explicit(&t->received, (unsigned)++t->taken, memory_order_release);
    return last;
}

static void send_message(traffic *t, uint64_t number, bool last)
{
    head *h = head_of(t->out);
    h->number = number;
    h->last = last;
    t->out[t->size - 1] = (unsigned char)number;
    h->sent = rts_stamp_now();
    rts_queue_send(&t->queue, t->out);
}

static traffic *prepare(rts_case *c, const queue_params *p)
{
    traffic *t = rts_alloc(c, sizeof *t);
    if (p->entity == PROCESS && !(rts_caps() & RTS_CAP_PROCESS)) {
        rts_unsupported(c, "this system has no processes");
        return NULL;
    }
    if (!t)
        return NULL;
    t->c = c;
    t->size = (size_t)p->size;
    t->out = rts_alloc(c, t->size);
    t->in = rts_alloc(c, t->size);
    t->done = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!t->out || !t->in || !t->done) {
        rts_unsupported(c, "no memory for messages");
        return NULL;
    }
    memset(t->out, 0, t->size);
    memset(t->in, 0, t->size);
    int err = rts_queue_create(&t->queue, LENGTH, t->size, c->slot++);
    if (err) {
        rts_port_failed(c, "cannot create a message queue of 10 such messages", err);
        return NULL;
    }
    return t;
}

/* Makes the receiver end, and reports wrong messages. */
static int finish(rts_case *c, traffic *t, uint64_t number)
{
    send_message(t, number, true);
    while (!has_received(t, number + 1) && !c->job.stop_requested)
        rts_sleep_until(rts_time() + RTS_TIME_HZ / 1000);
    uint64_t received = t->taken, wrong = t->wrong;
    rts_queue_destroy(&t->queue);
    if (wrong || (received != number + 1 && !c->job.stop_requested))
        return rts_failed(c, "of %llu messages %llu came, %llu of them not as they were sent",
                          (unsigned long long)number + 1, (unsigned long long)received,
                          (unsigned long long)wrong);
    return 0;
}

/* ---- latency --------------------------------------------------------------------------------- */

enum { LEVEL_RECEIVER, LEVEL_SENDER };

static void receiver(void *arg)
{
    traffic *t = arg;
    while (!take_message(t))
        ;
}

/* The receiver has higher priority and waits: from the stamp in the message to its return. */
static int run_latency(rts_case *c)
{
    const queue_params *p = rts_params(c);
    traffic *t = prepare(c, p);
    if (!t || rts_own_level(c, LEVEL_SENDER, RTS_FIFO) ||
        rts_task_start(c, receiver, t, LEVEL_RECEIVER, RTS_FIFO, p->entity == PROCESS) ||
        (c->common.config != RTS_2CPU && rts_wait_idle(c)))
        return -1;
    uint64_t number = 0, late = 0;
    RTS_SAMPLES(c) {
        if (c->common.config == RTS_2CPU) /* until the receiver waits again */
            rts_sleep_until(rts_time() + RTS_TIME_HZ / 10000);
        send_message(t, number++, false);
        if (!has_received(t, number)) { /* the receiver did not run at once */
            late++;
            while (!has_received(t, number))
                rts_yield();
        }
        rts_rec_span(c->rec, t->sent, t->end);
    }
    if (c->common.config != RTS_2CPU) /* otherwise the receiver has a CPU of its own */
        rts_count_add(c, "receiver did not preempt", late, "messages");
    return finish(c, t, number);
}

/* ---- throughput ------------------------------------------------------------------------------ */

static void block_receiver(void *arg)
{
    traffic *t = arg;
    while (!take_message(t))
        if (t->taken % t->block == 0)
            rts_sem_give(t->done);
}

/* Adds a rate in MB/s; a MB is 10^6 bytes. */
static void add_rate(rts_case *c, const char *name, double bytes, double ticks)
{
    rts_figure_add(c, name, ticks > 0 ? bytes * (double)rts_the_clock.hz / ticks / 1e6 : 0, "MB/s");
}

/* Both tasks have equal priority; a block ends when its last message has been received. */
static int run_throughput(rts_case *c)
{
    const queue_params *p = rts_params(c);
    traffic *t = prepare(c, p);
    if (!t)
        return -1;
    t->block = (uint64_t)p->messages;
    if (rts_task_start(c, block_receiver, t, 0, RTS_FIFO, p->entity == PROCESS))
        return -1;
    uint64_t number = 0;
    RTS_SAMPLES(c) {
        rts_stamp start = rts_stamp_now();
        for (uint64_t i = 0; i < t->block; i++)
            send_message(t, number++, false);
        rts_sem_take(t->done);
        rts_rec_span(c->rec, start, t->end);
    }
    rts_rec_finish(c->rec);
    const rts_hist *h = &c->rec->hist;
    double bytes = (double)p->size * (double)p->messages;
    add_rate(c, "worst block", bytes, (double)h->max);
    add_rate(c, "average", bytes * (double)h->n, (double)h->sum);
    return finish(c, t, number);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ENTITY RTS_CHOICE(queue_params, entity, "thread|process", THREAD, "kind of the receiver")
#define SIZE(def) RTS_SIZE(queue_params, size, def, sizeof(head) + 1, 64 << 10, "size of a message")

static const rts_param latency_param[] = {ENTITY, SIZE(64), RTS_PARAMS_END};
static const rts_param throughput_param[] = {
    ENTITY,
    SIZE(1024),
    RTS_INT(queue_params, messages, "message", 1000, 1, 1000000, "messages in a block"),
    RTS_PARAMS_END,
};

static const rts_bench benches[] = {
    {.id = "mq.latency",
     .title = RTS_SAY("Latency of a message queue"),
     .source = RTS_SAY("Obenland, table 10"),
     .help = RTS_SAY("A task sends to a waiting task of higher priority: from the time stamp in "
                     "the message, taken before the send, to the return of the receive."),
     .metric = "message passing",
     .params = latency_param,
     .needs = RTS_CAP_PRIORITIES,
     .traits = RTS_RESTS,
     .samples = 1000,
     .warmup = 10,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_latency},
    {.id = "mq.throughput",
     .title = RTS_SAY("Throughput of a message queue"),
     .source = RTS_SAY("Obenland, table 10"),
     .help = RTS_SAY("Two tasks of equal priority and a queue of 10 messages: a sample is the time "
                     "from before the first send of a block to the return of its last receive. The "
                     "figures are the rates of the worst block and of all blocks."),
     .metric = "message passing",
     .params = throughput_param,
     .traits = RTS_RESTS,
     .slope_over = "size",
     .samples = 100,
     .warmup = 2,
     .time_ns = RTS_LIMIT(10 * SECOND_NS),
     .run = run_throughput},
};

RTS_BENCHES(benches);
