/*
 * Interrupts: periodic events of a timer that the kernel does not use, and the software interrupt.
 */
#include "freertos.h"
#include "rtos.h"

/* ---- events --------------------------------------------------------------------------------- */

int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *properties)
{
    (void)source;
    uint64_t period = (BOARD_HZ + hz / 2) / hz;
    *properties = (rts_source){.name = BOARD_EVENT,
                               .independence = "independent",
                               .stamped = "the handler",
                               .hz = (double)BOARD_HZ / (double)period};
    event->arrived.handle = xSemaphoreCreateBinaryStatic(&event->arrived.store);
    freertos_events = (struct freertos_events){.arrived = event->arrived.handle};
    board_events(period);
    return 0;
}

/*
 * Returns events one by one, with the handler's stamp; lost events count with the one before them.
 */
int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count)
{
    struct freertos_events *e = &freertos_events;
    while (e->head == e->tail)
        rts_sem_take(&event->arrived);
    uint32_t slot = e->tail % FREERTOS_RING;
    *stamp = e->stamp[slot];
    event->late = e->late[slot];
    *count = 1;
    e->tail++;
    if (e->lost && e->tail == e->head) { /* while events are being lost, none enters the ring */
        taskENTER_CRITICAL();
        *count += e->lost;
        e->lost = 0;
        taskEXIT_CRITICAL();
    }
    return 0;
}

void rts_event_close(rts_event *event)
{
    board_events(0);
    freertos_events.arrived = NULL;
    vSemaphoreDelete(event->arrived.handle);
}

/* ---- the software interrupt ----------------------------------------------------------------- */

static TaskHandle_t irq_owner;

/* There is only one, and a load may be using it. */
int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg)
{
    (void)form;
    if (freertos_irq_handler)
        return RTS_E_BUSY;
    irq_owner = xTaskGetCurrentTaskHandle();
    *irq = (rts_irq){handler, arg};
    freertos_irq_argument = arg;
    freertos_irq_handler = handler;
    return 0;
}

void rts_irq_close(rts_irq *irq)
{
    (void)irq;
    freertos_irq_handler = NULL;
}

/* Returns whether the task is a worker of the running load. */
static bool is_worker(TaskHandle_t task)
{
    rts_task *worker;
    for (unsigned n = rtos_workers(&worker); n-- > 0;)
        if (worker[n].handle == task)
            return true;
    return false;
}

/* Stops what a killed case left running; the software interrupt may belong to a load. */
void freertos_silence(void)
{
    board_events(0);
    freertos_events.arrived = NULL;
    if (!is_worker(irq_owner))
        freertos_irq_handler = NULL;
}
