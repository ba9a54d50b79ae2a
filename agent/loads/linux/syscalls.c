/*
 * Loads of long-running system calls: what a best-effort program can make the kernel do while a
 * real-time task wants the CPU. If the kernel cannot be preempted during them, they increase its
 * latency.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../posix/files.h"
#include "calls.h"
#include "linux.h"
#include "search.h"

/* Parameters of all loads in this file; each load has those that it needs. */
typedef struct call_params {
    int64_t size, files, sync;
    int64_t unmap, exit, proc, smaps, urandom, fork, truncate, tcp, udp, many;
} call_params;

/*
 * Sizes large enough that larger ones do not make the kernel take longer, and smaller if ten
 * workers share a CPU, so that each completes within a second on a slow one.
 */
#define SIZE_ALONE (16 << 20)
#define SIZE_TOGETHER (4 << 20)

static uint64_t size_of(const rts_worker *w)
{
    const call_params *p = rts_load_params(w->load);
    return (uint64_t)p->size;
}

/* ---- memory and processes ---------------------------------------------------------------- */

/*
 * Returns the large address space that a load needs in its own process; NULL: the worker has
 * failed. Here and below it has small pages, because they take long: a huge page is cleared and
 * freed at once.
 */
static void *get_large(rts_worker *w)
{
    linux_small_pages();
    void *memory = linux_call_map(size_of(w));
    if (!memory)
        posix_worker_error(w, errno, "no memory for %llu bytes", (unsigned long long)size_of(w));
    return memory;
}

static void run_unmap(rts_worker *w)
{
    linux_small_pages();
    while (rts_load_goes_on(w)) {
        int err = linux_call_unmap(size_of(w));
        if (err) {
            posix_worker_error(w, -err, "mmap and munmap of %llu bytes",
                               (unsigned long long)size_of(w));
            return;
        }
        w->done += size_of(w);
    }
}

static int grow(uint64_t size)
{
    return linux_call_map(size) ? 0 : -errno;
}

static void fork_again_and_again(rts_worker *w, int (*work)(uint64_t size))
{
    while (rts_load_goes_on(w)) {
        int err = linux_call_fork(work, size_of(w));
        if (err) {
            posix_worker_error(w, -err, "a process of %llu bytes", (unsigned long long)size_of(w));
            return;
        }
        w->done++;
    }
}

/*
 * The child writes its pages, so that its end frees them; shared pages would only be counted down.
 */
static void run_exit(rts_worker *w)
{
    linux_small_pages();
    fork_again_and_again(w, grow);
}

static void run_fork(rts_worker *w)
{
    if (get_large(w))
        fork_again_and_again(w, NULL);
}

/* ---- reading what the kernel has to generate --------------------------------------------- */

#define READ_BYTES (256u << 10) /* at a time */
#define SMAPS "/proc/self/smaps"
#define URANDOM "/dev/urandom"

static char read_bytes[READ_BYTES];

static void run_smaps(rts_worker *w)
{
    if (!get_large(w))
        return;
    while (rts_load_goes_on(w)) {
        int file = open(SMAPS, O_RDONLY | O_CLOEXEC);
        ssize_t n = file < 0 ? -1 : 1;
        while (n > 0)
            n = read(file, read_bytes, sizeof read_bytes);
        if (n < 0) {
            posix_worker_error(w, errno, "cannot read " SMAPS);
            return;
        }
        close(file);
        w->done++;
    }
}

static void run_urandom(rts_worker *w)
{
    int file = open(URANDOM, O_RDONLY | O_CLOEXEC);
    while (rts_load_goes_on(w)) {
        ssize_t n = read(file, read_bytes, sizeof read_bytes);
        if (n <= 0) {
            posix_worker_error(w, errno, "cannot read " URANDOM);
            return;
        }
        w->done += (uint64_t)n;
    }
}

/* ---- files ------------------------------------------------------------------------------- */

#define SMALL_FILE 4096

static int64_t truncate_bytes; /* limited by the available room */

static void run_truncate(rts_worker *w)
{
    int file = rts_load_scratch(w, "");
    uint64_t at = 0;
    while (file >= 0 && rts_load_goes_on(w)) {
        if (!rts_load_write_block(w, file, &at, (uint64_t)truncate_bytes))
            return;
        if (at == 0 && ftruncate(file, 0)) {
            rts_worker_failed(w, "cannot truncate its file: %s", strerror(errno));
            return;
        }
        w->done += RTS_LOAD_BLOCK;
    }
}

/* Creates or removes file i in the work directory; false: see errno. */
static bool work_on_file(rts_worker *w, int dir, int64_t i, bool make)
{
    const call_params *p = rts_load_params(w->load);
    char name[32];
    snprintf(name, sizeof name, "file%lld", (long long)i);
    if (!make)
        return unlinkat(dir, name, 0) == 0;
    int file = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool good = file >= 0 && write(file, read_bytes, SMALL_FILE) == SMALL_FILE &&
                (!p->sync || fsync(file) == 0);
    return file >= 0 && close(file) == 0 && good;
}

/* The directory and its files are removed when the load stops, or by the next agent. */
static void run_files(rts_worker *w)
{
    const call_params *p = rts_load_params(w->load);
    char why[RTS_REASON];
    int dir = posix_work_dir(why, sizeof why);
    bool good = true;
    if (dir < 0) {
        rts_worker_failed(w, "%s", why);
        return;
    }
    while (good && !w->load->stop)
        for (int64_t i = 0; good && i < 2 * p->many && rts_load_goes_on(w); i++)
            if ((good = work_on_file(w, dir, i % p->many, i < p->many)))
                w->done++;
    if (!good)
        posix_worker_error(w, errno, "its files in '%s'", posix_temporary());
}

/* ---- network ----------------------------------------------------------------------------- */

#define TCP_BYTES (4u << 20) /* sent by one call, or as many as there is room for */
#define UDP_BYTES 60000
#define UDP_BURST 16

static char net_bytes[TCP_BYTES];

/* Opens a socket at a port of this machine that is not reachable from outside; -1: see errno. */
static int at_loopback(int type, struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int end = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (end >= 0 && bind(end, (struct sockaddr *)address, size) == 0 &&
        getsockname(end, (struct sockaddr *)address, &size) == 0)
        return end;
    int error = errno;
    if (end >= 0)
        close(end);
    errno = error;
    return -1;
}

/* Connects two sockets, the first of which sends to the second; false: the worker has failed. */
static bool connect_ends(rts_worker *w, int type, int end[2])
{
    struct sockaddr_in address;
    int to = at_loopback(type, &address);
    bool stream = type == SOCK_STREAM;
    bool good = to >= 0 && (!stream || listen(to, 1) == 0);
    end[0] = good ? socket(AF_INET, type | SOCK_CLOEXEC, 0) : -1;
    good = end[0] >= 0 && connect(end[0], (struct sockaddr *)&address, sizeof address) == 0;
    end[1] = good && stream ? accept(to, NULL, NULL) : to;
    good = good && end[1] >= 0;
    if (!good)
        posix_worker_error(w, errno, "no connection over loopback");
    if (good && stream)
        close(to);
    return good;
}

/* Sends as much as there is room for, up to `burst` times; false: the worker has failed. */
static bool send_burst(rts_worker *w, int to, size_t size, unsigned burst)
{
    ssize_t n = 1;
    for (unsigned i = 0; i < burst && n > 0; i++)
        n = send(to, net_bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != ENOBUFS)
        rts_worker_failed(w, "cannot send over loopback: %s", strerror(errno));
    return !w->why[0];
}

/*
 * Receives everything that has arrived, and counts bytes or messages; false: the worker has failed.
 */
static bool receive_all(rts_worker *w, int from, bool bytes)
{
    ssize_t n;
    while ((n = recv(from, net_bytes, sizeof net_bytes, MSG_DONTWAIT)) > 0)
        w->done += bytes ? (uint64_t)n : 1;
    if (n == 0 || errno != EAGAIN)
        rts_worker_failed(w, "cannot receive over loopback: %s",
                          n ? strerror(errno) : "the connection has ended");
    return !w->why[0];
}

static void run_tcp(rts_worker *w)
{
    int end[2];
    if (connect_ends(w, SOCK_STREAM, end))
        while (rts_load_goes_on(w) && send_burst(w, end[0], TCP_BYTES, 1) &&
               receive_all(w, end[1], true))
            ;
}

static void run_udp(rts_worker *w)
{
    int end[2];
    if (connect_ends(w, SOCK_DGRAM, end))
        while (rts_load_goes_on(w) && send_burst(w, end[0], UDP_BYTES, UDP_BURST) &&
               receive_all(w, end[1], false))
            ;
}

/* ---- what a system may lack -------------------------------------------------------------- */

static int prepare_file(rts_running *l, const char *path)
{
    return access(path, R_OK)
               ? rts_load_unsupported(l, "'%s' cannot be read: %s", path, strerror(errno))
               : 0;
}

static int prepare_smaps(rts_running *l)
{
    return prepare_file(l, SMAPS);
}

static int prepare_urandom(rts_running *l)
{
    return prepare_file(l, URANDOM);
}

static int prepare_truncate(rts_running *l)
{
    const call_params *p = rts_load_params(l);
    truncate_bytes = rts_load_size(l, "", 1, p->size);
    return truncate_bytes ? 0 : -1;
}

static int prepare_network(rts_running *l)
{
    struct sockaddr_in address;
    int end = at_loopback(SOCK_DGRAM, &address);
    if (end < 0)
        return rts_load_unsupported(l, "no network, not even to itself: %s (ip link set lo up)",
                                    strerror(errno));
    close(end);
    return 0;
}

static int prepare_files(rts_running *l)
{
    char why[RTS_REASON];
    return posix_work_dir(why, sizeof why) < 0 ? rts_load_failed(l, "%s", why) : 0;
}

static int prepare_all(rts_running *l)
{
    const call_params *p = rts_load_params(l);
    return (p->smaps && prepare_smaps(l)) || (p->urandom && prepare_urandom(l)) ||
                   ((p->tcp || p->udp) && prepare_network(l)) || (p->files && prepare_files(l)) ||
                   (p->truncate && prepare_truncate(l))
               ? -1
               : 0;
}

/* ---- the table --------------------------------------------------------------------------- */

#define SIZE_PARAM(size_, help)                                                                    \
    RTS_SIZE(call_params, size, size_, RTS_LOAD_BLOCK, INT64_C(1) << 40, help)

static const rts_param size_param[] = {
    SIZE_PARAM(SIZE_ALONE, "size of the memory, or of the file"),
    RTS_PARAMS_END,
};

#define MANY_PARAM                                                                                 \
    RTS_INT(call_params, many, NULL, 2000, 1, 100000, "number of files at a time"),                \
        RTS_BOOL(call_params, sync, 0, "flush each file to disk (fsync)")

static const rts_param files_param[] = {MANY_PARAM, RTS_PARAMS_END};

static const rts_param all_param[] = {
    RTS_BOOL(call_params, unmap, 1, "with component unmap"),
    RTS_BOOL(call_params, exit, 1, "with component exit"),
    RTS_BOOL(call_params, proc, 1, "with component proc"),
    RTS_BOOL(call_params, smaps, 1, "with component smaps"),
    RTS_BOOL(call_params, urandom, 1, "with component urandom"),
    RTS_BOOL(call_params, fork, 1, "with component fork"),
    RTS_BOOL(call_params, truncate, 1, "with component truncate"),
    RTS_BOOL(call_params, tcp, 1, "with component tcp"),
    RTS_BOOL(call_params, udp, 1, "with component udp"),
    RTS_BOOL(call_params, files, 1, "with component files"),
    SIZE_PARAM(SIZE_TOGETHER,
               "size of the memory or file of each of unmap, exit, smaps, fork and truncate"),
    MANY_PARAM,
    RTS_PARAMS_END,
};

#define UNMAP .name = "unmap", .title = "mmap and munmap", .unit = "bytes", .run = run_unmap
#define EXIT                                                                                       \
    .name = "exit", .title = "ends of a large process", .unit = "processes", .run = run_exit
#define PROC .name = "proc", .title = "reading /proc", .unit = "files", .run = rts_load_read_proc
#define SMAPS_PART .name = "smaps", .title = "reading smaps", .unit = "readings", .run = run_smaps
#define RANDOM .name = "urandom", .title = "reading " URANDOM, .unit = "bytes", .run = run_urandom
#define FORK                                                                                       \
    .name = "fork", .title = "forks of a large process", .unit = "processes", .run = run_fork
#define TRUNCATE                                                                                   \
    .name = "truncate", .title = "truncating a large file", .unit = "bytes", .run = run_truncate
#define TCP .name = "tcp", .title = "TCP on loopback", .unit = "bytes", .run = run_tcp
#define UDP .name = "udp", .title = "UDP on loopback", .unit = "datagrams", .run = run_udp
#define FILES .name = "files", .title = "many small files", .unit = "files", .run = run_files

#define PART(part) .component = RTS_PARTS({part})
#define SOURCE "rtstone, after the calls of Dankwardt, part 2"

static const rts_load loads[] = {
    {.id = "syscalls",
     .title = RTS_SAY("Ten kinds of long system calls"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY(
         "Each component is a time-sharing process that continuously makes one kind of long system "
         "call; each is also a load of its own with that name, and can be left out here. A kernel "
         "that cannot be preempted during such a call makes a real-time task wait for its end."),
     .params = all_param,
     .needs = RTS_CAP_PROCESS | RTS_CAP_FILES | RTS_CAP_NETWORK,
     .prepare = prepare_all,
     .component = RTS_PARTS({UNMAP, .workers = "unmap"}, {EXIT, .workers = "exit"},
                            {PROC, .workers = "proc"}, {SMAPS_PART, .workers = "smaps"},
                            {RANDOM, .workers = "urandom"}, {FORK, .workers = "fork"},
                            {TRUNCATE, .workers = "truncate"}, {TCP, .workers = "tcp"},
                            {UDP, .workers = "udp"}, {FILES, .workers = "files"})},
    {.id = "unmap",
     .title = RTS_SAY("Map, populate and unmap a large region"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("Repeated mmap with MAP_POPULATE, and munmap, of small pages. Counted are "
                     "bytes unmapped."),
     .params = size_param,
     .needs = RTS_CAP_PROCESS,
     PART(UNMAP)},
    {.id = "exit",
     .title = RTS_SAY("Exit of a large process"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("Repeatedly, a process fills a region with private small pages and exits. "
                     "Counted are processes that have exited."),
     .params = size_param,
     .needs = RTS_CAP_PROCESS,
     PART(EXIT)},
    {.id = "smaps",
     .title = RTS_SAY("List the memory of a large process"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("A process with a region of small pages repeatedly reads its own " SMAPS
                     ". Counted are readings."),
     .params = size_param,
     .needs = RTS_CAP_FILES,
     .prepare = prepare_smaps,
     PART(SMAPS_PART)},
    {.id = "urandom",
     .title = RTS_SAY("Read many random bytes at a time"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("Reads " URANDOM " in blocks of 256 KiB. Counted are bytes."),
     .needs = RTS_CAP_FILES,
     .prepare = prepare_urandom,
     PART(RANDOM)},
    {.id = "fork",
     .title = RTS_SAY("Fork of a large process"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("A process with a region of small pages repeatedly forks a child that exits "
                     "at once, and waits for it. Counted are processes that have exited."),
     .params = size_param,
     .needs = RTS_CAP_PROCESS,
     PART(FORK)},
    {.id = "truncate",
     .title = RTS_SAY("Write and truncate a large file"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("An unnamed file in $TMPDIR, /var/tmp or /tmp, on whatever file system that "
                     "is, is repeatedly written and truncated to 0. Counted are bytes written."),
     .params = size_param,
     .needs = RTS_CAP_FILES,
     .prepare = prepare_truncate,
     PART(TRUNCATE)},
    {.id = "tcp",
     .title = RTS_SAY("TCP traffic on loopback"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("One process sends as much as fits, up to 4 MiB, in one call and receives it "
                     "at the other end of the connection. Counted are bytes received."),
     .needs = RTS_CAP_NETWORK,
     .prepare = prepare_network,
     PART(TCP)},
    {.id = "udp",
     .title = RTS_SAY("UDP traffic on loopback"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("One process sends 16 datagrams of 60,000 bytes and receives them from the "
                     "other socket. Counted are datagrams received."),
     .needs = RTS_CAP_NETWORK,
     .prepare = prepare_network,
     PART(UDP)},
    {.id = "files",
     .title = RTS_SAY("Create, write and delete many small files"),
     .source = RTS_SAY(SOURCE),
     .help = RTS_SAY("Files of 4 KiB in a directory of their own in $TMPDIR, /var/tmp or /tmp, on "
                     "whatever file system that is: all are created, then all deleted. Counted are "
                     "files created and files deleted."),
     .params = files_param,
     .needs = RTS_CAP_FILES,
     .prepare = prepare_files,
     PART(FILES)},
};

RTS_LOADS(loads);
