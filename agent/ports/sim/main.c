/* The agent of a simulated system: rtstone-agent-sim [--list | --model] [KEY=VALUE]... (model.h).
 */
#include <string.h>

#include "agent.h"
#include "kernel.h"

int main(int argc, char **argv)
{
    bool list = false;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--model"))
            return sim_model_list(), 0;
        else if (!sim_model_set(argv[i]))
            return 2;
    }
    sim_boot();
    if (list) {
        rts_agent_list();
        return 0;
    }
    sim_set_signals();
    (void)rts_agent_serve(); /* for one host */
    return 0;
}
