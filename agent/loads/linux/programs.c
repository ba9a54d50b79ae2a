/*
 * Loads that run other programs. A keeper process runs them: it counts completed runs, reports why
 * a program failed, and leaves no process behind, whichever process is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "linux.h"
#include "load.h"

#define LINE (RTS_PARAM_BYTES + 64)
#define TIDY_TICKS (3 * RTS_TIME_HZ) /* time for a program to end, between SIGTERM and SIGKILL */
#define LOOK_MS 50

/* ---- the keeper -------------------------------------------------------------------------- */

static volatile sig_atomic_t end_requested; /* asked to end */

static void on_term(int signal)
{
    (void)signal;
    end_requested = 1;
}

static void listen_for_term(void)
{
    struct sigaction stop = {.sa_handler = on_term};
    sigaction(SIGTERM, &stop, NULL);
}

/* A running program, and the last line of its output. */
typedef struct program {
    pid_t pid;
    int output;
    int end; /* readable once it has ended; -1: not supported by the system */
    bool over;
    int status;
    char last[160];
    size_t used;
    bool line_over;
} program;

/* In the child: redirects output to the pipe, and resets signals to what programs expect. */
static void become(const char *line, int output)
{
    signal(SIGTERM, SIG_DFL);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static bool start_program(rts_worker *w, program *p, const char *line)
{
    int ends[2];
    *p = (program){0};
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        posix_worker_error(w, errno, "no pipe");
        return false;
    }
    p->pid = fork();
    if (p->pid == 0) {
        fcntl(ends[1], F_SETFL, 0); /* programs expect blocking writes */
        become(line, ends[1]);
    }
    close(ends[1]);
    p->output = ends[0];
    p->end = p->pid < 0 ? -1 : (int)syscall(SYS_pidfd_open, p->pid, 0);
    if (p->pid < 0)
        posix_worker_error(w, errno, "no process");
    return p->pid > 0;
}

static void keep_last_line(program *p, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n' || bytes[i] == '\r') {
            p->line_over = true;
            continue;
        }
        if (p->line_over)
            p->used = 0;
        p->line_over = false;
        if (p->used < sizeof p->last - 1)
            p->last[p->used++] = bytes[i];
        p->last[p->used] = '\0';
    }
}

/* Waits for output or the program's end, and reads the available output. */
static void read_output(program *p, int timeout_ms)
{
    char bytes[512];
    struct pollfd ready[] = {{.fd = p->output, .events = POLLIN}, {.fd = p->end, .events = POLLIN}};
    if (poll(ready, 2, timeout_ms) <= 0 || !ready[0].revents)
        return;
    ssize_t n = read(p->output, bytes, sizeof bytes);
    if (n > 0) {
        keep_last_line(p, bytes, (size_t)n);
    } else if (n == 0 && timeout_ms) { /* closed, but the program may still run */
        close(p->output);
        p->output = -1; /* from here on poll() waits only for the end */
    }
}

/* Reaps all processes that have ended: a keeper inherits those of its programs. */
static void reap(program *p)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == p->pid) {
            p->over = true;
            p->status = status;
        }
}

/* Runs a program to its end, or until TIDY_TICKS after the keeper was asked to end. */
static void await_program(program *p)
{
    rts_tick end = UINT64_MAX;
    for (reap(p); !p->over && rts_time() < end; reap(p)) {
        read_output(p, LOOK_MS);
        if (end_requested && end == UINT64_MAX)
            end = rts_time() + TIDY_TICKS;
    }
    if (p->output >= 0) {
        read_output(p, 0);
        close(p->output);
    }
    if (p->end >= 0)
        close(p->end);
}

static void explain(rts_worker *w, const program *p)
{
    const char *colon = p->last[0] ? ": " : "";
    if (WIFSIGNALED(p->status))
        rts_worker_failed(w, "its program was killed by signal %d (%s)", WTERMSIG(p->status),
                          strsignal(WTERMSIG(p->status)));
    else
        rts_worker_failed(w, "its program ended with status %d%s%s", WEXITSTATUS(p->status), colon,
                          p->last);
}

/* Runs the command line repeatedly, as long as it succeeds. */
static void repeat(rts_worker *w, const char *line)
{
    program p;
    while (!end_requested && rts_load_goes_on(w) && start_program(w, &p, line)) {
        await_program(&p);
        if (end_requested)
            return;
        if (p.status) {
            explain(w, &p);
            return;
        }
        w->runs++;
    }
}

/* Without a PID namespace the keeper has to find its descendants itself. */
static void end_descendants(void)
{
    rts_tick end = rts_time() + RTS_TIME_HZ;
    do {
        posix_kill_family(getpid(), 0);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
        rts_sleep_until(rts_time() + RTS_TIME_HZ / 100);
    } while (linux_find_family(getpid(), 0) > 1 && rts_time() < end);
}

/* Mounts /proc for this PID namespace; `own_tmp`: an empty /tmp as well. */
static bool mount_own(bool own_tmp)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("rtstone", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL))
        return false;
    return !own_tmp || mount("rtstone", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777") == 0;
}

/* Runs as the first process of the new namespace: when it ends, all others end. */
static void keep_within(rts_worker *w, bool own_tmp, void (*keep)(rts_worker *w))
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (mount_own(own_tmp))
        keep(w);
    else
        posix_worker_error(w, errno, "cannot mount its own /proc");
    _exit(0);
}

/*
 * Runs keep(w) in a PID namespace of its own where that is allowed: the kernel then kills
 * everything in it when the agent ends, however it ends. Elsewhere the keeper adopts the orphans of
 * its programs, and ends them itself.
 */
static void run_keeper(rts_worker *w, bool own_tmp, void (*keep)(rts_worker *w))
{
    pid_t agent = getppid();
    listen_for_term();
    if (unshare(CLONE_NEWPID | CLONE_NEWNS) == 0) {
        pid_t pid = fork();
        if (pid == 0)
            keep_within(w, own_tmp, keep);
        while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (pid < 0)
            posix_worker_error(w, errno, "no process");
        return;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() == agent)
        keep(w);
    end_descendants();
}

/* ---- command, hackbench, stress-ng ------------------------------------------------------- */

/* All of them have one text as parameter. */
typedef struct text_params {
    char text[512];
} text_params;

#define TEXT(name, help)                                                                           \
    {name, RTS_T_TEXT, offsetof(text_params, text),          NULL,                                 \
     0,    0,          sizeof(((text_params *)0)->text) - 1, RTS_SAY(help)}

static const rts_param command_param[] = {
    TEXT("run", "command line, for /bin/sh"),
    RTS_PARAMS_END,
};

static const rts_param stress_param[] = {
    TEXT("args", "arguments, for example --cpu 1 --vm 1 --vm-bytes 64M"),
    RTS_PARAMS_END,
};

static const rts_param hackbench_param[] = {
    TEXT("args", "arguments; default: those of hackbench itself"),
    RTS_PARAMS_END,
};

/* Returns whether a program of that name is in a directory of $PATH. */
static bool is_installed(const char *name)
{
    const char *dir = getenv("PATH");
    while (dir && *dir) {
        const char *end = strchrnul(dir, ':');
        char *path;
        if (asprintf(&path, "%.*s/%s", (int)(end - dir), dir, name) < 0)
            return false;
        bool present = access(path, X_OK) == 0;
        free(path);
        if (present)
            return true;
        dir = *end ? end + 1 : end;
    }
    return false;
}

static int need_program(rts_running *l, const char *name, const char *package)
{
    char why[RTS_REASON];
    if (!is_installed(name))
        return rts_load_unsupported(l, "%s is not installed (Debian: apt-get install %s)", name,
                                    package);
    return posix_work_dir(why, sizeof why) < 0 ? rts_load_failed(l, "%s", why) : 0;
}

static int prepare_command(rts_running *l)
{
    const text_params *p = rts_load_params(l);
    if (!p->text[0])
        return rts_load_failed(l, "command needs the command line: run=TEXT");
    return need_program(l, "sh", "dash");
}

static int prepare_stress(rts_running *l)
{
    const text_params *p = rts_load_params(l);
    if (!p->text[0])
        return rts_load_failed(l, "stress-ng needs arguments: args=TEXT");
    return need_program(l, "stress-ng", "stress-ng");
}

static int prepare_hackbench(rts_running *l)
{
    return need_program(l, "hackbench", "rt-tests");
}

/* Changes to the work directory, where files that a program leaves behind are removed later. */
static bool go_to_work(rts_worker *w)
{
    char why[RTS_REASON];
    int dir = posix_work_dir(why, sizeof why);
    if (dir >= 0 && fchdir(dir) == 0)
        return true;
    if (dir < 0)
        rts_worker_failed(w, "%s", why);
    else
        posix_worker_error(w, errno, "cannot use its directory");
    return false;
}

static void keep_command(rts_worker *w)
{
    const text_params *p = rts_load_params(w->load);
    if (go_to_work(w))
        repeat(w, p->text);
}

/* Runs the program that the load is named after, with the arguments of the parameter. */
static void keep_named(rts_worker *w)
{
    const text_params *p = rts_load_params(w->load);
    char line[LINE];
    snprintf(line, sizeof line, "exec %s %s", w->load->load->id, p->text);
    if (go_to_work(w))
        repeat(w, line);
}

static void run_command(rts_worker *w)
{
    run_keeper(w, false, keep_command);
}

static void run_named(rts_worker *w)
{
    run_keeper(w, false, keep_named);
}

/* ---- x11 --------------------------------------------------------------------------------- */

#define COOKIE 16
#define X11_TESTS "-dot -rect100 -line100 -ftext -putimage100 -copywinwin100 -move"

static int prepare_x11(rts_running *l)
{
    if (need_program(l, "x11perf", "x11-apps"))
        return -1;
    if (getenv("DISPLAY") || is_installed("Xvfb"))
        return 0;
    return rts_load_unsupported(l, "there is no X server: DISPLAY is not set, and Xvfb is not "
                                   "installed (Debian: apt-get install xvfb)");
}

/* Writes a field of an X authority file: two bytes of length, and the data. */
static void put_field(FILE *out, const void *bytes, size_t n)
{
    fputc((int)(n >> 8), out);
    fputc((int)(n & 255), out);
    fwrite(bytes, 1, n, out);
}

/* Writes a file that authorises its readers to use the server, at any address. */
static bool write_authority(const char *path)
{
    static const char name[] = "MIT-MAGIC-COOKIE-1";
    unsigned char cookie[COOKIE];
    if (getrandom(cookie, sizeof cookie, 0) != sizeof cookie)
        return false;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    FILE *out = file < 0 ? NULL : fdopen(file, "w");
    if (!out)
        return false;
    fwrite("\xff\xff", 1, 2, out); /* any family */
    put_field(out, "", 0);         /* any address */
    put_field(out, "", 0);         /* any display */
    put_field(out, name, sizeof name - 1);
    put_field(out, cookie, sizeof cookie);
    return fclose(out) == 0;
}

/*
 * Starts a server on a free display and returns its number in `display`; false: it did not start.
 */
static bool start_server(char *display, size_t size)
{
    int ends[2];
    char number[16] = "";
    if (pipe2(ends, O_CLOEXEC))
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGTERM, SIG_DFL);
        fcntl(ends[1], F_SETFD, 0);
        snprintf(number, sizeof number, "%d", ends[1]);
        execlp("Xvfb", "Xvfb", "-displayfd", number, "-screen", "0", "1024x768x24", "-nolisten",
               "tcp", "-noreset", "-auth", "authority", (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    size_t used = 0; /* display number and newline; nothing if it cannot start */
    for (ssize_t n; !strchr(number, '\n') && used < sizeof number - 1 &&
                    (n = read(ends[0], number + used, sizeof number - 1 - used)) > 0;)
        used += (size_t)n;
    close(ends[0]);
    number[strcspn(number, "\n")] = '\0';
    snprintf(display, size, ":%s", number);
    return pid > 0 && number[0];
}

/* Runs x11perf on the existing server, or on one that it starts. */
static void keep_x11(rts_worker *w)
{
    char display[32];
    if (!go_to_work(w))
        return;
    if (!getenv("DISPLAY")) {
        if (!write_authority("authority") || !start_server(display, sizeof display)) {
            rts_worker_failed(w, "Xvfb does not start");
            return;
        }
        setenv("DISPLAY", display, 1);
        setenv("XAUTHORITY", "authority", 1);
    }
    repeat(w, "exec x11perf -repeat 1 -time 1 " X11_TESTS);
}

/* Xvfb leaves a socket and a lock in /tmp, so it gets a /tmp of its own. */
static void run_x11(rts_worker *w)
{
    run_keeper(w, !getenv("DISPLAY"), keep_x11);
}

/* ---- the table --------------------------------------------------------------------------- */

#define PROGRAM(n, t, r)                                                                           \
    .component = RTS_PARTS(                                                                        \
        {.name = n, .title = t, .unit = "CPU ms", .per_unit = 1e6, .program = true, .run = r})

static const rts_load loads[] = {
    {.id = "x11",
     .title = RTS_SAY("Drawing by x11perf"),
     .source = RTS_SAY("Dankwardt, part 3, after Senoner's latencytest"),
     .help = RTS_SAY("Repeatedly runs x11perf on the X server of DISPLAY, or on a private Xvfb "
                     "that accepts no other clients. Counted is CPU time, including that of Xvfb."),
     .needs = RTS_CAP_FILES | RTS_CAP_PROCESS,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare_x11,
     PROGRAM("x11", "x11perf", run_x11)},
    {.id = "stress-ng",
     .title = RTS_SAY("stress-ng"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("Runs stress-ng with the arguments, and restarts it whenever it exits with "
                     "success. Counted is the CPU time of all its processes."),
     .params = stress_param,
     .needs = RTS_CAP_FILES | RTS_CAP_PROCESS,
     .prepare = prepare_stress,
     PROGRAM("stress-ng", "stress-ng", run_named)},
    {.id = "hackbench",
     .title = RTS_SAY("hackbench, repeatedly"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("Runs hackbench with the arguments, and restarts it whenever it exits with "
                     "success. Counted is the CPU time of all its processes."),
     .params = hackbench_param,
     .needs = RTS_CAP_FILES | RTS_CAP_PROCESS,
     .prepare = prepare_hackbench,
     PROGRAM("hackbench", "hackbench", run_named)},
    {.id = "command",
     .title = RTS_SAY("Any command line"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY(
         "Runs the command line with /bin/sh, and restarts it whenever it exits with status 0; any "
         "other end ends the load. Counted is the CPU time of all its processes."),
     .params = command_param,
     .needs = RTS_CAP_FILES | RTS_CAP_PROCESS,
     .prepare = prepare_command,
     PROGRAM("command", "command line", run_command)},
};

RTS_LOADS(loads);
