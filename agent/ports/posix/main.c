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
            "usage: rtstone-agent [--list] [--sweep] [--keep-idle] [--clock=vdso] "
            "[--uploaded]\n",
            word);
    return 2;
}

int main(int argc, char **argv)
{
    bool list = false, sweep = false, uploaded = false, guest = posix_init();
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
        else if (!strcmp(argv[i], "--uploaded"))
            uploaded = true;
        else
            return usage(argv[i]);
    }
    if (uploaded) /* whatever happens from here on, nothing of it lies on the target */
        posix_remove_upload();
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
    (void)rts_agent_serve(); /* for one host */
    posix_release_names();
    return posix_unheard() ? 1 : 0;
}
