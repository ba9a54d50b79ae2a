/* The agent's side of FreeRTOS: capabilities, clock, conditions, the host. */
#include <string.h>

#include "freertos.h"
#include "port.h"
#include "wire.h"

uint64_t freertos_ticks_before;
volatile uint32_t freertos_resumed;

uint8_t ucHeap[configTOTAL_HEAP_SIZE] __attribute__((section(".heap"), aligned(16)));

/* ---- capabilities -------------------------------------------------------------------------- */

uint32_t rts_port_caps(void)
{
    return RTS_CAP_PRIORITIES |
           (configUSE_TIME_SLICING ? RTS_CAP_ROUND_ROBIN | RTS_CAP_CPU_TIME : 0) | RTS_CAP_HEAP |
           RTS_CAP_CHILDREN | RTS_CAP_EVENT | RTS_CAP_IRQ_TIMER | RTS_CAP_SUSPEND |
           RTS_CAP_SOFT_IRQ | RTS_CAP_FOOTPRINT;
}

#define SLICING "freertos-a64-rr or -DRTS_FREERTOS_TIME_SLICING=ON has it"

static const struct {
    uint32_t cap;
    const char *why;
} reasons[] = {
    {RTS_CAP_ROUND_ROBIN, "no time slicing in this image, as ticks would spoil yields; " SLICING},
    {RTS_CAP_PROCESS, "all tasks are in one address space"},
    {RTS_CAP_SEM_NAMED, "semaphores of FreeRTOS have no names"},
    {RTS_CAP_SEM_PSHARED, "no processes"},
    {RTS_CAP_CLOCK_LIBRARY, "its only clock is the tick; time is read from the counter"},
    {RTS_CAP_CLOCK_SYSCALL, "the clock is a register"},
    {RTS_CAP_LOCK_PROTECT, "FreeRTOS has no priority ceiling"},
    {RTS_CAP_CPU_TIME,
     "no run-time statistics in this image, as they cost in every switch; " SLICING},
    {RTS_CAP_SMP, "this kernel runs on one processor"},
    {RTS_CAP_SIGNALS, "no signals"},
    {RTS_CAP_FILES, "no file system"},
    {RTS_CAP_NETWORK, "no network"},
    {RTS_CAP_DEADLINE, "FreeRTOS schedules by fixed priorities"},
    {RTS_CAP_POSIX, "no POSIX layer"},
    {RTS_CAP_RWLOCK, "no read-write locks"},
    {RTS_CAP_BARRIER, "no barriers"},
    {RTS_CAP_COLD, "no caches"},
    {RTS_CAP_SPIN, "no spin locks for tasks"},
    {RTS_CAP_SEM_SYSV, "no semaphores of System V"},
};

const char *rts_port_why_not(uint32_t cap)
{
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].cap == cap)
            return reasons[i].why;
    return "the port does not have it";
}

/* ---- clock and processor ------------------------------------------------------------------- */

uint64_t rts_port_time_resolution_ns(void)
{
    return 1000000000 / BOARD_HZ;
}

int rts_port_clock_init(rts_clock *clock)
{
    clock->source = BOARD_COUNTER;
    clock->unit = "ns";
    clock->hz = BOARD_HZ;
    return 0;
}

/* From the linker script: the size of the loaded image, and the zeroed memory after it. */
extern const char board_image_bytes[], board_bss[], board_bss_end[];

void rts_port_footprint(rts_put_bytes *put, void *to)
{
    size_t used = configTOTAL_HEAP_SIZE - xPortGetFreeHeapSize();
    put(to, "image", (double)(uintptr_t)board_image_bytes);
    put(to, "zeroed data", (double)((uintptr_t)board_bss_end - (uintptr_t)board_bss));
    put(to, "heap", (double)configTOTAL_HEAP_SIZE);
    put(to, "of it in use", (double)used);
}

/* ---- the host ------------------------------------------------------------------------------ */

void rts_port_put(const char *bytes, size_t n)
{
    board_put(bytes, n);
}

void rts_port_flush(void)
{
}

#define MARK "#rts script\n"

/* Reads the script in memory or, without one, the console. */
int rts_port_getchar(rts_tick until)
{
    static const char *script;
    static bool looked;
    if (!looked) {
        looked = true;
        if (!memcmp((const char *)(uintptr_t)BOARD_SCRIPT, MARK, sizeof MARK - 1))
            script = (const char *)(uintptr_t)BOARD_SCRIPT + sizeof MARK - 1;
    }
    if (script)
        return *script ? (unsigned char)*script++ : RTS_END_OF_INPUT;
    for (;;) {
        int byte = board_get();
        if (byte >= 0 || rts_time() >= until)
            return byte;
        vTaskDelay(1);
    }
}

void rts_port_hello(rts_wire *w)
{
    rts_wire_str(w, "port", "freertos");
    rts_wire_str(w, "os", "FreeRTOS " tskKERNEL_VERSION_NUMBER);
    rts_wire_str(w, "arch", BOARD_ARCH);
}

void rts_port_conditions(rts_wire *w)
{
    rts_wire_str(w, "board", BOARD_NAME);
    rts_wire_str(w, "freertos.version", tskKERNEL_VERSION_NUMBER);
    rts_wire_str(w, "freertos.heap", RTS_FREERTOS_HEAP);
    rts_wire_uint(w, "freertos.heap_bytes", configTOTAL_HEAP_SIZE);
    rts_wire_uint(w, "freertos.tick_hz", configTICK_RATE_HZ);
    rts_wire_bool(w, "freertos.preemption", configUSE_PREEMPTION);
    rts_wire_bool(w, "freertos.time_slicing", configUSE_TIME_SLICING);
    rts_wire_bool(w, "freertos.tickless", configUSE_TICKLESS_IDLE);
    rts_wire_bool(w, "freertos.queue_sets", configUSE_QUEUE_SETS);
    rts_wire_bool(w, "freertos.checks", RTS_FREERTOS_CHECKS);
#ifdef BOARD_SETTLE_MS
    rts_wire_uint(w, "guest.settled_ms", BOARD_SETTLE_MS);
#endif
}

/* ---- after a fault ------------------------------------------------------------------------- */

/* Formats digits without a library: the stack may be corrupt. */
static void put_hex(const char *before, unsigned long value)
{
    char digits[2 * sizeof value];
    for (unsigned i = sizeof digits; i-- > 0; value >>= 4)
        digits[i] = "0123456789abcdef"[value & 15];
    board_put(before, strlen(before));
    board_put(digits, sizeof digits);
}

_Noreturn void freertos_fault(const char *fault, unsigned long why, unsigned long where,
                              unsigned long address)
{
    taskDISABLE_INTERRUPTS();
    board_put("\nrtstone: ", 10);
    board_put(fault, strlen(fault));
    put_hex(" 0x", why);
    put_hex(" at 0x", where);
    put_hex(", address 0x", address);
    board_put("\n", 1);
    board_exit(1);
}

#if RTS_FREERTOS_CHECKS
void vApplicationStackOverflowHook(TaskHandle_t task, char *name)
{
    (void)name;
    freertos_fault("stack overflow of task", (unsigned long)(uintptr_t)task, 0, 0);
}

void freertos_assert(const char *file, int line)
{
    board_put(file, strlen(file));
    freertos_fault(": assertion failed in line", (unsigned long)line, 0, 0);
}
#endif
