#include "calls.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

void *linux_call_map(uint64_t size)
{
    if ((size_t)size != size) { /* more than a pointer of 32 bits reaches */
        errno = ENOMEM;
        return NULL;
    }
    void *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

int linux_call_unmap(uint64_t size)
{
    void *memory = linux_call_map(size);
    return !memory || munmap(memory, (size_t)size) ? -errno : 0;
}

int linux_call_fork(int (*work)(uint64_t size), uint64_t size)
{
    int status;
    pid_t parent = getpid(), child = fork();
    if (child < 0)
        return -errno;
    if (child == 0 && !work)
        _exit(0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        _exit(getppid() == parent ? -work(size) : 0);
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    if (WIFSIGNALED(status)) /* only the kernel itself kills it, when memory is short */
        return -ENOMEM;
    return -WEXITSTATUS(status);
}
