/*
 * posix.sig.*: signals that a task sends to its own process, in which no other thread accepts them.
 */
#include <pthread.h>
#include <signal.h>

#include "../metric.h"

#define GROUP "signal exchange"
#define NEEDS (RTS_CAP_POSIX | RTS_CAP_SIGNALS)

static const struct timespec at_once;

/* Blocks or unblocks the measured signal; `set` receives it. */
static void mask_signal(int how, sigset_t *set)
{
    sigemptyset(set);
    sigaddset(set, SIGRTMIN);
    pthread_sigmask(how, set, NULL);
}

/* ---- queued signals -------------------------------------------------------------------------- */

/* Signals sent and received; each carries its number. */
typedef struct traffic {
    sigset_t set;
    pid_t self;
    int sent, received, refused;
    int wrong; /* received, but not the next in order */
} traffic;

static traffic open_traffic(void)
{
    traffic t = {.self = getpid()};
    mask_signal(SIG_BLOCK, &t.set);
    return t;
}

static inline void send_next(traffic *t)
{
    union sigval number = {.sival_int = t->sent++};
    t->refused |= sigqueue(t->self, SIGRTMIN, number);
}

static inline void check_value(traffic *t, const siginfo_t *info)
{
    t->wrong += info->si_value.sival_int != t->received - 1;
}

/* Accepts all pending signals. */
static void drain(traffic *t)
{
    siginfo_t info;
    while (sigtimedwait(&t->set, &info, &at_once) == SIGRTMIN) {
        t->received++;
        check_value(t, &info);
    }
}

static int report(rts_case *c, traffic *t)
{
    if (t->refused)
        return rts_unsupported(c, "%llu signals cannot be queued at once (ulimit -i)",
                               (unsigned long long)c->batch);
    rts_figure_add(c, "signals sent", t->sent, "signals");
    rts_figure_add(c, "signals received", t->received, "signals");
    rts_figure_add(c, "out of order", t->wrong, "signals");
    return 0;
}

static int run_send(rts_case *c)
{
    traffic t = open_traffic();
    RTS_SAMPLES(c) {
        RTS_TIMED(c, send_next(&t));
        drain(&t);
        if (t.refused)
            break;
    }
    return report(c, &t);
}

static int run_accept(rts_case *c)
{
    traffic t = open_traffic();
    siginfo_t info;
    RTS_SAMPLES(c) {
        for (unsigned i = 0; i < c->batch; i++)
            send_next(&t);
        if (t.refused) {
            drain(&t);
            break;
        }
        RTS_TIMED(c, t.received += sigtimedwait(&t.set, &info, &at_once) == SIGRTMIN);
        check_value(&t, &info); /* the last of the batch */
    }
    return report(c, &t);
}

/* ---- a handler ------------------------------------------------------------------------------- */

static volatile rts_tick handler_end;
static volatile uint64_t handled;

static void handler(int signal)
{
    handler_end = rts_now();
    (void)signal;
    handled++;
}

/* Restores the action of the measured signal. */
static void set_action(void (*action)(int))
{
    struct sigaction act = {.sa_handler = action};
    sigaction(SIGRTMIN, &act, NULL);
}

static int run_handler(rts_case *c)
{
    sigset_t set;
    uint64_t sent = 0, late = 0;
    pid_t self = getpid();
    handled = 0;
    set_action(handler);
    mask_signal(SIG_UNBLOCK, &set);
    RTS_SAMPLES(c) {
        rts_tick a = rts_now();
        kill(self, SIGRTMIN);
        if (handled != ++sent) { /* POSIX requires it to be handled before kill() returns */
            late++;
            while (handled != sent)
                rts_yield();
        }
        rts_rec_add(c->rec, handler_end - a, handler_end);
    }
    set_action(SIG_DFL);
    rts_count_add(c, "signals sent", sent, "signals");
    rts_count_add(c, "signals received", handled, "signals");
    rts_count_add(c, "not handled when kill returned", late, "signals");
    return 0;
}

/* ---- mask and action ------------------------------------------------------------------------- */

static int run_mask(rts_case *c)
{
    sigset_t mask[2], now;
    uint64_t i = 0, wrong = 0;
    int bad = 0;
    mask_signal(SIG_UNBLOCK, &now);
    pthread_sigmask(SIG_BLOCK, NULL, &mask[0]);
    mask[1] = mask[0];
    sigaddset(&mask[1], SIGRTMIN);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, bad |= pthread_sigmask(SIG_SETMASK, &mask[i++ & 1], NULL));
        pthread_sigmask(SIG_BLOCK, NULL, &now);
        wrong += sigismember(&now, SIGRTMIN) != (int)((i - 1) & 1);
    }
    if (bad || wrong)
        return rts_failed(c, "the mask of signals was not as it was set");
    return 0;
}

static int run_action(rts_case *c)
{
    struct sigaction act[2] = {{.sa_handler = SIG_IGN}, {.sa_handler = handler}}, now;
    uint64_t i = 0, wrong = 0;
    int bad = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, bad |= sigaction(SIGRTMIN, &act[i++ & 1], NULL));
        sigaction(SIGRTMIN, NULL, &now);
        wrong += now.sa_handler != act[(i - 1) & 1].sa_handler;
    }
    set_action(SIG_DFL);
    if (bad || wrong)
        return rts_failed(c, "the action of a signal was not as it was set");
    return 0;
}

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.sig.send", .metric = GROUP, .title = RTS_SAY("Queue a signal"),
     .help = RTS_SAY("Duration of sigqueue to the process itself, which blocks the signal."),
     .needs = NEEDS, .traits = ALONE, .run = run_send},
    {METRIC_COMMON, .id = "posix.sig.accept", .metric = GROUP,
     .title = RTS_SAY("Accept a signal that is pending"),
     .help =
         RTS_SAY("Duration of sigtimedwait, without waiting, for a signal that was queued before."),
     .needs = NEEDS, .traits = ALONE, .run = run_accept},
    {METRIC_COMMON, .id = "posix.sig.handler", .metric = GROUP, .title = RTS_SAY("Handle a signal"),
     .help = RTS_SAY("From the time stamp before kill to the process itself to the first statement "
                     "of the handler, which runs before kill returns."),
     .needs = NEEDS, .traits = RTS_RESTS, .run = run_handler},
    {METRIC_COMMON, .id = "posix.sig.mask", .metric = GROUP,
     .title = RTS_SAY("Block or unblock a signal"),
     .help = RTS_SAY("Duration of pthread_sigmask (sigprocmask of a process with threads), "
                     "alternately blocking and unblocking one signal."),
     .needs = NEEDS, .traits = ALONE, .run = run_mask},
    {METRIC_COMMON, .id = "posix.sig.action", .metric = GROUP,
     .title = RTS_SAY("Set the action of a signal"),
     .help = RTS_SAY("Duration of sigaction, alternately setting a handler and SIG_IGN."),
     .needs = NEEDS, .traits = ALONE, .run = run_action},
};

RTS_BENCHES(benches);
