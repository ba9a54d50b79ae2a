/* What Linux offers for a process and its threads beyond POSIX. */
#include <linux/capability.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "linux.h"

linux_start_info linux_start;

void posix_die_with_parent(int signal)
{
    prctl(PR_SET_PDEATHSIG, signal);
}

void posix_exact_timers(void)
{
    prctl(PR_SET_TIMERSLACK, 1);
}

void linux_small_pages(void)
{
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
}

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

void posix_to_this_thread(struct sigevent *event)
{
    event->sigev_notify = SIGEV_THREAD_ID;
    event->sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
}

bool linux_has(int capability)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return !syscall(SYS_capget, &head, sets) &&
           (sets[CAP_TO_INDEX(capability)].effective & CAP_TO_MASK(capability));
}

#define LOCK_HEADROOM (256u << 20)

/*
 * Returns whether this process may lock unlimited memory, or at least enough for any case: under a
 * small limit locking succeeds, and malloc() fails later.
 */
bool posix_may_lock(void)
{
    struct rlimit limit;
    return linux_has(CAP_IPC_LOCK) ||
           (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur >= LOCK_HEADROOM);
}

/*
 * Gives this case a private /dev/shm, which is removed however the case ends: sem_open() first
 * creates a file with a random name, which cannot be distinguished from another program's. Needs
 * CAP_SYS_ADMIN; without it, posix_sweep() removes what has the agent's name.
 */
static void own_shm(void)
{
    if (unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        (void)mount("rtstone", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777");
}

void posix_enter_case(void)
{
    own_shm();
    mallopt(M_ARENA_MAX, 1); /* a single heap, as in a program without threads */
}
