/*
 * What delays the switch to a task, of which a bound is composed (delays.c).
 */
#ifndef RTS_DELAYS_H
#define RTS_DELAYS_H

#include "plugin.h"

/*
 * Times, `when`, are instructions that were executed before something took effect: of what an
 * instruction does, itself included.
 */

/* Kinds of terms, in what is written (tally.h); those of sections are smaller. */
enum { BLOCKED = 5, TAIL, GAP, HEAD };

/* Return whether an interrupt is being handled, during which nothing else has to be noted. */
bool delays_handling(void);

/* Return whether a stretch is on in which no task can be switched to. */
bool delays_blocked(void);

/* Return whether one is on that began before. */
bool delays_open(uint64_t before);

/* Take note of whether interrupts are delivered, also while one is handled. */
void delays_deliver(bool deliver, uint64_t when, place at);

/* Take note that a stretch begins or ends, or that one ends and the next begins. */
void delays_block(bool blocked, uint64_t when, place at);
void delays_point(uint64_t when, place at);

/* Take note of an interrupt, at this level of exceptions, and of a return from a level. */
void delays_interrupt(uint64_t when, unsigned level);
void delays_return(uint64_t when, unsigned level, place at);

/* Take note that the scheduler is entered, by a handler or not; that it is asked for. */
void delays_leave(uint64_t when, place at);
void delays_schedule(uint64_t when, place at);
void delays_need(uint64_t when, place at);

/* Take note that the processor waits for an interrupt; of a switch to a task. */
void delays_idle(uint64_t when);
void delays_switch(uint64_t when, uint64_t task, place at);

#endif
