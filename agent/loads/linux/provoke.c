/* Load provoke: one thing that other programs do, again and again, alone. */
#include "provoke.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../steps.h"
#include "linux.h"
#include "restore.h"

#define MIB (1u << 20)
#define FREE_SHARE 5 /* of the memory, one in so many bytes stays free */

typedef struct provoke_params {
    int64_t action, n, consent;
} provoke_params;

/* The order is that of the tables below, one after the other; prepare() depends on it. */
#define ACTIONS                                                                                    \
    "spin|forks|execs|timers|herd|futex|signals|pipes|netns|"                                      \
    "mprotect|hugesplit|memcg|oom|cgmove|drop|compact|membarrier|"                                 \
    "epolls|poll|inotify|locks|readdir|descriptors|iouring|fsync|sync|mount|"                      \
    "kallsyms|slabinfo|perf|schedstats|hugepages|adjtime|kprobe|ftrace|hotplug|"                   \
    "settime|sysrq|kmsg|module|"                                                                   \
    "gpu|swapoff|suspend|"                                                                         \
    "firewall"

static const rts_param provoke_param[] = {
    RTS_CHOICE(provoke_params, action, ACTIONS, 0,
               "what it does (docs/guides/provoke.md): spin only computes, as a control"),
    RTS_INT(provoke_params, n, NULL, 0, 0, PROVOKE_MOST,
            "how many timers, processes, files or the like it uses; 0: as many as is usual for it"),
    RTS_CHOICE(provoke_params, consent, PROVOKE_CONSENTS, PROVOKE_OWN,
               "what the action may do: what ends with its process (own), slow others or leave "
               "their caches cold (shared), or change settings, which are restored at the end, "
               "also if the agent is killed (system); a guest of the lab, which nobody else uses, "
               "needs no consent"),
    RTS_PARAMS_END,
};

int provoke_fd[PROVOKE_MOST + 1];
int provoke_restore_file = -1;
char provoke_bytes[PROVOKE_BYTES];

/* ---- for the tables -------------------------------------------------------------------------- */

bool provoke_good(rts_worker *w, bool good, const char *action)
{
    /* What an action asks for is fixed: a kernel that calls it invalid does not have it. */
    if (!good && errno == EINVAL)
        rts_worker_unsupported(w, "%s: this kernel does not have it", action);
    else if (!good)
        posix_worker_error(w, errno, "%s", action);
    return good;
}

bool provoke_reaped(rts_worker *w, int child)
{
    int status = 0;
    if (!provoke_good(w, child > 0, "no process can be made"))
        return false;
    while (waitpid(child, &status, 0) < 0)
        if (!provoke_good(w, errno == EINTR, "waitpid()"))
            return false;
    if (WIFEXITED(status)) /* an error number, by which a child says why */
        errno = WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        errno = EINTR;
    return provoke_good(w, !status, "its child");
}

bool provoke_read(rts_worker *w, const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = file < 0 ? -1 : 1;
    while (n > 0)
        n = read(file, provoke_bytes, sizeof provoke_bytes);
    bool good = provoke_good(w, n == 0, path);
    if (file >= 0)
        close(file);
    return good;
}

bool provoke_write(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0)
        return false;
    bool good = write(file, text, strlen(text)) == (ssize_t)strlen(text);
    int error = errno;
    close(file);
    errno = error;
    return good;
}

/* Returns a number of KiB in the text of /proc/meminfo; 0: it is not there. */
static long long kib_of(const char *text, const char *name)
{
    long long kib = 0;
    const char *at = strstr(text, name);
    if (!at)
        return 0;
    at += strlen(name);
    at += strspn(at, " ");
    return posix_number(&at, &kib) ? kib : 0;
}

/* Returns whether a fifth of the memory stays free when `size` bytes of it are used. */
static bool has_room(size_t size)
{
    char text[2048];
    if (posix_read_file("/proc/meminfo", text, sizeof text) <= 0)
        return true;
    long long total = kib_of(text, "MemTotal:"), available = kib_of(text, "MemAvailable:");
    return available - (long long)(size >> 10) >= total / FREE_SHARE;
}

char *provoke_pages(rts_worker *w, size_t size)
{
    if (!has_room(size)) {
        rts_worker_unsupported(w, "a fifth of the memory would not stay free");
        return NULL;
    }
    char *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!provoke_good(w, at != MAP_FAILED, "mmap()"))
        return NULL;
    madvise(at, size, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < size; i += 4096)
        at[i] = 1;
    return at;
}

bool provoke_descriptors(rts_worker *w, unsigned n)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < n + 32) {
        limit.rlim_cur = n + 32;
        if (limit.rlim_max < limit.rlim_cur)
            limit.rlim_max = limit.rlim_cur; /* for which root has the right */
        return provoke_good(w, !setrlimit(RLIMIT_NOFILE, &limit),
                            "the limit of descriptors (ulimit -n)");
    }
    return true;
}

/* ---- the load -------------------------------------------------------------------------------- */

static const provoke_action *const tables[] = {provoke_tasks,  provoke_memory,  provoke_files,
                                               provoke_kernel, provoke_devices, provoke_net};
#define TABLES (sizeof tables / sizeof tables[0])

static const provoke_action *action_of(const provoke_params *p)
{
    int64_t left = p->action;
    for (size_t i = 0;; i++)
        for (const provoke_action *a = tables[i]; a->name; a++)
            if (left-- == 0)
                return a;
}

const provoke_action *provoke_named(const char *name, size_t length)
{
    for (size_t i = 0; i < TABLES; i++)
        for (const provoke_action *a = tables[i]; a->name; a++)
            if (!strncmp(a->name, name, length) && !a->name[length])
                return a;
    return NULL;
}

int provoke_allowed(rts_running *l, const provoke_action *a, provoke_consent most)
{
    if (linux_start.guest || a->consent <= most)
        return 0;
    if (a->consent == PROVOKE_LAB)
        return rts_load_unsupported(l,
                                    "action %s may lose data, hang the machine or set its clock: "
                                    "only a guest of the lab does it (--target qemu:...)",
                                    a->name);
    return rts_load_unsupported(
        l, "action %s %s: allow it with consent=%s", a->name,
        a->consent == PROVOKE_SHARED
            ? "slows others or leaves their caches cold"
            : "changes settings of the machine, which are restored afterwards",
        a->consent == PROVOKE_SHARED ? "shared" : "system");
}

void provoke_repeat(rts_worker *w, const provoke_action *a, unsigned n, uint64_t every, uint64_t at)
{
    int restorer = -1;
    uint64_t cycle = 0;
    if (a->save && !a->save(w))
        return;
    if (a->restore) {
        restorer = rts_load_restorer("rtstone-provoke", a->restore, NULL, provoke_restore_file);
        if (!provoke_good(w, restorer >= 0, "no process can restore what it changes"))
            return;
    }
    /* Not ready before the first round: what the system does not do is then known to all cases. */
    if ((!a->begin || a->begin(w, n)) && a->round(w, n))
        do {
            w->done++;
            if (every)
                rts_step_await(w, every, at, &cycle);
        } while (rts_load_goes_on(w) && a->round(w, n));
    if (restorer >= 0)
        rts_load_restore(restorer);
}

static int prepare(rts_running *l)
{
    const provoke_params *p = rts_load_params(l);
    return provoke_allowed(l, action_of(p), (provoke_consent)p->consent);
}

static void run_provoke(rts_worker *w)
{
    const provoke_params *p = rts_load_params(w->load);
    const provoke_action *a = action_of(p);
    provoke_repeat(w, a, p->n ? (unsigned)p->n : a->n, 0, 0);
}

static const rts_load loads[] = {
    {.id = "provoke",
     .title = RTS_SAY("One thing that other programs do, again and again"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY(
         "A time-sharing process makes the kernel do one kind of work: the work that may delay a "
         "wake-up meanwhile, also in threads of the kernel. Counted are rounds that completed."),
     .params = provoke_param,
     .needs = RTS_CAP_PROCESS | RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare,
     .component = RTS_PARTS({.name = "provoke",
                             .title = "rounds of the action",
                             .unit = "rounds",
                             .run = run_provoke})},
};
RTS_LOADS(loads);
