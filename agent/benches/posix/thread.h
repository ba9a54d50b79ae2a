/* Threads that a bench creates and ends within one sample, using the system's own calls. */
#ifndef RTS_THREAD_H
#define RTS_THREAD_H

#include <pthread.h>

#include "../metric.h"
#include "posix.h"

enum { LEVEL_HIGH, LEVEL_LOW };

/* Sets attributes for a FIFO thread on the case's CPU, `below` levels below the case's priority. */
static inline int thread_attributes(rts_case *c, pthread_attr_t *attr, int below)
{
    rts_task_attr task = {
        .prio = (int)c->common.prio - below, .policy = RTS_FIFO, .cpu = c->job.cpu};
    pthread_attr_init(attr);
    int err = posix_set_attributes(attr, &task);
    if (!err)
        return 0;
    pthread_attr_destroy(attr);
    return rts_port_failed(c, "cannot describe a thread", -err);
}

/* Destroys the attributes; `err` is that of a failed pthread_create(), or 0. */
static inline int thread_end(rts_case *c, pthread_attr_t *attr, int err)
{
    pthread_attr_destroy(attr);
    return err ? rts_port_failed(c, "cannot create a thread", -err) : 0;
}

#endif
