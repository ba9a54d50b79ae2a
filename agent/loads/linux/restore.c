#include "restore.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits until the worker has ended, or has closed its end of the socket `end`, and restores. */
static _Noreturn void wait_and_restore(const char *name, void (*restore)(const void *, int),
                                       const void *context, int file, int end)
{
    char byte;
    setsid();
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_NAME, name);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    if (dup2(end, 0) < 0 || (file >= 0 && dup2(file, 1) < 0))
        _exit(1);
    syscall(SYS_close_range, file < 0 ? 1 : 2, ~0u, 0);
    (void)!chdir("/");
    while (read(0, &byte, 1) < 0 && errno == EINTR)
        ;
    restore(context, file < 0 ? -1 : 1);
    _exit(0);
}

int rts_load_restorer(const char *name, void (*restore)(const void *context, int file),
                      const void *context, int file)
{
    int ends[2];
    int status = 1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return -1;
    pid_t between = fork();
    if (between == 0) {
        pid_t restorer = fork();
        if (restorer == 0)
            wait_and_restore(name, restore, context, file, ends[1]);
        _exit(restorer < 0);
    }
    while (between > 0 && waitpid(between, &status, 0) < 0 && errno == EINTR)
        ;
    close(ends[1]);
    if (status) {
        close(ends[0]);
        errno = EAGAIN;
        return -1;
    }
    signal(SIGTERM, SIG_IGN);
    return ends[0];
}

void rts_load_restore(int restorer)
{
    char byte;
    shutdown(restorer, SHUT_WR);
    while (read(restorer, &byte, 1) < 0 && errno == EINTR)
        ;
    close(restorer);
}
