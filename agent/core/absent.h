/*
 * Stand-ins for capabilities that a port lacks: types and calls that let the benches which need the
 * capability compile and report `unsupported`. None of these calls is ever made. A port that has
 * the capability defines the macro in front of it in port_types.h. Functions that are not inline
 * have a weak default in absent.c, which the port's own function replaces. Included by port.h.
 */
#ifndef RTS_ABSENT_H
#define RTS_ABSENT_H

#ifndef RTS_TIME_SYSCALL
static inline rts_tick rts_time_syscall(void)
{
    return 0;
}
#endif

#ifndef RTS_CPU_TIME
static inline uint64_t rts_cpu_time(void)
{
    return 0;
}
#endif

#ifndef RTS_SUSPEND
static inline void rts_suspend(void)
{
}

static inline int rts_resume(rts_task *task)
{
    (void)task;
    return RTS_E_ABSENT;
}
#endif

/* On a processor: doing the work has already taken the time. */
#ifndef RTS_WORKED
static inline void rts_worked(rts_work kind, uint64_t amount)
{
    (void)kind;
    (void)amount;
}
#endif

#ifndef RTS_CHILD_KINDS
#define RTS_CHILD_KINDS "thread"
#define RTS_VICTIM_KINDS RTS_CHILD_KINDS
#define RTS_EACH_CHILD(X) X(0)
struct rts_child {
    int unused;
};

static inline int rts_child_create(rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return RTS_E_ABSENT;
}

static inline int rts_child_kill(rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return RTS_E_ABSENT;
}

static inline int rts_child_reap(rts_child *child, int kind)
{
    (void)child;
    (void)kind;
    return RTS_E_ABSENT;
}
#endif

#ifndef RTS_EVENTS
#define RTS_EVENTS "best"
struct rts_event {
    int unused;
};
#endif

#ifndef RTS_IRQ_FORMS
#define RTS_IRQ_FORMS "interrupt"
struct rts_irq {
    int unused;
};

static inline int rts_irq_raise(rts_irq *irq)
{
    (void)irq;
    return RTS_E_ABSENT;
}
#endif

#ifndef RTS_SETS
#define RTS_SETS 0
struct rts_set {
    int unused;
};

static inline int rts_set_create(rts_set *set, unsigned value)
{
    (void)set;
    (void)value;
    return RTS_E_ABSENT;
}

static inline int rts_set_destroy(rts_set *set)
{
    (void)set;
    return RTS_E_ABSENT;
}

static inline int rts_set_give(const rts_set *set)
{
    (void)set;
    return RTS_E_ABSENT;
}

static inline int rts_set_take(const rts_set *set)
{
    (void)set;
    return RTS_E_ABSENT;
}

static inline int rts_set_try(const rts_set *set)
{
    (void)set;
    return RTS_E_ABSENT;
}
#endif

#ifndef RTS_IRQ_STAMPED
#define RTS_IRQ_STAMPED "the handler"
#endif

#endif
