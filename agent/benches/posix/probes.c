/*
 * The options of section 8 and the probe for each. A probe runs in a process of its own that ends
 * with it; after an error it leaves closing and freeing to the system, but names are removed at
 * once.
 */
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "options.h"

/*
 * A call that sets errno; one that returns its error; and a condition that must be true afterwards.
 */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            *step = #condition;                                                                    \
            return errno ? errno : EINVAL;                                                         \
        }                                                                                          \
    } while (0)
#define NEED0(call)                                                                                \
    do {                                                                                           \
        int error_ = (call);                                                                       \
        if (error_) {                                                                              \
            *step = #call;                                                                         \
            return error_;                                                                         \
        }                                                                                          \
    } while (0)

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            *step = #condition;                                                                    \
            return EINVAL;                                                                         \
        }                                                                                          \
    } while (0)

#define SECOND_NS 1000000000

static struct timespec after_ms(clockid_t clock, long ms)
{
    struct timespec t = {0, 0};
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / SECOND_NS;
    t.tv_nsec %= SECOND_NS;
    return t;
}

static bool before(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec != b->tv_sec ? a->tv_sec < b->tv_sec : a->tv_nsec < b->tv_nsec;
}

/* A name for objects that is unique to this process. */
static void own_name(char *name, size_t size)
{
    snprintf(name, size, "/rtstone-%ld.probe", (long)getpid());
}

/* Opens an unnamed file; -1: errno says why. */
static int own_file(void)
{
    char name[] = "/tmp/rtstone-XXXXXX";
    int file = mkstemp(name);
    if (file >= 0)
        unlink(name);
    return file;
}

/* For options that this system's headers lack, and which therefore cannot be called. */
static __attribute__((unused)) int not_in_headers(const char **step)
{
    *step = "not in this system's headers";
    return ENOSYS;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *give_back(void *arg)
{
    return arg;
}

/* Runs a thread with these attributes and joins it. */
static int run_thread(const pthread_attr_t *attr, const char **step)
{
    pthread_t thread;
    void *back = NULL;
    int mark;
    NEED0(pthread_create(&thread, attr, give_back, &mark));
    NEED0(pthread_join(thread, &back));
    MUST(back == &mark);
    return 0;
}

static int probe_threads(const char **step)
{
    return run_thread(NULL, step);
}

static int probe_safe_functions(const char **step)
{
    char text[] = "a b", date[26], *rest = NULL;
    const struct tm new_year = {.tm_year = 70, .tm_mday = 1, .tm_wday = 4};
    MUST(!strcmp(strtok_r(text, " ", &rest), "a") && !strcmp(strtok_r(NULL, " ", &rest), "b"));
    /* NOLINTNEXTLINE(bugprone-unsafe-functions,cert-msc24-c,cert-msc33-c): it is what is probed */
    MUST(asctime_r(&new_year, date) == date && !strcmp(date, "Thu Jan  1 00:00:00 1970\n"));
    flockfile(stdin);
    funlockfile(stdin);
    return 0;
}

static int probe_stack_address(const char **step)
{
    enum { SIZE = 1 << 20 };
    pthread_attr_t attr;
    void *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(stack != MAP_FAILED);
    NEED0(pthread_attr_init(&attr));
    NEED0(pthread_attr_setstack(&attr, stack, SIZE));
    return run_thread(&attr, step);
}

static int probe_stack_size(const char **step)
{
    pthread_attr_t attr;
    size_t size = 0;
    NEED0(pthread_attr_init(&attr));
    NEED0(pthread_attr_setstacksize(&attr, 256 << 10));
    NEED0(pthread_attr_getstacksize(&attr, &size));
    MUST(size == 256 << 10);
    return run_thread(&attr, step);
}

static int probe_thread_scheduling(const char **step)
{
    pthread_attr_t attr;
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    NEED0(pthread_attr_init(&attr));
    NEED0(pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED));
    NEED0(pthread_attr_setscope(&attr, PTHREAD_SCOPE_SYSTEM));
    NEED0(pthread_attr_setschedpolicy(&attr, SCHED_FIFO));
    NEED0(pthread_attr_setschedparam(&attr, &param));
    return run_thread(&attr, step);
}

static int use_mutex(const pthread_mutexattr_t *attr, const char **step)
{
    pthread_mutex_t mutex;
    NEED0(pthread_mutex_init(&mutex, attr));
    NEED0(pthread_mutex_lock(&mutex));
    MUST(pthread_mutex_trylock(&mutex) != 0);
    NEED0(pthread_mutex_unlock(&mutex));
    NEED0(pthread_mutex_destroy(&mutex));
    return 0;
}

static int probe_inherit(const char **step)
{
    pthread_mutexattr_t attr;
    NEED0(pthread_mutexattr_init(&attr));
    NEED0(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT));
    return use_mutex(&attr, step);
}

/* The ceiling must not be below the priority that the library believes the thread to have. */
static int probe_protect(const char **step)
{
    pthread_mutexattr_t attr;
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
    NEED0(pthread_setschedparam(pthread_self(), SCHED_FIFO, &param));
    NEED0(pthread_mutexattr_init(&attr));
    NEED0(pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_PROTECT));
    NEED0(pthread_mutexattr_setprioceiling(&attr, param.sched_priority + 1));
    return use_mutex(&attr, step);
}

/* Checks that a CPU-time clock exists and advances while the caller works. */
static int use_cpu_clock(clockid_t clock, const char **step)
{
    struct timespec a, b;
    NEED(clock_gettime(clock, &a) == 0);
    do {
        NEED(clock_gettime(clock, &b) == 0);
    } while (!before(&a, &b));
    return 0;
}

static int probe_thread_cpu_time(const char **step)
{
    clockid_t clock;
    NEED0(pthread_getcpuclockid(pthread_self(), &clock));
    return use_cpu_clock(clock, step);
}

static int probe_cpu_time(const char **step)
{
    clockid_t clock;
    NEED0(clock_getcpuclockid(0, &clock));
    return use_cpu_clock(clock, step);
}

#ifdef SCHED_SPORADIC
static int probe_sporadic(const char **step)
{
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_SPORADIC)};
    NEED(sched_setscheduler(0, SCHED_SPORADIC, &param) == 0);
    return 0;
}
#else
#define probe_sporadic not_in_headers
#endif

/* ---- objects between threads and processes --------------------------------------------------- */

static int use_semaphore(sem_t *sem, const char **step)
{
    NEED(sem_post(sem) == 0);
    NEED(sem_wait(sem) == 0);
    NEED(sem_trywait(sem) != 0);
    errno = 0;
    return 0;
}

static int probe_semaphores(const char **step)
{
    char name[48];
    sem_t own, *named;
    NEED(sem_init(&own, 0, 0) == 0);
    int error = use_semaphore(&own, step);
    if (error)
        return error;
    own_name(name, sizeof name);
    named = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    NEED(named != SEM_FAILED);
    sem_unlink(name);
    error = use_semaphore(named, step);
    sem_close(named);
    return error;
}

static int probe_messages(const char **step)
{
    char name[48], out[8] = "message", in[8] = "";
    struct mq_attr attr = {.mq_maxmsg = 2, .mq_msgsize = sizeof out};
    own_name(name, sizeof name);
    mqd_t queue = mq_open(name, O_CREAT | O_EXCL | O_RDWR, 0600, &attr);
    NEED(queue != (mqd_t)-1);
    mq_unlink(name);
    NEED(mq_send(queue, out, sizeof out, 1) == 0);
    NEED(mq_receive(queue, in, sizeof in, NULL) == sizeof out);
    MUST(!strcmp(in, out));
    return mq_close(queue) ? errno : 0;
}

static int probe_shared_memory(const char **step)
{
    char name[48];
    own_name(name, sizeof name);
    int object = shm_open(name, O_CREAT | O_EXCL | O_RDWR, 0600);
    NEED(object >= 0);
    shm_unlink(name);
    NEED(ftruncate(object, 4096) == 0);
    volatile char *a = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, object, 0);
    NEED(a != MAP_FAILED);
    const volatile char *b = mmap(NULL, 4096, PROT_READ, MAP_SHARED, object, 0);
    NEED(b != MAP_FAILED);
    *a = 42;
    MUST(*b == 42);
    return close(object) ? errno : 0;
}

/* ---- time ------------------------------------------------------------------------------------ */

/* Checks a timer that sends a signal after 1 ms. */
static int probe_timers(const char **step)
{
    timer_t timer;
    sigset_t set;
    siginfo_t info;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN};
    struct itimerspec soon = {.it_value = {0, 1000000}};
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    NEED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    NEED(timer_create(CLOCK_REALTIME, &event, &timer) == 0);
    NEED(timer_settime(timer, 0, &soon, NULL) == 0);
    NEED(sigwaitinfo(&set, &info) == SIGRTMIN && info.si_code == SI_TIMER);
    NEED(timer_delete(timer) == 0);
    return 0;
}

static int probe_monotonic(const char **step)
{
    struct timespec a, b, resolution;
    NEED(clock_getres(CLOCK_MONOTONIC, &resolution) == 0);
    NEED(clock_gettime(CLOCK_MONOTONIC, &a) == 0);
    NEED(clock_gettime(CLOCK_MONOTONIC, &b) == 0);
    MUST(!before(&b, &a));
    return 0;
}

static int probe_clock_selection(const char **step)
{
    pthread_condattr_t attr;
    pthread_cond_t condition;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    NEED0(pthread_condattr_init(&attr));
    NEED0(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    NEED0(pthread_cond_init(&condition, &attr));
    struct timespec soon = after_ms(CLOCK_MONOTONIC, 1);
    NEED0(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &soon, NULL));
    NEED0(pthread_mutex_lock(&mutex));
    soon = after_ms(CLOCK_MONOTONIC, 1);
    MUST(pthread_cond_timedwait(&condition, &mutex, &soon) == ETIMEDOUT);
    return 0;
}

static int probe_timeouts(const char **step)
{
    sem_t sem;
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct timespec soon = after_ms(CLOCK_REALTIME, 1);
    NEED0(pthread_mutex_lock(&mutex));
    MUST(pthread_mutex_timedlock(&mutex, &soon) == ETIMEDOUT);
    NEED(sem_init(&sem, 0, 0) == 0);
    NEED(sem_timedwait(&sem, &soon) != 0 && errno == ETIMEDOUT);
    return 0;
}

/* Two signals with the same number queue, in order, with their values. */
static int probe_signals(const char **step)
{
    sigset_t set;
    siginfo_t first, second;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    NEED(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
    NEED(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 1}) == 0);
    NEED(sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 2}) == 0);
    NEED(sigwaitinfo(&set, &first) == SIGRTMIN && first.si_value.sival_int == 1);
    NEED(sigwaitinfo(&set, &second) == SIGRTMIN && second.si_value.sival_int == 2);
    return 0;
}

/* ---- memory and files ------------------------------------------------------------------------ */

static int probe_memlock(const char **step)
{
    NEED(mlockall(MCL_CURRENT) == 0);
    NEED(munlockall() == 0);
    return 0;
}

static int probe_memlock_range(const char **step)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(page != MAP_FAILED);
    NEED(mlock(page, 4096) == 0);
    NEED(munlock(page, 4096) == 0);
    return 0;
}

/* A write to a read-only page causes SIGSEGV. */
static int probe_protection(const char **step)
{
    int status = 0;
    volatile char *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    NEED(page != MAP_FAILED);
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        *page = 1;
        _exit(0);
    }
    NEED(waitpid(child, &status, 0) == child);
    MUST(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    NEED(mprotect((void *)page, 4096, PROT_READ | PROT_WRITE) == 0);
    *page = 1;
    return 0;
}

static int probe_mapped_files(const char **step)
{
    char byte = 0;
    int file = own_file();
    NEED(file >= 0);
    NEED(ftruncate(file, 4096) == 0);
    volatile char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    NEED(memory != MAP_FAILED);
    *memory = 42;
    NEED(msync((void *)memory, 4096, MS_SYNC) == 0);
    NEED(pread(file, &byte, 1, 0) == 1 && byte == 42);
    return 0;
}

static int probe_fsync(const char **step)
{
    int file = own_file();
    NEED(file >= 0);
    NEED(write(file, "x", 1) == 1);
    NEED(fsync(file) == 0);
    return 0;
}

static int probe_synchronized(const char **step)
{
    int file = own_file();
    NEED(file >= 0);
    NEED(fcntl(file, F_SETFL, O_SYNC) == 0);
    NEED(write(file, "x", 1) == 1);
    NEED(fdatasync(file) == 0);
    return 0;
}

/* Writes a byte asynchronously; a lower priority of the request must be accepted. */
static int write_behind(int lower_by, const char **step)
{
    static char byte = 42;
    char read_back = 0;
    int file = own_file();
    NEED(file >= 0);
    struct aiocb block = {
        .aio_fildes = file, .aio_buf = &byte, .aio_nbytes = 1, .aio_reqprio = lower_by};
    const struct aiocb *const list[] = {&block};
    NEED(aio_write(&block) == 0);
    while (aio_error(&block) == EINPROGRESS)
        NEED(aio_suspend(list, 1, NULL) == 0);
    NEED0(aio_error(&block));
    NEED(aio_return(&block) == 1);
    NEED(pread(file, &read_back, 1, 0) == 1 && read_back == byte);
    return 0;
}

static int probe_aio(const char **step)
{
    return write_behind(0, step);
}

static int probe_prioritized(const char **step)
{
    return write_behind(1, step);
}

static int probe_file_system(const char **step)
{
    char directory[] = "/tmp/rtstone-XXXXXX", file[64];
    NEED(mkdtemp(directory));
    snprintf(file, sizeof file, "%s/file", directory);
    int fd = open(file, O_CREAT | O_EXCL | O_RDWR, 0600);
    int error = fd >= 0 && write(fd, "x", 1) == 1 ? 0 : errno;
    unlink(file);
    rmdir(directory);
    NEED0(error);
    return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static int probe_scheduling(const char **step)
{
    struct sched_param param = {.sched_priority = sched_get_priority_min(SCHED_FIFO)}, back;
    NEED(sched_setscheduler(0, SCHED_FIFO, &param) == 0);
    NEED(sched_getscheduler(0) == SCHED_FIFO);
    NEED(sched_getparam(0, &back) == 0 && back.sched_priority == param.sched_priority);
    NEED(sched_yield() == 0);
    return 0;
}

static int probe_processes(const char **step)
{
    int status = 0;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0)
        _exit(42);
    NEED(waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == 42);
    return 0;
}

/* Runs a shell command and checks its exit status. */
static int spawn_shell(char *command, int expected, const char **step)
{
    char shell[] = "sh", flag[] = "-c";
    char *const words[] = {shell, flag, command, NULL};
    int status = 0;
    pid_t child;
    NEED0(posix_spawn(&child, "/bin/sh", NULL, NULL, words, environ));
    NEED(waitpid(child, &status, 0) == child);
    MUST(WIFEXITED(status) && WEXITSTATUS(status) == expected);
    return 0;
}

static int probe_spawn(const char **step)
{
    char command[] = "exit 42";
    return spawn_shell(command, 42, step);
}

/* Checks a few of the utilities that POSIX.2 requires. */
static int probe_shell(const char **step)
{
    char command[] = "test \"$(printf 'b\\na\\n' | sort | sed -n 1p)\" = a";
    return spawn_shell(command, 0, step);
}

/* A child in its own process group is stopped and continued. */
static int probe_job_control(const char **step)
{
    int status = 0;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0) {
        setpgid(0, 0);
        raise(SIGSTOP);
        _exit(0);
    }
    NEED(waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status));
    MUST(getpgid(child) == child);
    NEED(kill(-child, SIGCONT) == 0);
    NEED(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return 0;
}

/* Gives up an identity and restores the saved one; a user other than root has only one. */
static int probe_saved_ids(const char **step)
{
    uid_t was = geteuid(), other = was == 0 ? 65534 : was;
    NEED(seteuid(other) == 0 && geteuid() == other);
    NEED(seteuid(was) == 0 && geteuid() == was);
    return 0;
}

static int probe_raw_sockets(const char **step)
{
    int s = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    NEED(s >= 0);
    return close(s) ? errno : 0;
}

/* ---- the table ------------------------------------------------------------------------------- */

/* glibc and musl lack tracing altogether: neither headers nor functions. */
#define probe_trace not_in_headers

/* A macro as the compiler sees it: its value, or its name if it is undefined. */
#define TEXT(...) #__VA_ARGS__
#define MACRO(macro) TEXT(macro)
#define OPTION(name, probe, profiles) {#name, MACRO(_POSIX_##name), probe, _SC_##name, profiles}
#define MODULE(name, probe, profiles) {name, "", probe, -1, profiles}

const posix_option posix_option_table[] = {
    OPTION(THREADS, probe_threads, FROM51 | ALL_1998),
    OPTION(THREAD_SAFE_FUNCTIONS, probe_safe_functions, FROM51),
    OPTION(THREAD_ATTR_STACKADDR, probe_stack_address, FROM51),
    OPTION(THREAD_ATTR_STACKSIZE, probe_stack_size, FROM51),
    OPTION(THREAD_PRIORITY_SCHEDULING, probe_thread_scheduling, FROM51),
    OPTION(THREAD_PRIO_INHERIT, probe_inherit, FROM51),
    OPTION(THREAD_PRIO_PROTECT, probe_protect, FROM51),
    OPTION(THREAD_CPUTIME, probe_thread_cpu_time, FROM51),
    OPTION(THREAD_SPORADIC_SERVER, probe_sporadic, FROM51),
    OPTION(SEMAPHORES, probe_semaphores, FROM51),
    OPTION(TIMERS, probe_timers, FROM51),
    OPTION(MONOTONIC_CLOCK, probe_monotonic, FROM51),
    OPTION(CLOCK_SELECTION, probe_clock_selection, FROM51),
    OPTION(TIMEOUTS, probe_timeouts, FROM51),
    OPTION(REALTIME_SIGNALS, probe_signals, FROM51),
    OPTION(MEMLOCK, probe_memlock, FROM51),
    OPTION(MEMLOCK_RANGE, probe_memlock_range, FROM51),
    OPTION(SHARED_MEMORY_OBJECTS, probe_shared_memory, FROM51),
    OPTION(FSYNC, probe_fsync, FROM51),
    OPTION(SYNCHRONIZED_IO, probe_synchronized, FROM51),
    OPTION(MESSAGE_PASSING, probe_messages, FROM52),
    OPTION(MAPPED_FILES, probe_mapped_files, FROM52),
    OPTION(TRACE, probe_trace, FROM52),
    OPTION(TRACE_EVENT_FILTER, probe_trace, FROM52),
    OPTION(TRACE_LOG, probe_trace, FROM52),
    MODULE("module FILE_SYSTEM", probe_file_system, FROM52 | PSE52_1998 | PSE54_1998),
    OPTION(ASYNCHRONOUS_IO, probe_aio, FROM53),
    OPTION(PRIORITIZED_IO, probe_prioritized, FROM53),
    OPTION(CPUTIME, probe_cpu_time, FROM53),
    OPTION(MEMORY_PROTECTION, probe_protection, FROM53),
    OPTION(PRIORITY_SCHEDULING, probe_scheduling, FROM53),
    OPTION(SPAWN, probe_spawn, FROM53),
    OPTION(SPORADIC_SERVER, probe_sporadic, FROM53),
    OPTION(RAW_SOCKETS, probe_raw_sockets, FROM53),
    MODULE("module MULTI_PROCESS", probe_processes, FROM53 | PSE53_1998 | PSE54_1998),
    OPTION(JOB_CONTROL, probe_job_control, PSE54),
    OPTION(SAVED_IDS, probe_saved_ids, PSE54),
    {"POSIX.2", MACRO(_POSIX2_VERSION), probe_shell, _SC_2_VERSION, PSE54},
};
const size_t posix_option_table_n = sizeof posix_option_table / sizeof posix_option_table[0];
