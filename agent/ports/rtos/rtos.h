/*
 * What ports of an RTOS share: tasks in one address space, on one CPU, which a task above them
 * watches.  A port that is built with ports/rtos gives it what stands here, and two sizes in
 * port_types.h: RTOS_MEASURING_STACK, and RTOS_LOOK_NS, how seldom the watchdog wakes up at the
 * least, as it preempts what it watches.
 */
#ifndef RTS_RTOS_H
#define RTS_RTOS_H

#include "port.h"

/* True if the task has ended, or does within so many ms. */
bool rtos_await(rts_task *task, uint32_t ms);
bool rtos_has_ended(const rts_task *task);

/* The newest of all tasks, and the end, unasked, of all that are newer than `from`; NULL: of all.
 */
rts_task *rtos_newest_task(void);
void rtos_kill_tasks(const rts_task *from);

/* Keeps a task from the CPU, whatever it does or waits for, or lets it go on. */
void rtos_pause_task(rts_task *task, bool pause);

/* ---- with defaults that do nothing ------------------------------------------------------------
 */

/* True once the host asks for the end of the case that runs. */
bool rtos_stop_asked(void);

/* Around a case: notes what it used, and removes what it left behind beside tasks. */
void rtos_case_starts(void);
void rtos_case_ends(rts_job *job);

/* Before the workers of a load are killed, and after. */
void rtos_load_ends(rts_task *worker, unsigned n);
void rtos_load_ended(void);

/* ---- of ports/rtos -----------------------------------------------------------------------------
 */

/* The tasks of the load that runs; how many there are. */
unsigned rtos_workers(rts_task **worker);

#endif
