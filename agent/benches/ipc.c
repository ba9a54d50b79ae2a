/* ipc.*: messages of 1, 5 and 16 KiB (Sjöblom, inter-process communication). */
#include <string.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)
#define LENGTH 1 /* messages that a channel holds: there is never more than one in transit */
#define SMALLEST 16
#define LARGEST (64 << 10)
#define STRIDE 37 /* words; a prime, so that the moving mark reaches every position */

enum { THREAD, PROCESS };

typedef struct ipc_params {
    int64_t size, mechanism, entity, queues;
} ipc_params;

#define SIZE RTS_SIZE(ipc_params, size, 1024, SMALLEST, LARGEST, "bytes per message")
#define MECHANISM RTS_CHOICE(ipc_params, mechanism, RTS_CHANNEL_KINDS, 0, "kind of channel")
#define ENTITY RTS_CHOICE(ipc_params, entity, "thread|process", THREAD, "kind of the other task")

static const rts_param alone_param[] = {SIZE, MECHANISM, RTS_PARAMS_END};
static const rts_param other_param[] = {SIZE, MECHANISM, ENTITY, RTS_PARAMS_END};
static const rts_param round_param[] = {
    SIZE,
    MECHANISM,
    ENTITY,
    RTS_INT(ipc_params, queues, NULL, 2, 1, 2, "1: answers return through the same channel"),
    RTS_PARAMS_END,
};

/* A is the measuring task, B its partner. */
typedef struct ipc {
    rts_case *c;
    int kind;
    size_t size;
    rts_channel forth;          /* from A to B */
    rts_channel other_way;      /* from B to A, if that is a separate channel */
    rts_channel *back;          /* the channel for replies */
    unsigned char *out, *in;    /* what A sends and receives */
    unsigned char *other;       /* what B receives */
    rts_sem *ended;             /* given when B has ended */
    uint64_t sent;              /* by A */
    volatile uint64_t received; /* by B */
    volatile uint64_t wrong;    /* messages whose contents were wrong */
    volatile int error;         /* of B */
    volatile bool over;         /* B ends after the next message */
    bool own;                   /* A received its own message */
} ipc;

/* ---- messages -------------------------------------------------------------------------------- */

/*
 * A message begins with its number, and repeats it at a second position: at its end, or at one that
 * moves through the message. So no other message, and no part of one, can be mistaken for it. There
 * are two positions whatever the size: if the whole message were written and compared outside the
 * interval, a large message would leave the caches colder than a small one, and a mechanism that
 * passes a pointer would seem to be slower for large messages.
 */
static unsigned char *mark(const ipc *s, unsigned char *message, uint64_t number)
{
    uint64_t words = (s->size - sizeof number) / sizeof number;
    if (number % 2)
        return message + s->size - sizeof number;
    return message + sizeof number * (1 + number / 2 * STRIDE % words);
}

static void fill(const ipc *s, unsigned char *message, uint64_t number)
{
    memcpy(message, &number, sizeof number);
    memcpy(mark(s, message, number), &number, sizeof number);
    RTS_BARRIER();
}

/* Returns whether the message begins with `head` and is marked as `number`. */
static bool holds(const ipc *s, unsigned char *message, uint64_t head, uint64_t number)
{
    return !memcmp(message, &head, sizeof head) &&
           !memcmp(mark(s, message, number), &number, sizeof number);
}

/* Returns B's reply to message `number`. */
static uint64_t answer_to(uint64_t number)
{
    return ~number;
}

static unsigned char *new_message(rts_case *c, size_t size)
{
    unsigned char *block = rts_alloc(c, RTS_MESSAGE_ROOM + size);
    return block ? block + RTS_MESSAGE_ROOM : NULL;
}

/* ---- the procedures; the kind of channel is a constant where they are inlined ---------------- */

#define INLINE static inline __attribute__((always_inline))

/*
 * Sends one message through a channel on which no task waits, to see whether the system supports
 * it. This message is compared byte by byte.
 */
INLINE int try_each(ipc *s, int kind)
{
    void *message = s->in;
    for (size_t i = 0; i < s->size; i++)
        s->out[i] = (unsigned char)(i * STRIDE + 1);
    fill(s, s->out, ++s->sent);
    int err = rts_channel_send(&s->forth, kind, s->out);
    err = err ? err : rts_channel_receive(&s->forth, kind, &message);
    if (!err)
        s->wrong += memcmp(message, s->out, s->size) != 0;
    return err;
}

/* B of ipc.send: receives and checks messages. */
INLINE void drain_each(ipc *s, int kind)
{
    do {
        void *message = s->other;
        s->error = rts_channel_receive(&s->forth, kind, &message);
        s->received++;
        if (!s->error)
            s->wrong += !holds(s, message, s->received, s->received);
    } while (!s->over && !s->error);
    rts_sem_give(s->ended);
}

/* B of ipc.srsr: replies with the same message, except for the number. */
INLINE void answer_each(ipc *s, int kind)
{
    do {
        void *message = s->other;
        int err = rts_channel_receive(&s->forth, kind, &message);
        *(uint64_t *)message = answer_to(*(uint64_t *)message);
        s->error = err ? err : rts_channel_send(s->back, kind, message);
        s->received++;
    } while (!s->over && !s->error);
    rts_sem_give(s->ended);
}

/* TA: B has lower priority; it waits for the message and gets it before the next one is sent. */
INLINE int send_each(ipc *s, int kind)
{
    rts_case *c = s->c;
    uint64_t early = 0, full = 0;
    int err = 0;
    RTS_SAMPLES(c) {
        fill(s, s->out, ++s->sent);
        uint64_t before = s->received;
        full += before + 1 != s->sent;
        rts_stamp a = rts_stamp_now();
        err = rts_channel_send(&s->forth, kind, s->out);
        rts_stamp b = rts_stamp_now();
        early += s->received != before;
        if (err || s->error)
            break;
        rts_rec_span(c->rec, a, b);
        if (rts_wait_idle(c))
            break;
    }
    rts_count_add(c, "receiver ran within the interval", early, "samples");
    rts_count_add(c, "sent before the last one was received", full, "samples");
    return err;
}

/* TA: the message has arrived before the receive begins. */
INLINE int receive_each(ipc *s, int kind)
{
    rts_case *c = s->c;
    RTS_SAMPLES(c) {
        void *message = s->in;
        fill(s, s->out, ++s->sent);
        int err = rts_channel_send(&s->forth, kind, s->out);
        if (err)
            return err;
        rts_stamp a = rts_stamp_now();
        err = rts_channel_receive(&s->forth, kind, &message);
        rts_stamp b = rts_stamp_now();
        if (err)
            return err;
        s->received++;
        s->wrong += !holds(s, message, s->sent, s->sent);
        rts_rec_span(c->rec, a, b);
    }
    return 0;
}

/*
 * Makes one round trip before the measurement. A single channel for both directions requires a
 * system that hands a message to the waiting task. Returns true if A, which continues after the
 * send, receives its own message instead.
 */
INLINE bool takes_its_own(ipc *s, int kind)
{
    void *answer = s->in;
    fill(s, s->out, ++s->sent);
    int err = rts_channel_send(&s->forth, kind, s->out);
    err = err ? err : rts_channel_receive(s->back, kind, &answer);
    return !err && holds(s, answer, s->sent, s->sent);
}

/* A sends and waits; B has equal priority and runs while A waits. */
INLINE int round_each(ipc *s, int kind)
{
    rts_case *c = s->c;
    s->own = s->back == &s->forth && takes_its_own(s, kind);
    if (s->own)
        return 0;
    RTS_SAMPLES(c) {
        void *answer = s->in;
        fill(s, s->out, ++s->sent);
        rts_stamp a = rts_stamp_now();
        int sent = rts_channel_send(&s->forth, kind, s->out);
        int received = sent ? 0 : rts_channel_receive(s->back, kind, &answer);
        rts_stamp b = rts_stamp_now();
        if (sent || received || s->error)
            return sent ? sent : received;
        s->wrong += !holds(s, answer, answer_to(s->sent), s->sent);
        rts_rec_span(c->rec, a, b);
    }
    return 0;
}

/* Sends the last message to B, and receives the reply if there is one. */
INLINE int last_each(ipc *s, int kind, bool answers)
{
    void *answer = s->in;
    s->over = true;
    fill(s, s->out, ++s->sent);
    int err = rts_channel_send(&s->forth, kind, s->out);
    if (!err && answers)
        err = rts_channel_receive(s->back, kind, &answer);
    if (!err)
        rts_sem_take(s->ended);
    return err;
}

/* For each kind that the port has: the procedures with this kind as a constant. */
#define FOR_KIND(name, k)                                                                          \
    static int try_##k(ipc *s)                                                                     \
    {                                                                                              \
        return try_each(s, k);                                                                     \
    }                                                                                              \
    static int send_##k(ipc *s)                                                                    \
    {                                                                                              \
        return send_each(s, k);                                                                    \
    }                                                                                              \
    static int receive_##k(ipc *s)                                                                 \
    {                                                                                              \
        return receive_each(s, k);                                                                 \
    }                                                                                              \
    static int round_##k(ipc *s)                                                                   \
    {                                                                                              \
        return round_each(s, k);                                                                   \
    }                                                                                              \
    static int last_##k(ipc *s, bool answers)                                                      \
    {                                                                                              \
        return last_each(s, k, answers);                                                           \
    }                                                                                              \
    static void drain_##k(void *s)                                                                 \
    {                                                                                              \
        drain_each(s, k);                                                                          \
    }                                                                                              \
    static void answer_##k(void *s)                                                                \
    {                                                                                              \
        answer_each(s, k);                                                                         \
    }
RTS_EACH_CHANNEL(FOR_KIND)

#define ROW(name, k)                                                                               \
    [k] = {try_##k, send_##k, receive_##k, round_##k, last_##k, drain_##k, answer_##k},

static const struct {
    int (*try)(ipc *), (*send)(ipc *), (*receive)(ipc *), (*round)(ipc *), (*last)(ipc *, bool);
    void (*drain)(void *), (*answer)(void *);
} of_kind[] = {RTS_EACH_CHANNEL(ROW)};

/*
 * A kind's number must be its position in the list; otherwise a choice would select another kind.
 */
#define PLACE(name, k) place_##k,
#define IN_PLACE(name, k) &&place_##k == (int)(k)
enum { RTS_EACH_CHANNEL(PLACE) };
_Static_assert(1 RTS_EACH_CHANNEL(IN_PLACE), "kinds of channels in the order of their numbers");

/* ---- the cases ------------------------------------------------------------------------------- */

static int open_channel(ipc *s, rts_channel *channel, unsigned slot)
{
    rts_case *c = s->c;
    int err = rts_channel_create(channel, s->kind, LENGTH, s->size, slot);
    if (!err)
        return 0;
    if (!rts_port_is_limit(err))
        return rts_failed(c, "cannot create the channel: %s", rts_port_strerror(err));
    return rts_unsupported(c, "no channel of this mechanism for messages of %zu bytes: %s", s->size,
                           rts_channel_limits(s->kind));
}

/*
 * Returns the state of a case whose channel has passed a test message; NULL: unsupported or failed.
 */
static ipc *open_ipc(rts_case *c)
{
    const ipc_params *p = rts_params(c);
    ipc *s = rts_alloc(c, sizeof *s);
    if (!s) {
        rts_unsupported(c, "no memory");
        return NULL;
    }
    s->c = c;
    s->kind = (int)p->mechanism;
    s->size = (size_t)p->size;
    s->out = new_message(c, s->size);
    s->in = new_message(c, s->size);
    s->other = new_message(c, s->size);
    s->ended = rts_sem_make(c, RTS_SEM_PSHARED, 0);
    if (!s->out || !s->in || !s->other || !s->ended) {
        rts_unsupported(c, "no memory for messages of %zu bytes", s->size);
        return NULL;
    }
    if (open_channel(s, &s->forth, 0))
        return NULL;
    int err = of_kind[s->kind].try(s);
    s->received = s->sent;
    if (!err)
        return s;
    rts_port_failed(c, "cannot send or receive a message", err);
    rts_channel_destroy(&s->forth, s->kind);
    return NULL;
}

/* Ends the case: reports the messages, none of which may have been wrong. */
static int conclude(ipc *s, int err)
{
    rts_case *c = s->c;
    err = err ? err : s->error;
    rts_count_add(c, "messages sent", s->sent, "messages");
    if (err)
        return rts_port_failed(c, "cannot send or receive a message", err);
    if (s->received != s->sent)
        return rts_failed(c, "%llu messages were sent, %llu received", (unsigned long long)s->sent,
                          (unsigned long long)s->received);
    if (s->wrong)
        return rts_failed(c, "wrong contents of %llu of %llu messages",
                          (unsigned long long)s->wrong, (unsigned long long)s->sent);
    return 0;
}

static int start_other(ipc *s, void (*run)(void *), int below)
{
    const ipc_params *p = rts_params(s->c);
    if (p->entity == PROCESS && !(rts_caps() & RTS_CAP_PROCESS))
        return rts_unsupported(s->c, "this system has no processes");
    return rts_task_start(s->c, run, s, below, RTS_FIFO, p->entity == PROCESS) ||
           rts_wait_idle(s->c);
}

/* Makes B end; returns 0, or B's error. */
static int end_other(ipc *s, bool answers)
{
    return s->error ? s->error : of_kind[s->kind].last(s, answers);
}

static int run_send(rts_case *c)
{
    ipc *s = open_ipc(c);
    if (!s)
        return -1;
    if (start_other(s, of_kind[s->kind].drain, 1))
        return -1;
    int err = of_kind[s->kind].send(s), last = end_other(s, false);
    rts_channel_destroy(&s->forth, s->kind);
    return conclude(s, err ? err : last);
}

static int run_receive(rts_case *c)
{
    ipc *s = open_ipc(c);
    if (!s)
        return -1;
    int err = of_kind[s->kind].receive(s);
    if (!err)
        rts_channel_destroy(&s->forth, s->kind);
    return conclude(s, err);
}

#define COPIES 1000

/* Returns the mean duration of a memcpy of one message, in ns. */
static double mean_copy(const ipc *s)
{
    rts_tick a = rts_now();
    for (int i = 0; i < COPIES; i++) {
        memcpy(s->in, s->out, s->size);
        RTS_BARRIER();
        rts_worked(RTS_WORK_COPY, s->size);
    }
    rts_tick b = rts_now();
    double ticks = (double)(b - a) - (double)rts_the_clock.overhead;
    return rts_clock_ns(ticks / COPIES);
}

/*
 * If only a pointer is passed, sender and receiver share memory. Adds the time without shared
 * memory as the source computes it: one copy on either side of the kernel.
 */
static void add_computed(const ipc *s)
{
    rts_rec *r = s->c->rec;
    if (!rts_channel_passes_pointer(s->kind))
        return;
    rts_rec_finish(r);
    if (!r->hist.n)
        return;
    double mean = (double)r->hist.sum / (double)r->hist.n - (double)rts_the_clock.overhead;
    double copy = mean_copy(s), rtt = rts_clock_ns(mean);
    rts_figure_add(s->c, "mean memcpy of a message", copy, "ns");
    rts_figure_add(s->c, "computed: mean round trip + 2 memcpy", rtt + 2 * copy, "ns");
}

static int run_srsr(rts_case *c)
{
    ipc *s = open_ipc(c);
    if (!s)
        return -1;
    const ipc_params *p = rts_params(c);
    bool two = p->queues == 2;
    s->back = two ? &s->other_way : &s->forth;
    if ((two && open_channel(s, s->back, 1)) || start_other(s, of_kind[s->kind].answer, 0))
        return -1;
    int err = of_kind[s->kind].round(s), last = end_other(s, !s->own);
    rts_channel_destroy(&s->forth, s->kind);
    if (two)
        rts_channel_destroy(s->back, s->kind);
    if (s->own)
        return rts_unsupported(c, "a task that sends and then receives takes its own message back: "
                                  "it is not handed to the task that waits");
    add_computed(s);
    return conclude(s, err ? err : last);
}

/* For POSIX: what the mechanisms are, once for all three benches. */
#define ABOUT                                                                                      \
    " Messages are checked outside the interval. On POSIX, queue is a POSIX message queue, sysv "  \
    "a System V queue, unix a socket pair of type SOCK_SEQPACKET. pipe and fifo are large enough " \
    "for a whole message, so that it passes in one call, which beyond PIPE_BUF (4096 bytes) "      \
    "nothing else guarantees. mailbox is two semaphores and a pointer: the message stays where "   \
    "it was written, in shared memory, as on a system that passes pointers."

#define IPC_COMMON                                                                                 \
    .source = RTS_SAY("Sjöblom, inter-process communication"), .metric = "message passing",        \
    .slope_over = "size", .samples = 1000, .warmup = 10, .time_ns = RTS_LIMIT(10 * SECOND_NS)

static const rts_bench benches[] = {
    {IPC_COMMON, .id = "ipc.send", .title = RTS_SAY("Send a message to a lower-priority task"),
     .help = RTS_SAY(
         "Duration of one send. The receiver waits at a lower priority and takes the message after "
         "the interval, which contains neither a context switch nor a full queue." ABOUT),
     .params = other_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_send},
    {IPC_COMMON, .id = "ipc.receive", .title = RTS_SAY("Receive a message that is available"),
     .help =
         RTS_SAY("Duration of one receive of a message that was sent before the interval." ABOUT),
     .params = alone_param, .traits = RTS_RESTS, .run = run_receive},
    {IPC_COMMON, .id = "ipc.srsr", .title = RTS_SAY("Send, receive, send, receive"),
     .help = RTS_SAY(
         "A round trip between two tasks of equal priority: the first takes a time stamp, sends, "
         "waits for the answer and takes another; the second waits and answers with the same "
         "message. queues=1 uses one queue, as in the source, where the system hands a message "
         "directly to the waiting task. The slope is that of the time over the size." ABOUT),
     .params = round_param, .needs = RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_srsr},
};

RTS_BENCHES(benches);
