/* Input and output, the signals that stop the agent, and the lease. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <termios.h>

#include "host.h"
#include "posix.h"

/* ---- output ------------------------------------------------------------------------------ */

static char out[65536];
static size_t out_used;
static volatile sig_atomic_t stopped;
static volatile sig_atomic_t unheard; /* nobody reads the records any more */

static void write_out(void)
{
    for (size_t done = 0; done < out_used && !unheard;) {
        ssize_t n = write(STDOUT_FILENO, out + done, out_used - done);
        if (n < 0 && errno != EINTR)
            unheard = 1;
        done += n > 0 ? (size_t)n : 0;
    }
    if (unheard)
        stopped = 1; /* ends as if asked to, so that it cleans up */
    out_used = 0;
}

void rts_port_put(const char *bytes, size_t n)
{
    if (n > sizeof out - out_used)
        write_out();
    memcpy(out + out_used, bytes, n);
    out_used += n;
}

void rts_port_flush(void)
{
    write_out();
    if (posix_option.drain)
        tcdrain(STDOUT_FILENO);
}

/* ---- input and signals ------------------------------------------------------------------- */

static struct {
    char bytes[512];
    size_t n, read;
    bool ended;
} in;

/* Signals that end a wait: all others may be blocked while there is something to do. */
static sigset_t waiting_mask;

/*
 * Waits until there is input, if it is wanted, a signal arrives, or the time has passed. Returns a
 * positive number, a negative one or 0.
 */
static int await_input(bool wanted, uint64_t timeout_ns)
{
    fd_set set;
    struct timespec timeout = {(time_t)(timeout_ns / 1000000000), (long)(timeout_ns % 1000000000)};
    FD_ZERO(&set);
    if (wanted)
        FD_SET(STDIN_FILENO, &set);
    return pselect(STDIN_FILENO + 1, &set, NULL, NULL, &timeout, &waiting_mask);
}

#define LONGEST_WAIT_NS (3600 * UINT64_C(1000000000))

/* Reads what there is into the empty buffer; waits for it until then at most. */
static void fill(rts_tick until)
{
    for (;;) {
        rts_tick now = rts_time();
        uint64_t left = until > now ? until - now : 0;
        bool ready = await_input(true, left < LONGEST_WAIT_NS ? left : LONGEST_WAIT_NS) > 0;
        ssize_t n = ready ? read(STDIN_FILENO, in.bytes, sizeof in.bytes) : -1;
        in.ended = n == 0 || (n < 0 && ready && errno != EINTR && errno != EAGAIN);
        in.n = n > 0 ? (size_t)n : 0;
        in.read = 0;
        if (in.n || in.ended || stopped || !left)
            return;
    }
}

int rts_port_getchar(rts_tick until)
{
    if (in.read == in.n && !in.ended)
        fill(until);
    if (in.read < in.n)
        return (unsigned char)in.bytes[in.read++];
    return in.ended || stopped ? RTS_END_OF_INPUT : RTS_NOTHING;
}

static void on_stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static void on_child(int signal)
{
    (void)signal; /* it only ends a wait */
}

bool posix_unheard(void)
{
    return unheard;
}

bool rts_port_stopped(void)
{
    return stopped != 0;
}

/* Handlers without SA_RESTART, so that they interrupt everything; pselect() is never restarted. */
void posix_set_signals(void)
{
    struct sigaction stop = {.sa_handler = on_stop};
    struct sigaction child = {.sa_handler = on_child, .sa_flags = SA_RESTART};
    sigset_t blocked;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as an error instead */
    sigaction(SIGCHLD, &child, NULL);
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &waiting_mask);
    sigdelset(&waiting_mask, SIGCHLD);
    sigaddset(&waiting_mask, POSIX_WATCHDOG_SIGNAL);
}

/* A request to stop is pending until pselect(), or it could come just before it and end no wait. */
bool posix_await_child(int timeout_ms, bool stopping)
{
    bool listen = rts_host_listens() && in.read == in.n && !in.ended;
    sigset_t stops, before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGTERM);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGHUP);
    sigaddset(&stops, SIGALRM);
    sigprocmask(SIG_BLOCK, &stops, &before);
    bool woken = (stopped && !stopping) || await_input(listen, (uint64_t)timeout_ms * 1000000);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return woken;
}

/* ---- the lease --------------------------------------------------------------------------- */

#define LAST_GRACE_S 10

/* The second time it kills, also an agent that does not come to its end. */
static void on_expiry(int signal_)
{
    (void)signal_;
    signal(SIGALRM, SIG_DFL);
    alarm(LAST_GRACE_S);
    unheard = stopped = 1;
}

/* A timer of the kernel, as the agent may be waiting for room in a pipe that nobody reads. */
bool rts_port_lease(uint64_t ms)
{
    struct sigaction expiry = {.sa_handler = on_expiry};
    struct itimerval timer = {.it_value = {(time_t)(ms / 1000), (suseconds_t)(ms % 1000 * 1000)}};
    sigaction(SIGALRM, &expiry, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    return true;
}

/* ---- hello ------------------------------------------------------------------------------- */

void rts_port_hello(rts_wire *w)
{
    struct utsname u;
    char os[256];
    uname(&u);
    snprintf(os, sizeof os, "%s %s", u.sysname, u.release);
    rts_wire_str(w, "port", "posix");
    rts_wire_str(w, "os", os);
    rts_wire_str(w, "arch", u.machine);
}
