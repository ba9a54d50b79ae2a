/*
 * An agent that has more rights than its user, by the capabilities of its file.
 *
 * The user chooses its commands, environment and input. It uses the capabilities (real-time
 * priorities, locked memory) in its own procedures only, and never for a program or file that the
 * user has chosen (docs/guides/security.md).
 */
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/prctl.h>

#include "linux.h"

static const char why_guarded[] =
    "refused, as the agent has rights by its file that its user has not; for this, measure as root "
    "or with limits of your own";

const char *rts_port_guard(void)
{
    return getauxval(AT_SECURE) ? why_guarded : NULL;
}

/* Ensures that a program executed from here on gets no capability from this process. */
static void keep_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) ||
        syscall(SYS_capget, &head, sets))
        _exit(1);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        sets[i].inheritable = 0;
    if (syscall(SYS_capset, &head, sets))
        _exit(1);
}

void linux_guard(void)
{
    /* No variable chooses a program or directory; no debugger attaches, no core is dumped. */
    if (clearenv() || setenv("PATH", "/usr/bin:/bin", 1) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
        _exit(1);
    keep_capabilities();
}
