/*
 * Defaults of posix.h for systems that lack something; a port's function of the same name replaces
 * each.
 */
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>

#include "posix.h"

#define DEFAULT __attribute__((weak))

/* ---- files and devices ----------------------------------------------------------------------- */

static bool is_source(const struct stat *status)
{
    return S_ISBLK(status->st_mode) || S_ISREG(status->st_mode);
}

DEFAULT int posix_open_source(const char *path, int flags)
{
    struct stat status;
    int file;
    if (stat(path, &status))
        return -1;
    if (is_source(&status)) {
        file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | flags);
        if (file < 0 || (fstat(file, &status) == 0 && is_source(&status)))
            return file;
        close(file);
    }
    errno = ENOTBLK;
    return -1;
}

DEFAULT bool posix_slow_device(char *path, size_t size)
{
    if (size)
        path[0] = '\0';
    return false;
}

/* ---- start and end --------------------------------------------------------------------------- */

DEFAULT bool posix_init(void)
{
    return false;
}

DEFAULT void posix_remove_upload(void)
{
}

DEFAULT void posix_die_with_parent(int signal)
{
    (void)signal;
}

DEFAULT void posix_hold_idle(void)
{
}

DEFAULT void posix_claim_names(void)
{
    posix_owner = getpid();
}

DEFAULT void posix_release_names(void)
{
    posix_remove_work_dir();
    posix_remove_system_v(posix_owner);
}

DEFAULT void posix_sweep(void)
{
}

DEFAULT void posix_start_keeper(void)
{
}

DEFAULT int posix_lock_file(void)
{
    return -1;
}

DEFAULT void posix_other_agents_start(void)
{
}

DEFAULT int64_t posix_other_agents_at_work(void)
{
    return -1;
}

/* ---- the system ------------------------------------------------------------------------------ */

DEFAULT uint32_t posix_system_caps(void)
{
    return 0;
}

DEFAULT const char *posix_hint(int error)
{
    (void)error;
    return NULL;
}

DEFAULT const char *posix_kill_hint(int signal)
{
    (void)signal;
    return "";
}

/* Whatever lets programs read the counter of an ARM processor lets them read this register. */
DEFAULT uint64_t posix_counter_hz(void)
{
    uint64_t hz = 0;
#if defined __aarch64__
    __asm__("mrs %0, cntfrq_el0" : "=r"(hz));
#elif defined __thumb2__ && __ARM_ARCH >= 7
    uint32_t word;
    __asm__("mrc p15, 0, %0, c14, c0, 0" : "=r"(word));
    hz = word;
#endif
    return hz;
}

DEFAULT bool posix_counter_is_stable(void)
{
    return true;
}

DEFAULT size_t posix_largest_cache(void)
{
    return 0;
}

/* ---- a case ---------------------------------------------------------------------------------- */

DEFAULT void posix_enter_case(void)
{
}

DEFAULT void posix_exact_timers(void)
{
}

DEFAULT bool posix_may_lock(void)
{
    return true;
}

/* There is one CPU, the default of rts_port_cpus(). */
DEFAULT int posix_bind(const rts_cpuset *cpus)
{
    (void)cpus;
    return 0;
}

DEFAULT int posix_bind_thread(pthread_attr_t *attr, int cpu)
{
    (void)attr;
    (void)cpu;
    return 0;
}

DEFAULT void posix_to_this_thread(struct sigevent *event)
{
    event->sigev_notify = SIGEV_SIGNAL;
}

DEFAULT void posix_evidence_open(const rts_job *job)
{
    (void)job;
}

DEFAULT posix_events posix_evidence_read(const rts_job *job)
{
    (void)job;
    return (posix_events){-1, -1, -1, -1, -1, -1};
}

DEFAULT void posix_watch_begin(const rts_job *job)
{
    (void)job;
}

DEFAULT unsigned posix_watch_case(const rts_job *job)
{
    (void)job;
    return 0;
}

DEFAULT void posix_watch_end(rts_job *job)
{
    (void)job;
}

DEFAULT void posix_case_over(void)
{
}

DEFAULT int posix_wall_watch(posix_wall *wall)
{
    (void)wall;
    return 0;
}

DEFAULT void posix_wall_unwatch(posix_wall *wall)
{
    (void)wall;
}

/* ---- a load: processes that left its group are not found ------------------------------------- */

DEFAULT void posix_kill_family(pid_t root, pid_t group)
{
    (void)root;
    if (group)
        kill(-group, SIGKILL);
}

DEFAULT int64_t posix_family_cpu_ns(pid_t root)
{
    (void)root;
    return -1;
}

DEFAULT void rts_port_load_pause(bool pause)
{
    if (posix_load_group)
        kill(-posix_load_group, pause ? SIGSTOP : SIGCONT);
}

/* ---- files and queues ------------------------------------------------------------------------ */

DEFAULT int posix_open_nameless(const char *directory, int flags)
{
    (void)directory;
    (void)flags;
    errno = EOPNOTSUPP;
    return -1;
}

DEFAULT int posix_open_below(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

DEFAULT bool posix_is_in_memory(const char *directory)
{
    (void)directory;
    return false;
}

DEFAULT bool posix_file_system(int fd, unsigned long *type, long *block_size)
{
    (void)fd;
    *type = 0;
    *block_size = 0;
    return false;
}

DEFAULT bool posix_random(uint64_t *number)
{
    int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    bool all = fd >= 0 && read(fd, number, sizeof *number) == sizeof *number;
    if (fd >= 0)
        close(fd);
    return all;
}

DEFAULT bool posix_allow_message(size_t size)
{
    (void)size;
    return true;
}

/* The size that every system accepts at once. */
DEFAULT bool posix_make_room(int pipe, size_t bytes)
{
    (void)pipe;
    return bytes <= _POSIX_PIPE_BUF;
}
