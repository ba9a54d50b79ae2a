/*
 * Names functions of the kernel by /proc/kallsyms, which shows addresses only to who may see them.
 *
 * Which words of a trace are addresses of code only its reader knows. So whatever could be one is
 * looked for, and named if it lies in a function.
 */
#include <stdio.h>
#include <string.h>

#include "linux.h"

#define MOST 1024 /* addresses */
#define NAME 128  /* bytes of a name: KSYM_NAME_LEN of most kernels */
#define CODE "tTwW"

/* The nearest symbol that is not above an address. */
typedef struct symbol {
    uint64_t start; /* 0: there is none */
    char type;
    char name[NAME];
} symbol;

static struct {
    uint64_t address[MOST]; /* rising */
    symbol nearest[MOST];
    unsigned n;
    bool overflow; /* there were more than MOST */
} *own;

/* Returns where in the list an address is, or belongs. */
static unsigned place_of(uint64_t address)
{
    unsigned low = 0, high = own->n;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (own->address[middle] < address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void add(uint64_t address)
{
    unsigned at = place_of(address);
    if (at < own->n && own->address[at] == address)
        return;
    own->overflow = own->overflow || own->n == MOST;
    if (own->n == MOST)
        return;
    memmove(own->address + at + 1, own->address + at, (own->n++ - at) * sizeof own->address[0]);
    own->address[at] = address;
}

/* A kernel has the upper end of the addresses: more than the upper half are no program's. */
static bool may_be_of_kernel(unsigned long word)
{
    return sizeof word == 8 ? (uint64_t)word >> 48 == 0xffff : word >> 30 > 1;
}

void linux_symbols_want(const unsigned char *data, size_t bytes)
{
    unsigned long word;
    own = own ? own : calloc(1, sizeof *own);
    for (size_t at = 0; own && at + sizeof word <= bytes; at += 4) {
        memcpy(&word, data + at, sizeof word);
        if (may_be_of_kernel(word))
            add(word);
    }
}

/* Takes a line: ADDRESS TYPE NAME, with a tab and the module behind it for that of a module. */
static void take(const char *line, size_t length)
{
    uint64_t address = 0;
    size_t at = 0;
    for (; at < length && line[at] != ' '; at++) {
        int digit = line[at] <= '9' ? line[at] - '0' : line[at] - 'a' + 10;
        address = address << 4 | (uint64_t)(digit & 15);
    }
    unsigned place = place_of(address);
    if (at + 3 >= length || place == own->n || address <= own->nearest[place].start)
        return;
    const char *name = line + at + 3, *end = memchr(name, '\t', length - at - 3);
    size_t letters = end ? (size_t)(end - name) : length - at - 3;
    symbol *s = &own->nearest[place];
    letters = letters < NAME ? letters : NAME - 1;
    s->start = address;
    s->type = line[at + 1];
    memcpy(s->name, name, letters);
    s->name[letters] = '\0';
}

/* Each line is for the first address above it; the others above have it if nothing is nearer. */
static void look_up(int fd)
{
    static char text[16384];
    size_t used = 0;
    for (ssize_t n; (n = read(fd, text + used, sizeof text - used)) > 0;) {
        char *line = text, *end;
        used += (size_t)n;
        while ((end = memchr(line, '\n', (size_t)(text + used - line)))) {
            take(line, (size_t)(end - line));
            line = end + 1;
        }
        used -= (size_t)(line - text);
        memmove(text, line, used);
    }
    for (unsigned i = 1; i < own->n; i++)
        if (own->nearest[i].start < own->nearest[i - 1].start)
            own->nearest[i] = own->nearest[i - 1];
}

static void send_symbol(uint64_t id, const symbol *s)
{
    char address[24];
    snprintf(address, sizeof address, "%llx", (unsigned long long)s->start);
    rts_wire *w = rts_wire_begin("symbol");
    rts_wire_uint(w, "id", id);
    rts_wire_str(w, "address", address);
    rts_wire_str(w, "name", s->name);
    rts_wire_end(w);
}

void linux_symbols_send(uint64_t id)
{
    int fd = own ? open("/proc/kallsyms", O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd >= 0) {
        look_up(fd);
        close(fd);
        for (unsigned i = 0; i < own->n; i++) {
            const symbol *s = &own->nearest[i];
            if (s->start && strchr(CODE, s->type) && (!i || s->start != s[-1].start))
                send_symbol(id, s);
        }
        if (own->overflow)
            rts_log("warn", "a trace has more than %d addresses: some functions have no name",
                    MOST);
    }
    free(own);
    own = NULL;
}
