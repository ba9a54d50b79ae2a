/*
 * What masks interrupts: instructions and exceptions, by architecture (masks_x86.c, masks_riscv.c,
 * masks_supervisor.c), and what they have in common (sections.c).
 */
#ifndef RTS_MASKS_H
#define RTS_MASKS_H

#include "sections.h"

/* An instruction that may begin or end a section. */
typedef struct site {
    uint64_t pc;
    const wrapper *in;
    int step; /* of a watched variable, 0: makes it 0 */
    bool saves, masks, unmasks, inherits, conditional, raises, lowers;
    bool irq, leaves;      /* an entry of interrupts; a return from any of them */
    bool keeps, undecided; /* a write of nothing that counts; an entry of either */
    unsigned step_to;      /* a switch */
} site;

/* Provided by sections.c; `begun`: instructions that were begun before the one that does it. */

/* Take note that interrupts are masked from here on, or are not. */
void masks_set(bool masked, uint64_t begun, const site *at);

/*
 * Take note of an exception from user mode or not, before the instruction at `when`; `again`: it is
 * the one before, gone further.
 */
void masks_enter(uint64_t when, bool user, bool irq, bool again, const site *at);

/* Take note of the return from the exception that was taken last. */
void masks_leave(bool masked, uint64_t begun, const site *at);

/* Save what is so now. */
void masks_save(void);

/* Take note of what is restored where nothing was saved. */
void masks_base(bool masked);

/* Return what was saved last, which is restored now. */
bool masks_saved(void);

/* Take note of a write of a value that is not known. */
void masks_unknown(void);

/* Take note that the processor waits for an interrupt. */
void masks_wait(unsigned cpu, void *at);

/* Return what is in memory at an address that is being accessed. */
uint64_t masks_value(uint32_t info, uint64_t address);

/* Register what an instruction does, on x86-64. */
void x86_look_at(struct qemu_plugin_insn *insn, const encoding *c, site *at);

/* Return whether an instruction accesses the variable of a processor at this offset (of GS). */
bool x86_accesses(const encoding *c, uint64_t pc, uint64_t offset);

/* Register what an instruction does, on RISC-V in machine mode. */
void riscv_look_at(struct qemu_plugin_insn *insn, const encoding *c, site *at);

/* Register what an instruction does, on RISC-V in supervisor mode; `begins`: its block. */
void supervisor_look_at(struct qemu_plugin_insn *insn, const encoding *c, site *at, bool begins);

/* Take note of a load by code that restores a task, or what an exception came in. */
void riscv_loaded(uint64_t value);

/* Return what was loaded last. */
uint64_t riscv_last_loaded(void);

#endif
