/* Shared by the files of a POSIX port, and what they need from its system. */
#ifndef RTS_POSIX_H
#define RTS_POSIX_H

#include <sched.h>

#include "clock.h"
#include "port.h"
#include "text.h"
#include "wire.h"

/* How the agent was started. */
typedef struct posix_options {
    bool keep_idle;  /* do not change the CPUs' idle states */
    bool vdso_clock; /* do not use the cycle counter */
    bool drain;      /* wait until a record has been transmitted before continuing */
} posix_options;
extern posix_options posix_option;

/* ---- tasks and cases ---------------------------------------------------------------------- */

/* Returns whether this process may use real-time scheduling. */
bool posix_may_realtime(void);

/* Sets policy and priority in the attributes of a thread. */
int posix_set_policy(pthread_attr_t *attr, int prio, rts_policy policy);

/* Reads a clock, in ns; 0: it is the CPU-time clock of a task that has ended. */
uint64_t posix_clock_ns(clockid_t clock);

/*
 * Sets CPU, stack, priority and policy of a task in the attributes of a thread; returns 0 or an
 * error number.
 */
int posix_set_attributes(pthread_attr_t *attr, const rts_task_attr *a);

/* Locks all memory of this process, present and future; false: not permitted. */
bool posix_lock_memory(void);

/*
 * Binds the agent to the CPUs that the case's configuration asks for: not the measured ones, if
 * possible. Returns false if it may run on those.
 */
bool posix_leave_cpus(const rts_job *job);

/*
 * Returns whether caches can be emptied: the processor is supported, and the size of its caches
 * known.
 */
bool posix_may_be_cold(void);

/* Returns whether nothing reads the agent's records any more. */
bool posix_unheard(void);

/* Wakes a case's watchdog: blocked in the agent from the first case on, never handled. */
#define POSIX_WATCHDOG_SIGNAL (SIGRTMIN + 8) /* emulators of programs lack the highest ones */

/* Makes SIGTERM, SIGINT and SIGHUP ask the agent to stop, and SIGCHLD available for waiting. */
void posix_set_signals(void);

/* Returns the CPU time of all tasks of the case, threads and processes. */
int64_t posix_tasks_cpu_ns(void);

/*
 * Waits for a child to end, a signal, or awaited input; returns false after the timeout. Does not
 * wait if the agent was asked to stop, unless `stopping`: it is known.
 */
bool posix_await_child(int timeout_ms, bool stopping);

/*
 * Describes how a child ended, from its status as returned by waitpid(); -1: it was lost, and errno
 * has the reason.
 */
void posix_how_ended(int status, char *why, size_t size);

/* The process group of the running load, 0: none; and the CPUs of its workers, NULL: none. */
extern pid_t posix_load_group;
const rts_cpuset *posix_load_cpus(void);

/*
 * Returns whether a call that ends with this error is one that the system does not do: limits or
 * rights do not allow it, or there is no such call, device or file system.
 */
bool posix_is_refusal(int error);

/*
 * Records that a call of a worker ended with this error: why (printf) and the error's text. What
 * the system does not do makes the load unsupported, and anything else failed.
 */
void posix_worker_error(rts_worker *w, int error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- files -------------------------------------------------------------------------------- */

/* Reads the first line of a file, without its newline; false: not readable. */
bool posix_read_line(const char *path, char *buffer, size_t size);
/* Returns the number at the start of a file; `otherwise` if it is not readable or has none. */
long long posix_read_number(const char *path, long long otherwise);
/*
 * Parses the next integer of *text, skipping blanks, and moves *text past it; false: there is none.
 * Does not use sscanf(), which adds 70 KB to a static program.
 */
bool posix_number(const char **text, long long *value);
/* Reads up to size - 1 bytes of a file; -1: not readable. */
int posix_read_file(const char *path, char *buffer, size_t size);

/* Makes an unpredictable name for a file or directory of this agent; POSIX_NAME bytes. */
#define POSIX_NAME 48
void posix_new_name(char *name, size_t size);

/*
 * Opens a new unnamed file in a directory for reading and writing, so that nothing of it remains;
 * `flags` of open() in addition to those it needs. -1: see errno.
 */
int posix_nameless_file(const char *directory, int flags);

/*
 * Opens a new unnamed file, so that nothing of it remains, in $TMPDIR or else /var/tmp, where files
 * are not kept in memory; `flags` of open() in addition to those it needs. -1: see `why`.
 */
int posix_scratch_file(int flags, char *why, size_t size);

/* Returns the default directory for files: $TMPDIR, or /var/tmp, or /tmp if that does not exist. */
const char *posix_temporary(void);

/*
 * Opens a block device or a file for reading, without waiting, and nothing else: to open what is
 * neither could have effects. -1: see errno, ENOTBLK for what is neither.
 */
int posix_open_source(const char *path, int flags);

/*
 * Finds the path of a block device that is removable, or as slow as those that are, and has
 * something in it; false: there is none.
 */
bool posix_slow_device(char *path, size_t size);

/*
 * Returns the descriptor of a directory for files that a load leaves behind: created by the first
 * call, and removed with everything in it when the load stops, or by the next sweep. -1: see `why`.
 */
int posix_work_dir(char *why, size_t size);
void posix_remove_work_dir(void);

/* Removes the directory that is noted in the lock file of an agent that no longer exists. */
void posix_remove_noted(int lock);

/* ---- names of kernel objects -------------------------------------------------------------- */

/* The number in the names of this agent's objects, also in the processes that it forks. */
extern long posix_owner;

/* Makes the name "/rtstone-OWNER.SLOT". */
void posix_object_name(char *name, size_t size, unsigned slot);
int posix_object_key(unsigned slot); /* the same for System V objects */

/*
 * Removes the System V queue with that key if it belongs to this user; returns whether it existed.
 */
bool posix_remove_queue(key_t key);

/* Removes the System V set of semaphores with that key if it belongs to this user. */
void posix_remove_set(key_t key);

/* Removes a name in a directory if it belongs to this user. */
void posix_remove_object(int dir, const char *name);

/* Removes this user's System V objects with the number of agent `number`. */
void posix_remove_system_v(long number);

/* ---- what POSIX does not have ------------------------------------------------------------- */

/*
 * From here on: functions that a port defines if its system has more than POSIX; the defaults in
 * absent.c are for systems that have not.
 */

/*
 * Called before anything else. Returns true if this process is the first one of a guest; the caller
 * is then the agent, a child of that process.
 */
bool posix_init(void);

/* Removes the file that this process executes, and its directory, if they were uploaded for it. */
void posix_remove_upload(void);

/* Makes the calling process receive this signal when its parent ends. */
void posix_die_with_parent(int signal);

/* Keeps the CPUs out of deep idle states while the agent runs, unless asked not to. */
void posix_hold_idle(void);

/* Chooses posix_owner, a number that no other running agent has; and releases it. */
void posix_claim_names(void);
void posix_release_names(void);

/* Removes what agents that no longer exist have left behind. */
void posix_sweep(void);

/* Starts a process that removes what this agent leaves behind if it is killed. */
void posix_start_keeper(void);

/* Returns the file that marks this agent as running and has room for a note; -1: there is none. */
int posix_lock_file(void);

/* Counts other agents that were active since posix_other_agents_start(); -1: unknown. */
void posix_other_agents_start(void);
int64_t posix_other_agents_at_work(void);

/* ---- ...of the system --------------------------------------------------------------------- */

/* Returns capabilities of the system beyond those that rts_port_caps() has for every system. */
uint32_t posix_system_caps(void);

/* Explains an error whose text alone is not clear to the user; NULL: no explanation. */
const char *posix_hint(int error);

/* Returns what may have sent that signal, as words that follow its name; "": not known. */
const char *posix_kill_hint(int signal);

/* Returns the frequency of the cycle counter if system or processor report it, otherwise 0. */
uint64_t posix_counter_hz(void);

/* Returns false if the system has found the cycle counter to be unreliable. */
bool posix_counter_is_stable(void);

/* Returns the size of the largest cache of a CPU in bytes; 0: unknown. */
size_t posix_largest_cache(void);

/* ---- ...of a case ------------------------------------------------------------------------- */

/* Sets up the process of a case: names that only it can see, and the default allocator. */
void posix_enter_case(void);

/* Makes timers of the calling process expire on time, and not merged with others. */
void posix_exact_timers(void);

/* Returns false if locking would succeed, but allocations would fail later. */
bool posix_may_lock(void);

/*
 * Binds the calling task to these CPUs, or a thread's attributes to one; returns 0 or a negative
 * error.
 */
int posix_bind(const rts_cpuset *cpus);
int posix_bind_thread(pthread_attr_t *attr, int cpu);

/* Directs the signal of a timer to the calling thread, and no other thread of the process. */
void posix_to_this_thread(struct sigevent *event);

/*
 * Counts of events in the system so far, each -1 if unknown (rts_evidence). For how long it was
 * suspended lies between the two, which are a few ns apart.
 */
typedef struct posix_events {
    int64_t migrations, steal_ns, quota_periods, smi, suspended_least_ns, suspended_most_ns;
} posix_events;
void posix_evidence_open(const rts_job *job); /* by the measuring task, before the section */
posix_events posix_evidence_read(const rts_job *job);

/* Called by the agent when it starts a case. */
void posix_watch_begin(const rts_job *job);

/*
 * Called by the agent, during a case, whenever a signal has woken it. Returns after how many ms it
 * is to be called at the latest; 0: any time.
 */
unsigned posix_watch_case(const rts_job *job);

/* Called by the agent at the end of a case: adds what was seen of it to its evidence. */
void posix_watch_end(rts_job *job);

/* Called by the agent when a case is over, before its records are sent. */
void posix_case_over(void);

/*
 * The wall clock: posix_wall_was_set() returns whether it was since the last call, or since it was
 * opened, and by how much; a setting may be reported twice. `signal` goes to the calling task when
 * it is set, again and again until the task calls that: what waits for a time of this clock would
 * wait for longer if it is set back.
 */
int posix_wall_open(posix_wall *wall, int signal);
bool posix_wall_was_set(posix_wall *wall);
void posix_wall_close(posix_wall *wall);

/* Begins and ends to send that signal; without it a task notices only when its wait is over. */
int posix_wall_watch(posix_wall *wall);
void posix_wall_unwatch(posix_wall *wall);

/* ---- ...of the processes of a load -------------------------------------------------------- */

/*
 * Kills process `root` (0: none), the members of `group` and all their descendants, but not the
 * caller.
 */
void posix_kill_family(pid_t root, pid_t group);

/* Returns the CPU time of a process and all its descendants; -1: unknown. */
int64_t posix_family_cpu_ns(pid_t root);

/* ---- ...of files and queues --------------------------------------------------------------- */

/* Directory for FIFOs. */
#ifndef POSIX_FIFOS
#define POSIX_FIFOS "/tmp"
#endif

/* For open(): a directory used to open others in it. */
#ifndef POSIX_SEARCH
#define POSIX_SEARCH O_SEARCH
#endif

/* For mmap(): allocates the pages at once. */
#ifndef POSIX_POPULATE
#define POSIX_POPULATE 0
#endif

/* Opens a new unnamed file in a directory; -1 and EOPNOTSUPP: not supported. */
int posix_open_nameless(const char *directory, int flags);

/*
 * Opens a directory in `dir`, but not a symbolic link to one, nor, if the system can detect it,
 * another file system mounted there. -1: see errno.
 */
int posix_open_below(int dir, const char *name);

/* Returns whether the files of a directory are kept in memory. */
bool posix_is_in_memory(const char *directory);

/* Reports the type and block size of a file's file system; false: unknown. */
bool posix_file_system(int fd, unsigned long *type, long *block_size);

/* Makes an unpredictable number; false: none is available yet. */
bool posix_random(uint64_t *number);

/* Makes queues accept messages of that size, if possible; false: System V queues will not. */
bool posix_allow_message(size_t size);

/* Makes a pipe accept `bytes` at once, if possible; returns whether it does. */
bool posix_make_room(int pipe, size_t bytes);

#endif
