/* What the files of the POSIX port share. */
#ifndef RTS_POSIX_H
#define RTS_POSIX_H

#include <sched.h>

#include "agent.h"

/* How the agent was started. */
typedef struct posix_options {
    bool keep_idle;  /* leave the CPUs' idle states alone */
    bool vdso_clock; /* do not use the cycle counter */
} posix_options;
extern posix_options posix_option;

/* True if this process may use real-time scheduling. */
bool posix_may_realtime(void);

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
bool posix_leave_cpus(const rts_case *c);

/* SIGTERM, SIGINT and SIGHUP ask the agent to stop; SIGCHLD is waited for. */
void posix_set_signals(void);

/* True if a child ended, or a signal came, within the time. */
bool posix_await_child(int timeout_ms);

/* Opens what posix evidence is read from; before the timed section. */
void posix_evidence_open(const rts_case *c);

/* The first line of a file into buffer without its end; false: not readable. */
bool posix_read_line(const char *path, char *buffer, size_t size);
/* Up to size - 1 bytes of a file; -1: not readable. */
int posix_read_file(const char *path, char *buffer, size_t size);

/*
 * Opens a new file without a name, so that nothing is left of it, in $TMPDIR or else /var/tmp:
 * where files are not kept in memory.  `flags` as of open(), beside those it needs; -1: `why` says
 * why not.
 */
int posix_scratch_file(int flags, char *why, size_t size);

/* Names of kernel objects: "/rtstone-PID.SLOT".  Objects of agents that are gone are removed. */
void posix_object_name(char *name, size_t size, unsigned slot);
void posix_claim_names(void);
void posix_release_names(void);
unsigned posix_sweep(void);

/* How many other agents live on this machine. */
unsigned posix_other_agents(void);

#endif
