/* The agent as an image: its task has the highest priority, and sleeps while a case runs. */
#include "agent.h"
#include "freertos.h"
#include "port.h"

static StackType_t stack[FREERTOS_AGENT_STACK / sizeof(StackType_t)] __attribute__((aligned(16)));
static StaticTask_t store;

/* The function that the agent's task runs: tests of the port replace it. */
#ifndef FREERTOS_RUN
#define FREERTOS_RUN serve

/* One host after the other. */
static int serve(void)
{
    while (rts_agent_serve())
        ;
    return 0;
}
#else
int FREERTOS_RUN(void);
#endif

static void agent(void *unused)
{
    (void)unused;
    board_exit(FREERTOS_RUN());
}

int main(void)
{
    board_init();
    xTaskCreateStatic(agent, "agent", sizeof stack / sizeof stack[0], NULL, FREERTOS_PRIO_AGENT,
                      stack, &store);
    vTaskStartScheduler();
    freertos_fault("the scheduler has not started", 0, 0, 0);
}
