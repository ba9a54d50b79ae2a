/*
 * A plugin for QEMU's TCG that records which code a guest executes, and when: the n-th instruction.
 *
 * It only looks: a run with it is the same as without, to the instruction.  Arguments: `request`, a
 * file of lines (below), `records` and `blocks`, files to write.  Everything that concerns the
 * meaning of what is recorded is in the host (replay.py).
 *
 *     stamp VALUE MASK      instructions whose first four bytes are VALUE under MASK: they read the
 *                           counter, and each time they do is recorded
 *     within FROM TO        ...but only those at these addresses, if any are given
 *     entry NUMBER PC       each time this function is entered is recorded, with the number
 *     after N -             stamps and stores are recorded from the N-th entry of function 0
 *                           until the next; N is 0: always
 *     stores FROM TO        writes to memory by code at these addresses are recorded
 *     window FROM TO        between the FROM-th and the TO-th instruction every block is recorded
 *     totals FROM TO        how often each block was executed is recorded at the end of this window
 *
 * Numbers are decimal, windows in ascending order.  More lines are those of sections.c and tally.c;
 * the arguments `sections`, a file to write, and `memory`, the guest's memory.
 */
#include "plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sections.h"
#include "tally.h"

#define EXPORT __attribute__((visibility("default")))

struct qemu_info;

enum { ADD_U64 };

typedef uint64_t plugin_id;

/* The emulator finds both by their names. NOLINTBEGIN(misc-use-internal-linkage) */
EXPORT int qemu_plugin_version = RTS_PLUGIN_API;
EXPORT int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv);
/* NOLINTEND(misc-use-internal-linkage) */

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_atexit_cb(plugin_id, void (*)(plugin_id, void *), void *);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed, int, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);

/* ---- what differs between versions: counting inline, and the bytes of an instruction ----------
 */

#if RTS_PLUGIN_API == 1

void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int, void *, uint64_t);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);

static uint64_t begun; /* instructions so far */

uint64_t instructions(void)
{
    return begun;
}

static void count(struct qemu_plugin_insn *insn)
{
    qemu_plugin_register_vcpu_insn_exec_inline(insn, ADD_U64, &begun, 1);
}

static void copy(uint8_t *to, size_t size, const struct qemu_plugin_insn *insn)
{
    memcpy(to, qemu_plugin_insn_data(insn), size);
}

#else

typedef struct slot {
    struct qemu_plugin_scoreboard *board;
    size_t offset;
} slot;

struct qemu_plugin_scoreboard *qemu_plugin_scoreboard_new(size_t);
void *qemu_plugin_scoreboard_find(struct qemu_plugin_scoreboard *, unsigned);
void qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(struct qemu_plugin_insn *, int, slot,
                                                         uint64_t);
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *, void *, size_t);

static struct qemu_plugin_scoreboard *board; /* of one CPU: instructions so far */

uint64_t instructions(void)
{
    return *(const uint64_t *)qemu_plugin_scoreboard_find(board, 0);
}

static void count(struct qemu_plugin_insn *insn)
{
    if (!board)
        board = qemu_plugin_scoreboard_new(sizeof(uint64_t));
    qemu_plugin_register_vcpu_insn_exec_inline_per_vcpu(insn, ADD_U64, (slot){board, 0}, 1);
}

static void copy(uint8_t *to, size_t size, const struct qemu_plugin_insn *insn)
{
    qemu_plugin_insn_data(insn, to, size);
}

#endif

/* ---- what is asked for ------------------------------------------------------------------------
 */

enum { STAMPS = 4, PLACES = 4096 };

typedef struct places {
    unsigned n;
    range of[PLACES];
} places;

static struct {
    uint32_t value, mask;
} stamp[STAMPS];
static unsigned stamps;
static places within, entry, stores, window; /* entry: address and number */
static range totals;
static uint64_t after, times; /* function 0: from which entry on to record, and entries so far */
static unsigned in_window;    /* the window that is being recorded, or the next */
static bool counting_totals;

/* ---- what is written --------------------------------------------------------------------------
 */

/*
 * `count`: instructions begun before it; of TOTAL, how often.  `what`: number of the function,
 * address that was written to, address of the instruction, number of the block.
 */
typedef struct record {
    uint64_t count, what;
    uint32_t size, kind; /* size: bytes that were written */
} record;

/* A block of code, as it was translated: `n` instructions in `size` bytes, and the last of them. */
typedef struct block {
    uint64_t pc;
    uint32_t n, size;
    uint8_t last[15], last_size;
} block;

typedef struct translated {
    uint64_t number, runs;
    struct translated *before;
    caller last; /* its last instruction */
} translated;

static FILE *records, *blocks;
static translated *newest;

void write_record(uint64_t when, uint64_t what, uint32_t size, uint32_t kind)
{
    const record r = {when, what, size, kind};
    fwrite(&r, sizeof r, 1, records);
}

static void flush(void)
{
    fflush(records);
    fflush(blocks);
}

/* ---- while the guest runs ---------------------------------------------------------------------
 */

static void *as_data(uint64_t value)
{
    return (void *)(uintptr_t)value; /* NOLINT(performance-no-int-to-ptr): it is only handed back */
}

static void on_stamp(unsigned cpu, void *pc)
{
    (void)cpu;
    if (!after || times == after)
        write_record(instructions(), (uintptr_t)pc, 0, STAMPED);
}

/* The guest may end before what is buffered is written, so it is written at each entry. */
static void on_entry(unsigned cpu, void *number)
{
    (void)cpu;
    times += !number;
    write_record(instructions(), (uintptr_t)number, 0, ENTERED);
    tally_entry((uintptr_t)number, instructions());
    flush();
}

static void on_store(unsigned cpu, uint32_t info, uint64_t address, void *data)
{
    (void)cpu;
    (void)data;
    if ((after && times != after) || !qemu_plugin_mem_is_store(info)) /* before 8 it is for both */
        return;
    write_record(instructions(), address, 1u << qemu_plugin_mem_size_shift(info), STORED);
    tally_sample(instructions());
}

static void look_at_totals(uint64_t when)
{
    if (!counting_totals && when >= totals.from && totals.to) {
        counting_totals = true;
        for (translated *t = newest; t; t = t->before)
            t->runs = 0;
    }
    if (counting_totals && when >= totals.to) {
        for (const translated *t = newest; t; t = t->before)
            if (t->runs)
                write_record(t->runs, t->number, 0, TOTAL);
        counting_totals = false;
        totals = (range){UINT64_MAX, 0};
        flush();
    }
}

static void on_block(unsigned cpu, void *data)
{
    (void)cpu;
    translated *t = data;
    sections_block(&t->last);
    uint64_t when = instructions();
    look_at_totals(when);
    t->runs++;
    while (in_window < window.n && when >= window.of[in_window].to) {
        in_window++;
        flush();
    }
    if (in_window < window.n && when >= window.of[in_window].from)
        write_record(when, t->number, 0, RAN);
}

/* ---- while code is translated -----------------------------------------------------------------
 */

static bool is_stamp(const struct qemu_plugin_insn *insn)
{
    uint32_t bytes = 0;
    size_t size = qemu_plugin_insn_size(insn);
    copy((uint8_t *)&bytes, size < sizeof bytes ? size : sizeof bytes, insn);
    for (unsigned i = 0; i < stamps; i++)
        if ((bytes & stamp[i].mask) == stamp[i].value)
            return true;
    return false;
}

static bool is_in(const places *p, uint64_t pc)
{
    for (unsigned i = 0; i < p->n; i++)
        if (pc >= p->of[i].from && pc < p->of[i].to)
            return true;
    return false;
}

static void look_at(struct qemu_plugin_insn *insn, bool first)
{
    uint64_t pc = qemu_plugin_insn_vaddr(insn);
    if ((!within.n || is_in(&within, pc)) && is_stamp(insn))
        qemu_plugin_register_vcpu_insn_exec_cb(insn, on_stamp, NO_REGISTERS, as_data(pc));
    for (unsigned i = 0; i < entry.n; i++)
        if (entry.of[i].from == pc)
            qemu_plugin_register_vcpu_insn_exec_cb(insn, on_entry, NO_REGISTERS,
                                                   as_data(entry.of[i].to));
    if (is_in(&stores, pc))
        qemu_plugin_register_vcpu_mem_cb(insn, on_store, NO_REGISTERS, WRITES, NULL);
    if (sections_wanted()) {
        encoding c = {0};
        size_t size = qemu_plugin_insn_size(insn);
        c.size = size < sizeof c.bytes ? size : sizeof c.bytes;
        copy(c.bytes, c.size, insn);
        sections_look_at(insn, pc, &c, first);
    }
    count(insn);
}

static translated *describe(const struct qemu_plugin_tb *tb, size_t n)
{
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
    uint64_t pc = qemu_plugin_insn_vaddr(qemu_plugin_tb_get_insn(tb, 0));
    size_t size = qemu_plugin_insn_size(last);
    block b = {pc, (uint32_t)n, (uint32_t)(qemu_plugin_insn_vaddr(last) + size - pc), {0}, 0};
    b.last_size = (uint8_t)(size < sizeof b.last ? size : sizeof b.last);
    copy(b.last, b.last_size, last);
    fwrite(&b, sizeof b, 1, blocks);
    translated *t = malloc(sizeof *t);
    if (!t)
        abort();
    uint64_t number = newest ? newest->number + 1 : 0;
    *t = (translated){number, 0, newest, sections_caller(qemu_plugin_insn_vaddr(last))};
    return newest = t;
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    size_t n = qemu_plugin_tb_n_insns(tb);
    if (!n)
        return;
    if (window.n || totals.to || sections_wanted())
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, NO_REGISTERS, describe(tb, n));
    for (size_t i = 0; i < n; i++)
        look_at(qemu_plugin_tb_get_insn(tb, i), !i);
}

static void at_end(plugin_id id, void *data)
{
    (void)id;
    (void)data;
    flush();
    tally_end();
}

/* ---- the start --------------------------------------------------------------------------------
 */

static bool add(places *p, uint64_t from, uint64_t to)
{
    if (p->n == PLACES)
        return false;
    p->of[p->n++] = (range){from, to};
    return true;
}

static bool take(const char *line)
{
    uint64_t a = 0, b = 0;
    char word[16];
    if (sscanf(line, "%15s %" SCNu64 " %" SCNu64, word, &a, &b) < 2)
        return false;
    if (!strcmp(word, "stamp") && stamps < STAMPS) {
        stamp[stamps].value = (uint32_t)a;
        stamp[stamps++].mask = (uint32_t)b;
        return true;
    }
    if (!strcmp(word, "after")) {
        after = a;
        return true;
    }
    if (!strcmp(word, "totals")) {
        totals = (range){a, b};
        return true;
    }
    if (sections_take(word, a, b))
        return true;
    return !strcmp(word, "within")   ? add(&within, a, b)
           : !strcmp(word, "entry")  ? add(&entry, b, a)
           : !strcmp(word, "stores") ? add(&stores, a, b)
                                     : !strcmp(word, "window") && add(&window, a, b);
}

static bool read_request(const char *name)
{
    char line[128];
    bool good = true;
    FILE *file = fopen(name, "r");
    while (file && good && fgets(line, sizeof line, file))
        good = take(line);
    if (file)
        fclose(file);
    else
        good = false;
    return good;
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    bool asked = false;
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            return -1;
        *value++ = '\0';
        if (!strcmp(argv[i], "request"))
            asked = read_request(value);
        else if (!strcmp(argv[i], "records"))
            records = fopen(value, "wb");
        else if (!strcmp(argv[i], "blocks"))
            blocks = fopen(value, "wb");
        else if (!sections_argument(argv[i], value))
            return -1;
    }
    if (!asked || !records || !blocks)
        return -1;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_atexit_cb(id, at_end, NULL);
    return 0;
}
