/*
 * A domain under Xen: interrupt controller and UART are what Xen shows it, and the timer for the
 * tick is the one for events, too, because that of the machine alone is Xen's own, and imitated for
 * domains. A part of board.c.
 */
#define TIMERS (1u << TICK_TIMER)

/* There is no UART to initialise, but a domain to wait for: it prepares what the host asked for. */
static void board_prepare(void)
{
    uint64_t due = board_now() + BOARD_SETTLE_MS * (BOARD_HZ / 1000);
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb" ::"r"(due),
                     "r"(UINT64_C(1))
                     : "memory");
    while (board_now() < due)
        __asm__ volatile("wfi"); /* until an interrupt is pending, although they are masked */
}

#define NEVER UINT64_MAX

static uint64_t next_tick, event_due = NEVER, event_period;

/* Enables the timer each time: Xen masks it when it passes an interrupt on. */
static inline void set_timer(void)
{
    uint64_t at = next_tick < event_due ? next_tick : event_due;
    __asm__ volatile("msr cntv_cval_el0, %0\n\tmsr cntv_ctl_el0, %1\n\tisb" ::"r"(at),
                     "r"(UINT64_C(1))
                     : "memory");
}

/* Ticks are at multiples of their period, so that the end of a sleep is known in advance. */
void board_start_tick(void)
{
    next_tick = (board_now() / TICK_COUNTS + 1) * TICK_COUNTS;
    freertos_ticks_before = next_tick / TICK_COUNTS - 1;
    set_timer();
}

void board_next_tick(void)
{
    next_tick += TICK_COUNTS;
    set_timer();
}

/* An interrupt in between would see half of the settings. */
void board_events(uint64_t period)
{
    __asm__ volatile("msr cntv_ctl_el0, xzr\n\tisb" ::: "memory");
    event_period = period;
    event_due = period ? board_now() + period : NEVER;
    if (next_tick)
        set_timer();
}

/* An event that is due with a tick goes first; the timer interrupts once more for the tick. */
void vApplicationIRQHandler(uint32_t iar)
{
    uint64_t now, due = event_due;
    switch (iar & 0x3ff) {
    case TICK_TIMER:
        __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now));
        if (now >= due) {
            event_due = due + event_period;
            set_timer();
            freertos_event(now, now - due);
        } else if (now >= next_tick) {
            FreeRTOS_Tick_Handler();
        } else {
            set_timer(); /* events have been stopped in between */
        }
        break;
    case BOARD_SOFT_IRQ:
        freertos_soft_interrupt();
        break;
    default:
        break; /* 1023: the request has been withdrawn */
    }
}

/* Leaves the processor to the other domain. */
void vApplicationIdleHook(void)
{
    __asm__ volatile("wfi");
}

/* Ends the domain: PSCI's SYSTEM_OFF. The emulator goes on; what was printed has the status. */
_Noreturn void board_exit(int status)
{
    register uint64_t call __asm__("x0") = 0x84000008;
    (void)status;
    __asm__ volatile("hvc #0" : "+r"(call)::"memory");
    for (;;)
        ;
}
