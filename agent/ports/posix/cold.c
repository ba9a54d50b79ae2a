/*
 * Cold caches: reads a byte of each line of memory larger than the last-level cache, in pages of
 * the smallest size, and calls code larger than any first-level cache, line by line.
 */
#include <string.h>
#include <sys/mman.h>

#include "posix.h"

#define LINE 64
#define LEAST (16u << 20) /* 4096 pages: more than fit in a TLB */
#define CODE (1u << 20)

/* Code for the start of each line: returns at once. */
#if defined __x86_64__
static const uint8_t come_back[] = {0xc3};
#elif defined __aarch64__
static const uint8_t come_back[] = {0xc0, 0x03, 0x5f, 0xd6};
#elif defined __arm__
static const uint8_t come_back[] = {0x1e, 0xff, 0x2f, 0xe1}; /* A32, as its address is even */
#elif defined __riscv
static const uint8_t come_back[] = {0x67, 0x80, 0x00, 0x00};
#else
static const uint8_t come_back[] = {0}; /* unknown architecture */
#endif

static struct {
    unsigned char *memory, *code;
    size_t bytes;
} other;

bool posix_may_be_cold(void)
{
    return come_back[0] && posix_largest_cache();
}

/*
 * Without access at first: locked memory would otherwise get its pages, possibly huge ones, at
 * once.
 */
static unsigned char *get(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
#ifdef MADV_NOHUGEPAGE
    madvise(memory, bytes, MADV_NOHUGEPAGE);
#endif
    return mprotect(memory, bytes, PROT_READ | PROT_WRITE) ? NULL : memory;
}

/* The memory is freed with the process of the case. */
int rts_port_cold(size_t *bytes)
{
    size_t twice = 2 * posix_largest_cache();
    other.bytes = twice > LEAST ? twice : LEAST;
    other.memory = get(other.bytes);
    other.code = other.memory ? get(CODE) : NULL;
    if (!other.code)
        return -errno;
    for (size_t i = 0; i < other.bytes; i += LINE) /* a page each, and not shared */
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
