/* What the files of a POSIX port share, and what they ask of its system. */
#ifndef RTS_POSIX_H
#define RTS_POSIX_H

#include <sched.h>

#include "clock.h"
#include "port.h"
#include "text.h"
#include "wire.h"

/* How the agent was started. */
typedef struct posix_options {
    bool keep_idle;  /* leave the CPUs' idle states alone */
    bool vdso_clock; /* do not use the cycle counter */
    bool drain;      /* a record is out of the line before anything else goes on */
} posix_options;
extern posix_options posix_option;

/* ---- tasks and cases ---------------------------------------------------------------------- */

/* True if this process may use real-time scheduling. */
bool posix_may_realtime(void);

/* Sets policy and priority of a thread to be. */
int posix_set_policy(pthread_attr_t *attr, int prio, rts_policy policy);

/* A clock, in ns; 0: whose CPU time it is is gone. */
uint64_t posix_clock_ns(clockid_t clock);

/* CPU, stack, priority and policy of a task as attributes of a thread; 0, or an error number. */
int posix_set_attributes(pthread_attr_t *attr, const rts_task_attr *a);

/* Locks all memory of this process, present and future; false: not allowed. */
bool posix_lock_memory(void);

/*
 * Binds the agent to where the case's configuration wants it: off the measured CPUs, if it can;
 * false: it may run on them.
 */
bool posix_leave_cpus(const rts_job *job);

/* True if caches can be emptied here: the processor is known, and how large they are. */
bool posix_may_be_cold(void);

/* True if nobody takes the agent's records any more. */
bool posix_unheard(void);

/* SIGTERM, SIGINT and SIGHUP ask the agent to stop; SIGCHLD is waited for. */
void posix_set_signals(void);

/* True if a child ended, or a signal came, within the time. */
bool posix_await_child(int timeout_ms);

/* Says how a child ended, by its status as of waitpid(); -1: it was lost, and errno says why. */
void posix_how_ended(int status, char *why, size_t size);

/* The process group of the load that runs; 0: none. */
extern pid_t posix_load_group;

/* ---- files -------------------------------------------------------------------------------- */

/* The first line of a file into buffer without its end; false: not readable. */
bool posix_read_line(const char *path, char *buffer, size_t size);
/* The number that a file begins with; `otherwise`: not readable, or none is there. */
long long posix_read_number(const char *path, long long otherwise);
/*
 * The next whole number of *text, behind blanks, and *text behind it; false: there is none.  Not by
 * sscanf(), which a static program pays for with 70 KB.
 */
bool posix_number(const char **text, long long *value);
/* Up to size - 1 bytes of a file; -1: not readable. */
int posix_read_file(const char *path, char *buffer, size_t size);

/* A name for a file or directory of this agent that nobody can foretell; POSIX_NAME bytes. */
#define POSIX_NAME 48
void posix_new_name(char *name, size_t size);

/*
 * A new file in a directory, for reading and writing, that has no name, so that nothing is left of
 * it; `flags` as of open(), beside those it needs.  -1: errno.
 */
int posix_nameless_file(const char *directory, int flags);

/*
 * Opens a new file without a name, so that nothing is left of it, in $TMPDIR or else /var/tmp:
 * where files are not kept in memory.  `flags` as of open(), beside those it needs; -1: `why` says
 * why not.
 */
int posix_scratch_file(int flags, char *why, size_t size);

/* Where files go if nobody says where: $TMPDIR, or /var/tmp, or /tmp where there is none. */
const char *posix_temporary(void);

/*
 * The descriptor of a directory for what a load leaves lying about: made at the first call, removed
 * with all it holds when the load stops, or by the next sweep.  -1: `why` says why not.
 */
int posix_work_dir(char *why, size_t size);
void posix_remove_work_dir(void);

/* Removes the directory that is noted in the lock file of an agent that is gone. */
void posix_remove_noted(int lock);

/* ---- names of kernel objects -------------------------------------------------------------- */

/* The number that the names of this agent's objects bear, also in the processes it forks. */
extern long posix_owner;

/* "/rtstone-OWNER.SLOT" */
void posix_object_name(char *name, size_t size, unsigned slot);
int posix_object_key(unsigned slot); /* the same for System V objects */

/* Removes the System V queue of that key if it is this user's; true: it was there. */
bool posix_remove_queue(key_t key);

/* Removes a name in a directory if it is this user's. */
void posix_remove_object(int dir, const char *name);

/* Removes this user's System V objects that bear the number of agent `number`. */
void posix_remove_system_v(long number);

/* ---- what POSIX does not have -------------------------------------------------------------- */

/*
 * From here to the end is what a port defines whose system has more; the defaults in absent.c say
 * that it has not.
 */

/*
 * Before anything else.  True if this is the first process of a guest, and the caller is then the
 * agent, a child of it.
 */
bool posix_init(void);

/* The calling process gets this signal when its parent ends. */
void posix_die_with_parent(int signal);

/* Holds the CPUs out of deep idle states while the agent lives, unless told not to. */
void posix_hold_idle(void);

/* Chooses posix_owner, a number that no other agent that lives has; and gives it back. */
void posix_claim_names(void);
void posix_release_names(void);

/* Removes what agents have left that are gone. */
void posix_sweep(void);

/* Starts a process that removes what this agent leaves if it is killed. */
void posix_start_keeper(void);

/* The file that tells agents that this one lives, and has room for a note; -1: there is none. */
int posix_lock_file(void);

/* How many other agents have been at work since posix_others_start(); -1: that is not known. */
void posix_others_start(void);
int64_t posix_others_at_work(void);

/* ---- ...of the system ---------------------------------------------------------------------- */

/* Capabilities of the system beyond those that rts_port_caps() has for any. */
uint32_t posix_system_caps(void);

/* What stands behind an error where its text alone would leave the user guessing; NULL: nothing. */
const char *posix_hint(int error);

/* The frequency of the cycle counter, if the system tells it; 0: it does not. */
uint64_t posix_counter_hz(void);

/* False if the system has found that the cycle counter cannot be trusted. */
bool posix_counter_is_stable(void);

/* The largest cache of a CPU in bytes; 0: not known. */
size_t posix_largest_cache(void);

/* ---- ...of a case ------------------------------------------------------------------------- */

/* What tells a process of a case from others: names that only it sees, an allocator like any. */
void posix_enter_case(void);

/* Timers of the calling process end when they should, and not together with others. */
void posix_exact_timers(void);

/* False if locking would succeed, but allocations would fail later. */
bool posix_may_lock(void);

/* Binds the calling task to these CPUs, or a thread to be to one; 0, or a negative error. */
int posix_bind(const rts_cpuset *cpus);
int posix_bind_thread(pthread_attr_t *attr, int cpu);

/* Has the signal of a timer sent to the calling thread, and to no other one of the process. */
void posix_to_this_thread(struct sigevent *event);

/* What happened to the system up to now, each -1: not known (rts_evidence). */
typedef struct posix_events {
    int64_t migrations, steal_ns, smi;
} posix_events;
void posix_evidence_open(const rts_job *job); /* before the timed section */
posix_events posix_evidence_read(const rts_job *job);

/* ---- ...of the processes of a load -------------------------------------------------------- */

/* Kills process `root` (0: none), the members of `group` and all that descend from them, but not
 * the caller. */
void posix_kill_family(pid_t root, pid_t group);

/* CPU time of a process and all that descend from it; -1: not known. */
int64_t posix_family_cpu_ns(pid_t root);

/* ---- ...of files and queues --------------------------------------------------------------- */

/* Where FIFOs are made. */
#ifndef POSIX_FIFOS
#define POSIX_FIFOS "/tmp"
#endif

/* For open(): a directory to find others in. */
#ifndef POSIX_SEARCH
#define POSIX_SEARCH O_SEARCH
#endif

/* For mmap(): the pages are there at once. */
#ifndef POSIX_POPULATE
#define POSIX_POPULATE 0
#endif

/* Opens a new file without a name in a directory; -1, and EOPNOTSUPP: there are none. */
int posix_open_nameless(const char *directory, int flags);

/*
 * Opens a directory in `dir`, but no link to one; nor, if the system can tell, another file system
 * that is mounted there.  -1: errno.
 */
int posix_open_below(int dir, const char *name);

/* True if the files of a directory are kept in memory. */
bool posix_is_in_memory(const char *directory);

/* Tells the type of a file's file system and its block size; false: not known. */
bool posix_file_system(int fd, unsigned long *type, long *block_size);

/* A number that nobody can foretell; false: there is none yet. */
bool posix_random(uint64_t *number);

/* Has queues take messages of that size, if it can be had; false: those of System V will not. */
bool posix_allow_message(size_t size);

/* Has a pipe take `bytes` at once, if it can be had; false: it will not. */
bool posix_make_room(int pipe, size_t bytes);

#endif
