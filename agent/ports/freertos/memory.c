/* Memory of a case, which is released when the case ends, however it does. */
#include <string.h>

#include "freertos.h"
#include "port.h"

typedef struct block { /* header of an allocation, with the same alignment */
    struct block *next, *previous;
} block;

static block *blocks;

void *freertos_alloc(size_t size)
{
    block *b = pvPortMalloc(sizeof *b + size);
    if (!b)
        return NULL;
    vTaskSuspendAll();
    b->previous = NULL;
    b->next = blocks;
    if (blocks)
        blocks->previous = b;
    blocks = b;
    xTaskResumeAll();
    return b + 1;
}

void freertos_release(void *memory)
{
    if (!memory)
        return;
    block *b = (block *)memory - 1;
    vTaskSuspendAll();
    if (b->previous)
        b->previous->next = b->next;
    else
        blocks = b->next;
    if (b->next)
        b->next->previous = b->previous;
    xTaskResumeAll();
    vPortFree(b);
}

static const block *mark;

void freertos_memory_mark(void)
{
    mark = blocks;
}

void freertos_memory_release(void)
{
    while (blocks && blocks != mark)
        freertos_release(blocks + 1);
}

void *rts_port_shared(size_t size)
{
    void *memory = pvPortMalloc(size);
    if (memory)
        memset(memory, 0, size);
    return memory;
}

void rts_port_unshare(void *memory, size_t size)
{
    (void)size;
    vPortFree(memory);
}
