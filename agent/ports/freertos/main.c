/* The agent as an image: its task is the most urgent one, and sleeps while a case runs. */
#include "agent.h"
#include "freertos.h"

static StackType_t stack[FREERTOS_AGENT_STACK / sizeof(StackType_t)] __attribute__((aligned(16)));
static StaticTask_t store;

static void agent(void *unused)
{
    (void)unused;
    board_exit(rts_agent_serve());
}

int main(void)
{
    board_init();
    xTaskCreateStatic(agent, "agent", sizeof stack / sizeof stack[0], NULL, FREERTOS_PRIO_AGENT,
                      stack, &store);
    vTaskStartScheduler();
    freertos_fault("the scheduler has not started", 0, 0, 0);
}
