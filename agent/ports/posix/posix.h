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

/*
 * True if this process may have its tasks scheduled by deadline.  Asked first while it may still
 * run on all its CPUs: the kernel refuses a task that is bound to some of them.
 */
bool posix_may_deadline(void);

/* Sets policy and priority of a thread to be. */
int posix_set_policy(pthread_attr_t *attr, int prio, rts_policy policy);

/* A clock of CPU time, in ns; 0: whose it is is gone. */
uint64_t posix_clock_ns(clockid_t clock);

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

/* Names of kernel objects: "/rtstone-PID.SLOT".  Objects of agents that are gone are removed. */
void posix_object_name(char *name, size_t size, unsigned slot);
int posix_object_key(unsigned slot); /* the same for System V objects */
void posix_claim_names(void);
void posix_release_names(void);
unsigned posix_sweep(void);

/* How many other agents live on this machine. */
unsigned posix_other_agents(void);

#endif
