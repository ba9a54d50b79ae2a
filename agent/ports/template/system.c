/* What the system is and has, and what this port does without. */
#include "template.h"
#include "wire.h"

/* PORT: announce a capability when what belongs to it in port.h is there and tested. */
uint32_t rts_port_caps(void)
{
    return RTS_CAP_PRIORITIES | RTS_CAP_HEAP | RTS_CAP_SUSPEND;
}

/* PORT: a reader of a report sees it: what is missing, and what would bring it. */
const char *rts_port_why_not(uint32_t cap)
{
    return cap == RTS_CAP_SMP ? "this system uses one CPU" : "this port does not have it";
}

const char *rts_port_strerror(int error)
{
    switch (error) {
    case TEMPLATE_NO_MEMORY:
        return "the heap is used up";
    case TEMPLATE_ABSENT:
        return "this port does not have it";
    default:
        return "the system's call failed";
    }
}

/* What more memory or another build would bring is a limit, the rest a failure. */
bool rts_port_is_limit(int error)
{
    return error == TEMPLATE_NO_MEMORY || error == TEMPLATE_ABSENT;
}

/* ---- clock and processor ------------------------------------------------------------------- */

uint64_t rts_port_time_resolution_ns(void)
{
    return 1000000000 / RTS_TIME_HZ;
}

/* PORT: the counter's name and its rate, measured or from the data sheet. */
int rts_port_clock_init(rts_clock *clock)
{
    clock->source = "template";
    clock->unit = "ns";
    clock->hz = RTS_TIME_HZ;
    return 0;
}

/* One CPU; PORT: with several, bind tasks, and announce RTS_CAP_SMP. */
void rts_port_bind(int cpu)
{
    (void)cpu;
}

int rts_port_default_cpu(void)
{
    return 0;
}

void rts_port_cpus(rts_cpuset *set)
{
    *set = (rts_cpuset){{1}};
}

/* PORT: 0 and 0 unless the system takes the CPU from its real-time tasks now and then. */
void rts_port_throttling(uint64_t *busy_ns, uint64_t *rest_ns)
{
    *busy_ns = *rest_ns = 0;
}

/* PORT: names; the version of the system belongs here. */
void rts_port_hello(rts_wire *w)
{
    rts_wire_str(w, "port", "template");
    rts_wire_str(w, "os", "a system of its own 1.0");
    rts_wire_str(w, "arch", "none");
}

/* PORT: whatever can change a number: board, clock rate, caches, tick, options of the kernel. */
void rts_port_conditions(rts_wire *w)
{
    rts_wire_str(w, "board", "template");
    rts_wire_uint(w, "stack_bytes", RTS_STACK_DEFAULT);
}

/* ---- never called: the capability is not announced ------------------------------------------ */

int rts_task_set_own_deadline(uint64_t runtime, uint64_t period)
{
    (void)runtime;
    (void)period;
    return TEMPLATE_ABSENT;
}

uint64_t rts_task_cpu_time(const rts_task *task)
{
    (void)task;
    return 0;
}

uint64_t rts_preemptions(void)
{
    return 0;
}

/* Tasks of RTS_FIFO have no slice, and there is no RTS_CAP_ROUND_ROBIN. */
uint64_t rts_port_slice_ns(rts_policy policy)
{
    (void)policy;
    return 0;
}

int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack)
{
    (void)child;
    (void)kind;
    (void)prio;
    (void)stack;
    return TEMPLATE_ABSENT;
}

void rts_child_release(rts_child *child)
{
    (void)child;
}

int rts_child_lower(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return TEMPLATE_ABSENT;
}

int rts_child_prio(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return TEMPLATE_ABSENT;
}

bool rts_child_ran(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return false;
}

int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *told)
{
    (void)event;
    (void)source;
    (void)hz;
    told->why = "this port does not have it";
    return TEMPLATE_ABSENT;
}

int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count)
{
    (void)event;
    (void)stamp;
    (void)count;
    return TEMPLATE_ABSENT;
}

void rts_event_close(rts_event *event)
{
    (void)event;
}

int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg)
{
    (void)irq;
    (void)form;
    (void)handler;
    (void)arg;
    return TEMPLATE_ABSENT;
}

void rts_irq_close(rts_irq *irq)
{
    (void)irq;
}
