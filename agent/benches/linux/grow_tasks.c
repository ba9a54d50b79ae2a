/* grow.*: services of threads, futexes, signals, messages and sockets. */
#include <linux/futex.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "grow.h"

static atomic_int waiting; /* threads that have come to where they wait */

/* ---- futexes --------------------------------------------------------------------------------- */

#define ADDRESSES 4096

static int futexes[ADDRESSES];
static int shared;     /* at which all of them wait */
static int *colliding; /* nobody waits there, but the kernel looks for it in the same list */

static long futex(int *at, int op, int value, const struct timespec *until)
{
    return syscall(SYS_futex, at, op, value, until, NULL, FUTEX_BITSET_MATCH_ANY);
}

static void *wait_at_shared(void *arg)
{
    for (;;) {
        atomic_fetch_add(&waiting, 1);
        futex(&shared, FUTEX_WAIT_PRIVATE, 0, NULL);
    }
    return arg;
}

static int waiters(rts_case *c, int n)
{
    if (grow_threads(c, n, RTS_FIFO, wait_at_shared))
        return -1;
    grow_settle(&waiting, n);
    return 0;
}

static rts_tick wake_at(int *address)
{
    grow_span span;
    GROW_TIME(&span, futex(address, FUTEX_WAKE_PRIVATE, 1, NULL));
    return span.end - span.begin;
}

/* The address whose wake-up is slowest shares the list; the least of three, against ticks. */
static int waiters_elsewhere(rts_case *c, int n)
{
    rts_tick slowest = 0;
    if (waiters(c, n))
        return -1;
    for (int i = 0; i < ADDRESSES; i++) {
        rts_tick least = UINT64_MAX;
        for (int k = 0; k < 3; k++) {
            rts_tick took = wake_at(&futexes[i]);
            least = took < least ? took : least;
        }
        if (least > slowest) {
            slowest = least;
            colliding = &futexes[i];
        }
    }
    return 0;
}

static bool wake_nobody(int n, grow_span *span)
{
    long woken;
    (void)n;
    GROW_TIME(span, woken = futex(colliding, FUTEX_WAKE_PRIVATE, 1, NULL));
    return woken == 0;
}

/* Those that are woken are less urgent: they wait again before the next sample. */
static bool wake(int n, int most, grow_span *span)
{
    long woken;
    atomic_store(&waiting, n - (most < n ? most : n));
    GROW_TIME(span, woken = futex(&shared, FUTEX_WAKE_PRIVATE, most, NULL));
    grow_settle(&waiting, n);
    return woken == (most < n ? most : n);
}

static bool wake_one(int n, grow_span *span)
{
    return wake(n, 1, span);
}

static bool wake_all(int n, grow_span *span)
{
    return wake(n, GROW_MAX, span);
}

static bool wait_in_vain(int n, grow_span *span)
{
    const struct timespec past = {.tv_nsec = 1};
    long err;
    (void)n;
    GROW_TIME(span, err = futex(&shared, FUTEX_WAIT_BITSET_PRIVATE, 0, &past));
    return err == -1 && errno == ETIMEDOUT;
}

/* ---- threads --------------------------------------------------------------------------------- */

static void *return_at_once(void *arg)
{
    return arg;
}

static bool create_thread(int n, grow_span *span)
{
    pthread_t thread;
    int err;
    (void)n;
    GROW_TIME(span, err = pthread_create(&thread, NULL, return_at_once, NULL));
    return !err && !pthread_join(thread, NULL);
}

/* A chain of mutexes with inheritance: thread i holds mutex i and waits for mutex i - 1. */
static pthread_mutex_t chain[GROW_MAX];
static atomic_int links; /* that have begun, in the order of their creation */
static _Atomic pid_t last_link;

static void *be_a_link(void *arg)
{
    int i = atomic_fetch_add(&links, 1);
    pthread_mutex_lock(&chain[i]);
    atomic_store(&last_link, (pid_t)syscall(SYS_gettid));
    atomic_fetch_add(&waiting, 1);
    if (i > 0)
        pthread_mutex_lock(&chain[i - 1]);
    for (;;)
        pause();
    return arg;
}

/* FIFO threads of one priority come to their mutexes in the order of their creation. */
static int chain_of_locks(rts_case *c, int n)
{
    pthread_mutexattr_t inherit;
    pthread_mutexattr_init(&inherit);
    pthread_mutexattr_setprotocol(&inherit, PTHREAD_PRIO_INHERIT);
    for (int i = 0; i < n; i++)
        pthread_mutex_init(&chain[i], &inherit);
    if (grow_threads(c, n, RTS_FIFO, be_a_link))
        return -1;
    grow_settle(&waiting, n);
    return 0;
}

/* Each change of the last one's priority is passed on to all whom it waits for. */
static bool raise_last(int n, grow_span *span)
{
    static int turn;
    struct sched_param priority;
    int err = sched_getparam(last_link, &priority);
    (void)n;
    priority.sched_priority += turn++ % 2 ? -1 : 1;
    GROW_TIME(span, err |= sched_setparam(last_link, &priority));
    return !err;
}

/* ---- signals --------------------------------------------------------------------------------- */

static void block_signals(sigset_t *accepted)
{
    sigset_t both;
    sigemptyset(accepted);
    sigaddset(accepted, SIGRTMIN);
    both = *accepted;
    sigaddset(&both, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &both, NULL);
}

static sigset_t accepted;

/* Of the signal that comes after the one that is accepted. */
static int pending_signals(rts_case *c, int n)
{
    block_signals(&accepted);
    for (int i = 0; i < n; i++)
        if (sigqueue(getpid(), SIGRTMIN + 1, (union sigval){0}))
            return grow_refused(c, "pending signals (ulimit -i)", i);
    return 0;
}

static int blocking_threads(rts_case *c, int n)
{
    block_signals(&accepted);
    return waiters(c, n);
}

static bool queue_signal(int n, grow_span *span)
{
    int err;
    (void)n;
    GROW_TIME(span, err = sigqueue(getpid(), SIGRTMIN, (union sigval){0}));
    return !err && sigwaitinfo(&accepted, NULL) == SIGRTMIN;
}

static bool accept_signal(int n, grow_span *span)
{
    int number;
    (void)n;
    if (sigqueue(getpid(), SIGRTMIN, (union sigval){0}))
        return false;
    GROW_TIME(span, number = sigwaitinfo(&accepted, NULL));
    return number == SIGRTMIN;
}

/* ---- messages and semaphores ----------------------------------------------------------------- */

#define MESSAGE 16
#define PRIORITIES 32768

static mqd_t queue = -1;
static const char message[MESSAGE];

static int fill(rts_case *c, int n, bool priorities)
{
    struct mq_attr attr = {.mq_maxmsg = n + 2, .mq_msgsize = MESSAGE};
    char name[32] = "/rtstone-grow-";
    size_t length = strlen(name);
    for (pid_t id = getpid(); id > 0 && length + 1 < sizeof name; id /= 10)
        name[length++] = (char)('0' + id % 10);
    queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK | O_CLOEXEC, 0600, &attr);
    if (queue < 0)
        return grow_refused(c, "messages in a queue (fs.mqueue.msg_max)", 0);
    mq_unlink(name);
    for (int i = 0; i < n; i++)
        if (mq_send(queue, message, MESSAGE, priorities ? (unsigned)(2 * i) % (PRIORITIES - 1) : 5))
            return grow_refused(c, "messages in a queue", i);
    return 0;
}

static int messages(rts_case *c, int n)
{
    return fill(c, n, false);
}

static int priorities(rts_case *c, int n)
{
    return fill(c, n, true);
}

static bool send_message(int n, grow_span *span)
{
    char back[MESSAGE];
    unsigned priority;
    int err;
    (void)n;
    GROW_TIME(span, err = mq_send(queue, message, MESSAGE, PRIORITIES - 1));
    return !err && mq_receive(queue, back, MESSAGE, &priority) == MESSAGE;
}

static int set = -1; /* the case's semaphore of System V, which is removed whatever happens */

static void *wait_for_more(void *arg)
{
    struct sembuf much = {.sem_op = -1000};
    atomic_fetch_add(&waiting, 1);
    semop(set, &much, 1);
    return arg;
}

static int greedy_waiters(rts_case *c, int n)
{
    const rts_set *own = rts_set_make(c);
    if (!own)
        return -1;
    set = own->id;
    if (grow_threads(c, n, RTS_FIFO, wait_for_more))
        return -1;
    grow_settle(&waiting, n);
    return 0;
}

static bool add_one(int n, grow_span *span)
{
    struct sembuf addition = {.sem_op = 1}, removal = {.sem_op = -1};
    int err;
    (void)n;
    GROW_TIME(span, err = semop(set, &addition, 1));
    return !err && !semop(set, &removal, 1);
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* Binds a socket to any port of the loopback interface. */
static int bind_any(int socket)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return bind(socket, (const struct sockaddr *)&here, sizeof here);
}

static int bound_sockets(rts_case *c, int n)
{
    for (int i = 0; i < n; i++) {
        int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (udp < 0 || bind_any(udp))
            return grow_refused(c, "sockets bound to a port", i);
    }
    return 0;
}

static bool bind_socket(int n, grow_span *span)
{
    int udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;
    (void)n;
    GROW_TIME(span, err = bind_any(udp));
    close(udp);
    return !err;
}

/* ---- benches --------------------------------------------------------------------------------- */

GROW_RUN(run_wake_nobody, wake_nobody, waiters_elsewhere)
GROW_RUN(run_wake_one, wake_one, waiters)
GROW_RUN(run_wake_all, wake_all, waiters)
GROW_RUN(run_wait, wait_in_vain, waiters)
GROW_RUN(run_thread, create_thread, waiters)
GROW_RUN(run_chain, raise_last, chain_of_locks)
GROW_RUN(run_sigqueue, queue_signal, pending_signals, blocking_threads)
GROW_RUN(run_sigwait, accept_signal, pending_signals)
GROW_RUN(run_send, send_message, messages, priorities)
GROW_RUN(run_semop, add_one, greedy_waiters)
GROW_RUN(run_bind, bind_socket, bound_sockets)

GROW_PARAMS(elsewhere_param, GROW_MAX, "waiters-elsewhere",
            "threads that wait at another address, for which the kernel looks in the same list");
GROW_PARAMS(waiters_param, GROW_MAX, "waiters", "threads that wait there");
GROW_PARAMS(blocked_param, GROW_MAX, "blocked-threads", "other threads of the process, that wait");
GROW_PARAMS(chain_param, GROW_MAX, "links-of-a-chain",
            "threads of which each waits for a lock that the one before holds");
GROW_PARAMS(sigqueue_param, GROW_MAX, "pending-signals|threads-that-block-it",
            "signals of another number that are pending, or threads of the process");
GROW_PARAMS(sigwait_param, GROW_MAX, "pending-signals",
            "signals of another number that are pending");
GROW_PARAMS(send_param, GROW_MAX, "messages|priorities",
            "messages in the queue, of one priority or each of another");
GROW_PARAMS(semop_param, GROW_MAX, "waiters", "threads that wait for more than there is");
GROW_PARAMS(bind_param, GROW_MAX, "bound-sockets", "sockets that are bound to a port");

static const rts_bench benches[] = {
    {GROW_COMMON, .id = "grow.futex.nobody", .title = RTS_SAY("futex wake of nobody"),
     .help = RTS_SAY("Duration of a futex wake at an address at which nobody waits."),
     .params = elsewhere_param, .run = run_wake_nobody},
    {GROW_COMMON, .id = "grow.futex.one", .title = RTS_SAY("futex wake of one"),
     .help = RTS_SAY("Duration of a futex wake of one thread, which is less urgent."),
     .params = waiters_param, .run = run_wake_one},
    {GROW_COMMON, .id = "grow.futex.all", .title = RTS_SAY("futex wake of all"),
     .help = RTS_SAY("Duration of a futex wake of all threads, which are less urgent."),
     .params = waiters_param, .run = run_wake_all},
    {GROW_COMMON, .id = "grow.futex.wait", .title = RTS_SAY("futex wait"),
     .help = RTS_SAY("Duration of a futex wait until a time that has passed."),
     .params = waiters_param, .run = run_wait},
    {GROW_COMMON, .id = "grow.thread", .title = RTS_SAY("pthread_create"),
     .help = RTS_SAY("Duration of pthread_create of a thread as urgent as the case."),
     .params = blocked_param, .run = run_thread},
    {GROW_COMMON, .id = "grow.inherit", .title = RTS_SAY("sched_setparam of a waiting thread"),
     .help = RTS_SAY("Duration of a change of priority of the last thread of a chain of locks with "
                     "inheritance, which is passed on to all before it."),
     .params = chain_param, .run = run_chain},
    {GROW_COMMON, .id = "grow.sigqueue", .title = RTS_SAY("sigqueue"),
     .help = RTS_SAY("Duration of sigqueue to the own process, which blocks the signal."),
     .params = sigqueue_param, .run = run_sigqueue},
    {GROW_COMMON, .id = "grow.sigwait", .title = RTS_SAY("sigwaitinfo"),
     .help = RTS_SAY("Duration of sigwaitinfo for a signal that is pending."),
     .params = sigwait_param, .run = run_sigwait},
    {GROW_COMMON, .id = "grow.mq", .title = RTS_SAY("mq_send"),
     .help = RTS_SAY("Duration of mq_send at the highest priority."), .params = send_param,
     .run = run_send},
    {GROW_COMMON, .id = "grow.semop", .title = RTS_SAY("semop that adds 1"),
     .help = RTS_SAY("Duration of semop that adds 1 and releases nobody."), .params = semop_param,
     .run = run_semop},
    {GROW_COMMON, .id = "grow.bind", .title = RTS_SAY("UDP bind"),
     .help = RTS_SAY("Duration of bind of a UDP socket to any port."), .params = bind_param,
     .run = run_bind},
};

RTS_BENCHES(benches);
