/* Memory shared by all tasks. */
#include <string.h>

#include "port.h"

void *rts_port_shared(size_t size)
{
    void *memory = os_alloc(size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void rts_port_unshare(void *memory, size_t size)
{
    (void)size;
    os_free(memory);
}
