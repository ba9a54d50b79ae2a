/* The machine by itself: one timer for the tick, one for events. A part of board.c. */
#define TIMERS (1u << TICK_TIMER | 1u << EVENT_TIMER)

static void board_prepare(void)
{
    pl011_enable();
}

static uint64_t next_tick, event_due, event_period;

static void set_tick(uint64_t at)
{
    next_tick = at;
    __asm__ volatile("msr cntv_cval_el0, %0\n\tisb" ::"r"(at));
}

/* Ticks are at multiples of their period, so that the end of a sleep is known in advance. */
void board_start_tick(void)
{
    set_tick((board_now() / TICK_COUNTS + 1) * TICK_COUNTS);
    freertos_ticks_before = next_tick / TICK_COUNTS - 1;
    __asm__ volatile("msr cntv_ctl_el0, %0\n\tisb" ::"r"(UINT64_C(1)));
}

void board_next_tick(void)
{
    set_tick(next_tick + TICK_COUNTS);
}

/* Disabled first: an interrupt in between would see half of the settings. */
void board_events(uint64_t period)
{
    uint64_t now;
    __asm__ volatile("msr cntp_ctl_el0, xzr\n\tisb\n\tmrs %0, cntpct_el0" : "=r"(now)::"memory");
    if (!period)
        return;
    event_period = period;
    event_due = now + period;
    __asm__ volatile("msr cntp_cval_el0, %0\n\t"
                     "msr cntp_ctl_el0, %1\n\tisb" ::"r"(event_due),
                     "r"(UINT64_C(1))
                     : "memory");
}

static inline void event(void)
{
    uint64_t now, due = event_due;
    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(now));
    event_due = due + event_period;
    __asm__ volatile("msr cntp_cval_el0, %0\n\tisb" ::"r"(event_due));
    freertos_event(now, now - due);
}

void vApplicationIRQHandler(uint32_t iar)
{
    switch (iar & 0x3ff) {
    case EVENT_TIMER:
        event();
        break;
    case TICK_TIMER:
        FreeRTOS_Tick_Handler();
        break;
    case BOARD_SOFT_IRQ:
        freertos_soft_interrupt();
        break;
    default:
        break; /* 1023: the request has been withdrawn */
    }
}

_Noreturn void board_exit(int status)
{
    volatile uint64_t block[2] = {0x20026, (uint64_t)(unsigned)status};
    register uint64_t call __asm__("x0") = 0x18;
    register uint64_t argument __asm__("x1") = (uint64_t)(uintptr_t)block;
    __asm__ volatile("hlt #0xf000" ::"r"(call), "r"(argument) : "memory");
    for (;;)
        ;
}
