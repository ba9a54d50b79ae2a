/*
 * Defaults of port.h, for what a port lacks (absent.h) and for what is the same on most systems
 * with one CPU. Each is replaced by a function of the same name in the port.
 */
#include "port.h"

#define DEFAULT __attribute__((weak))

/* ---- as on most systems ---------------------------------------------------------------------- */

DEFAULT const char *rts_port_why_not(uint32_t cap)
{
    (void)cap;
    return "the port does not have it";
}

DEFAULT const char *rts_port_strerror(int error)
{
    static const char *const texts[] = {
        [-RTS_E_FAILED] = "the system's call failed",
        [-RTS_E_ABSENT] = "the system does not have it, or was built without it",
        [-RTS_E_NO_MEMORY] = "the heap is used up",
        [-RTS_E_NO_ROOM] = "the object cannot hold as much",
        [-RTS_E_BUSY] = "there is one, and a load has it",
        [-RTS_E_NOT_OWNER] = "the caller does not hold it",
        [-RTS_E_OVERFLOW] = "its count is at its maximum",
    };
    return error < 0 && error >= RTS_E_OVERFLOW ? texts[-error] : "unknown error";
}

DEFAULT const char *rts_port_why_no_deadline(int error)
{
    return rts_port_strerror(error);
}

DEFAULT const char *rts_port_allow_deadlines(int cpu)
{
    (void)cpu;
    return NULL;
}

DEFAULT bool rts_port_is_limit(int error)
{
    return error <= RTS_E_ABSENT && error >= RTS_E_BUSY;
}

DEFAULT uint64_t rts_port_time_resolution_ns(void)
{
    return 1000000000 / RTS_TIME_HZ;
}

DEFAULT void rts_port_bind(int cpu)
{
    (void)cpu;
}

DEFAULT int rts_port_default_cpu(void)
{
    return 0;
}

DEFAULT void rts_port_cpus(rts_cpuset *set)
{
    *set = (rts_cpuset){{1}};
}

DEFAULT void rts_port_usable_cpus(rts_cpuset *set)
{
    rts_port_cpus(set);
}

DEFAULT int64_t rts_port_taken_ns(const rts_job *job)
{
    (void)job;
    return -1;
}

DEFAULT void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns)
{
    *busy_ns = *rest_ns = 0;
}

DEFAULT uint64_t rts_port_slice_ns(rts_policy policy)
{
    (void)policy;
    return 0;
}

DEFAULT int64_t rts_port_load_cpu_ns(unsigned i)
{
    (void)i;
    return -1;
}

DEFAULT bool rts_port_stopped(void)
{
    return false;
}

DEFAULT bool rts_port_lease(uint64_t ms)
{
    (void)ms;
    return false;
}

/* For a system without named semaphores. */
DEFAULT void rts_sem_prepare(rts_sem *sem, rts_sem_kind kind, unsigned slot)
{
    (void)sem;
    (void)kind;
    (void)slot;
}

DEFAULT void rts_sem_unlink(rts_sem *sem)
{
    (void)sem;
}

/* ---- never called: the capability is absent -------------------------------------------------- */

DEFAULT void rts_set_prepare(rts_set *set, unsigned slot)
{
    (void)set;
    (void)slot;
}

DEFAULT int rts_task_set_own_deadline(uint64_t runtime, uint64_t period)
{
    (void)runtime;
    (void)period;
    return RTS_E_ABSENT;
}

DEFAULT uint64_t rts_task_cpu_time(const rts_task *task)
{
    (void)task;
    return 0;
}

DEFAULT uint64_t rts_preemptions(void)
{
    return 0;
}

DEFAULT int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack)
{
    (void)child;
    (void)kind;
    (void)prio;
    (void)stack;
    return RTS_E_ABSENT;
}

DEFAULT void rts_child_release(rts_child *child)
{
    (void)child;
}

/* For children that are always created with their own priority. */
DEFAULT int rts_child_lower(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return 0;
}

DEFAULT int rts_child_prio(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return RTS_E_ABSENT;
}

DEFAULT bool rts_child_ran(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return false;
}

DEFAULT int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *properties)
{
    (void)event;
    (void)source;
    (void)hz;
    properties->why = "the port does not have it";
    return RTS_E_ABSENT;
}

DEFAULT int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count)
{
    (void)event;
    *stamp = *count = 0;
    return RTS_E_ABSENT;
}

DEFAULT void rts_event_close(rts_event *event)
{
    (void)event;
}

DEFAULT int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg)
{
    (void)irq;
    (void)form;
    (void)handler;
    (void)arg;
    return RTS_E_ABSENT;
}

DEFAULT void rts_irq_close(rts_irq *irq)
{
    (void)irq;
}

DEFAULT void rts_port_trace_send(uint64_t id)
{
    (void)id;
}
