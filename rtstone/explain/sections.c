/*
 * The sections of a run in which something is off, by the instructions that began and ended them.
 *
 * The state is followed here, and only sums are written, as a run has millions of sections; which
 * of them are in these says tally.c, which has lines of the request, too.  More lines:
 *
 *     wrapper FROM TO       code that begins or ends sections for its caller, who is recorded, too
 *     watch KIND ADDRESS    a variable: a section lasts while it is not 0
 *     raise FROM TO         code whose writes add 1 to a watched variable
 *     lower FROM TO         code whose writes take 1 away; all others make it 0.  With the guest's
 *                           memory (below) its value is read instead
 *     memory BASE SIZE      the physical addresses of what is in the file `memory`
 *     masks KIND ARCH       a section lasts while interrupts are masked: 0: AArch64, by DAIF; 1:
 *                           x86-64; 2: RISC-V in machine mode; 3: in supervisor mode
 *     entry-at PC IRQ       x86-64, RISC-V: what an exception enters; 1: an interrupt; 2: in
 *                           supervisor mode: either, which is known once another of these runs
 *     entries FROM TO       x86-64: the same, of interrupts, at each multiple of 8 bytes
 *     leave FROM TO         x86-64: an `iret` that is the return from any of these
 *     vectors FROM TO       tables of exception vectors, each entry of which masks them
 *     save PC -             an `mrs` of DAIF that belongs to a pair, of saving and restoring it
 *     constant PC VALUE     an `msr` of DAIF: whether it masks them
 *     keep PC -             RISC-V: a write of sstatus that changes nothing about them
 *     inherit FROM TO       code that restores what an exception came in
 *     switch FROM TO        what switches tasks: its first load is from the next one
 *     count KIND DELTA      Linux's preempt count, of 32 bits, this far behind that load, on x86-64
 *                           behind GS: a section lasts while a task has preemption or softirqs
 *                           disabled
 *     stored VALUE MASK     the instructions that may write it
 *     points KIND -         a section lasts from one point of rescheduling to the next: entering
 *                           from user mode or returning to it, or...
 *     point PC CONDITION    ...this instruction; 1: if interrupts and softirqs are enabled
 *     step NUMBER PC        Linux: a function that is a step to a switch (SCHEDULES...): what
 *                           delays switches is recorded, too (delays.c)
 *     running ADDRESS -     FreeRTOS: the variable that has the task; the same
 *     restore FROM TO       code that loads it and then from the task that it switches to
 *     raised FROM TO        code that writes to a device that interrupts are masked by priority
 *     lowered FROM TO       the same, that they are not any more
 *     kernel PC CODE        all addresses of code are those that a kernel was linked for: where it
 *                           is in memory shows the block that begins with these instructions
 *     trampoline PC CODE    an entry of a table of vectors that runs elsewhere, in its own page
 *
 * Of DAIF the plugin sees the instructions, not the values.  `msr daifset` and `daifclr` have
 * theirs in themselves; an exception masks interrupts, and its return restores what was before.
 * Flags that were saved are restored in reverse order, by each task at each level of exceptions.
 * Where more are restored than were saved, that is what the level began with.  Interrupt handlers,
 * while the preempt count has them in it, are left out of what `count` and `points` measure.
 */
#define _POSIX_C_SOURCE 200809L /* O_CLOEXEC */

#include "sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "delays.h"
#include "masks.h"
#include "tally.h"

enum { KINDS = 8, WATCHED = 4, WRAPPERS = 256, RANGES = 4096, DEEPEST = 8 };
enum { LEVELS = 16, BUCKETS = 256, LATER = 12, PAGE = 4096 };

struct wrapper {
    range code;
    const caller *called_from;
};

typedef struct ranges {
    unsigned n;
    range of[RANGES];
} ranges;

/*
 * What a task is in: itself, or an exception, which came from user mode or not, by an interrupt or
 * not, and while interrupts were masked or not.  `base`: what is restored where nothing was saved.
 * `saved`: the states that were, the last one in the lowest bit.
 */
typedef struct level {
    bool user, irq, masked, base;
    unsigned depth;
    uint64_t saved;
} level;

/* `key`: the address that is loaded from when it is switched to. */
typedef struct task {
    uint64_t key;
    unsigned n;
    level levels[LEVELS];
    struct task *next;
} task;

static struct {
    bool is;
    uint64_t since, begin, caller;
    uint64_t handled; /* instructions of interrupt handlers until it began */
} on[KINDS];

static ranges raise, lower, vectors, saves, inherits, points, keeps;
static ranges steps, restores, raised, lowered;             /* steps: address, and which */
static ranges entries_at, entries, leaves;                  /* entries_at: address, and by what */
static range constants[RANGES], switching, stored, counted; /* counted: kind, and behind what */
static unsigned n_constants, breaking;
static bool switched, loaded, counting, broken;
static unsigned wrappers, watches;
static wrapper wrapped[WRAPPERS];
static struct {
    uint64_t address, value;
    unsigned kind;
} watch[WATCHED];

static const uint8_t *memory;
static range mapped;
static enum { AARCH64, X86_64, RISCV, SUPERVISOR } arch;
static bool masking, by_priority; /* by_priority: interrupts are masked by it */
static unsigned masks, depth;     /* depth: of exceptions, where tasks are not known */
static bool delaying, loads_task; /* loads_task: the next load of a restore is from the task */
static uint64_t running;          /* the address of the variable that has it */
static ranges marks, trampolines; /* address, and instruction */
static unsigned seen;             /* marks in this block */
static uint64_t shift;
static bool located;

static task first = {.n = 1}, *tasks[BUCKETS], *current = &first;
static site *read_at; /* of the last read of DAIF, while nothing else was done to it */
static uint64_t read_when;
static uint64_t handled, handling_since;
static bool handling;

static const caller *block, *before; /* that is executed, and the one before it */

/* ---- the state --------------------------------------------------------------------------
 */

static bool still_open(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++)
        if (on[kind].is && on[kind].since < tally_until())
            return true;
    return delays_open(tally_until());
}

/* Return who called the wrapper that a site is in, directly or through another. */
static uint64_t caller_of(const site *at)
{
    const wrapper *in = at->in;
    uint64_t pc = 0;
    for (unsigned deep = 0; in && deep < DEEPEST; deep++) {
        if (!in->called_from)
            break;
        pc = in->called_from->pc;
        in = in->called_from->in;
    }
    return pc;
}

static uint64_t in_handlers(uint64_t now)
{
    return handled + (handling ? now - handling_since : 0);
}

static bool leaves_out_handlers(unsigned kind)
{
    return (counting && kind == counted.from) || (broken && kind == breaking);
}

static place place_of(const site *at)
{
    return (place){at->pc, caller_of(at)};
}

/* `now`: instructions begun before the one that does it. */
static void set(unsigned kind, bool is, uint64_t now, const site *at)
{
    if (is == on[kind].is)
        return;
    on[kind].is = is;
    if (is) {
        on[kind].since = now;
        on[kind].begin = at->pc;
        on[kind].caller = caller_of(at);
        on[kind].handled = in_handlers(now);
        return;
    }
    if (!tally_goes_on())
        return;
    uint64_t length = now - on[kind].since;
    if (leaves_out_handlers(kind))
        length -= in_handlers(now) - on[kind].handled;
    tally_add(kind, (place){on[kind].begin, on[kind].caller}, place_of(at), length, on[kind].since,
              now);
    if (now >= tally_until() && !still_open())
        tally_end();
}

/* Follow what delays switches; `when`: instructions that were executed before it is so. */
static void settle(uint64_t when, const site *at)
{
    if (!delaying)
        return;
    const place here = place_of(at);
    delays_deliver(!on[masks].is && !by_priority, when, here);
    if (delays_handling())
        return;
    bool blocked = by_priority;
    for (unsigned kind = 0; kind < KINDS; kind++)
        blocked |= on[kind].is && (!broken || kind == breaking);
    if (blocked != delays_blocked())
        delays_block(blocked, when, here);
}

/* ---- while the guest runs ---------------------------------------------------------------------
 */

void sections_block(const caller *last)
{
    before = block;
    block = last;
}

static void on_wrapper(unsigned cpu, void *data)
{
    (void)cpu;
    wrapper *w = data;
    w->called_from = before;
}

static size_t bytes(uint32_t info)
{
    return (size_t)1 << qemu_plugin_mem_size_shift(info);
}

/* Return what is in the guest's memory at an address, as part of an access that began before it. */
static uint64_t value_at(uint32_t info, uint64_t address, uint64_t variable)
{
    uint64_t value = 0;
    const struct qemu_plugin_hwaddr *physical = qemu_plugin_get_hwaddr(info, address);
    uint64_t at = physical ? qemu_plugin_hwaddr_phys_addr(physical) + (variable - address) : 0;
    size_t size = bytes(info) < sizeof value ? bytes(info) : sizeof value;
    if (!memory || at < mapped.from || at + size > mapped.to)
        abort();
    memcpy(&value, memory + (at - mapped.from), size);
    return value;
}

uint64_t masks_value(uint32_t info, uint64_t address)
{
    return value_at(info, address, address);
}

/*
 * Return what was written to a variable; it is in memory by now. The access may begin before it:
 * QEMU 10 writes the two registers of an `stp` at once.
 */
static uint64_t written(uint32_t info, uint64_t address, uint64_t variable, uint64_t old, int step)
{
    if (!memory) {
        if (!step)
            tally_unknown(instructions());
        return step ? old + (uint64_t)step : 0;
    }
    return value_at(info, address, variable);
}

static void on_store(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    const site *at = data;
    if (!qemu_plugin_mem_is_store(info)) /* versions before 8 call for both */
        return;
    if (at->raises || at->lowers) {
        const struct qemu_plugin_hwaddr *device = qemu_plugin_get_hwaddr(info, address);
        if (device && qemu_plugin_hwaddr_is_io(device)) {
            by_priority = at->raises;
            settle(instructions(), at);
        }
    }
    for (unsigned i = 0; i < watches; i++)
        if (watch[i].address >= address && watch[i].address - address < bytes(info)) {
            watch[i].value = written(info, address, watch[i].address, watch[i].value, at->step);
            set(watch[i].kind, watch[i].value != 0, instructions() - 1, at);
            if (!at->step && !i && raised.n) /* a task's own nesting, restored with its priority */
                by_priority = watch[i].value;
            settle(instructions(), at);
        }
}

/* ---- interrupts masked ---- */

void masks_set(bool masked, uint64_t begun, const site *at)
{
    set(masks, masked, begun, at);
    settle(begun + 1, at);
}

void masks_unknown(void)
{
    tally_unknown(instructions());
}

/* Return how many exceptions have not returned, of the task if that is known. */
static unsigned levels(void)
{
    return switched ? current->n : depth;
}

static level *top(void)
{
    return &current->levels[current->n - 1];
}

void masks_enter(uint64_t when, bool user, bool irq, bool again, const site *at)
{
    if (irq && !again)
        tally_interrupt(when, on[masks].is);
    depth++;
    if (switched) {
        if (user) {
            current->n = 1;
            *top() = (level){0};
        }
        if (current->n == LEVELS)
            abort();
        current->levels[current->n++] = (level){user, irq, on[masks].is, irq, 0, 0};
        if (broken && user)
            set(breaking, true, when, at);
    }
    if (delaying && irq)
        delays_interrupt(when, levels());
    set(masks, true, when, at);
    settle(when, at);
}

void masks_leave(bool masked, uint64_t begun, const site *at)
{
    if (broken && current->n > 1 && top()->user)
        set(breaking, false, begun, at);
    if (delaying)
        delays_return(begun + 1, levels(), place_of(at));
    if (current->n > 1)
        current->n--;
    depth -= depth > 0;
    masks_set(masked, begun, at);
}

/* Flags that were saved, of the task at the level of exceptions that it is in. */

void masks_save(void)
{
    top()->saved = top()->saved << 1 | on[masks].is;
    top()->depth++;
}

void masks_base(bool masked)
{
    top()->base = masked;
}

bool masks_saved(void)
{
    level *l = top();
    if (!l->depth)
        return l->base;
    const bool masked = l->saved & 1;
    l->saved >>= 1;
    l->depth--;
    return masked;
}

/* ---- the same, of AArch64 ---- */

static void mask(bool is, const site *at)
{
    masks_set(is, instructions(), at);
}

static void on_mask(unsigned cpu, void *at)
{
    (void)cpu;
    if (read_at && !read_at->saves && instructions() - read_when < LATER) {
        read_at->saves = true; /* of a module, whose code is not known beforehand */
        masks_save();
    } else if (!read_at) /* flags that were restored already may be restored once more */
        masks_base(on[masks].is);
    read_at = NULL;
    mask(true, at);
}

static void on_unmask(unsigned cpu, void *at)
{
    (void)cpu;
    read_at = NULL;
    masks_base(false);
    mask(false, at);
}

static void on_read(unsigned cpu, void *data)
{
    (void)cpu;
    read_at = data;
    read_when = instructions();
    if (read_at->saves)
        masks_save();
}

static void on_write(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    const level *l = top();
    read_at = NULL;
    if (at->masks || at->unmasks) {
        masks_base(at->masks);
        mask(at->masks, at);
    } else if (!l->depth && at->inherits)
        mask(current->n > 1 && !l->user && l->masked, at);
    else
        mask(masks_saved(), at);
}

/* The second of four entries is an interrupt (Arm ARM, D1.10.2); later ones are from user mode. */
static void on_vector(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    const bool user = at->pc & 0x400, irq = (at->pc & 0x180) == 0x80;
    /* Where the kernel's vectors are hidden from user mode there are two tables to go through. */
    const bool again = user && current->n == 2 && top()->user;
    read_at = NULL;
    masks_enter(instructions(), user, irq, again, at);
}

static void on_return(unsigned cpu, void *at)
{
    (void)cpu;
    const level *l = top();
    read_at = NULL;
    masks_leave(current->n > 1 && !l->user && l->masked, instructions(), at);
}

/* ---- tasks, and their preempt counts ---- */

static void on_switch(unsigned cpu, void *at)
{
    (void)cpu;
    (void)at;
    loaded = false;
}

static void on_context(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    if (loaded || qemu_plugin_mem_is_store(info))
        return;
    loaded = true;
    task **list = &tasks[(address >> 6) % BUCKETS], *t = *list;
    while (t && t->key != address)
        t = t->next;
    if (!t) {
        t = calloc(1, sizeof *t);
        if (!t)
            abort();
        t->key = address;
        t->n = 1;
        t->next = *list;
        *list = t;
    }
    current = t;
    if (delaying)
        delays_switch(instructions(), address, place_of(data));
}

static void on_restore(unsigned cpu, uint32_t info, uint64_t address, void *at)
{
    (void)cpu;
    const bool load = !qemu_plugin_mem_is_store(info);
    if (load && loads_task)
        delays_switch(instructions(), address, place_of(at));
    loads_task = load && address == running;
    if (load && (arch == RISCV || arch == SUPERVISOR))
        riscv_loaded(masks_value(info, address));
}

static void on_count(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    enum { OFF = 0xffff, HANDLERS = 0xff0000 }; /* include/linux/preempt.h */
    (void)cpu;
    if (!qemu_plugin_mem_is_store(info))
        return;
    if (arch != X86_64 && address != current->key + counted.to)
        return;
    const uint64_t now = instructions() - 1, value = written(info, address, address, 0, 0);
    const bool is = value & HANDLERS;
    if (is && !handling)
        handling_since = now;
    if (!is && handling)
        handled += now - handling_since;
    handling = is;
    if (!is)
        set((unsigned)counted.from, value & OFF, now, data);
    settle(now + 1, data);
}

static void on_point(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    if (at->conditional && (on[masks].is || on[counted.from].is || handling))
        return;
    set(breaking, false, instructions(), at);
    set(breaking, true, instructions(), at);
    if (delaying && !delays_handling())
        delays_point(instructions(), place_of(at));
}

enum { SCHEDULES, PREEMPTS, ASKS, IDLES };

static void on_step(unsigned cpu, void *data)
{
    (void)cpu;
    const site *at = data;
    const uint64_t when = instructions();
    const place here = place_of(at);
    const bool in_handler = delays_handling();
    if (at->step_to == ASKS) {
        delays_need(when, here);
        return;
    }
    if (at->step_to == IDLES)
        delays_idle(when);
    else {
        delays_leave(when, here);
        settle(when, at);
    }
    if (broken ? in_handler && at->step_to == SCHEDULES : at->step_to == IDLES && delays_blocked())
        delays_point(when, here); /* else on_point has done so */
    if (at->step_to == SCHEDULES)
        delays_schedule(when, here);
}

void masks_wait(unsigned cpu, void *at)
{
    if (broken)
        on_point(cpu, at);
    if (delaying)
        on_step(cpu, at);
}

/* ---- while code is translated -----------------------------------------------------------------
 */

static bool is_in(const ranges *r, uint64_t pc)
{
    for (unsigned i = 0; i < r->n; i++)
        if (pc >= r->of[i].from && pc < r->of[i].to)
            return true;
    return false;
}

/* Return the address that code was linked for. */
static uint64_t linked(uint64_t pc)
{
    return pc >> 63 ? pc - shift : pc;
}

/* Look for the begin of the kernel's code: its instructions, at the place in a page they have. */
static void locate(uint64_t pc, uint32_t code, bool begins)
{
    if (located || !marks.n || !(pc >> 63) || !(begins || seen))
        return;
    if (begins)
        seen = 0;
    const range *mark = &marks.of[seen];
    const uint64_t by = pc - mark->from;
    if (code != mark->to || by % PAGE || (seen && by != shift)) {
        seen = 0;
        shift = 0;
        return;
    }
    shift = by;
    located = ++seen == marks.n;
    if (located)
        tally_moved(shift);
}

static wrapper *wrapper_at(uint64_t pc)
{
    pc = linked(pc);
    for (unsigned i = 0; i < wrappers; i++)
        if (pc >= wrapped[i].code.from && pc < wrapped[i].code.to)
            return &wrapped[i];
    return NULL;
}

static site *site_at(uint64_t pc)
{
    site *s = malloc(sizeof *s);
    if (!s)
        abort();
    const uint64_t at = linked(pc);
    *s = (site){.pc = pc,
                .in = wrapper_at(pc),
                .step = is_in(&raise, at) - is_in(&lower, at),
                .raises = is_in(&raised, at),
                .lowers = is_in(&lowered, at)};
    return s;
}

caller sections_caller(uint64_t pc)
{
    return (caller){pc, wrapper_at(pc)};
}

static bool is_trampoline(uint64_t pc, uint32_t code)
{
    for (unsigned i = 0; pc >> 63 && i < trampolines.n; i++)
        if (code == trampolines.of[i].to && !((pc - trampolines.of[i].from) % PAGE))
            return true;
    return false;
}

static executed effect_on_daif(uint64_t pc, uint32_t code, bool begins)
{
    enum { IRQ = 0x200 }; /* of the bits of the immediate value */
    if (begins && !(pc & 0x7f) && (is_in(&vectors, linked(pc)) || is_trampoline(pc, code)))
        return on_vector;
    if ((code & 0xfffff0ff) == 0xd50340df && code & IRQ)
        return on_mask; /* msr daifset */
    if ((code & 0xfffff0ff) == 0xd50340ff && code & IRQ)
        return on_unmask; /* msr daifclr */
    if ((code & 0xffffffe0) == 0xd53b4220)
        return on_read;
    if ((code & 0xffffffe0) == 0xd51b4220)
        return on_write;
    return code == 0xd69f03e0 ? on_return : NULL; /* eret */
}

static site *site_of_masks(uint64_t pc)
{
    site *s = site_at(pc);
    s->saves = is_in(&saves, linked(pc));
    s->inherits = is_in(&inherits, linked(pc));
    s->leaves = is_in(&leaves, linked(pc));
    s->keeps = is_in(&keeps, linked(pc));
    s->step_to = IDLES; /* of an instruction that waits */
    for (unsigned i = 0; i < n_constants; i++)
        if (constants[i].from == linked(pc)) {
            s->masks = constants[i].to;
            s->unmasks = !constants[i].to;
        }
    return s;
}

static site *site_of_entry(uint64_t pc, bool begins)
{
    enum { ENTRY = 8 }; /* bytes, of which each has a multiple */
    enum { INTERRUPT = 1, EITHER };
    site *s = site_of_masks(pc);
    for (unsigned i = 0; i < entries_at.n; i++)
        if (entries_at.of[i].from == linked(pc)) {
            s->masks = true;
            s->irq = entries_at.of[i].to == INTERRUPT;
            s->undecided = entries_at.of[i].to == EITHER;
        }
    if (begins && !(pc % ENTRY) && is_in(&entries, linked(pc)))
        s->masks = s->irq = true;
    return s;
}

static void look_at_masks(struct qemu_plugin_insn *insn, uint64_t pc, const encoding *c,
                          bool begins)
{
    uint32_t word = 0;
    memcpy(&word, c->bytes, sizeof word);
    if (arch == X86_64)
        x86_look_at(insn, c, site_of_entry(pc, begins));
    else if (arch == RISCV)
        riscv_look_at(insn, c, site_of_entry(pc, begins));
    else if (arch == SUPERVISOR)
        supervisor_look_at(insn, c, site_of_entry(pc, begins), begins);
    else {
        executed effect = effect_on_daif(pc, word, begins);
        if (effect)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, effect, NO_REGISTERS, site_of_masks(pc));
    }
}

/* Return whether an instruction may write the preempt count. */
static bool may_count(uint64_t pc, const encoding *c)
{
    uint32_t word = 0;
    if (arch == X86_64)
        return x86_accesses(c, pc, counted.to);
    memcpy(&word, c->bytes, sizeof word);
    return (word & stored.to) == stored.from;
}

static void look_for_points(struct qemu_plugin_insn *insn, uint64_t pc)
{
    for (unsigned i = 0; i < points.n; i++)
        if (points.of[i].from == linked(pc)) {
            site *s = site_at(pc);
            s->conditional = points.of[i].to;
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_point, NO_REGISTERS, s);
        }
}

static void look_for_steps(struct qemu_plugin_insn *insn, uint64_t pc)
{
    for (unsigned i = 0; i < steps.n; i++)
        if (steps.of[i].from == linked(pc)) {
            site *s = site_at(pc);
            s->step_to = (unsigned)steps.of[i].to;
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_step, NO_REGISTERS, s);
        }
}

void sections_look_at(struct qemu_plugin_insn *insn, uint64_t pc, const encoding *c, bool begins)
{
    uint32_t word = 0;
    memcpy(&word, c->bytes, sizeof word);
    locate(pc, word, begins);
    const uint64_t at = linked(pc);
    wrapper *w = wrapper_at(pc);
    if (w && w->code.from == at)
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_wrapper, NO_REGISTERS, w);
    if (masking)
        look_at_masks(insn, pc, c, begins);
    if (switched && at >= switching.from && at < switching.to) {
        if (at == switching.from)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_switch, NO_REGISTERS, NULL);
        qemu_plugin_register_vcpu_mem_cb(insn, on_context, NO_REGISTERS, ACCESSES, site_at(pc));
    }
    if (is_in(&restores, at))
        qemu_plugin_register_vcpu_mem_cb(insn, on_restore, NO_REGISTERS, ACCESSES, site_at(pc));
    if (counting && may_count(pc, c))
        qemu_plugin_register_vcpu_mem_cb(insn, on_count, NO_REGISTERS, WRITES, site_at(pc));
    look_for_points(insn, pc);
    look_for_steps(insn, pc);
    if (watches)
        qemu_plugin_register_vcpu_mem_cb(insn, on_store, NO_REGISTERS, WRITES, site_at(pc));
}

/* ---- the start --------------------------------------------------------------------------------
 */

static bool add_range(ranges *r, uint64_t from, uint64_t to)
{
    if (r->n == RANGES)
        return false;
    r->of[r->n++] = (range){from, to};
    return true;
}

bool sections_wanted(void)
{
    return tally_wanted();
}

static bool take_range(const char *word, uint64_t a, uint64_t b)
{
    static const struct {
        const char *word;
        ranges *all;
    } lists[] = {{"raise", &raise},      {"lower", &lower},     {"vectors", &vectors},
                 {"inherit", &inherits}, {"point", &points},    {"restore", &restores},
                 {"raised", &raised},    {"lowered", &lowered}, {"entries", &entries},
                 {"leave", &leaves},     {"kernel", &marks},    {"trampoline", &trampolines}};
    for (unsigned i = 0; i < sizeof lists / sizeof *lists; i++)
        if (!strcmp(word, lists[i].word))
            return add_range(lists[i].all, a, b);
    if (!strcmp(word, "entry-at"))
        return add_range(&entries_at, a, b);
    if (!strcmp(word, "keep"))
        return add_range(&keeps, a, a + 1);
    return !strcmp(word, "save") && add_range(&saves, a, a + 1);
}

static bool take_of_linux(const char *word, uint64_t a, uint64_t b)
{
    if (!strcmp(word, "constant") && n_constants < RANGES) {
        constants[n_constants++] = (range){a, b};
        return true;
    }
    if (!strcmp(word, "switch")) {
        switched = true;
        switching = (range){a, b};
        return true;
    }
    if (!strcmp(word, "count") && a < KINDS) {
        counting = true;
        counted = (range){a, b};
        return true;
    }
    if (!strcmp(word, "stored")) {
        stored = (range){a, b};
        return true;
    }
    if (!strcmp(word, "step")) {
        delaying = true;
        return add_range(&steps, b, a);
    }
    if (!strcmp(word, "points") && a < KINDS) {
        broken = true;
        breaking = (unsigned)a;
        return true;
    }
    return false;
}

bool sections_take(const char *word, uint64_t a, uint64_t b)
{
    if (!strcmp(word, "wrapper") && wrappers < WRAPPERS) {
        wrapped[wrappers++].code = (range){a, b};
        return true;
    }
    if (!strcmp(word, "watch") && watches < WATCHED && a < KINDS) {
        watch[watches].kind = (unsigned)a;
        watch[watches++].address = b;
        return true;
    }
    if (!strcmp(word, "memory")) {
        mapped = (range){a, a + b};
        return true;
    }
    if (!strcmp(word, "running")) {
        delaying = true;
        running = a;
        return true;
    }
    if (!strcmp(word, "masks") && a < KINDS) {
        masking = true;
        masks = (unsigned)a;
        arch = b == X86_64 ? X86_64 : b == RISCV ? RISCV : b == SUPERVISOR ? SUPERVISOR : AARCH64;
        return true;
    }
    return tally_take(word, a, b) || take_of_linux(word, a, b) || take_range(word, a, b);
}

static bool map(const char *name)
{
    int handle = open(name, O_RDONLY | O_CLOEXEC);
    void *at = handle < 0 ? MAP_FAILED
                          : mmap(NULL, mapped.to - mapped.from, PROT_READ, MAP_SHARED, handle, 0);
    if (handle >= 0)
        close(handle);
    memory = at == MAP_FAILED ? NULL : at;
    return memory;
}

bool sections_argument(const char *name, const char *value)
{
    if (!strcmp(name, "memory"))
        return map(value);
    return !strcmp(name, "sections") && tally_open(value);
}
