/*
 * The stub as a program: stub-agent [STALL_START_NS STALL_LENGTH_NS]...; a stall of length 0 is a
 * signal, which ends a sleep of a certain length.
 */
#include "agent.h"
#include "port.h"

int main(int argc, char **argv)
{
    for (int i = 1; i + 1 < argc; i += 2)
        stub_add_stall(strtoull(argv[i], NULL, 10), strtoull(argv[i + 1], NULL, 10));
    (void)rts_agent_serve();
    return 0;
}
