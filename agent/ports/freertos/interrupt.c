/* What runs in interrupts.  It is compiled as the kernel is: it may use no FPU register. */
#include "freertos.h"

struct freertos_events freertos_events;
void (*volatile freertos_irq_handler)(void *arg);
void *volatile freertos_irq_argument;

void freertos_event(uint64_t now, uint64_t late)
{
    BaseType_t woken = pdFALSE;
    freertos_events.stamp = now;
    freertos_events.late = late;
    freertos_events.n++;
    if (freertos_events.arrived)
        xSemaphoreGiveFromISR(freertos_events.arrived, &woken);
    portYIELD_FROM_ISR(woken);
}

void freertos_soft_interrupt(void)
{
    if (freertos_irq_handler)
        freertos_irq_handler(freertos_irq_argument);
}
