/*
 * Sections of a run in which something is off: interrupts masked, preemption disabled (sections.c).
 */
#ifndef RTS_SECTIONS_H
#define RTS_SECTIONS_H

#include "plugin.h"

/* A function that begins or ends sections for others, as the one that takes a lock. */
typedef struct wrapper wrapper;

/* An instruction that may call one: its address, and the wrapper that it is in itself. */
typedef struct caller {
    uint64_t pc;
    const wrapper *in;
} caller;

/* The bytes of an instruction. */
typedef struct encoding {
    size_t size;
    uint8_t bytes[15];
} encoding;

/* Take a line of the request; false if it is none of these. */
bool sections_take(const char *word, uint64_t a, uint64_t b);

/* Take an argument of the plugin; false if it is none of these, or cannot be opened. */
bool sections_argument(const char *name, const char *value);

/* Return whether any are to be recorded. */
bool sections_wanted(void);

/* Register what an instruction does to sections; `begins`: its block. */
void sections_look_at(struct qemu_plugin_insn *insn, uint64_t pc, const encoding *c, bool begins);

/* Return the last instruction of a block as a caller. */
caller sections_caller(uint64_t pc);

/* Take note that a block is executed, which ends with this instruction. */
void sections_block(const caller *last);

#endif
