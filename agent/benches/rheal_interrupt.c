/* rheal.il: from the request of an interrupt to its service routine. */
#include <string.h>

#include "rheal.h"

typedef struct il_params {
    rheal_params common;
    int64_t irq;
} il_params;

typedef struct interrupts {
    rheal_frame f;
    rts_irq irq;
    volatile rts_tick end;
    volatile uint64_t served;
    uint64_t requested;
} interrupts;

static void service(void *arg)
{
    rts_tick now = rts_now();
    interrupts *i = arg;
    i->end = now;
    i->served++;
}

/*
 * Returns the time from the stamp before the request to the first statement of its service routine.
 */
static inline rts_tick request(interrupts *i, rts_tick *end)
{
    rts_tick start = rts_now();
    rts_irq_raise(&i->irq);
    *end = i->end;
    return *end - start;
}

static int il_round(void *state)
{
    interrupts *i = state;
    uint64_t before = i->served;
    for (unsigned k = 0; k < RHEAL_ROUND; k++) {
        rts_tick end, took = request(i, &end);
        i->requested++;
        if (i->served != before + k + 1)
            return rts_failed(i->f.c, "the routine did not run before the request returned");
        rheal_record(i->f.c, took, end);
    }
    return 0;
}

/* N single latencies, each as RTEMS measures it, net of overhead. */
static int il_once(void *state, double *ticks)
{
    interrupts *i = state;
    uint64_t n = i->f.loops, before;
    rts_tick sum = 0, end;
    if (!i->f.parts) /* the first one that is recorded */
        i->served = i->requested = 0;
    before = i->served;
    rheal_rest(&i->f);
    for (uint64_t k = n; k; k--)
        sum += request(i, &end);
    i->requested += n;
    if (i->served != before + n)
        return rts_failed(i->f.c, "of %llu requests %llu were served", (unsigned long long)n,
                          (unsigned long long)(i->served - before));
    *ticks = rheal_net_mean(sum, n);
    rheal_note(&i->f, "stamp overhead, subtracted", (double)rts_the_clock.overhead);
    return rheal_check_pass(&i->f, sum);
}

/* Returns one of several names separated by bars, or the last, of *length characters. */
static const char *name_at(const char *names, int64_t place, int *length)
{
    const char *bar;
    for (; place && (bar = strchr(names, '|')); place--)
        names = bar + 1;
    *length = (int)strcspn(names, "|");
    return names;
}

/* Reports what was measured in place of a device's interrupt. */
static void tell_form(rts_case *c, int64_t form)
{
    int of_name, of_stamp;
    const char *name = name_at(RTS_IRQ_FORMS, form, &of_name);
    const char *stamped = name_at(RTS_IRQ_STAMPED, form, &of_stamp);
    rts_table(c, "what stands for an interrupt", "form");
    rts_row(c, "%.*s", of_name, name);
    rts_table(c, "source of interrupts", "source\trate\tindependence\tstamped by");
    rts_row(c, "%.*s\ton request\tby no timer: the program itself requests each\t%.*s", of_name,
            name, of_stamp, stamped);
}

/* Runs one level down: if a task stands in for the service routine, it needs a higher priority. */
static int run_il(rts_case *c)
{
    const il_params *p = rts_params(c);
    interrupts *i = rheal_open(c, sizeof *i);
    if (!i || rts_own_level(c, 1, RTS_FIFO))
        return -1;
    int err = rts_irq_open(&i->irq, (int)p->irq, service, i);
    if (err)
        return rts_port_failed(c, "cannot have interrupts of this form", err);
    tell_form(c, p->irq);
    err = rheal_measure(&i->f, il_round, il_once);
    rts_irq_close(&i->irq);
    rts_count_add(c, "requests served", i->served, "requests");
    rts_count_add(c, "requests lost or merged", i->requested - i->served, "requests");
    return err;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_param il_param[] = {
    RHEAL_PARAMS(50000),
    RTS_CHOICE(il_params, irq, RTS_IRQ_FORMS, 0,
               "substitute for an interrupt and its routine; eventfd: a higher-priority thread "
               "that waits in read()"),
    RTS_PARAMS_END,
};

static const rts_bench benches[] = {
    {.id = "rheal.il",
     .title = RTS_SAY("Rhealstone: interrupt latency"),
     .source = RTS_SAY("Golatowski, Rhealstone; Kar 1990"),
     .help = RTS_SAY(
         "The program requests an interrupt: from the time stamp before the request to the first "
         "statement of its routine. classic: the mean of N, minus the time stamps. On POSIX a "
         "real-time signal to the task itself, or an eventfd for which a higher-priority thread "
         "waits; neither is a hardware interrupt, for which see int.latency.phase."),
     .params = il_param,
     .needs = RTS_CAP_SOFT_IRQ,
     RHEAL_TRAITS_AND_LIMITS,
     .run = RTS_RUN(RTS_CAP_SOFT_IRQ, run_il)},
};

RTS_BENCHES(benches);
