/*
 * What both parts of the plugin share: the emulator's interface, and how instructions are counted.
 *
 * QEMU's headers are not packaged; these are declarations of our own of what is used
 * (docs/devel/tcg-plugins.rst).  RTS_PLUGIN_API is the version of the interface that a build is
 * for: 1 up to QEMU 8, 3 for those since 9.1.
 */
#ifndef RTS_PLUGIN_H
#define RTS_PLUGIN_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

enum { NO_REGISTERS };
enum { WRITES = 2, ACCESSES = 3 };

typedef void (*executed)(unsigned cpu, void *data);
typedef void (*accessed)(unsigned cpu, uint32_t info, uint64_t address, void *data);

void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, executed, int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, accessed, int, int, void *);
bool qemu_plugin_mem_is_store(uint32_t);
unsigned qemu_plugin_mem_size_shift(uint32_t);
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(uint32_t, uint64_t);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *);

/* Addresses or counts: from the first up to, not including, the second. */
typedef struct range {
    uint64_t from, to;
} range;

/* An instruction, and who called the wrapper that it is in; 0: it is in none. */
typedef struct place {
    uint64_t pc, caller;
} place;

/* The instructions that were begun so far. */
uint64_t instructions(void);

enum { ENTERED, STORED, STAMPED, RAN, TOTAL, HANDLED, SWITCHED, IDLED };

/* Write a record; what its members mean is in plugin.c, of the last three kinds in delays.c. */
void write_record(uint64_t when, uint64_t what, uint32_t size, uint32_t kind);

#endif
