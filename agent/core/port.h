/*
 * What rtstone needs from an operating system.
 *
 * Benches include only this header. A port provides
 *   port_types.h   the types rts_sem, rts_mutex, rts_queue, rts_task, rts_child and rts_channel,
 *                  the port's constants and options, and its overrides of sizes.h
 *   port_inline.h  the hot operations, inlined so that only the system's own call lies between the
 *                  two clock reads of a sample
 *   *.c            everything else
 * in agent/ports/NAME. If a system lacks a capability, the port does not announce it; a capability
 * is never emulated under the same name.
 *
 * Functions return 0, or a negative value of enum rts_error. A port whose system has its own error
 * numbers (errno) returns those, negated, and provides rts_port_strerror() and rts_port_is_limit().
 *
 * Defaults for what a port lacks, and for what most systems have in common, are in absent.h and
 * absent.c.
 */
#ifndef RTS_PORT_H
#define RTS_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "port_types.h"
#include "sizes.h"

typedef enum rts_error {
    RTS_E_FAILED = -1, /* the system's call failed */
    RTS_E_ABSENT = -2, /* from here on limits of the system: the case is unsupported... */
    RTS_E_NO_MEMORY = -3,
    RTS_E_NO_ROOM = -4, /* the object cannot be that large */
    RTS_E_BUSY = -5,    /* ...up to here */
    RTS_E_NOT_OWNER = -6,
    RTS_E_OVERFLOW = -7,
} rts_error;

/* Types that a port lacks come from absent.h. */
typedef struct rts_child rts_child;
typedef struct rts_event rts_event;
typedef struct rts_irq rts_irq;
typedef struct rts_set rts_set;

/*
 * Optional capabilities of a port, beyond what every port provides; a bench names those that it
 * needs. Each is a bit, RTS_CAP_NAME, in the order of this table, and has a name on the wire.
 */
#define RTS_EACH_CAP(X)                                                                            \
    X(PRIORITIES, "priorities")       /* tasks of different priority, strictly obeyed */           \
    X(ROUND_ROBIN, "round_robin")     /* time slicing between tasks of equal priority */           \
    X(PROCESS, "process")             /* tasks with an address space of their own */               \
    X(SEM_NAMED, "sem_named")         /* semaphores with a name in the system */                   \
    X(SEM_PSHARED, "sem_pshared")     /* unnamed semaphores shared between processes */            \
    X(HEAP, "heap")                   /* malloc and free */                                        \
    X(CLOCK_LIBRARY, "clock_library") /* rts_time() is a library call, not the counter */          \
    X(CLOCK_SYSCALL, "clock_syscall") /* rts_time_syscall() */                                     \
    X(LOCK_PROTECT, "lock_protect")   /* mutexes with a priority ceiling */                        \
    X(CPU_TIME, "cpu_time")           /* CPU time of tasks, and preemptions */                     \
    X(SMP, "smp")                     /* a second CPU for tasks */                                 \
    X(SIGNALS, "signals")             /* queued real-time signals */                               \
    X(FILES, "files")                 /* a file system */                                          \
    X(NETWORK, "network")             /* TCP/IP, at least to itself */                             \
    X(DEADLINE, "deadline")           /* scheduling by deadline */                                 \
    X(POSIX, "posix")                 /* other calls of POSIX.1b and .1c */                        \
    X(CHILDREN, "children")           /* rts_child_create(): a child does not run at once */       \
    X(EVENT, "event")                 /* rts_event_open(): periodic hardware events */             \
    X(IRQ_TIMER, "irq_timer")         /* a handler that reads the counter of its timer */          \
    X(SUSPEND, "suspend")             /* rts_suspend(), rts_resume() */                            \
    X(SOFT_IRQ, "soft_irq")           /* rts_irq_raise(): an interrupt on request */               \
    X(RWLOCK, "rwlock")               /* read-write locks; like the next two, with RTS_LOCKS */    \
    X(BARRIER, "barrier")                                                                          \
    X(SPIN, "spin")           /* spin locks */                                                     \
    X(COLD, "cold_cache")     /* rts_port_chill(): empty caches, with RTS_COLD */                  \
    X(FOOTPRINT, "footprint") /* rts_port_footprint(), with RTS_FOOTPRINT */                       \
    X(SEM_SYSV, "sem_sysv")   /* semaphores of System V, with RTS_SETS */

#define RTS_CAP_NUMBER(name, wire) RTS_CAP_NUMBER_##name,
#define RTS_CAP_BIT(name, wire) RTS_CAP_##name = 1 << RTS_CAP_NUMBER_##name,
enum { RTS_EACH_CAP(RTS_CAP_NUMBER) RTS_CAPS };
enum { RTS_EACH_CAP(RTS_CAP_BIT) };

/* Returns the capabilities that are usable now: missing privileges clear their bit. */
uint32_t rts_port_caps(void);

/* Returns why a capability is missing, and what would provide it. */
const char *rts_port_why_not(uint32_t cap);

/* ---- clock ------------------------------------------------------------------------------- */

/* A reading of the counter that times samples, in ticks, or of another clock in its own units. */
typedef uint64_t rts_tick;

typedef struct rts_clock {
    const char *source; /* "tsc", "cntvct", "vdso", ... */
    const char *unit;   /* what the host reports: "ns" or "instructions" */
    uint64_t hz;        /* ticks per second */
    uint64_t granule;   /* smallest step the counter makes, in ticks */
    uint64_t overhead;  /* minimum of two consecutive reads, in ticks */
} rts_clock;

/* Reads the counter, ordered after all preceding and before all following instructions. */
static inline rts_tick rts_now(void);

/*
 * A time stamp: a reading of the counter with as many bits as the processor reads at once, so that
 * nothing has to be assembled within a timed interval. A port whose rts_now() does more than that
 * one reading defines RTS_STAMP_BITS as 32, and rts_stamp_now(); an interval must then be shorter
 * than 2^32 ticks.
 */
#ifndef RTS_STAMP_BITS
#define RTS_STAMP_BITS 64
#endif
#if RTS_STAMP_BITS == 32
typedef uint32_t rts_stamp;
#else
typedef rts_tick rts_stamp;
#endif
static inline rts_stamp rts_stamp_now(void);

/* Reads the clock that rts_sleep_until() uses: monotonic, RTS_TIME_HZ per second. */
RTS_SHARED rts_tick rts_time(void);

/* The same clock, read in the kernel; called only with RTS_CAP_CLOCK_SYSCALL. */
static inline rts_tick rts_time_syscall(void);

/*
 * If sleeps end at ticks, as on most RTOSes, RTS_SLEEP_GRAIN is the length of a tick in units of
 * RTS_TIME_HZ; ticks are at its multiples.
 */
#ifndef RTS_SLEEP_GRAIN
#define RTS_SLEEP_GRAIN 1
#endif

/* Returns the first time at or after `time` at which a sleep can end: for the first release. */
static inline rts_tick rts_release_at(rts_tick time)
{
    return RTS_SLEEP_GRAIN == 1 ? time
                                : (time + RTS_SLEEP_GRAIN - 1) / RTS_SLEEP_GRAIN * RTS_SLEEP_GRAIN;
}

/* Returns the resolution of rts_time() as reported by the system, in ns. */
uint64_t rts_port_time_resolution_ns(void);

/* Chooses the counter and finds its frequency; fills source, unit and hz. */
int rts_port_clock_init(rts_clock *clock);

/* ---- tasks ------------------------------------------------------------------------------- */

/*
 * RTS_OTHER: the system's policy for tasks that are not real-time; their prio is ignored. If such
 * tasks have no time slices, the port defines RTS_OTHER_YIELDS: workers of loads then yield after
 * each step.
 */
typedef enum rts_policy { RTS_FIFO, RTS_RR, RTS_OTHER } rts_policy;

/* The highest priority that a case may be given; by default it has RTS_PRIO_MAX. */
#ifndef RTS_PRIO_TOP
#define RTS_PRIO_TOP RTS_PRIO_MAX
#endif

/* A set of CPU numbers. */
typedef struct rts_cpuset {
    uint64_t word[RTS_CPUS / 64];
} rts_cpuset;

bool rts_cpuset_has(const rts_cpuset *set, unsigned cpu);
void rts_cpuset_add(rts_cpuset *set, unsigned cpu);
unsigned rts_cpuset_count(const rts_cpuset *set);
int rts_cpuset_first(const rts_cpuset *set); /* -1: empty */

typedef struct rts_task_attr {
    void (*run)(void *arg); /* the task ends when it returns */
    void *arg;
    int prio;          /* RTS_PRIO_MIN (least urgent) to RTS_PRIO_TOP */
    rts_policy policy; /* among tasks of equal priority */
    int cpu;           /* CPU to run on; -1: any of the case's */
    bool process;      /* needs RTS_CAP_PROCESS; shares memory from rts_port_shared() only */
    size_t stack;      /* bytes; 0: RTS_STACK_DEFAULT */
} rts_task_attr;

/* Creates a task that is ready to run at once. */
int rts_task_create(rts_task *task, const rts_task_attr *attr);

/* Waits until the task has returned and frees what it used. */
int rts_task_join(rts_task *task);

/* Changes the priority and policy of the calling task. */
int rts_task_set_own_prio(int prio, rts_policy policy);

/*
 * Schedules the calling task by deadline: `runtime` of CPU time in every `period`, which is also
 * its deadline, both in ns; until rts_task_set_own_prio().  Called only with RTS_CAP_DEADLINE.
 */
int rts_task_set_own_deadline(uint64_t runtime, uint64_t period);

/* Returns why that failed, and what to do. */
const char *rts_port_why_no_deadline(int error);

/*
 * Makes sure that the tasks of this case, all bound to that CPU (-1: not bound), may be scheduled
 * by deadline for as long as it runs; called by the measuring task, before it makes others.
 * Returns NULL, or why they may not and what to do.
 */
const char *rts_port_allow_deadlines(int cpu);

/* Returns the CPU time used by the calling task, in ns; called only with RTS_CAP_CPU_TIME. */
static inline uint64_t rts_cpu_time(void);

/*
 * Return the CPU time of another task, and how often tasks of the case were preempted; called for
 * results only with RTS_CAP_CPU_TIME.
 */
uint64_t rts_task_cpu_time(const rts_task *task);
uint64_t rts_preemptions(void);

/* Returns the time slice of that policy in ns; 0: none of fixed length. */
uint64_t rts_port_slice_ns(rts_policy policy);

/* Yields the CPU to the next ready task of the same priority, if there is one. */
static inline void rts_yield(void);

/* Sleeps until rts_time() >= time; returns at once if that has passed. */
RTS_SHARED void rts_sleep_until(rts_tick time);

/*
 * A port that defines RTS_WALL has a wall clock as well, which counts RTS_TIME_HZ and may be set:
 * rts_wall_was_set() returns whether it was since the last call, or rts_wall_open().
 */
#ifdef RTS_WALL
static inline rts_tick rts_wall_time(void);
static inline void rts_wall_sleep_until(rts_tick time); /* or until the clock is set */
int rts_wall_open(rts_wall *wall);
bool rts_wall_was_set(rts_wall *wall);
void rts_wall_close(rts_wall *wall);
#endif

/*
 * Sleeps for `duration` of rts_time(), counted from the call; not 0 if something ended the sleep
 * early.  One call of the system, never repeated.
 */
RTS_SHARED int rts_sleep_for(rts_tick duration);

/* ---- suspension, with RTS_CAP_SUSPEND ---------------------------------------------------- */

/* Suspends the calling task until another task resumes it. */
static inline void rts_suspend(void);
static inline int rts_resume(rts_task *task);

/* ---- work -------------------------------------------------------------------------------- */

/* Kinds of work that a task does without system calls, and their units. */
typedef enum rts_work {
    RTS_WORK_ADD,  /* integer additions */
    RTS_WORK_COPY, /* bytes copied */
    RTS_WORK_SET,  /* bytes set */
    RTS_WORK_KWI,  /* thousand Whetstone instructions */
} rts_work;

/*
 * Reports that the caller has done this much work. A processor has spent the time already; on a
 * simulated system the clock advances here.
 */
static inline void rts_worked(rts_work kind, uint64_t amount);

/* Returns how much of an amount of work to really do: 1 if rts_worked() advances the clock. */
static inline uint64_t rts_work_to_do(uint64_t amount)
{
#ifdef RTS_WORKED
    return amount != 0;
#else
    return amount;
#endif
}

/* ---- periodic timers --------------------------------------------------------------------- */

/*
 * An expiration of a timer. The port lists its kinds of timers in RTS_TIMERS ("one|two"). If the
 * clock of some may be set, it defines RTS_TIMERS_WALL. timer.wall.time is then rts_time(): of the
 * first expiration before any wait, and of now after one. If the clock was set meanwhile, the wait
 * ends without an expiration, and timer.first has changed by as much as the clock.
 */
typedef struct rts_expiry {
    rts_tick stamp;    /* first statement after the expiration, by the timer's clock */
    uint64_t k;        /* it was due at timer.first + k timer.period */
    uint64_t overruns; /* later expirations that were merged with this one */
#ifdef RTS_TIMERS_WALL
    bool set; /* the clock was set, and nothing else is valid */
#endif
} rts_expiry;

/* Starts a timer for the calling task; sets its `first` (RTS_TIME_HZ) and `period`. */
int rts_timer_start(rts_timer *timer, int kind, rts_tick period);
void rts_timer_wait(rts_timer *timer, rts_expiry *expiry);
void rts_timer_stop(rts_timer *timer);

/* ---- children: what proc.* creates and kills --------------------------------------------- */

/*
 * A child has one of the port's RTS_CHILD_KINDS ("thread|...", the choices of a parameter) and does
 * nothing. It is on the CPU of its parent and does not run before the parent blocks, unless the
 * creating call itself makes the parent wait for it. RTS_VICTIM_KINDS begins with the same kinds
 * and leaves out, at the end, those that have ended when the call that creates them returns.
 * RTS_EACH_CHILD(X) lists the numbers of all kinds, X(0) X(1)...
 */

/*
 * Allocates everything that a child needs: a stack of at least `stack` bytes, and its attributes.
 */
int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack);
void rts_child_release(rts_child *child);

static inline int rts_child_create(rts_child *child, int kind);

/* Sets the prepared priority of a child that was created with its parent's. */
int rts_child_lower(const rts_child *child, int kind);

/* Returns the child's priority, or an error. */
int rts_child_prio(const rts_child *child, int kind);

/* Returns whether the child has had the CPU since its creation, as reported by the system. */
bool rts_child_ran(const rts_child *child, int kind);

/* Terminates the child, which may still exist when this returns. */
static inline int rts_child_kill(rts_child *child, int kind);

/* Waits until nothing is left of the child, and lets it run meanwhile. */
static inline int rts_child_reap(rts_child *child, int kind);

/* ---- periodic events of hardware --------------------------------------------------------- */

/* A source of periodic events. */
typedef struct rts_source {
    const char *name;
    const char *independence; /* "independent" of the system's own timers, or "dependent: ..." */
    const char *stamped;      /* what reads the counter: "the handler", "a woken task" */
    const char *why;          /* after an error: the cause */
    double hz;                /* actual nominal rate */
} rts_source;

/* Opens one of the port's RTS_EVENTS ("best|...", the choices of a parameter) at about this rate.
 */
int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *properties);

/* Waits for the next event; *count: requests since the last one, as counted by the device, or 0. */
int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count);
void rts_event_close(rts_event *event);

/*
 * A port with RTS_CAP_IRQ_TIMER defines RTS_IRQ_TIMER, and returns for the last event how far the
 * timer's counter was past its compare value when the handler read it, in ticks of the clock. The
 * time stamp of an event is then the handler's.
 */
#ifdef RTS_IRQ_TIMER
static inline rts_tick rts_event_late(const rts_event *event);
#endif

/* ---- interrupts by software, with RTS_CAP_SOFT_IRQ --------------------------------------- */

/*
 * The port lists in RTS_IRQ_FORMS ("interrupt|...", the choices of a parameter) what it uses as an
 * interrupt and its service routine, and in RTS_IRQ_STAMPED, form by form, what runs the handler
 * (one for all, "the handler", if absent). The handler runs before rts_irq_raise() returns.
 */
int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg);
static inline int rts_irq_raise(rts_irq *irq);
void rts_irq_close(rts_irq *irq);

/* ---- counting semaphores ----------------------------------------------------------------- */

typedef enum rts_sem_kind { RTS_SEM_UNNAMED, RTS_SEM_NAMED, RTS_SEM_PSHARED } rts_sem_kind;

/*
 * Sets what *sem is to become, outside the timed rts_sem_create(). `slot` distinguishes the named
 * semaphores of an agent. A semaphore for several processes must be in shared memory.
 */
void rts_sem_prepare(rts_sem *sem, rts_sem_kind kind, unsigned slot);
static inline int rts_sem_create(rts_sem *sem, unsigned value);
static inline int rts_sem_destroy(rts_sem *sem);

/* Unlinks the name of a named semaphore, so that a killed agent leaves none behind. */
void rts_sem_unlink(rts_sem *sem);

static inline int rts_sem_give(rts_sem *sem);
static inline int rts_sem_take(rts_sem *sem);

/* Takes the semaphore without waiting; not 0 if it is not available. */
static inline int rts_sem_try(rts_sem *sem);

/*
 * Returns the same semaphore for timed calls by the calling function itself: if a call takes a
 * value from *sem, a copy of it that the compiler keeps in a register, so that it is not loaded
 * within the interval.
 */
#ifndef rts_sem_at_hand
#define rts_sem_at_hand(sem) (sem)
#endif

/*
 * Semaphores of System V, in sets of one, by a port with RTS_CAP_SEM_SYSV: an agent can have
 * RTS_SETS of them at a time, with slots that follow each other. Prepares one outside the timed
 * rts_set_create(), and removes the set that a killed case has left in its slot; a killed agent
 * leaves none behind.
 */
void rts_set_prepare(rts_set *set, unsigned slot);
static inline int rts_set_create(rts_set *set, unsigned value);
static inline int rts_set_destroy(rts_set *set); /* ends the waits for it, with an error */
static inline int rts_set_give(const rts_set *set);
static inline int rts_set_take(const rts_set *set);
static inline int rts_set_try(const rts_set *set);

/* ---- mutexes and queues ------------------------------------------------------------------ */

typedef enum rts_protocol { RTS_LOCK_NONE, RTS_LOCK_INHERIT, RTS_LOCK_PROTECT } rts_protocol;

/*
 * RTS_LOCK_PROTECT needs its capability and a ceiling: the highest priority of a task that locks
 * the mutex. A mutex for several processes must be in shared memory.
 */
int rts_mutex_create(rts_mutex *mutex, rts_protocol protocol, int ceiling);
int rts_mutex_destroy(rts_mutex *mutex);
static inline int rts_mutex_lock(rts_mutex *mutex);
static inline int rts_mutex_unlock(rts_mutex *mutex);

/*
 * A port with RTS_CAP_RWLOCK, RTS_CAP_BARRIER or RTS_CAP_SPIN defines RTS_LOCKS, and these.
 * rts_barrier_wait() returns 1 in exactly one of the tasks, and 0 in the others.
 */
#ifdef RTS_LOCKS
int rts_rwlock_create(rts_rwlock *lock);
int rts_rwlock_destroy(rts_rwlock *lock);
static inline int rts_rwlock_read(rts_rwlock *lock);
static inline int rts_rwlock_write(rts_rwlock *lock);
static inline int rts_rwlock_unlock(rts_rwlock *lock);

int rts_barrier_create(rts_barrier *barrier, unsigned tasks);
static inline int rts_barrier_wait(rts_barrier *barrier);

int rts_spin_create(rts_spin *lock);
int rts_spin_destroy(rts_spin *lock);
static inline int rts_spin_lock(rts_spin *lock);
static inline int rts_spin_unlock(rts_spin *lock);
#endif

/* A queue of `length` messages of `size` bytes each; a message is copied in and out. */
int rts_queue_create(rts_queue *queue, size_t length, size_t size, unsigned slot);
int rts_queue_destroy(rts_queue *queue);
static inline int rts_queue_send(rts_queue *queue, const void *message);
static inline int rts_queue_receive(rts_queue *queue, void *message);

/* ---- channels: what ipc.* sends messages through ----------------------------------------- */

/*
 * A channel is unidirectional, has one of the port's kinds, and holds `length` messages of `size`
 * bytes. RTS_MESSAGE_ROOM bytes before a message belong to the port. `slot` distinguishes the
 * channels of a case.
 *
 * The port lists its kinds in RTS_EACH_CHANNEL(X) as X("name", number), numbered from 0 in order:
 * this defines the choices of a parameter and what ipc.* is compiled for.
 */
#define RTS_CHANNEL_CHOICE(name, number) "|" name
#define RTS_CHANNEL_KINDS (&RTS_EACH_CHANNEL(RTS_CHANNEL_CHOICE)[1])

int rts_channel_create(rts_channel *channel, int kind, size_t length, size_t size, unsigned slot);
int rts_channel_destroy(rts_channel *channel, int kind);

/* Returns what limits length and size of such a channel, and how to raise the limit. */
const char *rts_channel_limits(int kind);

/* Returns whether messages are not copied, but passed as a pointer to the sender's memory. */
static inline bool rts_channel_passes_pointer(int kind);

static inline int rts_channel_send(rts_channel *channel, int kind, void *message);

/* Waits for a message and copies it to *message, or points *message to it. */
static inline int rts_channel_receive(rts_channel *channel, int kind, void **message);

/* ---- memory ------------------------------------------------------------------------------ */

static inline void *rts_malloc(size_t size);
static inline void rts_free(void *block);

/* Returns zeroed memory shared by all tasks of a case, locked if possible; NULL: none available. */
void *rts_port_shared(size_t size);
void rts_port_unshare(void *memory, size_t size);

/*
 * A port with RTS_CAP_COLD defines RTS_COLD. rts_port_cold() prepares, in the process of the case,
 * for rts_port_chill() and returns how much memory that reads. rts_port_chill() fills the data and
 * instruction caches and the TLB with unrelated lines.
 */
#ifdef RTS_COLD
int rts_port_cold(size_t *bytes);
void rts_port_chill(void);
#endif

/*
 * A port on which a call may or may not enter the kernel, and that can find out, defines
 * RTS_ENTRIES. rts_port_entries_open() prepares the calling task for that, and returns NULL, or why
 * it is not known. rts_port_entries_seen() returns whether the task has entered the kernel since
 * rts_port_entries_watch(). Close what was opened.
 */
#ifdef RTS_ENTRIES
const char *rts_port_entries_open(void);
void rts_port_entries_watch(void);
bool rts_port_entries_seen(void);
void rts_port_entries_close(void);
#endif

/*
 * A port with RTS_CAP_FOOTPRINT defines RTS_FOOTPRINT: reports the memory that the system and the
 * agent use, in bytes, as far as known.
 */
#ifdef RTS_FOOTPRINT
typedef void rts_put_bytes(void *to, const char *name, double bytes);
void rts_port_footprint(rts_put_bytes *put, void *to);
#endif

/*
 * Returns NULL if the user who gives the commands may choose programs, files and addresses;
 * otherwise why not: this process has more rights than that user. A port where that is possible
 * defines RTS_GUARDED.
 */
#ifdef RTS_GUARDED
const char *rts_port_guard(void);
#else
static inline const char *rts_port_guard(void)
{
    return NULL;
}
#endif

/* ---- one case ---------------------------------------------------------------------------- */

/* Where the tasks of a case run (Obenland). */
typedef enum rts_config {
    RTS_BOUND, /* on one CPU, with everything else of rtstone on other CPUs */
    RTS_1CPU,  /* on one CPU, together with everything else of rtstone */
    RTS_2CPU,  /* where the system schedules them */
    RTS_1RT,   /* like RTS_BOUND, but not supported without a second CPU */
} rts_config;

/* The numbers among the evidence, and their names on the wire; docs/reference/wire.md explains
 * them. */
#define RTS_EACH_EVIDENCE(X)                                                                       \
    X(section_ns)                                                                                  \
    X(cpu_ns)                                                                                      \
    X(minflt)                                                                                      \
    X(majflt)                                                                                      \
    X(nvcsw)                                                                                       \
    X(nivcsw)                                                                                      \
    X(migrations)                                                                                  \
    X(steal_ns)                                                                                    \
    X(steal_near_ns)                                                                               \
    X(steal_watched_ns)                                                                            \
    X(quota_periods)                                                                               \
    X(smi)                                                                                         \
    X(suspended_ns)                                                                                \
    X(stops)                                                                                       \
    X(others)                                                                                      \
    X(stack_bytes)                                                                                 \
    X(heap_bytes)                                                                                  \
    X(entered)                                                                                     \
    X(entered_of)                                                                                  \
    X(prio)

#define RTS_EVIDENCE_MEMBER(name) int64_t name;
#define RTS_EVIDENCE_ONE(name) +1
#define RTS_EVIDENCE (0 RTS_EACH_EVIDENCE(RTS_EVIDENCE_ONE))

/* Evidence of what happened around the timed section; -1: unknown. */
typedef struct rts_evidence {
    union {
        struct {
            RTS_EACH_EVIDENCE(RTS_EVIDENCE_MEMBER)
        };
        int64_t number[RTS_EVIDENCE];
    };
    const char *sched; /* policy of the measuring task: "fifo", "rr", "deadline", "other" */
    bool locked, shared;
} rts_evidence;

/* Round R of a case C that has several rounds has the id C * RTS_ROUNDS + R. */
#define RTS_ROUNDS UINT64_C(1000000)

/* One case, as a port sees it. */
typedef struct rts_job {
    uint64_t id;
    void (*run)(struct rts_job *job); /* called by the measuring task */
    uint64_t patience_ns; /* hung if without progress for this time; benches may change it */
    volatile bool stop_requested; /* the host wants the case to end early; set by the port */
    int cpu;                      /* the measured CPU, or the first of several; -1: any of them */
    int prio;                     /* of the measuring task */
    unsigned progress_ms;         /* interval of progress records; 0: none */
    rts_config config;
    const rts_cpuset *cpus; /* all measured CPUs */
    int error;              /* the port's error, if it could not create the measuring task */
    rts_evidence evidence;  /* filled in by the port */
} rts_job;

/* Runs a job: the body of the measuring task. */
static inline void rts_job_run(void *job)
{
    rts_job *j = job;
    j->run(j);
}

/*
 * Runs a job as the measuring task of a case, on its CPU and at its priority, isolated from the
 * agent as well as the system can. Returns 0 if the task returned or could not be created, else
 * sets `why` ("killed by signal 11" or "hung", for example). Sends progress meanwhile.
 */
int rts_port_isolate(rts_job *job, char *why, size_t size);

/* Called by the port: returns a number that changes as long as the case makes progress. */
uint64_t rts_job_heartbeat(const rts_job *job);

/* Called by the port: sends a progress record, from outside the case. */
void rts_job_progress(const rts_job *job);

/*
 * Called around the timed section by the measuring task: record the evidence. There may be several
 * sections, one after another: the evidence is of all of them together.
 */
void rts_port_section_start(rts_job *job);
void rts_port_section_end(rts_job *job);

/*
 * On a port that defines RTS_STEAL: returns by how much the steal time of the measured CPUs grew
 * around a time of the last case, in ns of rts_time(), and in `*span_ns` within how long; -1: not
 * known.
 */
int64_t rts_port_steal_around(uint64_t from, uint64_t to, uint64_t *span_ns);

/*
 * Returns the CPU time, in ns, that other tasks than the case's have had on the measured CPU since
 * the last call, and what a hypervisor took of it; -1: not known. It takes long.
 */
int64_t rts_port_taken_ns(const rts_job *job);

/* Binds the caller to a CPU; -1: to all that the agent may use. */
void rts_port_bind(int cpu);

/* Returns the CPU to measure on by default. */
int rts_port_default_cpu(void);

/* Returns the CPUs that the agent was started on. */
void rts_port_cpus(rts_cpuset *set);

/* Returns those, and the isolated ones that it may use. */
void rts_port_usable_cpus(rts_cpuset *set);

/*
 * Returns how long a task may keep a CPU, and how long it then has to pause, to stay within the RT
 * throttling limit; in ns. 0 and 0: there is no limit.
 */
void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns);

/*
 * Traced cases, on a port that defines RTS_TRACED: the system records what each measured CPU does,
 * and for a sample above the limit what is recorded then is kept, as a snapshot.
 */

/* A sample above the limit: its value in ticks and net in ns, and its place in the series. */
typedef struct rts_hit {
    uint64_t value, net, index;
    uint64_t due, stamp; /* when it began and ended, in ns of rts_time() */
    char series[16];
} rts_hit;

/* Shared by the tasks of a traced case and the agent. */
typedef struct rts_trace {
    uint64_t above;           /* ns: least sample that is to be kept */
    unsigned keep;            /* snapshots at most: the largest samples are kept */
    bool stacks;              /* record the kernel's stack where a real-time task is woken */
    volatile int armed;       /* the next sample above the limit may be taken, by who clears it */
    volatile int caught;      /* by the port: `hit` is to be collected */
    volatile uint64_t unseen; /* samples above the limit that came meanwhile */
    rts_hit hit;
    int cpu;            /* the port's: where the sample was taken */
    int marker, gate;   /* the port's files */
    int agent;          /* the port's: whom to wake */
    unsigned snapshots; /* kept, once recording has ended */
} rts_trace;

/* Starts to record on these CPUs; returns 0, or -1 and sets `why`: what is missing, what to do. */
int rts_port_trace_start(rts_trace *trace, const rts_cpuset *cpus, char *why, size_t size);

/* Called by a task of the case that has filled in `hit`: stops recording until it is collected. */
void rts_port_trace_hit(rts_trace *trace);

/* Ends recording, and removes everything of it from the system; returns how many were kept. */
unsigned rts_port_trace_stop(void);

/* Sends the snapshots of the last traced case. */
void rts_port_trace_send(uint64_t id);

/* ---- loads (load.h) ---------------------------------------------------------------------- */

/* Size of a reason, including the terminating 0. */
#define RTS_REASON 256

typedef struct rts_running rts_running;
typedef struct rts_component rts_component;

/* A worker: one task of a load. */
typedef struct rts_worker {
    _Alignas(RTS_CACHE_LINE) volatile uint64_t done; /* work so far, in the component's counts */
    volatile uint64_t missed;                        /* periods without any work done */
    volatile uint64_t runs;                          /* how often a program ran to completion */
    volatile bool ready;                             /* has completed its preparations */
    bool lowest;                                     /* time sharing at the lowest level there is */
    bool program; /* starts processes, whose CPU time counts as its own */
    rts_running *load;
    const rts_component *component;
    unsigned index;       /* among the workers of its component */
    int prio;             /* 0: time sharing */
    bool unsupported;     /* it ended as the system does not do what it needs */
    char why[RTS_REASON]; /* why it ended */
} rts_worker;

/*
 * Starts n workers of a load on these CPUs, isolated from the agent; each runs rts_worker_run().
 * They must end with the agent, however it ends. rts_port_load_stop() is called even after an
 * error.
 */
int rts_port_load_start(rts_worker *worker, unsigned n, const rts_cpuset *cpus);

/* Called by the port as the body of a task. */
void rts_worker_run(void *worker);

/* Returns the attributes of that task, unless the port chooses its CPU. */
static inline rts_task_attr rts_worker_attr(rts_worker *w)
{
    return (rts_task_attr){
        .run = rts_worker_run, .arg = w, .prio = w->prio, .policy = w->prio ? RTS_FIFO : RTS_OTHER};
}

/* Records why a worker ends by itself (printf); the first reason is kept. */
void rts_worker_failed(rts_worker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same if the system does not do what the worker needs: its load is unsupported there. */
void rts_worker_unsupported(rts_worker *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns whether worker i is running; if not, it returned or rts_worker_failed() was called. */
bool rts_port_load_alive(unsigned i);

/* Returns the CPU time of worker i and its child processes in ns; -1: unknown. */
int64_t rts_port_load_cpu_ns(unsigned i);

/* Ends all workers, which have been asked to stop, and removes what they created. */
void rts_port_load_stop(void);

/*
 * Called by a measuring task: pauses or resumes the load. Returns when its workers have paused, or
 * after 2 s.
 */
void rts_port_load_pause(bool pause);

/* ---- talking to the host ----------------------------------------------------------------- */

struct rts_wire;

/* Writes bytes of a line; after rts_port_flush() all complete lines have reached the host. */
void rts_port_put(const char *bytes, size_t n);
void rts_port_flush(void);

/* What rts_port_getchar() returns instead of a byte: none came in time; none will ever come. */
enum { RTS_NOTHING = -1, RTS_END_OF_INPUT = -2 };

/* Returns the next byte from the host; waits for it until rts_time() is at `until` at most. */
int rts_port_getchar(rts_tick until);

/*
 * Called when the host promises to speak again within `ms`, or 0: promises nothing. Returns true if
 * the port ends the agent after that time, even one that waits for room in a pipe; false if the
 * agent's core is to look at rts_time().
 */
bool rts_port_lease(uint64_t ms);

/* The longest lease: a year. */
#define RTS_LEASE_MS INT64_C(31622400000)

/* Returns whether the user or the system has asked the agent to end. */
bool rts_port_stopped(void);

/* Write members of the records `hello` (port, os, arch) and `conditions`. */
void rts_port_hello(struct rts_wire *w);
void rts_port_conditions(struct rts_wire *w);

const char *rts_port_strerror(int error);

/* Returns whether the error means that limits or privileges do not allow it. */
bool rts_port_is_limit(int error);

#include "absent.h"
#include "port_inline.h"

#if RTS_STAMP_BITS == 64
RTS_HOT rts_stamp rts_stamp_now(void)
{
    return rts_now();
}
#endif

/* Returns the full reading for a time stamp taken less than 2^32 ticks ago. */
static inline rts_tick rts_stamp_time(rts_stamp stamp)
{
#if RTS_STAMP_BITS == 64
    return stamp;
#else
    rts_tick now = rts_now();
    return now - (rts_stamp)((rts_stamp)now - stamp);
#endif
}

#endif
