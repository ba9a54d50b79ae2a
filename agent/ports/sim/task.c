/* Tasks, time and devices of the simulated system, as port.h requires them. */
#include <errno.h>
#include <stdlib.h>

#include "clock.h"
#include "kernel.h"

#define NS_PER_S UINT64_C(1000000000)

static int spaces; /* address spaces used so far; the first is the agent's */

/* ---- clock --------------------------------------------------------------------------------- */

int rts_port_clock_init(rts_clock *clock)
{
    clock->source = "simulated";
    clock->unit = "ns";
    clock->hz = SIM_COUNTER_PER_NS * NS_PER_S;
    return 0;
}

uint64_t rts_port_time_resolution_ns(void)
{
    return 1;
}

uint64_t sim_read(int op)
{
    uint64_t now = sim_now;
    sim_call(op == SIM_READ_COUNTER ? SIM_READ
             : op == SIM_READ_TIME  ? SIM_TIME
                                    : SIM_TIME_SYSCALL,
             0);
    return now;
}

void sim_sleep_until(uint64_t ns)
{
    sim_charge(SIM_SLEEP, 0, 0);
    sim_sleep(ns);
    sim_leave();
}

void sim_worked(rts_work kind, uint64_t amount)
{
    static const sim_op op[] = {[RTS_WORK_ADD] = SIM_ADD,
                                [RTS_WORK_COPY] = SIM_COPY,
                                [RTS_WORK_SET] = SIM_SET,
                                [RTS_WORK_KWI] = SIM_KWI};
    sim_work(op[kind], amount);
}

/* ---- tasks --------------------------------------------------------------------------------- */

static int level_of(int prio, rts_policy policy)
{
    return policy == RTS_OTHER ? 0 : prio;
}

int rts_task_create(rts_task *task, const rts_task_attr *attr)
{
    if (attr->process && sim_the_model.lacks & SIM_LACKS_PROCESS)
        return -ENOTSUP;
    sim_charge(SIM_TASK_CREATE, 0, 0);
    task->task = sim_task_new(attr->run, attr->arg, level_of(attr->prio, attr->policy),
                              attr->policy, attr->process ? ++spaces : sim_self->space);
    sim_leave();
    return task->task ? 0 : -ENOMEM;
}

int rts_task_join(rts_task *task)
{
    sim_task_join(task->task);
    if (task->task->state == SIM_ENDED)
        sim_task_free(task->task);
    return 0;
}

int rts_task_set_own_prio(int prio, rts_policy policy)
{
    sim_charge(SIM_TASK_PRIORITY, 0, 0);
    sim_self->policy = policy;
    sim_self->by_deadline = false;
    sim_self->slice = sim_the_model.slice;
    sim_self->prio = level_of(prio, policy);
    sim_settle(sim_self);
    sim_leave();
    return 0;
}

/* The first job begins now. */
int rts_task_set_own_deadline(uint64_t runtime, uint64_t period)
{
    (void)runtime; /* the budget is not enforced */
    sim_charge(SIM_TASK_PRIORITY, 0, 0);
    sim_self->by_deadline = true;
    sim_self->period = period;
    sim_self->deadline = sim_now + period;
    sim_self->prio = SIM_LEVEL_DEADLINE;
    sim_settle(sim_self);
    sim_leave();
    return 0;
}

uint64_t sim_cpu_time(void)
{
    uint64_t cpu = sim_self->cpu;
    sim_call(SIM_TIME_SYSCALL, 0);
    return cpu;
}

uint64_t rts_task_cpu_time(const rts_task *task)
{
    return task->task->cpu;
}

uint64_t rts_preemptions(void)
{
    return sim_preemptions;
}

int64_t rts_port_taken_ns(const rts_job *job)
{
    static uint64_t last;
    uint64_t taken = sim_load_cpu - last;
    (void)job;
    last = sim_load_cpu;
    return (int64_t)taken;
}

uint64_t rts_port_slice_ns(rts_policy policy)
{
    return policy == RTS_FIFO ? 0 : sim_the_model.slice;
}

void sim_yield(void)
{
    sim_charge(SIM_YIELD, 0, 0);
    if (sim_has_rival())
        sim_charge(SIM_YIELD_PASS, 0, 0);
    sim_pass();
    sim_leave();
}

void sim_suspend(void)
{
    sim_task *self = sim_self;
    sim_charge(SIM_SUSPEND, 0, 0);
    if (self->resumed)
        self->resumed--;
    else
        sim_block(&self->suspended);
    sim_leave();
}

int sim_resume(sim_task *task)
{
    sim_charge(SIM_RESUME, 0, 0);
    if (!sim_wake(&task->suspended))
        task->resumed++;
    sim_leave();
    return 0;
}

/* ---- children ------------------------------------------------------------------------------ */

int rts_child_prepare(rts_child *child, int kind, int prio, size_t stack)
{
    (void)stack;
    *child = (rts_child){.prio = prio};
    return kind && sim_the_model.lacks & SIM_LACKS_PROCESS ? -ENOTSUP : 0;
}

void rts_child_release(rts_child *child)
{
    (void)child;
}

static void do_nothing(void *arg)
{
    (void)arg;
}

int sim_child_create(rts_child *child, int kind)
{
    sim_charge(SIM_CHILD_CREATE, 0, 0);
    child->task =
        sim_task_new(do_nothing, NULL, child->prio, RTS_FIFO, kind ? ++spaces : sim_self->space);
    sim_leave();
    return child->task ? 0 : -ENOMEM;
}

int sim_child_kill(rts_child *child)
{
    sim_charge(SIM_CHILD_KILL, 0, 0);
    sim_task_kill(child->task);
    sim_leave();
    return 0;
}

int sim_child_reap(rts_child *child)
{
    sim_charge(SIM_CHILD_REAP, 0, 0);
    sim_task_join(child->task);
    sim_task_free(child->task);
    sim_leave();
    return 0;
}

int rts_child_lower(const rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return 0;
}

int rts_child_prio(const rts_child *child, int kind)
{
    (void)kind;
    return child->task->level;
}

bool rts_child_ran(const rts_child *child, int kind)
{
    (void)kind;
    return child->task->entered;
}

/* ---- memory -------------------------------------------------------------------------------- */

void *sim_malloc(size_t size)
{
    sim_call(SIM_MALLOC, size);
    return malloc(size);
}

void sim_free(void *block)
{
    sim_call(SIM_FREE, 0);
    free(block);
}

void *rts_port_shared(size_t size)
{
    return calloc(1, size);
}

void rts_port_unshare(void *memory, size_t size)
{
    (void)size;
    free(memory);
}

/* ---- devices ------------------------------------------------------------------------------- */

int rts_irq_open(rts_irq *irq, int form, void (*handler)(void *arg), void *arg)
{
    (void)form;
    *irq = (rts_irq){handler, arg};
    return 0;
}

void rts_irq_close(rts_irq *irq)
{
    (void)irq;
}

int sim_raise(rts_irq *irq)
{
    sim_charge(SIM_RAISE, 0, 0);
    sim_interrupt(irq->handler, irq->arg);
    sim_leave();
    return 0;
}

void sim_device(void)
{
    sim_call(SIM_DEVICE, 0);
}

/* Requests interrupts at first, first + 1 / hz, first + 2 / hz ... */
typedef struct sim_source {
    sim_event event;
    uint64_t first, hz, served, count; /* served: requests so far; count: since the last wait */
    uint64_t stamp;                    /* ns */
    sim_list waiting;
} sim_source;

static uint64_t request(const sim_source *s, uint64_t number)
{
    uint64_t since = (uint64_t)((unsigned __int128)number * NS_PER_S / s->hz);
    uint64_t early = rts_scale(rts_scale(since, since, NS_PER_S), sim_the_model.chirp, NS_PER_S);
    return s->first + since - early;
}

/*
 * Requests that arrived while interrupts were masked have merged into one. If there were several
 * activations since the last wait, the first one's stamp is reported: it belongs to the first
 * request.
 */
static void handle(void *arg)
{
    sim_source *s = arg;
    s->stamp = s->count ? s->stamp : sim_now;
    for (uint64_t at = s->event.at; request(s, s->served) <= sim_now || at == s->event.at; at = 0) {
        s->served++;
        s->count++;
    }
    sim_wake(&s->waiting);
    sim_event_at(&s->event, request(s, s->served));
}

int rts_event_open(rts_event *event, int source, uint64_t hz, rts_source *properties)
{
    (void)source;
    sim_source *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    *properties = (rts_source){.name = "simulated device",
                               .independence = "independent",
                               .stamped = "the handler",
                               .hz = (double)hz};
    s->first = sim_now + 1000000;
    s->hz = hz;
    s->event.handler = handle;
    s->event.arg = s;
    sim_event_at(&s->event, s->first);
    event->source = s;
    return 0;
}

int rts_event_wait(rts_event *event, rts_tick *stamp, uint64_t *count)
{
    sim_source *s = event->source;
    while (!s->count) {
        sim_block(&s->waiting);
        sim_leave();
    }
    *stamp = s->stamp * SIM_COUNTER_PER_NS;
    *count = s->count;
    s->count = 0;
    return 0;
}

void rts_event_close(rts_event *event)
{
    sim_event_cancel(&event->source->event);
    free(event->source);
}

int rts_timer_start(rts_timer *timer, int kind, rts_tick period)
{
    (void)kind;
    *timer = (rts_timer){.first = (sim_now + 10000000) * SIM_TIME_PER_NS, .period = period};
    return 0;
}

void rts_timer_wait(rts_timer *timer, rts_expiry *expiry)
{
    rts_tick since = timer->next * timer->period, due = timer->first + since;
    rts_sleep_until(due + rts_scale(since, sim_the_model.drift, NS_PER_S));
    expiry->stamp = rts_time();
    expiry->overruns = expiry->stamp > due ? (expiry->stamp - due - 1) / timer->period : 0;
    expiry->k = timer->next;
    timer->next += 1 + expiry->overruns;
}

void rts_timer_stop(rts_timer *timer)
{
    (void)timer;
}

void rts_sem_prepare(rts_sem *sem, rts_sem_kind kind, unsigned slot)
{
    (void)kind;
    (void)slot;
    *sem = (rts_sem){0};
}

void rts_sem_unlink(rts_sem *sem)
{
    (void)sem;
}
