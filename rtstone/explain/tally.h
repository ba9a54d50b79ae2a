/*
 * Which sections and terms are counted: those between the first and the last sample (tally.c).
 */
#ifndef RTS_TALLY_H
#define RTS_TALLY_H

#include "plugin.h"

/* Take a line of the request; false if it is none of these. */
bool tally_take(const char *word, uint64_t a, uint64_t b);

/* Write to this file; false if it cannot be opened. */
bool tally_open(const char *name);

/* Return whether any are to be recorded, and whether they are recorded still. */
bool tally_wanted(void);
bool tally_goes_on(void);

/* Return from when on no section begins that counts; UINT64_MAX if that is not known before. */
uint64_t tally_until(void);

/* Take note of a section, or of a term, that began `at` and ended `when`. */
void tally_add(unsigned kind, place begin, place end, uint64_t length, uint64_t at, uint64_t when);

/* Take note of an interrupt, which came while they were held to be masked or not. */
void tally_interrupt(uint64_t when, bool masked);

/* Take note that a watched variable got a value that is not known. */
void tally_unknown(uint64_t when);

/* Take note that one of the agent's functions is entered (samples.py), that a sample is counted. */
void tally_entry(uint64_t function, uint64_t when);
void tally_sample(uint64_t when);

/* Note by how much the kernel was moved from where it was linked for. */
void tally_moved(uint64_t by);

/* Write what was recorded, if it was not written yet. */
void tally_end(void);

#endif
