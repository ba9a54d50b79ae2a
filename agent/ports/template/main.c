/* The agent as an image: its task has the highest priority, and sleeps while a case runs. */
#include "agent.h"
#include "port.h"

#define AGENT_STACK 2560 /* PORT */

static _Alignas(16) unsigned char stack[AGENT_STACK];
static os_task task;

static void agent(void *unused)
{
    (void)unused;
    while (rts_agent_serve()) /* one host after the other */
        ;
    os_exit(0); /* PORT: a board restarts, or waits for its reset */
}

/* PORT: clocks, UART and counter are running; interrupts are off until the scheduler starts. */
int main(void)
{
    os_init();
    os_task_create(&task, agent, NULL, TEMPLATE_PRIO_AGENT, stack, sizeof stack);
    os_start();
}
