/*
 * sys.*: the cost of system calls (which Dankwardt lists among what has to be known; the selection
 * of calls is that of lmbench's lat_syscall, lat_select, lat_mmap and lat_proc).
 */
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/shm.h>

#include "bench.h"
#include "linux.h"

#define SECOND_NS INT64_C(1000000000)

typedef struct sys_params {
    int64_t file, descriptors, size;
} sys_params;

/* ---- the lightest call ----------------------------------------------------------------------- */

/* Uses syscall(), because a C library may cache the result of getpid(). */
static int run_getpid(rts_case *c)
{
    long self = getpid();
    uint64_t wrong = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, wrong += syscall(SYS_getpid) != self);
    }
    return wrong ? rts_failed(c, "getpid was somebody else") : 0;
}

/* ---- one byte -------------------------------------------------------------------------------- */

enum { ZERO, NULL_DEVICE, PIPE };

static const rts_param file_param[] = {
    RTS_CHOICE(sys_params, file, "zero|null|pipe", ZERO,
               "/dev/zero, /dev/null, or a pipe that holds the byte or has room for it"),
    RTS_PARAMS_END,
};

/* Source and destination of the bytes: a device, or the ends of a pipe. */
typedef struct byte_way {
    int64_t file;
    int out, in;
} byte_way;

static int open_way(rts_case *c, byte_way *w)
{
    static const char *const device[] = {[ZERO] = "/dev/zero", [NULL_DEVICE] = "/dev/null"};
    const sys_params *p = rts_params(c);
    int ends[2] = {-1, -1}, bad;
    if (p->file == PIPE) /* fail instead of blocking forever if the pipe is full or empty */
        bad = pipe2(ends, O_CLOEXEC | O_NONBLOCK);
    else
        bad = (ends[0] = ends[1] = open(device[p->file], O_RDWR | O_CLOEXEC)) < 0;
    *w = (byte_way){.file = p->file, .out = ends[0], .in = ends[1]};
    return bad ? rts_port_failed(c, "cannot open what is read or written", -errno) : 0;
}

static void close_way(const byte_way *w)
{
    close(w->out);
    if (w->in != w->out)
        close(w->in);
}

/* Moves bytes untimed: those that the pipe needs before or after. */
static uint64_t move_bytes(const byte_way *w, uint64_t n, bool fill)
{
    uint64_t refused = 0;
    char byte = 1;
    for (uint64_t i = 0; w->file == PIPE && i < n; i++)
        refused += (fill ? write(w->in, &byte, 1) : read(w->out, &byte, 1)) != 1;
    return refused;
}

static int end_way(rts_case *c, const byte_way *w, uint64_t refused, uint64_t wrong)
{
    close_way(w);
    if (refused)
        return rts_unsupported(c, "the pipe does not hold %llu bytes (fs.pipe-user-pages-soft)",
                               (unsigned long long)c->batch);
    return wrong ? rts_failed(c, "%llu calls did not move their byte", (unsigned long long)wrong)
                 : 0;
}

static int run_read(rts_case *c)
{
    byte_way w;
    uint64_t refused = 0, wrong = 0;
    char byte;
    if (open_way(c, &w))
        return -1;
    const ssize_t whole = w.file != NULL_DEVICE; /* the null device is at its end from the start */
    RTS_SAMPLES(c) {
        refused += move_bytes(&w, c->batch, true);
        RTS_TIMED(c, wrong += read(w.out, &byte, 1) != whole);
        if (refused)
            break;
    }
    return end_way(c, &w, refused, wrong);
}

static int run_write(rts_case *c)
{
    byte_way w;
    uint64_t refused = 0, wrong = 0;
    const char byte = 1;
    if (open_way(c, &w))
        return -1;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, wrong += write(w.in, &byte, 1) != 1);
        refused += move_bytes(&w, c->batch, false);
        if (refused)
            break;
    }
    return end_way(c, &w, refused, wrong);
}

/* ---- select ---------------------------------------------------------------------------------- */

#define DESCRIPTORS_MAX 1000

static const rts_param select_param[] = {
    RTS_INT(sys_params, descriptors, "descriptor", 10, 1, DESCRIPTORS_MAX,
            "number of descriptors; lmbench uses 10, 100, 250 and 500"),
    RTS_PARAMS_END,
};

/*
 * Event descriptors that are all writable, so that each call finds all of them and leaves the set.
 */
typedef struct events {
    int n, end; /* number of descriptors, and the largest plus 1 */
    int fd[DESCRIPTORS_MAX];
    fd_set set;
} events;

static int open_events(rts_case *c, events *e, int wanted)
{
    while (e->n < wanted) {
        int fd = eventfd(0, EFD_CLOEXEC);
        if (fd < 0)
            return rts_port_failed(c, "cannot open so many descriptors", -errno);
        e->fd[e->n++] = fd;
        if (fd >= FD_SETSIZE)
            return rts_unsupported(c, "select knows descriptors below %d only", FD_SETSIZE);
        FD_SET((unsigned)fd, &e->set);
        e->end = fd + 1;
    }
    return 0;
}

static int run_select(rts_case *c)
{
    const sys_params *p = rts_params(c);
    const int n = (int)p->descriptors;
    events *e = rts_alloc(c, sizeof *e);
    uint64_t wrong = 0;
    if (!e)
        return rts_failed(c, "no memory for the descriptors");
    if (!open_events(c, e, n))
        RTS_SAMPLES(c) {
            struct timeval at_once = {0};
            RTS_TIMED(c, wrong += select(e->end, NULL, &e->set, NULL, &at_once) != n);
        }
    while (e->n > 0)
        close(e->fd[--e->n]);
    return wrong ? rts_failed(c, "select did not find all descriptors ready") : 0;
}

/* ---- memory ---------------------------------------------------------------------------------- */

static const rts_param mmap_param[] = {
    RTS_SIZE(sys_params, size, 64 << 10, 1, 1 << 28, "bytes to map"),
    RTS_PARAMS_END,
};

static inline int map_and_unmap(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? -errno : munmap(memory, size);
}

static int run_mmap(rts_case *c)
{
    const sys_params *p = rts_params(c);
    int err = 0;
    RTS_SAMPLES(c) {
        RTS_TIMED(c, err |= map_and_unmap((size_t)p->size));
        if (err)
            return rts_unsupported(c, "%lld bytes cannot be mapped (ulimit -v, ulimit -l)",
                                   (long long)p->size);
    }
    return 0;
}

/* ---- a program ------------------------------------------------------------------------------- */

/*
 * fork, exec of the agent's own file, which exits before its main(), and wait; returns its status
 * or -1.
 */
static inline int fork_and_exec(char *const argv[])
{
    int status;
    pid_t pid = fork();
    if (pid < 0)
        return -1;
    if (pid == 0) {
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

static int run_forkexec(rts_case *c)
{
    char name[] = LINUX_CHILD_PROGRAM;
    char *const argv[] = {name, NULL};
    uint64_t programs = 0;
    RTS_SAMPLES(c) {
        rts_tick a = rts_now();
        int status = fork_and_exec(argv);
        rts_tick b = rts_now();
        if (status < 0)
            return rts_port_failed(c, "cannot create a process", -errno);
        if (status)
            return rts_failed(c, "the program could not be executed, or did not end well");
        programs++;
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "programs run", programs, "programs");
    return 0;
}

/* ---- objects of System V --------------------------------------------------------------------- */

#define NEW (IPC_CREAT | IPC_EXCL | 0600)
#define SHM_BYTES 4096

/* If the key exists, it is left from a case of this agent that was killed. */
static inline int make_sem(key_t key)
{
    int id = semget(key, 1, NEW);
    return id < 0 ? -errno : semctl(id, 0, IPC_RMID);
}

static inline int make_shm(key_t key)
{
    int id = shmget(key, SHM_BYTES, NEW);
    return id < 0 ? -errno : shmctl(id, IPC_RMID, NULL);
}

/*
 * Returns the user of what a table of /proc/sysvipc, which shows all objects to all users, has by a
 * key; -1: not known. `user`: in which of its columns that is, the key being the first.
 */
static long long key_user(const char *table, key_t key, int user)
{
    char line[256];
    long long number = -1;
    FILE *file = fopen(table, "re");
    while (file && number < 0 && fgets(line, sizeof line, file)) {
        const char *at = line;
        long long value = 0;
        bool is_number = posix_number(&at, &value) && value == key;
        for (int column = 1; is_number && column < user; column++)
            is_number = posix_number(&at, &value);
        number = is_number ? value : -1;
    }
    if (file)
        fclose(file);
    return number;
}

/* Fails a case whose key has an object that is not this user's: no limit is to blame. */
static int key_taken(rts_case *c, const char *objects, key_t key, long long user, char option)
{
    char owner[48] = "another user", name[16];
    if (user >= 0)
        snprintf(owner, sizeof owner, "the user of uid %lld", user);
    snprintf(name, sizeof name, "0x%08x", (unsigned)key); /* rts_failed() has no such conversion */
    return rts_failed(c, "the key %s is in use by %s of %s: ipcrm -%c %s, as that user", name,
                      objects, owner, option, name);
}

static int run_sem(rts_case *c)
{
    key_t key = posix_object_key(c->slot);
    int err = 0;
    posix_remove_system_v(posix_owner);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, err = err ? err : make_sem(key));
        if (err == -EEXIST)
            return key_taken(c, "semaphores", key, key_user("/proc/sysvipc/sem", key, 5), 'S');
        if (err)
            return rts_port_failed(c, "cannot create a set of semaphores (kernel.sem)", err);
    }
    return 0;
}

static int run_shm(rts_case *c)
{
    key_t key = posix_object_key(c->slot);
    int err = 0;
    posix_remove_system_v(posix_owner);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, err = err ? err : make_shm(key));
        if (err == -EEXIST)
            return key_taken(c, "shared memory", key, key_user("/proc/sysvipc/shm", key, 8), 'M');
        if (err)
            return rts_port_failed(c, "cannot create shared memory (kernel.shmmni)", err);
    }
    return 0;
}

#define SYS_COMMON                                                                                 \
    .source = RTS_SAY("Dankwardt, part 1; calls as in lmbench"), .needs = RTS_CAP_POSIX,           \
    .samples = RTS_SAMPLES_DEFAULT, .warmup = 10, .time_ns = RTS_LIMIT(10 * SECOND_NS)

static const rts_bench benches[] = {
    {SYS_COMMON, .id = "sys.getpid", .title = RTS_SAY("The lightest system call"),
     .help = RTS_SAY("Duration of getpid, through syscall(), so that it enters the kernel."),
     .traits = RTS_RESTS | RTS_BATCHES, .run = run_getpid},
    {SYS_COMMON, .id = "sys.read", .title = RTS_SAY("Read one byte"),
     .help = RTS_SAY("Duration of read of one byte: from /dev/zero, from /dev/null, which is at "
                     "end of file, or from a pipe that holds it."),
     .params = file_param, .traits = RTS_RESTS | RTS_BATCHES, .run = run_read},
    {SYS_COMMON, .id = "sys.write", .title = RTS_SAY("Write one byte"),
     .help = RTS_SAY("Duration of write of one byte: to /dev/zero, to /dev/null, or to a pipe that "
                     "is emptied between samples."),
     .params = file_param, .traits = RTS_RESTS | RTS_BATCHES, .run = run_write},
    {SYS_COMMON, .id = "sys.select", .title = RTS_SAY("Query which descriptors are ready"),
     .help = RTS_SAY("Duration of select, without waiting, on event descriptors that are all ready "
                     "for writing."),
     .params = select_param, .traits = RTS_RESTS | RTS_BATCHES, .slope_over = "descriptors",
     .run = run_select},
    {SYS_COMMON, .id = "sys.mmap", .title = RTS_SAY("Map and unmap memory"),
     .help =
         RTS_SAY("Duration of mmap of anonymous memory that is not touched, and munmap, together. "
                 "With locked memory mmap populates all its pages, and munmap frees them."),
     .params = mmap_param, .traits = RTS_RESTS | RTS_BATCHES, .slope_over = "size",
     .run = run_mmap},
    {SYS_COMMON, .id = "sys.forkexec", .title = RTS_SAY("Run a program"),
     .help = RTS_SAY("Duration of fork, exec and wait, together: the program is the agent's own "
                     "file, which is linked statically and exits before main()."),
     .traits = RTS_RESTS, .run = run_forkexec},
    {SYS_COMMON, .id = "sys.sem", .title = RTS_SAY("Create and remove a set of semaphores"),
     .help = RTS_SAY("Duration of semget of a new System V set of one semaphore, and semctl that "
                     "removes it, together."),
     .traits = RTS_RESTS | RTS_BATCHES, .run = run_sem},
    {SYS_COMMON, .id = "sys.shm", .title = RTS_SAY("Create and remove shared memory"),
     .help = RTS_SAY("Duration of shmget of a new System V segment of 4 KiB, which is not "
                     "attached, and shmctl that removes it, together."),
     .traits = RTS_RESTS | RTS_BATCHES, .run = run_shm},
};

RTS_BENCHES(benches);
