/*
 * Interrupts masked, of x86-64: by EFLAGS.IF.
 *
 * `cli` and `sti` say what they do; `popf` and `iret` take the flags from memory, where they are
 * read.  Each exception masks, as Linux has interrupt gates alone, and so does `syscall`.  That the
 * processor is in user mode is known by how it was left: `sysret`, or the CS that an `iret` read.
 * Intel Software Developer's Manual, volume 2.
 */
#include <string.h>

#include "masks.h"

enum { IF = 0x200, RING = 3 };
enum { CS = 2, FLAGS = 3 }; /* what an iret reads, in this order, behind RIP */

static bool in_user;
static unsigned reads; /* of an iret */
static uint64_t to_ring;

static void on_cli(unsigned cpu, void *at)
{
    (void)cpu;
    masks_set(true, instructions(), at);
}

static void on_sti(unsigned cpu, void *at)
{
    (void)cpu;
    masks_set(false, instructions(), at);
}

static void on_popf(unsigned cpu, uint32_t info, uint64_t address, void *at)
{
    (void)cpu;
    if (!qemu_plugin_mem_is_store(info))
        masks_set(!(masks_value(info, address) & IF), instructions() - 1, at);
}

static void on_entry(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    masks_enter(instructions(), in_user, at->irq, false, at);
    in_user = false;
}

static void on_sysret(unsigned cpu, void *at)
{
    (void)cpu;
    in_user = true;
    masks_leave(false, instructions(), at);
}

static void on_iret(unsigned cpu, void *at)
{
    (void)cpu;
    (void)at;
    reads = 0;
}

/* One that no exception leads to, but the kernel's own code, changes the flags alone. */
static void on_iret_read(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    const site *at = data;
    if (qemu_plugin_mem_is_store(info))
        return;
    reads++;
    if (reads == CS)
        to_ring = masks_value(info, address) & RING;
    if (reads != FLAGS)
        return;
    const bool masked = !(masks_value(info, address) & IF);
    if (at->leaves) {
        in_user = to_ring == RING;
        masks_leave(masked, instructions() - 1, at);
    } else
        masks_set(masked, instructions() - 1, at);
}

static bool is(const encoding *c, size_t size, const char *bytes)
{
    return c->size == size && !memcmp(c->bytes, bytes, size);
}

void x86_look_at(struct qemu_plugin_insn *insn, const encoding *c, site *at)
{
    executed effect = at->masks                                          ? on_entry
                      : is(c, 1, "\xfa")                                 ? on_cli
                      : is(c, 1, "\xfb")                                 ? on_sti
                      : is(c, 1, "\xf4")                                 ? masks_wait
                      : is(c, 3, "\x48\x0f\x07") || is(c, 2, "\x0f\x07") ? on_sysret
                      : is(c, 2, "\x48\xcf")                             ? on_iret
                                                                         : NULL;
    if (effect)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, effect, NO_REGISTERS, at);
    if (effect == on_iret)
        qemu_plugin_register_vcpu_mem_cb(insn, on_iret_read, NO_REGISTERS, ACCESSES, at);
    if (is(c, 1, "\x9d"))
        qemu_plugin_register_vcpu_mem_cb(insn, on_popf, NO_REGISTERS, ACCESSES, at);
}

bool x86_accesses(const encoding *c, uint64_t pc, uint64_t offset)
{
    enum { GS = 0x65, REX = 0x40, TWO = 0x0f, RELATIVE = 5 };
    size_t at = 1;
    if (c->bytes[0] != GS)
        return false;
    at += (c->bytes[at] & 0xf0) == REX;
    at += c->bytes[at] == TWO;
    at++; /* the opcode */
    int32_t distance = 0;
    if (at + 1 + sizeof distance > c->size || (c->bytes[at] & 0xc7) != RELATIVE)
        return false;
    memcpy(&distance, c->bytes + at + 1, sizeof distance);
    return pc + c->size + (uint64_t)(int64_t)distance == offset;
}
