/* What the files of the POSIX port share. */
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

/*
 * What the first process of a guest has to do; returns in a child, which is the agent.  The guest
 * ends when that does, or at once with a line that says why not.
 */
void posix_init(void);

/* True if this process may use real-time scheduling. */
bool posix_may_realtime(void);

/*
 * True if this process may have its tasks scheduled by deadline.  Asked first while it may still
 * run on all its CPUs: the kernel refuses a task that is bound to some of them.
 */
bool posix_may_deadline(void);

/* The agent's own file, executed under this name alone, ends at once. */
#define POSIX_CHILD_PROGRAM "rtstone-child"

/* True if the size of this system's last cache is known; why else they cannot be cold. */
bool posix_may_be_cold(void);
const char *posix_why_not_cold(void);

/* Sets policy and priority of a thread to be. */
int posix_set_policy(pthread_attr_t *attr, int prio, rts_policy policy);

/* A clock of CPU time, in ns; 0: whose it is is gone. */
uint64_t posix_clock_ns(clockid_t clock);

/* CPU, stack, priority and policy of a task as attributes of a thread; 0, or an error number. */
int posix_set_attributes(pthread_attr_t *attr, const rts_task_attr *a);

/* Holds the CPUs out of deep idle states while the agent lives, unless told not to. */
void posix_hold_idle(void);
extern char posix_idle_state[96]; /* what came of it, for the conditions */

/* Locks all memory of this process, present and future; false: not allowed. */
bool posix_lock_memory(void);

/*
 * Binds the agent to where the case's configuration wants it: off the measured CPUs, if it can;
 * false: it may run on them.
 */
bool posix_leave_cpus(const rts_job *job);

/* True if nobody takes the agent's records any more. */
bool posix_unheard(void);

/* SIGTERM, SIGINT and SIGHUP ask the agent to stop; SIGCHLD is waited for. */
void posix_set_signals(void);

/* True if a child ended, or a signal came, within the time. */
bool posix_await_child(int timeout_ms);

/* Opens what posix evidence is read from; before the timed section. */
void posix_evidence_open(const rts_job *job);

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

/* Names of kernel objects: "/rtstone-PID.SLOT".  Objects of agents that are gone are removed. */
void posix_object_name(char *name, size_t size, unsigned slot);
int posix_object_key(unsigned slot); /* the same for System V objects */

/* Removes this user's System V objects that bear the number of agent `number`; how many. */
unsigned posix_remove_system_v(long number);

void posix_claim_names(void);
void posix_release_names(void);

/* Starts a process that removes what this agent leaves if it is killed. */
void posix_start_keeper(void);
unsigned posix_sweep(void);
bool posix_remove_queue(key_t key);
bool posix_remove_object(int dir, const char *name);
int posix_lock_file(void); /* what tells agents that this one lives; -1: there is none */

/* A lock file of another agent, or what somebody wants to be taken for one. */
typedef struct posix_lock {
    long number;
    pid_t pid; /* that it should be of */
    uid_t user;
    struct timespec made; /* or last written to */
} posix_lock;

/* The lock files there are, `most` of them; how many there are, or -1: they are not to be seen. */
int posix_other_locks(posix_lock *lock, int most);
bool posix_is_held(long number); /* one of this user's */

/* How many other agents have been at work since posix_others_start(); -1: that is not known. */
void posix_others_start(void);
int64_t posix_others_at_work(void);

/* The number that the names of this agent's objects bear. */
long posix_owner(void);

/* ---- loads ------------------------------------------------------------------------------- */

/* The process group of the load that runs; 0: none. */
extern pid_t posix_load_group;

/* One process, as /proc shows it. */
typedef struct posix_process {
    pid_t pid, parent, group;
    char state;
    unsigned long cpu_clocks; /* of it and its ended children, in clock ticks of sysconf() */
} posix_process;

/*
 * The process `root` (0: none), the members of `group` (0: none) and all that descend from them;
 * how many, in posix_family, until the next call.
 */
unsigned posix_find_family(pid_t root, pid_t group);
extern posix_process posix_family[];

/* Kills them, except for the caller. */
void posix_kill_family(pid_t root, pid_t group);

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

#endif
