/*
 * Shared by ports of an RTOS: tasks in one address space, on one CPU, watched by a task of higher
 * priority. A port that is built with ports/rtos provides what is declared here, and two sizes in
 * port_types.h: RTOS_MEASURING_STACK, and RTOS_LOOK_NS, the longest time that the watchdog
 * sleeps between checks; long, because each check preempts what it watches.
 */
#ifndef RTS_RTOS_H
#define RTS_RTOS_H

#include "port.h"

/* Waits up to `ms` for the task to end; returns whether it has. */
bool rtos_await(rts_task *task, uint32_t ms);
bool rtos_has_ended(const rts_task *task);

/* Returns the newest task; and deletes all tasks newer than `from`, or all if that is NULL. */
rts_task *rtos_newest_task(void);
void rtos_kill_tasks(const rts_task *from);

/* Keeps a task from running, whatever it does or waits for, or lets it continue. */
void rtos_pause_task(rts_task *task, bool pause);

/* ---- with defaults that do nothing ----------------------------------------------------------- */

/* Called around a case: record what it used, and remove what it left behind other than tasks. */
void rtos_case_starts(void);
void rtos_case_ends(rts_job *job);

/* Called before the workers of a load are deleted, and after. */
void rtos_load_ends(rts_task *worker, unsigned n);
void rtos_load_ended(void);

/* ---- provided by ports/rtos ------------------------------------------------------------------ */

/* Returns the tasks of the running load, and their number. */
unsigned rtos_workers(rts_task **worker);

#endif
