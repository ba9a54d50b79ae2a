/* The contract of every port (../port_test.c), in a task of the system. */
#include "os.h"

int contract(void);

static os_task task;
static unsigned char stack[1]; /* the system has stacks of its own */

static void check(void *unused)
{
    (void)unused;
    os_exit(contract());
}

int main(void)
{
    os_init();
    os_task_create(&task, check, NULL, 28, stack, sizeof stack);
    os_start();
}
