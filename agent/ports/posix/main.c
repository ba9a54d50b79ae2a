/* The agent as a program. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent.h"
#include "posix.h"

static int usage(const char *word)
{
    fprintf(stderr,
            "rtstone-agent: unknown option '%s'\n"
            "usage: rtstone-agent [--list] [--sweep] [--keep-idle] [--clock=vdso]\n",
            word);
    return 2;
}

int main(int argc, char **argv)
{
    bool list = false, sweep = false, guest = posix_init();
    if (guest) /* the arguments are those of the kernel */
        argc = 1;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--list"))
            list = true;
        else if (!strcmp(argv[i], "--sweep"))
            sweep = true;
        else if (!strcmp(argv[i], "--keep-idle"))
            posix_option.keep_idle = true;
        else if (!strcmp(argv[i], "--clock=vdso"))
            posix_option.vdso_clock = true;
        else
            return usage(argv[i]);
    }
    posix_sweep();
    if (sweep)
        return 0;
    if (list) {
        rts_agent_list();
        return 0;
    }
    posix_die_with_parent(SIGTERM); /* an agent without a host has nothing to do */
    posix_set_signals();
    posix_claim_names();
    if (!guest) /* a guest loses everything anyway */
        posix_start_keeper();
    posix_hold_idle();
    int status = rts_agent_serve();
    posix_release_names();
    return posix_unheard() ? 1 : status;
}
