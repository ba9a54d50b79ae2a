/*
 * Interrupts masked, of RISC-V in supervisor mode, as of Linux: by sstatus.SIE.
 *
 * `csrrsi` and `csrrci` say what they do, and one that keeps what was before saves it.  A trap
 * masks, and what was before is in SPIE, which `sret` restores: of the status that the kernel loads
 * from its stack before.  Interrupts and all else enter by the same instruction; which it was shows
 * the function that it leads to, and until then the trap is only remembered.  `csrrs` of a register
 * restores what was saved, unless the code says that it is of other bits (sstatus.py); it can
 * enable interrupts alone.  RISC-V Privileged Architecture, 4.1.1.
 *
 * While the firmware runs, in machine mode, no interrupt of this one is delivered, whatever SIE is:
 * that is masked, too.  It is entered where a block begins by fetching its own pointer, and left by
 * `mret`.
 */
#include <string.h>

#include "masks.h"

enum { SIE = 1 << 1, SPIE = 1 << 5, SPP = 1 << 8 };
enum { IN_KERNEL = 63 }; /* the bit that its addresses have */

static bool masked;   /* by SIE */
static bool previous; /* masked before the trap: SPIE is clear */
static bool in_user, from_user;
static bool in_firmware;

/* The trap of which it is not known yet what it is, and how many instructions began before it. */
static const site *trap;
static uint64_t trapped;

static void decide(bool irq)
{
    enum { LATEST = 200 }; /* instructions, by when what it is shows */
    const site *at = trap;
    trap = NULL;
    if (!at)
        return;
    if (instructions() - trapped > LATEST)
        masks_unknown();
    masks_enter(trapped, from_user, irq, false, at);
}

static void set(bool is, const site *at)
{
    masked = is;
    masks_set(is, instructions(), at);
}

static void on_set(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    set(false, at);
}

static void on_clear(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    masks_base(masked);
    set(true, at);
}

static void on_save(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    masks_save();
    set(true, at);
}

static void on_restore(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    if (!masks_saved())
        set(false, at);
}

/* Of the status that an exception came in, which was loaded. */
static void on_status(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    const uint64_t status = riscv_last_loaded();
    previous = !(status & SPIE);
    from_user = !(status & SPP);
    if (masked != !(status & SIE))
        set(!masked, at);
}

static void on_unknown(unsigned cpu, void *at)
{
    (void)cpu;
    (void)at;
    masks_unknown();
}

static void on_trap(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    trap = at;
    trapped = instructions();
    previous = masked;
    from_user = in_user;
    masked = true;
    in_user = false;
}

static void on_kind(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    decide(at->irq);
}

static void on_return(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    masks_leave(previous, instructions(), at);
    masked = previous;
    in_user = from_user;
    previous = false;
    from_user = true;
}

static void on_wait(unsigned cpu, void *at)
{
    decide(false);
    masks_wait(cpu, at);
}

static void on_firmware(unsigned cpu, void *at)
{
    (void)cpu;
    decide(false);
    in_firmware = true;
    masks_set(true, instructions(), at);
}

static void on_firmware_return(unsigned cpu, void *at)
{
    (void)cpu;
    if (!in_firmware) /* it is not entered as is known here */
        masks_unknown();
    in_firmware = false;
    masks_set(masked, instructions(), at);
}

/* What an instruction of the kernel does. */
static executed effect_of(uint32_t word, const site *at)
{
    enum { CSR = 0xfff0007f, SSTATUS = 0x10000073 }; /* all but operands and function */
    enum { WRITE = 1, SET = 2, CLEAR = 3, IMMEDIATE = 4 };
    if (word == 0x10200073)
        return on_return;
    if (word == 0x10500073)
        return on_wait;
    if ((word & CSR) != SSTATUS || at->keeps)
        return NULL;
    const unsigned operand = word >> 15 & 31, function = word >> 12 & 7;
    const bool reads = word >> 7 & 31;
    switch (function) {
    case WRITE:
        return at->inherits ? on_status : on_unknown;
    case SET:
        return !operand ? NULL : reads ? on_unknown : on_restore;
    case CLEAR: /* of a register: where it is not the immediate value, other bits */
        return operand && reads ? on_save : NULL;
    case IMMEDIATE | SET:
        return operand & SIE ? on_set : NULL;
    case IMMEDIATE | CLEAR:
        return !(operand & SIE) ? NULL : reads ? on_save : on_clear;
    default:
        return on_unknown;
    }
}

static bool enters_firmware(uint32_t word)
{
    enum { SWAPS = 0xfff0707f, MSCRATCH = 0x34001073 }; /* csrrw of it */
    return (word & SWAPS) == MSCRATCH && (word >> 7 & 31) && (word >> 15 & 31);
}

void supervisor_look_at(struct qemu_plugin_insn *insn, const encoding *c, site *at, bool begins)
{
    uint32_t word = 0;
    memcpy(&word, c->bytes, sizeof word);
    executed effect = NULL;
    if (at->masks)
        effect = at->undecided ? on_trap : on_kind;
    else if (c->size != sizeof word)
        effect = NULL;
    else if (at->pc >> IN_KERNEL)
        effect = effect_of(word, at);
    else if (word == 0x30200073)
        effect = on_firmware_return;
    else if (begins && enters_firmware(word))
        effect = on_firmware;
    if (effect)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, effect, NO_REGISTERS, at);
}
