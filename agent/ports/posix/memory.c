/* Memory that all tasks of a case share, and memory that stays resident. */
#include <sys/mman.h>

#include "posix.h"

void *rts_port_shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | POSIX_POPULATE, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void rts_port_unshare(void *memory, size_t size)
{
    munmap(memory, size);
}

bool posix_lock_memory(void)
{
    return posix_may_lock() && mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
}
