/* Actions of load provoke: processes, threads, timers and what they wait for. */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "linux.h"
#include "provoke.h"

#define SPINS 100000
#define SOON_NS UINT64_C(20000000)
#define SMALL_STACK (64u << 10)

static bool spin(rts_worker *w, unsigned n)
{
    (void)w, (void)n;
    rts_additions(SPINS);
    return true;
}

static bool forks(rts_worker *w, unsigned n)
{
    int *child = provoke_fd;
    for (unsigned i = 0; i < n; i++)
        if ((child[i] = fork()) == 0)
            _exit(0);
    bool good = true;
    for (unsigned i = 0; i < n; i++)
        good = provoke_reaped(w, child[i]) && good;
    return good;
}

static bool execs(rts_worker *w, unsigned n)
{
    (void)n;
    pid_t child = fork();
    if (child == 0) {
        execl("/proc/self/exe", LINUX_CHILD_PROGRAM, (char *)NULL);
        _exit(errno);
    }
    return provoke_reaped(w, child);
}

/* Returns the first instant at least `ns` from now that is a multiple of `step` ns. */
static struct timespec instant(uint64_t ns, uint64_t step)
{
    uint64_t due = (posix_clock_ns(CLOCK_MONOTONIC) + ns + step) / step * step;
    return (struct timespec){.tv_sec = (time_t)(due / RTS_NS_PER_S),
                             .tv_nsec = (long)(due % RTS_NS_PER_S)};
}

/* Returns the ns between two instants at which n processes wake up: time for what each of them does
 * on a slow system. */
static uint64_t interval(unsigned n)
{
    return RTS_NS_PER_S / 10 * (1 + n / 200);
}

static void sleep_until(const struct timespec *due)
{
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, due, NULL) == EINTR)
        ;
}

static bool begin_timers(rts_worker *w, unsigned n)
{
    if (!provoke_descriptors(w, n))
        return false;
    for (unsigned i = 0; i < n; i++) {
        provoke_fd[i] = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        if (!provoke_good(w, provoke_fd[i] >= 0, "timerfd_create()"))
            return false;
    }
    return true;
}

static bool timers(rts_worker *w, unsigned n)
{
    const struct itimerspec due = {.it_value = instant(SOON_NS, 1)};
    for (unsigned i = 0; i < n; i++)
        if (!provoke_good(w, !timerfd_settime(provoke_fd[i], TFD_TIMER_ABSTIME, &due, NULL),
                          "timerfd_settime()"))
            return false;
    sleep_until(&due.it_value);
    return true;
}

/* Starts n processes that wake up at the same instants, and waits until they have started. */
static bool begin_herd(rts_worker *w, unsigned n)
{
    int ends[2];
    char byte = 0;
    if (!provoke_good(w, !pipe2(ends, O_CLOEXEC), "pipe()"))
        return false;
    for (unsigned i = 0; i < n; i++) {
        pid_t child = fork();
        if (child == 0) {
            posix_die_with_parent(SIGKILL);
            (void)!write(ends[1], &byte, 1);
            for (;;) {
                struct timespec due = instant(0, interval(n));
                sleep_until(&due);
            }
        }
        if (!provoke_good(w, child > 0, "no process can be made (ulimit -u, pids.max)"))
            return false;
    }
    for (unsigned i = 0; i < n; i++)
        if (!provoke_good(w, read(ends[0], &byte, 1) == 1, "a process that sleeps"))
            return false;
    return true;
}

static bool herd(rts_worker *w, unsigned n)
{
    (void)w;
    struct timespec due = instant(0, interval(n));
    sleep_until(&due);
    return true;
}

static uint32_t gate; /* the word that threads wait at */
static uint32_t passed;

static void *wait_at_gate(void *unused)
{
    (void)unused;
    for (;;) {
        uint32_t value = __atomic_load_n(&gate, __ATOMIC_ACQUIRE);
        if (!syscall(SYS_futex, &gate, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0))
            __atomic_add_fetch(&passed, 1, __ATOMIC_ACQ_REL);
    }
    return NULL;
}

static bool begin_futex(rts_worker *w, unsigned n)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, SMALL_STACK);
    int err = 0;
    for (unsigned i = 0; i < n && !err; i++) {
        pthread_t thread;
        err = pthread_create(&thread, &attr, wait_at_gate, NULL);
    }
    pthread_attr_destroy(&attr);
    errno = err;
    return provoke_good(w, !err, "no thread can be made (ulimit -u, pids.max)");
}

/* Wakes all who wait, by one call, and waits until each has run. */
static bool futex(rts_worker *w, unsigned n)
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    __atomic_store_n(&passed, 0, __ATOMIC_RELEASE);
    __atomic_add_fetch(&gate, 1, __ATOMIC_ACQ_REL);
    long woken = syscall(SYS_futex, &gate, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
    if (!provoke_good(w, woken >= 0, "futex()"))
        return false;
    do
        clock_nanosleep(CLOCK_MONOTONIC, 0, &millisecond, NULL);
    while (__atomic_load_n(&passed, __ATOMIC_ACQUIRE) < (uint32_t)woken && !w->load->stop);
    return true;
}

/* Queues n signals to itself, of which each waits for all before it, and takes them. */
static bool signals(rts_worker *w, unsigned n)
{
    sigset_t own;
    const struct timespec none = {0};
    sigemptyset(&own);
    sigaddset(&own, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &own, NULL);
    for (unsigned i = 0; i < n; i++)
        if (!provoke_good(w, !sigqueue(getpid(), SIGRTMIN, (union sigval){0}),
                          "sigqueue() (ulimit -i)"))
            return false;
    while (sigtimedwait(&own, NULL, &none) > 0)
        ;
    return true;
}

static bool pipes(rts_worker *w, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        int ends[2];
        if (!provoke_good(w, !pipe2(ends, O_CLOEXEC | O_NONBLOCK), "pipe()"))
            return false;
        bool good = write(ends[1], provoke_bytes, 60000) > 0;
        close(ends[0]);
        close(ends[1]);
        if (!provoke_good(w, good, "a pipe"))
            return false;
    }
    return true;
}

/* In a user namespace, so that it takes no rights; the kernel takes it apart in a thread of its
 * own. */
static bool netns(rts_worker *w, unsigned n)
{
    (void)n;
    pid_t child = fork();
    if (child == 0)
        _exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) ? errno : 0);
    return provoke_reaped(w, child);
}

const provoke_action provoke_tasks[] = {
    {.name = "spin", .round = spin},
    {.name = "forks", .n = 50, .round = forks},
    {.name = "execs", .round = execs},
    {.name = "timers", .n = 1000, .begin = begin_timers, .round = timers},
    {.name = "herd", .n = 200, .begin = begin_herd, .round = herd},
    {.name = "futex", .n = 200, .begin = begin_futex, .round = futex},
    {.name = "signals", .n = 1000, .round = signals},
    {.name = "pipes", .n = 100, .round = pipes},
    {.name = "netns", .round = netns},
    {0},
};
