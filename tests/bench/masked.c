/*
 * A plugin for QEMU's TCG, since 9.1, that reads a register at every instruction of a time.
 *
 * Arguments: `register`, its name, `bit`, `set`, whether interrupts are masked while it is 1;
 * `from` and `to`, instructions; `out`, a file.  It writes how many instructions began with them
 * masked, of sections that began between these two, and how many of these there are at most, as
 * two decimal numbers.  It has no state of what the guest executes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

typedef uint64_t plugin_id;
struct qemu_info;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_register;

/* Of GLib, which the emulator has. */
typedef struct array {
    char *data;
    unsigned n;
} array;

typedef struct descriptor {
    struct qemu_plugin_register *handle;
    const char *name, *feature;
} descriptor;

EXPORT int qemu_plugin_version = 3;
EXPORT int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv);

void qemu_plugin_register_vcpu_init_cb(plugin_id, void (*)(plugin_id, unsigned));
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id, void (*)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned, void *),
                                            int, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
array *qemu_plugin_get_registers(void);
int qemu_plugin_read_register(struct qemu_plugin_register *, array *);
array *g_byte_array_new(void);
array *g_byte_array_set_size(array *, unsigned);

enum { READS_REGISTERS = 1 };

static const char *name, *out;
static struct qemu_plugin_register *handle;
static array *value;
static unsigned bit;
static bool set, before = true, counts;
static uint64_t from, to, begun, masked, runs;

static bool is_masked(void)
{
    uint64_t bits = 0;
    g_byte_array_set_size(value, 0);
    int size = qemu_plugin_read_register(handle, value);
    if (size <= 0)
        abort();
    memcpy(&bits, value->data, (size_t)size < sizeof bits ? (size_t)size : sizeof bits);
    return (bits >> bit & 1) == set;
}

static void finish(void)
{
    FILE *file = fopen(out, "w");
    if (!file)
        abort();
    fprintf(file, "%" PRIu64 " %" PRIu64 "\n", masked, runs);
    fclose(file);
    from = UINT64_MAX;
}

static void on_instruction(unsigned cpu, void *data)
{
    (void)cpu;
    (void)data;
    const uint64_t now = begun++;
    if (now < from)
        return;
    const bool is = is_masked();
    if (is && !before) {
        counts = now < to;
        runs += counts;
    }
    masked += is && counts;
    if (!is && now >= to)
        finish();
    before = is; /* what it begins with is of a section before */
}

static void on_translation(plugin_id id, struct qemu_plugin_tb *tb)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(tb); i++)
        qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), on_instruction,
                                               READS_REGISTERS, NULL);
}

static void on_processor(plugin_id id, unsigned cpu)
{
    (void)id;
    (void)cpu;
    const array *all = qemu_plugin_get_registers();
    for (unsigned i = 0; i < all->n; i++) {
        descriptor d;
        memcpy(&d, all->data + i * sizeof d, sizeof d);
        if (!strcmp(d.name, name) && !handle)
            handle = d.handle;
    }
    if (!handle)
        abort();
    value = g_byte_array_new();
}

int qemu_plugin_install(plugin_id id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        char *text = strchr(argv[i], '=');
        if (!text)
            return -1;
        *text++ = '\0';
        if (!strcmp(argv[i], "register"))
            name = text;
        else if (!strcmp(argv[i], "bit"))
            bit = (unsigned)strtoul(text, NULL, 10);
        else if (!strcmp(argv[i], "set"))
            set = strtoul(text, NULL, 10);
        else if (!strcmp(argv[i], "from"))
            from = strtoull(text, NULL, 10);
        else if (!strcmp(argv[i], "to"))
            to = strtoull(text, NULL, 10);
        else if (!strcmp(argv[i], "out"))
            out = text;
        else
            return -1;
    }
    if (!name || !out || to <= from)
        return -1;
    qemu_plugin_register_vcpu_init_cb(id, on_processor);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
