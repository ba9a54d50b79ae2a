/*
 * Whether a call enters the kernel: by syscall user dispatch (Linux 5.11), which needs no right. A
 * system call of the task raises SIGSYS instead of being carried out, until the handler lets it
 * through; what the vDSO or the C library does without the kernel raises nothing.
 */
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "linux.h"

#ifdef __x86_64__

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
enum { OFF, ON };      /* PR_SYS_DISPATCH_... */
enum { ALLOW, BLOCK }; /* SYSCALL_DISPATCH_FILTER_... */

/* For the only case that this process runs. */
static volatile char selector;
static volatile bool entered;
static struct sigaction action_before;
static sigset_t mask_before;

/* The kernel has restored the registers of the call: executing it once more carries it out. */
static void on_entry(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;
    (void)number;
    (void)info;
    entered = true;
    selector = ALLOW;
    at->uc_mcontext.gregs[REG_RIP] -= 2; /* the length of `syscall` */
}

void rts_port_entries_watch(void)
{
    entered = false;
    selector = BLOCK;
}

bool rts_port_entries_seen(void)
{
    selector = ALLOW;
    return entered;
}

void rts_port_entries_close(void)
{
    prctl(PR_SET_SYSCALL_USER_DISPATCH, OFF, 0L, 0L, 0L);
    pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
    sigaction(SIGSYS, &action_before, NULL);
}

const char *rts_port_entries_open(void)
{
    struct sigaction act = {.sa_sigaction = on_entry, .sa_flags = SA_SIGINFO};
    sigset_t sigsys;
    sigemptyset(&sigsys);
    sigaddset(&sigsys, SIGSYS);
    sigaction(SIGSYS, &act, &action_before);
    pthread_sigmask(SIG_UNBLOCK, &sigsys, &mask_before); /* if blocked, it would end the process */
    selector = ALLOW;
    if (prctl(PR_SET_SYSCALL_USER_DISPATCH, ON, 0L, 0L, &selector)) {
        rts_port_entries_close();
        return "this kernel has no syscall user dispatch";
    }
    rts_port_entries_watch();
    pid_t parent = (pid_t)syscall(SYS_getppid);
    bool seen = rts_port_entries_seen();
    rts_port_entries_watch();
    (void)rts_stamp_now();
    bool clock = rts_port_entries_seen();
    if (seen && !clock && parent == getppid())
        return NULL;
    rts_port_entries_close();
    return clock ? "reading the clock enters the kernel, too"
                 : "syscall user dispatch does not work here";
}

#else

void rts_port_entries_watch(void)
{
}

bool rts_port_entries_seen(void)
{
    return false;
}

void rts_port_entries_close(void)
{
}

const char *rts_port_entries_open(void)
{
    return "counted on x86-64 only";
}

#endif
