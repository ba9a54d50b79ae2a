/* The heavy load: seven components that are not real-time (Obenland, Table 7). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <termios.h>
#include <unistd.h>

#include "../bursts.h"
#include "../posix/files.h"
#include "posix.h"
#include "search.h"
#include "whetstone.h"

typedef struct heavy_params {
    int64_t cpu, disk, interrupt, network, syscall, memory, search, irq, net, ram;
    char dir[RTS_LOAD_PATH], tree[RTS_LOAD_PATH], serial[64], peer[64];
} heavy_params;

enum { IRQ_EMULATED, IRQ_EXTERNAL };
enum { NET_LOOPBACK, NET_EXTERNAL };

static const rts_param heavy_param[] = {
    RTS_BOOL(heavy_params, cpu, 1, "with component cpu"),
    RTS_BOOL(heavy_params, disk, 1, "with component disk"),
    RTS_BOOL(heavy_params, interrupt, 1, "with component interrupt"),
    RTS_BOOL(heavy_params, network, 1, "with component network"),
    RTS_BOOL(heavy_params, syscall, 1, "with component syscall"),
    RTS_BOOL(heavy_params, memory, 1, "with component memory"),
    RTS_BOOL(heavy_params, search, 1, "with component search"),
    RTS_CHOICE(heavy_params, irq, "emulated|external", IRQ_EMULATED,
               "interrupts from a timer, or from a serial line whose output is wired to its input"),
    RTS_TEXT(heavy_params, serial, "with irq=external: the serial line"),
    RTS_CHOICE(heavy_params, net, "loopback|external", NET_LOOPBACK,
               "send packets to this machine, or to a second one"),
    RTS_TEXT(heavy_params, peer, "with net=external: ADDRESS:PORT of a receiver"),
    RTS_LOAD_DIR(heavy_params),
    RTS_TEXT(heavy_params, tree, "directory to search; default /usr, or /proc where there is none"),
    RTS_PARAMS_END,
};

/* ---- 10 ms in every 100 ms --------------------------------------------------------------- */

static bool whetstone_step(rts_worker *w, void *state)
{
    (void)state;
    if (!rts_whetstone(10))
        rts_worker_failed(w, "the Whetstone result is wrong");
    return !w->why[0];
}

static void run_cpu(rts_worker *w)
{
    rts_load_bursts(w, &(rts_burst){.step = whetstone_step}, NULL, 0);
}

#define DISK_BYTES (64u << 20)
static int64_t disk_bytes; /* less if there is not enough room */

typedef struct disk_file {
    int file;
    uint64_t at;
} disk_file;

static bool disk_step(rts_worker *w, void *state)
{
    disk_file *d = state;
    return rts_load_write_block(w, d->file, &d->at, (uint64_t)disk_bytes);
}

static bool disk_end(rts_worker *w, void *state)
{
    const disk_file *d = state;
    if (fsync(d->file))
        rts_worker_failed(w, "fsync: %s", strerror(errno));
    return !w->why[0];
}

static void run_disk(rts_worker *w)
{
    const heavy_params *p = rts_load_params(w->load);
    disk_file d = {.file = rts_load_scratch(w, p->dir)};
    if (d.file >= 0)
        rts_load_bursts(w, &(rts_burst){.step = disk_step, .end = disk_end}, &d, 1);
}

/* getpid, stat, open and close, pipe, dup: each once. */
static bool syscall_step(rts_worker *w, void *state)
{
    (void)state;
    struct stat status;
    int ends[2];
    bool good = syscall(SYS_getpid) > 0 && stat("/", &status) == 0;
    int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int copy = file < 0 ? -1 : dup(file);
    good = good && copy >= 0 && pipe2(ends, O_CLOEXEC) == 0;
    if (!good) {
        rts_worker_failed(w, "a system call failed: %s", strerror(errno));
        return false;
    }
    close(ends[0]);
    close(ends[1]);
    close(copy);
    close(file);
    return true;
}

static void run_syscall(rts_worker *w)
{
    rts_load_bursts(w, &(rts_burst){.step = syscall_step}, NULL, 2);
}

static void run_memory(rts_worker *w)
{
    void *held[64] = {NULL};
    rts_load_memory(w, 64u << 10, held, 64);
}

/* ---- interrupts -------------------------------------------------------------------------- */

#define TIMERS 20 /* each of 50 Hz: one late read does not cost interrupts of the others */
#define TIMER_PERIOD_NS 20000000

/* Starts a timer that expires `phase` ms after the start of the others' common period. */
static bool add_timer(int epoll, unsigned phase)
{
    struct itimerspec when = {.it_interval.tv_nsec = TIMER_PERIOD_NS};
    struct epoll_event event = {.events = EPOLLIN};
    rts_tick first = rts_time();
    first += TIMER_PERIOD_NS - first % TIMER_PERIOD_NS + phase * (TIMER_PERIOD_NS / TIMERS);
    when.it_value = posix_timespec(first);
    event.data.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    return event.data.fd >= 0 &&
           timerfd_settime(event.data.fd, TFD_TIMER_ABSTIME, &when, NULL) == 0 &&
           epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event) == 0;
}

/*
 * Timer interrupts. A timer that has expired interrupts again only after it has been read:
 * expirations before that cause no interrupt, and are counted as missed.
 */
static void emulate_interrupts(rts_worker *w)
{
    struct epoll_event due[TIMERS];
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    bool good = epoll >= 0;
    for (unsigned i = 0; good && i < TIMERS; i++)
        good = add_timer(epoll, i);
    if (!good)
        posix_worker_error(w, errno, "cannot make a timer");
    while (good && rts_load_goes_on(w)) {
        int n = epoll_wait(epoll, due, TIMERS, 1000);
        for (int i = 0; i < n; i++) {
            uint64_t expired;
            if (read(due[i].data.fd, &expired, sizeof expired) != sizeof expired)
                continue;
            w->done++;
            w->missed += expired - 1;
        }
    }
}

/*
 * Opens a serial line in raw mode, without echo or blocking, with an interrupt per byte if
 * possible.
 */
static int open_serial(rts_worker *w, const char *path)
{
    struct termios line;
    char trigger[128];
    int file = open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0 || tcgetattr(file, &line)) {
        rts_worker_failed(w, "serial line '%s': %s", path, strerror(errno));
        return -1;
    }
    cfmakeraw(&line);
    line.c_cflag |= CLOCAL | CREAD;
    cfsetspeed(&line, B115200);
    (void)tcsetattr(file, TCSANOW, &line);
    const char *name = strrchr(path, '/');
    snprintf(trigger, sizeof trigger, "/sys/class/tty/%s/rx_trig_bytes", name ? name + 1 : path);
    int fifo = open(trigger, O_WRONLY | O_CLOEXEC); /* not every UART has this file */
    if (fifo >= 0) {
        (void)!write(fifo, "1", 1);
        close(fifo);
    }
    return file;
}

#define MESSAGE 64 /* bytes in a packet */

/* Sends a byte every millisecond; counts those that come back. */
static void serial_interrupts(rts_worker *w)
{
    const heavy_params *p = rts_load_params(w->load);
    char back[MESSAGE];
    int file = open_serial(w, p->serial);
    rts_ns next = rts_time_ns();
    while (file >= 0 && rts_load_goes_on(w)) {
        next.ns += RTS_NS_PER_S / 1000;
        rts_ns now = rts_time_ns();
        if (rts_ns_late(now, next).ns > RTS_BURST_PERIOD_NS) { /* stopped: no burst to catch up */
            w->missed += rts_ns_late(now, next).ns / (RTS_NS_PER_S / 1000);
            next = now;
        }
        rts_sleep_until_ns(next);
        if (write(file, "U", 1) != 1 && errno != EAGAIN) {
            rts_worker_failed(w, "serial line '%s': %s", p->serial, strerror(errno));
            return;
        }
        ssize_t n = read(file, back, sizeof back);
        w->done += n > 0 ? (uint64_t)n : 0;
    }
}

static void run_interrupt(rts_worker *w)
{
    const heavy_params *p = rts_load_params(w->load);
    if (p->irq == IRQ_EXTERNAL)
        serial_interrupts(w);
    else
        emulate_interrupts(w);
}

/* ---- network ----------------------------------------------------------------------------- */

#define PACKETS 4000 /* per second */

/* Parses "ADDRESS:PORT"; returns false if it is malformed. */
static bool parse_peer(const char *peer, struct sockaddr_in *address)
{
    char host[64];
    const char *colon = strrchr(peer, ':');
    char *end;
    if (!colon || (size_t)(colon - peer) >= sizeof host)
        return false;
    snprintf(host, sizeof host, "%.*s", (int)(colon - peer), peer);
    unsigned long port = strtoul(colon + 1, &end, 10);
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    return end != colon + 1 && !*end && port > 0 && port < 65536 &&
           inet_pton(AF_INET, host, &address->sin_addr) == 1;
}

/* The receiving end of the connection: counts complete messages until the connection is closed. */
static void receive(rts_worker *w, int listener)
{
    char bytes[16 * MESSAGE];
    uint64_t received = 0;
    ssize_t n;
    int from = accept(listener, NULL, NULL);
    while (from >= 0 && (n = recv(from, bytes, sizeof bytes, 0)) > 0) {
        received += (uint64_t)n;
        w->done = received / MESSAGE;
    }
}

/* Starts the receiver on this machine as a process; returns false with errno if that fails. */
static bool start_receiver(rts_worker *w, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)address, sizeof *address) ||
        listen(listener, 1) || getsockname(listener, (struct sockaddr *)address, &size))
        return false;
    pid_t sender = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == sender)
            receive(w, listener);
        _exit(0);
    }
    close(listener);
    return pid > 0;
}

/*
 * Sends the messages that are due, one per packet. On this machine the receiver counts them; a
 * remote receiver cannot be queried, so that messages sent are counted instead.
 */
static void send_messages(rts_worker *w, int to, bool count)
{
    static const char message[MESSAGE];
    rts_tick start = rts_time();
    for (uint64_t sent = 0; rts_load_goes_on(w);) {
        rts_tick due = start + (sent + 1) * (RTS_TIME_HZ / PACKETS);
        rts_tick now = rts_time();
        if (now > due + RTS_TIME_HZ / 10) { /* after a stop: no burst to catch up */
            uint64_t lost = (now - due) / (RTS_TIME_HZ / PACKETS);
            w->missed += lost;
            start += lost * (RTS_TIME_HZ / PACKETS);
        }
        rts_sleep_until(due);
        if (send(to, message, sizeof message, MSG_NOSIGNAL) != sizeof message) {
            rts_worker_failed(w, "the connection has ended: %s", strerror(errno));
            return;
        }
        sent++;
        w->done += count;
    }
}

static void run_network(rts_worker *w)
{
    const heavy_params *p = rts_load_params(w->load);
    bool external = p->net == NET_EXTERNAL;
    struct sockaddr_in address;
    int on = 1;
    bool good = external ? parse_peer(p->peer, &address) : start_receiver(w, &address);
    int to = good ? socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (to < 0 || setsockopt(to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) ||
        connect(to, (struct sockaddr *)&address, sizeof address)) {
        rts_worker_failed(w, "no connection%s%s: %s", external ? " to " : "",
                          external ? p->peer : "", strerror(errno));
        return;
    }
    send_messages(w, to, external);
}

/* ---- file search ------------------------------------------------------------------------- */

#define SEARCH_BYTES (1u << 20) /* read of a file */

/* A guest in which the agent is the first process has no /usr. */
static const char *tree_of(const heavy_params *p)
{
    if (p->tree[0])
        return p->tree;
    return access("/usr", F_OK) ? "/proc" : "/usr";
}

static void run_search(rts_worker *w)
{
    rts_load_search(w, tree_of(rts_load_params(w->load)), SEARCH_BYTES);
}

/* ---- the table --------------------------------------------------------------------------- */

static int prepare_heavy(rts_running *l)
{
    const heavy_params *p = rts_load_params(l);
    struct sockaddr_in address;
    struct stat status;
    if (p->disk && (!rts_load_has_disk(l, p->dir, p->ram) ||
                    !(disk_bytes = rts_load_size(l, p->dir, 1, DISK_BYTES))))
        return -1;
    if (p->interrupt && p->irq == IRQ_EXTERNAL && !p->serial[0])
        return rts_load_failed(l, "irq=external needs the serial line: serial=PATH");
    if (p->network && p->net == NET_EXTERNAL && !parse_peer(p->peer, &address))
        return rts_load_failed(l, "net=external needs who reads: peer=ADDRESS:PORT, in numbers");
    if (p->search && (stat(tree_of(p), &status) || !S_ISDIR(status.st_mode)))
        return rts_load_failed(l, "parameter tree: '%s' is no directory", tree_of(p));
    if (p->search && !p->tree[0] && access("/usr", F_OK))
        rts_log("info", "load heavy: there is no /usr, so it searches %s", tree_of(p));
    return 0;
}

static const rts_load loads[] = {
    {.id = "heavy",
     .title = RTS_SAY("Seven components that are not real-time"),
     .source = RTS_SAY("Obenland, Table 7"),
     .help = RTS_SAY(
         "Each component is a time-sharing process: Whetstone, file writes with an fsync after "
         "each burst, utility calls and dynamic allocation for 10 ms in every 100 ms of wall time "
         "each, at fixed offsets from one another; 1000 interrupts per second; 4000 packets of 64 "
         "bytes per second over TCP; and a continuous search through a directory tree. Counted are "
         "ms of bursts, interrupts, messages received, and files."),
     .params = heavy_param,
     .needs = RTS_CAP_FILES | RTS_CAP_NETWORK | RTS_CAP_HEAP,
     .prepare = prepare_heavy,
     .component = RTS_PARTS({.name = "cpu",
                             .title = "Whetstone",
                             .workers = "cpu",
                             .run = run_cpu,
                             RTS_BURST_COMPONENT},
                            {.name = "disk",
                             .title = "file writes",
                             .workers = "disk",
                             .run = run_disk,
                             RTS_BURST_COMPONENT},
                            {.name = "interrupt",
                             .title = "interrupts",
                             .unit = "interrupts",
                             .rate = 1000,
                             .workers = "interrupt",
                             .periodic = true,
                             .run = run_interrupt},
                            {.name = "network",
                             .title = "TCP/IP transfer",
                             .unit = "packets",
                             .rate = PACKETS,
                             .workers = "network",
                             .periodic = true,
                             .run = run_network},
                            {.name = "syscall",
                             .title = "utility calls",
                             .workers = "syscall",
                             .run = run_syscall,
                             RTS_BURST_COMPONENT},
                            {.name = "memory",
                             .title = "dynamic allocation",
                             .workers = "memory",
                             .run = run_memory,
                             RTS_BURST_COMPONENT},
                            {.name = "search",
                             .title = "file search",
                             .unit = "files",
                             .workers = "search",
                             .run = run_search})},
};

RTS_LOADS(loads);
