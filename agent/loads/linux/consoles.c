/*
 * Two of the actions that mask interrupts for long (Dankwardt, after Morton): scrolling
 * a virtual console, and switching to another one.
 *
 * A process apart from the agent (restore.h) switches back to the console that was visible and
 * gives up the one that was used, however the load ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kd.h>
#include <linux/vt.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "allow.h"
#include "linux.h"
#include "restore.h"

typedef struct console_params {
    int64_t allow;
} console_params;

static const rts_param console_param[] = {
    RTS_LOAD_ALLOW(console_params, "switch what the machine's screen shows"),
    RTS_PARAMS_END,
};

#define TTY_MAJOR 4
#define SWITCH_TICKS (10 * RTS_TIME_HZ) /* the measuring task may keep the kernel from it */
#define LOOK_TICKS (RTS_TIME_HZ / 5000)
#define SCREENS 16 /* console drivers that Linux has room for */
#define COLUMNS 80
#define CHARACTERS 90 /* different ones, from '!' on */

/* ---- consoles -------------------------------------------------------------------------------- */

/* The consoles of a load; a descriptor of -1 is not open. */
typedef struct consoles {
    int any;               /* whichever is visible, for requests */
    int own;               /* that of the load */
    unsigned home, number; /* the one that was visible, and that of the load */
    int restorer;          /* for rts_load_restore() */
} consoles;

/* Opens console `number`, 0: the visible one; -1: see errno. */
static int open_console(unsigned number)
{
    char path[32];
    struct stat status;
    snprintf(path, sizeof path, "/dev/tty%u", number);
    int console = open(path, O_RDWR | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (console < 0)
        return -1;
    if (fstat(console, &status) == 0 && S_ISCHR(status.st_mode) &&
        major(status.st_rdev) == TTY_MAJOR && minor(status.st_rdev) == number)
        return console;
    close(console);
    errno = ENOTTY;
    return -1;
}

/* Returns the number of the visible console; 0: see errno. */
static unsigned visible(int any)
{
    struct vt_stat state;
    if (ioctl(any, VT_GETSTATE, &state))
        return 0;
    if (!state.v_active)
        errno = ENXIO;
    return state.v_active;
}

/*
 * Has a console that somebody else chose stay visible: a request of this load may still be on its
 * way, and the kernel keeps the last one alone.
 */
static void stay(const consoles *c, unsigned third)
{
    rts_tick end = rts_time() + SWITCH_TICKS;
    unsigned now;
    do {
        (void)ioctl(c->any, VT_ACTIVATE, third);
        rts_sleep_until(rts_time() + LOOK_TICKS);
        now = visible(c->any);
    } while ((now == c->home || now == c->number) && rts_time() < end);
}

/*
 * Makes a console visible and waits until it is; returns 0, or an error number. EINTR: somebody
 * else has switched to a third one.
 */
static int show(const consoles *c, unsigned number)
{
    rts_tick end = rts_time() + SWITCH_TICKS;
    if (ioctl(c->any, VT_ACTIVATE, number))
        return errno;
    for (unsigned now; (now = visible(c->any)) != number;) {
        if (!now)
            return errno;
        if (now != c->home && now != c->number) {
            stay(c, now);
            return EINTR;
        }
        if (rts_time() >= end)
            return ETIMEDOUT;
        rts_sleep_until(rts_time() + LOOK_TICKS);
    }
    return 0;
}

/* ---- going home ------------------------------------------------------------------------------ */

/* Leaves the visible console alone if somebody else has chosen it; `any`: as in consoles. */
static void go_home(const void *context, int any)
{
    consoles here = *(const consoles *)context;
    const consoles *c = &here;
    here.any = any;
    rts_tick end = rts_time() + SWITCH_TICKS;
    unsigned now = visible(c->any);
    if (now == c->home || now == c->number) /* at home as well: a switch may be on its way */
        (void)show(c, c->home);
    while (ioctl(c->any, VT_DISALLOCATE, c->number) && errno == EBUSY && rts_time() < end)
        rts_sleep_until(rts_time() + LOOK_TICKS); /* the worker's descriptor is still open */
}

/* ---- what both loads need -------------------------------------------------------------------- */

/* Finds the driver of the screen, and returns false if there is no screen. */
static bool find_screen(char *name, size_t size)
{
    char path[64];
    for (int i = 0; i < SCREENS; i++) {
        snprintf(path, sizeof path, "/sys/class/vtconsole/vtcon%d/bind", i);
        if (posix_read_number(path, 0) != 1)
            continue;
        snprintf(path, sizeof path, "/sys/class/vtconsole/vtcon%d/name", i);
        if (posix_read_line(path, name, size) && !strstr(name, "dummy device"))
            return true;
    }
    return false;
}

static int prepare_console(rts_running *l)
{
    const console_params *p = rts_load_params(l);
    struct vt_mode mode = {0};
    int kind = KD_TEXT, any = open_console(0);
    if (any < 0 || !visible(any)) {
        int error = errno;
        if (any >= 0)
            close(any);
        return rts_load_unsupported(l, "there are no virtual consoles: /dev/tty0: %s",
                                    strerror(error));
    }
    bool busy = ioctl(any, VT_GETMODE, &mode) || mode.mode != VT_AUTO ||
                ioctl(any, KDGETMODE, &kind) || kind != KD_TEXT;
    close(any);
    if (busy)
        return rts_load_unsupported(l, "the visible console belongs to a program that draws, such "
                                       "as an X server: switch to a text console first");
    if (!rts_load_may(p->allow))
        return rts_load_unsupported(l, "it switches what this machine's screen shows: allow it "
                                       "with --yes, or allow=on");
    return 0;
}

static int prepare_scroll(rts_running *l)
{
    char name[64];
    if (prepare_console(l))
        return -1;
    if (!find_screen(name, sizeof name))
        return rts_load_unsupported(l, "this machine has no screen: its virtual consoles are of "
                                       "the dummy device, which draws nothing");
    rts_log("info", "load scroll: the screen is \"%s\"", name);
    return 0;
}

static int prepare_switch(rts_running *l)
{
    char name[64];
    if (prepare_console(l))
        return -1;
    bool screen = find_screen(name, sizeof name);
    rts_log("info", "load console: the screen is \"%s\"",
            screen ? name : "dummy device, which draws nothing");
    return 0;
}

/* Gets a console that nobody uses, and a process that gives it up; false: the worker has failed. */
static bool take_console(rts_worker *w, consoles *c)
{
    int number = 0;
    *c = (consoles){.any = open_console(0), .own = -1, .restorer = -1};
    if (c->any < 0 || !(c->home = visible(c->any)) || ioctl(c->any, VT_OPENQRY, &number) ||
        number <= 0 || (c->own = open_console((unsigned)number)) < 0) {
        posix_worker_error(w, errno, "no virtual console is free");
        return false;
    }
    c->number = (unsigned)number;
    c->restorer = rts_load_restorer("rtstone-console", go_home, c, c->any);
    if (c->restorer < 0)
        rts_worker_failed(w, "no process can guard the consoles");
    return c->restorer >= 0;
}

/* Makes a console visible; false: the worker has failed. */
static bool go_to(rts_worker *w, const consoles *c, unsigned number)
{
    int error = show(c, number);
    if (!error)
        return true;
    if (error == EINTR)
        rts_worker_failed(w, "somebody has switched to console %u", visible(c->any));
    else
        rts_worker_failed(w, "console %u cannot be switched to: %s", number, strerror(error));
    return false;
}

/* Returns when the screen is as it was. */
static void leave(const consoles *c)
{
    close(c->own);
    rts_load_restore(c->restorer);
}

static void run_scroll(rts_worker *w)
{
    char line[COLUMNS + 2] = {[COLUMNS] = '\r', [COLUMNS + 1] = '\n'};
    consoles c;
    if (!take_console(w, &c))
        return;
    bool good = go_to(w, &c, c.number);
    size_t at = 0;
    while (good && rts_load_goes_on(w)) {
        if (at == 0) { /* a screen redraws what changes: no character is that of the line before */
            for (unsigned i = 0; i < COLUMNS; i++)
                line[i] = (char)('!' + (w->done % CHARACTERS * COLUMNS + i) % CHARACTERS);
        }
        ssize_t n = write(c.own, line + at, sizeof line - at);
        if (n < 0 && errno == EAGAIN) { /* its output is stopped (Ctrl-S) */
            rts_sleep_until(rts_time() + LOOK_TICKS);
            n = 0;
        }
        if (n < 0) {
            rts_worker_failed(w, "cannot write to console %u: %s", c.number, strerror(errno));
            break;
        }
        if ((at += (size_t)n) == sizeof line) {
            at = 0;
            w->done++;
            good = visible(c.any) == c.number;
        }
    }
    if (!good)
        rts_worker_failed(w, "somebody has switched to console %u", visible(c.any));
    leave(&c);
}

static void run_switch(rts_worker *w)
{
    consoles c;
    if (!take_console(w, &c))
        return;
    while (rts_load_goes_on(w) && go_to(w, &c, c.number) && go_to(w, &c, c.home))
        w->done += 2;
    leave(&c);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ENDS " At the end, also if the agent is killed, the console that was visible is so again."

static const rts_load loads[] = {
    {.id = "scroll",
     .title = RTS_SAY("Scroll a virtual console"),
     .source = RTS_SAY(RTS_LOAD_MORTON),
     .help = RTS_SAY("Makes a virtual console that nobody uses visible and writes lines to it, so "
                     "that the frame buffer, or the screen's memory, is scrolled by each." ENDS
                     " Counted are lines."),
     .params = console_param,
     .needs = RTS_CAP_FILES | RTS_CAP_PROCESS,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_scroll,
     .component =
         RTS_PARTS({.name = "scroll", .title = "scrolling", .unit = "lines", .run = run_scroll})},
    {.id = "console",
     .title = RTS_SAY("Switch between virtual consoles"),
     .source = RTS_SAY(RTS_LOAD_MORTON),
     .help = RTS_SAY("Switches between the visible console and one that nobody uses." ENDS
                     " Counted are switches."),
     .params = console_param,
     .needs = RTS_CAP_FILES | RTS_CAP_PROCESS,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_switch,
     .component = RTS_PARTS(
         {.name = "console", .title = "switching", .unit = "switches", .run = run_switch})},
};

RTS_LOADS(loads);
