/* Input and output lines, and the signals that stop the agent. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <termios.h>

#include "posix.h"

/* ---- lines ------------------------------------------------------------------------------- */

static char out[65536];
static size_t out_used;
static volatile sig_atomic_t stopped;
static bool unheard; /* nothing reads the records any more */

static void write_out(void)
{
    for (size_t done = 0; done < out_used && !unheard;) {
        ssize_t n = write(STDOUT_FILENO, out + done, out_used - done);
        unheard = n < 0 && errno != EINTR;
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

int rts_port_getline(char *line, size_t size)
{
    size_t used = 0;
    for (;;) {
        char c;
        ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR && !rts_port_stopped())
            continue;
        if (n <= 0 && (n < 0 || !used))
            return -1;
        if (n == 0 || c == '\n')
            break;
        if (used < size - 1)
            line[used] = c;
        used++;
    }
    line[used < size ? used : size - 1] = '\0';
    return (int)used;
}

/* ---- signals ----------------------------------------------------------------------------- */

static void on_stop(int signal)
{
    (void)signal;
    stopped = 1;
}

bool posix_unheard(void)
{
    return unheard;
}

bool rts_port_stopped(void)
{
    return stopped != 0;
}

/* A handler without SA_RESTART, so that it interrupts waiting for the next command. */
void posix_set_signals(void)
{
    struct sigaction stop = {.sa_handler = on_stop};
    sigset_t child;
    signal(SIGPIPE, SIG_IGN); /* a closed pipe shows as an error instead */
    signal(SIGCHLD, SIG_DFL); /* if it were ignored, children could not be waited for */
    sigaction(SIGTERM, &stop, NULL);
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGHUP, &stop, NULL);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
}

bool posix_await_child(int timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    return sigtimedwait(&child, NULL, &timeout) >= 0 || errno == EINTR;
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
