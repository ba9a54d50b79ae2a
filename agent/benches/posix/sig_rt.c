/* sig.rt: latency of a real-time signal between two processes (Obenland, figure 10). */
#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "bench.h"

#define SECOND_NS INT64_C(1000000000)

enum { LEVEL_RECEIVER, LEVEL_SENDER };
enum { HANDLER, SIGWAITINFO };
enum { LAST = -1 }; /* the value of the signal that ends the receiver */

typedef struct signal_params {
    int64_t by, pace;
} signal_params;

static const rts_param signal_param[] = {
    RTS_CHOICE(signal_params, by, "handler|sigwaitinfo", HANDLER,
               "how the receiver gets the signal"),
    RTS_DURATION(signal_params, pace, 1000000, 0, SECOND_NS, "time between two signals; 0: none"),
    RTS_PARAMS_END,
};

/* Shared by both processes. */
typedef struct wire {
    bool by_handler;
    rts_sem *ready;
    volatile pid_t receiver;
    volatile rts_tick end;
    volatile uint64_t received, wrong;
    volatile bool over; /* used by the receiver only */
} wire;

static wire *the_wire; /* of the receiver, whose handler has no argument */

static void note(wire *w, const siginfo_t *info)
{
    w->over = info->si_code == SI_QUEUE && info->si_value.sival_int == LAST;
    w->wrong +=
        !w->over && (info->si_code != SI_QUEUE || info->si_value.sival_int != (int)w->received);
    w->received++;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    the_wire->end = rts_now(); /* the first statement */
    (void)number, (void)context;
    note(the_wire, info);
}

static void receiver(void *arg)
{
    wire *w = arg;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigset_t set, open;
    the_wire = w;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, &open);
    sigdelset(&open, SIGRTMIN);
    sigaction(SIGRTMIN, &action, NULL);
    w->receiver = getpid();
    rts_sem_give(w->ready);
    while (!w->over) {
        siginfo_t info;
        if (w->by_handler) {
            sigsuspend(&open);
        } else if (sigwaitinfo(&set, &info) > 0) {
            w->end = rts_now();
            note(w, &info);
        }
    }
}

static int queue_signal(const wire *w, int number)
{
    union sigval value = {.sival_int = number};
    return sigqueue(w->receiver, SIGRTMIN, value) ? -errno : 0;
}

/* Waits until `number` signals have been received; returns false after a second. */
static bool await(const wire *w, uint64_t number)
{
    rts_tick limit = rts_time() + RTS_TIME_HZ;
    while (w->received < number)
        if (rts_time() > limit)
            return false;
        else
            rts_yield();
    return true;
}

static int exchange(rts_case *c, wire *w, rts_tick pace)
{
    uint64_t number = 0, late = 0;
    rts_tick next = rts_time();
    RTS_SAMPLES(c) {
        rts_tick start = rts_now();
        int err = queue_signal(w, (int)number++);
        late += w->received != number;
        if (err)
            return rts_port_failed(c, "cannot send a signal", err);
        if (!await(w, number))
            return rts_failed(c, "signal %llu did not arrive within a second",
                              (unsigned long long)number);
        rts_rec_add(c->rec, w->end - start, w->end);
        next += pace;
        if (pace)
            rts_sleep_until(next);
    }
    queue_signal(w, LAST);
    await(w, ++number);
    if (c->common.config != RTS_2CPU) /* otherwise the receiver has a CPU of its own */
        rts_count_add(c, "receiver did not preempt", late, "signals");
    if (w->wrong || w->received != number)
        return rts_failed(c, "of %llu signals %llu came, %llu of them not in order",
                          (unsigned long long)number, (unsigned long long)w->received,
                          (unsigned long long)w->wrong);
    return 0;
}

static int run_signal(rts_case *c)
{
    const signal_params *p = rts_params(c);
    wire *w = rts_alloc(c, sizeof *w);
    if (!w || !(w->ready = rts_sem_make(c, RTS_SEM_PSHARED, 0)))
        return -1;
    w->by_handler = p->by == HANDLER;
    if (rts_own_level(c, LEVEL_SENDER, RTS_FIFO) ||
        rts_task_start(c, receiver, w, LEVEL_RECEIVER, RTS_FIFO, true))
        return -1;
    rts_sem_take(w->ready);
    if (c->job.stop_requested)
        return -1;
    int err = exchange(c, w, rts_ns_to_ticks((uint64_t)p->pace, RTS_TIME_HZ));
    if (err)
        kill(w->receiver, SIGKILL); /* it would wait forever */
    return err;
}

static const rts_bench benches[] = {
    {.id = "sig.rt",
     .title = RTS_SAY("Real-time signal between two processes"),
     .source = RTS_SAY("Obenland, figure 10"),
     .help =
         RTS_SAY("A process queues SIGRTMIN to a higher-priority one: from the time stamp before "
                 "sigqueue() to the first statement of the handler, or after sigwaitinfo()."),
     .metric = "signal exchange",
     .params = signal_param,
     .needs = RTS_CAP_SIGNALS | RTS_CAP_PROCESS | RTS_CAP_PRIORITIES,
     .samples = RTS_SAMPLES_DEFAULT,
     .warmup = 10,
     .time_ns = RTS_LIMIT(30 * SECOND_NS),
     .run = run_signal},
};

RTS_BENCHES(benches);
