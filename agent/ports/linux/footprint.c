/* The memory that this system and the agent's program use. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "linux.h"

extern const char __executable_start[], etext[], end[]; /* defined by the linker */

/*
 * Returns the number after "NAME:" in a file of lines, converted from KiB to bytes; -1: not there.
 */
static double meminfo(const char *text, const char *name)
{
    const char *at = strstr(text, name);
    long long kib;
    if (!at)
        return -1;
    at += strlen(name);
    return posix_number(&at, &kib) ? (double)kib * 1024 : -1;
}

/* Returns the total size of the ranges "FROM-TO : NAME" of /proc/iomem in bytes; 0: unknown. */
static double range_of(const char *text, const char *name)
{
    double bytes = 0;
    for (const char *at = text; (at = strstr(at, name)); at++) {
        const char *line = at;
        char *behind;
        while (line > text && line[-1] != '\n')
            line--;
        unsigned long long from = strtoull(line, &behind, 16);
        unsigned long long to = *behind == '-' ? strtoull(behind + 1, NULL, 16) : 0;
        bytes += to > from ? (double)(to - from) + 1 : 0;
    }
    return bytes;
}

static void add_memory(rts_put_bytes *put, void *to)
{
    char text[4096];
    if (posix_read_file("/proc/meminfo", text, sizeof text) <= 0)
        return;
    double total = meminfo(text, "MemTotal:"), available = meminfo(text, "MemAvailable:");
    if (total >= 0)
        put(to, "memory that the kernel has to give", total);
    if (total >= 0 && available >= 0)
        put(to, "of it in use", total - available);
}

static void add_kernel(rts_put_bytes *put, void *to)
{
    static const struct {
        const char *name, *figure;
    } part[] = {
        {": Kernel code\n", "kernel, code"},
        {": Kernel rodata\n", "kernel, constants"},
        {": Kernel data\n", "kernel, data"},
        {": Kernel bss\n", "kernel, zeroed data"},
    };
    static char text[64 << 10];
    if (posix_read_file("/proc/iomem", text, sizeof text) <= 0)
        return;
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (range_of(text, part[i].name) > 0)
            put(to, part[i].figure, range_of(text, part[i].name));
}

static double between(const char *from, const char *to)
{
    return (double)((uintptr_t)to - (uintptr_t)from);
}

void rts_port_footprint(rts_put_bytes *put, void *to)
{
    struct stat program;
    add_memory(put, to);
    add_kernel(put, to);
    put(to, "agent, code", between(__executable_start, etext));
    put(to, "agent, constants and data", between(etext, end));
    if (stat("/proc/self/exe", &program) == 0)
        put(to, "agent, file", (double)program.st_size);
}
