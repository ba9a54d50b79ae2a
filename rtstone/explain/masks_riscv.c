/*
 * Interrupts masked, of RISC-V in machine mode: by mstatus.MIE.
 *
 * `csrrsi` and `csrrci` say what they do.  A trap masks, and what was before is in MPIE, which
 * `mret` restores; a write of all of mstatus is of what was loaded last, from a task's stack, or of
 * a constant.  RISC-V Privileged Architecture, 3.1.6.
 */
#include <string.h>

#include "masks.h"

enum { MIE = 1 << 3, MPIE = 1 << 7 };

static bool masked;   /* now */
static bool previous; /* masked before the trap: MPIE is clear */
static bool called;   /* by an `ecall`, which is what traps */
static uint64_t loaded;

static void set(bool is, const site *at)
{
    masked = is;
    masks_set(is, instructions(), at);
}

static void on_set(unsigned cpu, void *at)
{
    (void)cpu;
    set(false, at);
}

static void on_clear(unsigned cpu, void *at)
{
    (void)cpu;
    set(true, at);
}

static void on_write(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    if (at->unmasks) {
        set(false, at);
        return;
    }
    previous = !(loaded & MPIE);
    set(!(loaded & MIE), at);
}

static void on_unknown(unsigned cpu, void *at)
{
    (void)cpu;
    (void)at;
    masks_unknown();
}

static void on_call(unsigned cpu, void *at)
{
    (void)cpu;
    (void)at;
    called = true;
}

static void on_trap(unsigned cpu, void *at)
{
    (void)cpu;
    masks_enter(instructions(), false, !called, false, at);
    called = false;
    previous = masked;
    masked = true;
}

static void on_return(unsigned cpu, void *at)
{
    (void)cpu;
    masks_leave(previous, instructions(), at);
    masked = previous;
    previous = false;
}

void riscv_loaded(uint64_t value)
{
    loaded = value;
}

uint64_t riscv_last_loaded(void)
{
    return loaded;
}

static executed effect_of(uint32_t word)
{
    enum { CSR = 0xfff0007f, MSTATUS = 0x30000073 }; /* all but operands and function */
    enum { WRITE = 1, SET = 2, CLEAR = 3, IMMEDIATE = 4 };
    if (word == 0x30200073)
        return on_return;
    if (word == 0x00000073)
        return on_call;
    if ((word & CSR) != MSTATUS)
        return NULL;
    const unsigned operand = word >> 15 & 31, function = word >> 12 & 7;
    switch (function) {
    case WRITE:
        return on_write;
    case IMMEDIATE | SET:
        return operand & MIE ? on_set : NULL;
    case IMMEDIATE | CLEAR:
        return operand & MIE ? on_clear : NULL;
    default: /* one of register 0 reads alone */
        return operand || function == (IMMEDIATE | WRITE) ? on_unknown : NULL;
    }
}

void riscv_look_at(struct qemu_plugin_insn *insn, const encoding *c, site *at)
{
    uint32_t word = 0;
    memcpy(&word, c->bytes, sizeof word);
    executed effect = at->masks ? on_trap : effect_of(word);
    if (effect && (at->masks || c->size == sizeof word))
        qemu_plugin_register_vcpu_insn_exec_cb(insn, effect, NO_REGISTERS, at);
}
