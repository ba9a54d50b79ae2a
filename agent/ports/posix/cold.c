/*
 * Cold caches: memory larger than the last of them is read, a byte of each line, in pages of the
 * smallest size, and code larger than any first cache is called, line by line.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "posix.h"

#define LINE 64
#define LEAST (16u << 20) /* 4096 pages: more than a TLB has room for */
#define CODE (1u << 20)
#define INDICES 8 /* caches of a CPU, as the system counts them */

/* Returns at once, at the beginning of each line. */
#if defined __x86_64__
static const uint8_t come_back[] = {0xc3};
#elif defined __aarch64__
static const uint8_t come_back[] = {0xc0, 0x03, 0x5f, 0xd6};
#else
static const uint8_t come_back[] = {0}; /* not known */
#endif

static struct {
    unsigned char *memory, *code;
    size_t bytes;
} other;

/* The largest cache of the first CPU in bytes; 0: not told. */
static size_t largest_cache(void)
{
    char path[80], text[32];
    size_t largest = 0;
    for (int i = 0; i < INDICES; i++) {
        const char *at = text;
        long long size;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!posix_read_line(path, text, sizeof text) || !posix_number(&at, &size) || size <= 0)
            continue;
        size_t bytes = (size_t)size << (*at == 'M' ? 20 : *at == 'K' ? 10 : 0);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

bool posix_may_be_cold(void)
{
    return !posix_option.drain && come_back[0] && largest_cache();
}

const char *posix_why_not_cold(void)
{
    if (posix_option.drain)
        return "an emulator that counts instructions has no caches";
    return "how large the caches are is not told (/sys/devices/system/cpu/cpu0/cache), or the "
           "port does not know this processor";
}

/* Without access at first: locked memory would get its pages, and large ones, at once. */
static unsigned char *get(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    return mprotect(memory, bytes, PROT_READ | PROT_WRITE) ? NULL : memory;
}

/* It ends with the process of the case. */
int rts_port_cold(size_t *bytes)
{
    size_t twice = 2 * largest_cache();
    other.bytes = twice > LEAST ? twice : LEAST;
    other.memory = get(other.bytes);
    other.code = other.memory ? get(CODE) : NULL;
    if (!other.code)
        return -errno;
    for (size_t i = 0; i < other.bytes; i += LINE) /* each page is to be one of its own */
        other.memory[i] = 1;
    for (size_t i = 0; i < CODE; i += LINE)
        memcpy(other.code + i, come_back, sizeof come_back);
    if (mprotect(other.code, CODE, PROT_READ | PROT_EXEC))
        return -errno;
    __builtin___clear_cache((char *)other.code, (char *)other.code + CODE);
    *bytes = other.bytes + CODE;
    return 0;
}

void rts_port_chill(void)
{
    for (size_t i = 0; i < other.bytes; i += LINE)
        (void)*(volatile unsigned char *)&other.memory[i];
    for (size_t i = 0; i < CODE; i += LINE) {
        const unsigned char *line = other.code + i;
        void (*call)(void);
        memcpy(&call, &line, sizeof call);
        call();
    }
}
