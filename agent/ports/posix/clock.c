/* The clock of the samples: the cycle counter if it is reliable, otherwise the vDSO clock. */
#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

#include "posix.h"

#if defined __x86_64__
#include <cpuid.h>
#endif

/* ---- which clock ---------------------------------------------------------------------------- */

#ifdef POSIX_NOTHING
/* A place where a stamp is read: distances to its no-op instruction, and to its label. */
typedef struct clock_place {
    int32_t instruction, label;
} clock_place;

extern clock_place __start_posix_clock_places[], __stop_posix_clock_places[];

/* Replaces the no-op instruction with a jump over `by` bytes; returns how many bytes it has. */
static size_t put_jump(unsigned char *at, ptrdiff_t by)
{
#if defined __x86_64__
    int32_t behind = (int32_t)(by - 5);
    at[0] = 0xe9; /* jmp */
    memcpy(at + 1, &behind, sizeof behind);
    return 5;
#elif defined __thumb2__ /* B, encoding T4: the upper half comes first, and bits are inverted */
    uint32_t from = (uint32_t)(by - 4), sign = from >> 24 & 1;
    uint32_t j1 = (from >> 23 & 1) == sign, j2 = (from >> 22 & 1) == sign;
    uint16_t half[] = {(uint16_t)(0xf000 | sign << 10 | (from >> 12 & 0x3ff)),
                       (uint16_t)(0x9000 | j1 << 13 | j2 << 11 | (from >> 1 & 0x7ff))};
    memcpy(at, half, sizeof half);
    return 4;
#elif defined __riscv    /* JAL without a link: bits 20, 10 to 1, 11, 19 to 12 */
    uint32_t to = (uint32_t)by;
    uint32_t jal = (to >> 20 & 1) << 31 | (to >> 1 & 0x3ff) << 21 | (to >> 11 & 1) << 20 |
                   (to >> 12 & 0xff) << 12 | 0x6f;
    memcpy(at, &jal, sizeof jal);
    return 4;
#else
    uint32_t b = UINT32_C(0x14000000) | ((uint32_t)(by / 4) & 0x3ffffff);
    memcpy(at, &b, sizeof b);
    return 4;
#endif
}

/* Makes every stamp a reading of the vDSO clock: the agent patches its own code. */
static int leave_counter(void)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    for (clock_place *p = __start_posix_clock_places; p < __stop_posix_clock_places; p++) {
        unsigned char *at = (unsigned char *)&p->instruction + p->instruction;
        ptrdiff_t by = (ptrdiff_t)offsetof(clock_place, label) + p->label - p->instruction;
        unsigned char *begin = at - (uintptr_t)at % page;
        size_t size = (size_t)(at + 8 - begin);
        /* This function may be in the same page. NOLINTNEXTLINE(*security.MmapWriteExec) */
        if (mprotect(begin, size, PROT_READ | PROT_WRITE | PROT_EXEC))
            return -errno;
        size_t written = put_jump(at, by);
        __builtin___clear_cache((char *)at, (char *)at + written);
        if (mprotect(begin, size, PROT_READ | PROT_EXEC))
            return -errno;
    }
    return 0;
}
#else
static int leave_counter(void)
{
    return 0;
}
#endif

/* ---- the counter's frequency ----------------------------------------------------------------- */

#ifdef POSIX_NOTHING
#ifndef CLOCK_MONOTONIC_RAW /* not every system has a clock that is never adjusted */
#define CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC
#endif

/* Reads both clocks as nearly as possible at the same time: the closest of 100 pairs. */
static void read_both(rts_tick *count, rts_tick *ns)
{
    rts_tick tightest = UINT64_MAX;
    for (int i = 0; i < 100; i++) {
        struct timespec now;
        rts_tick before = rts_now();
        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        rts_tick after = rts_now();
        if (after - before >= tightest)
            continue;
        tightest = after - before;
        *count = before + (after - before) / 2;
        *ns = posix_ns(now);
    }
}

/* Measures the frequency against CLOCK_MONOTONIC_RAW over 200 ms: an error of 50 ns is 0.25 ppm. */
static uint64_t calibrate(void)
{
    rts_tick count0 = 0, ns0 = 0, count1 = 0, ns1 = 0;
    read_both(&count0, &ns0);
    rts_sleep_until(rts_time() + 200000000);
    read_both(&count1, &ns1);
    return (uint64_t)((double)(count1 - count0) * 1e9 / (double)(ns1 - ns0) + 0.5);
}
#endif

/* ---- the counter of each processor ----------------------------------------------------------- */

#if defined __x86_64__
#define COUNTER "tsc"
#define REPORTER "rtstone.tsc_hz of the kernel's command line"

/*
 * The TSC must be invariant (CPUID 0x80000007, EDX bit 8), unless the system reports its frequency:
 * an emulator that counts instructions does not announce it as invariant.
 */
static bool may_count(void)
{
    unsigned a, b, c, d;
    if (!posix_counter_hz() && (!__get_cpuid(0x80000007, &a, &b, &c, &d) || !(d & 1u << 8)))
        return false;
    return posix_counter_is_stable();
}
#elif defined __aarch64__
#define COUNTER "cntvct"
#define REPORTER "the register CNTFRQ_EL0"

static bool may_count(void)
{
    return true;
}
#elif defined POSIX_NOTHING
static sigjmp_buf before_reading;

static void on_fault(int signal)
{
    (void)signal;
    siglongjmp(before_reading, 1);
}

/* A processor may lack the counter, and a kernel may keep it from user programs: both fault. */
static bool may_count(void)
{
    struct sigaction fault = {.sa_handler = on_fault}, before;
    volatile bool may = false;
    if (!posix_counter_is_stable())
        return false;
    sigaction(SIGILL, &fault, &before);
    if (sigsetjmp(before_reading, 1) == 0) {
        (void)posix_counter();
        may = true;
    }
    sigaction(SIGILL, &before, NULL);
    return may;
}

#if defined __riscv
#define COUNTER "rdtime"
#define REPORTER "timebase-frequency of the device tree"
#else
#define COUNTER "cntvct"
#define REPORTER "the register CNTFRQ"
#endif
#endif

#ifdef POSIX_NOTHING
/* Returns the frequency of a counter for which none is reported; 0: it cannot be used. */
static uint64_t unreported_hz(void)
{
#if defined __aarch64__ || defined __arm__
    /* Firmware that has not set it has set up nothing of the timer: CPUs may have offsets. */
    rts_log("warn", REPORTER " is 0: the firmware has not set up the counter, which is not used");
    return 0;
#else
    uint64_t measured = calibrate();
#ifdef __riscv
    rts_log("info", REPORTER " is not there: the counter's %llu Hz are measured",
            (unsigned long long)measured);
#endif
    return measured;
#endif
}

/*
 * Returns the counter's frequency: the one reported, which is more exact than a calibration,
 * provided that the two agree roughly; 0: the counter cannot be used.
 */
static uint64_t counter_hz(void)
{
    uint64_t reported = posix_counter_hz();
    if (!reported)
        return unreported_hz();
    uint64_t measured = calibrate();
    if (llabs((long long)(measured - reported)) <= (long long)(reported / 1000))
        return reported;
    rts_log("warn", REPORTER " says that the counter has %llu Hz, but it has %llu",
            (unsigned long long)reported, (unsigned long long)measured);
    return measured;
}
#endif

uint64_t rts_port_time_resolution_ns(void)
{
    struct timespec step;
    clock_getres(CLOCK_MONOTONIC, &step);
    return posix_ns(step);
}

int rts_port_clock_init(rts_clock *clock)
{
    clock->unit = "ns";
    clock->source = "vdso";
    clock->hz = RTS_TIME_HZ;
    if (posix_option.vdso_clock)
        return leave_counter();
#ifdef POSIX_NOTHING
    if (!may_count())
        return leave_counter();
    uint64_t hz = counter_hz();
    if (!hz)
        return leave_counter();
    clock->source = COUNTER;
    clock->hz = hz;
#endif
    return 0;
}
