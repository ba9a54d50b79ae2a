/* Code that runs in interrupts. Compiled like the kernel: it must not use FPU registers. */
#include "board.h"
#include "freertos.h"

struct freertos_events freertos_events;
void (*volatile freertos_irq_handler)(void *arg);
void *volatile freertos_irq_argument;

#if configGENERATE_RUN_TIME_STATS
volatile uint64_t freertos_preemptions;

uint64_t freertos_counter(void)
{
    return board_now();
}
#endif

void freertos_event(uint64_t now, uint64_t late)
{
    struct freertos_events *e = &freertos_events;
    BaseType_t woken = pdFALSE;
    uint32_t head = e->head;
    if (e->lost || head - e->tail == FREERTOS_RING) {
        e->lost++;
    } else {
        e->stamp[head % FREERTOS_RING] = now;
        e->late[head % FREERTOS_RING] = (uint32_t)late;
        e->head = head + 1;
    }
    if (e->arrived)
        xSemaphoreGiveFromISR(e->arrived, &woken);
    portYIELD_FROM_ISR(woken);
}

void freertos_soft_interrupt(void)
{
    if (freertos_irq_handler)
        freertos_irq_handler(freertos_irq_argument);
}
