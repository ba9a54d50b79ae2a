/*
 * The contract of every port, whatever the operating system: run this first on a new one.
 * Priorities are checked only if the system grants them.
 */
#include <string.h>

#include "bench.h"
#include "check.h"

static int cpu;
static char order[32];
static rts_sem gate, done;

static void start(rts_task *task, void (*run)(void *), void *arg, int prio)
{
    rts_task_attr attr = {.run = run, .arg = arg, .prio = prio, .policy = RTS_FIFO, .cpu = cpu};
    CHECK_EQ(rts_task_create(task, &attr), 0);
}

static void make(rts_sem *sem, rts_sem_kind kind, unsigned value, unsigned slot)
{
    rts_sem_prepare(sem, kind, slot);
    CHECK_EQ(rts_sem_create(sem, value), 0);
    rts_sem_unlink(sem);
}

static void append(char mark)
{
    size_t n = strlen(order);
    order[n] = mark;
    order[n + 1] = '\0';
}

static void test_semaphores_count(void)
{
    uint32_t caps = rts_port_caps();
    for (int kind = RTS_SEM_UNNAMED; kind <= RTS_SEM_PSHARED; kind++) {
        if ((kind == RTS_SEM_NAMED && !(caps & RTS_CAP_SEM_NAMED)) ||
            (kind == RTS_SEM_PSHARED && !(caps & RTS_CAP_SEM_PSHARED)))
            continue;
        rts_sem s;
        make(&s, (rts_sem_kind)kind, 2, 0);
        CHECK_EQ(rts_sem_take(&s), 0);
        CHECK_EQ(rts_sem_try(&s), 0);
        CHECK(rts_sem_try(&s) != 0);
        CHECK_EQ(rts_sem_give(&s), 0);
        CHECK_EQ(rts_sem_take(&s), 0);
        CHECK_EQ(rts_sem_destroy(&s), 0);
    }
}

static void test_sets_count(void)
{
    rts_set set[RTS_SETS + 1];
    if (!(rts_port_caps() & RTS_CAP_SEM_SYSV))
        return;
    for (int i = 0; i < RTS_SETS; i++) { /* all that there may be at a time */
        rts_set_prepare(&set[i], (unsigned)i);
        CHECK_EQ(rts_set_create(&set[i], 2), 0);
    }
    for (int i = 0; i < RTS_SETS; i++) {
        CHECK_EQ(rts_set_take(&set[i]), 0);
        CHECK_EQ(rts_set_try(&set[i]), 0);
        CHECK(rts_set_try(&set[i]) != 0);
        CHECK_EQ(rts_set_give(&set[i]), 0);
        CHECK_EQ(rts_set_take(&set[i]), 0);
    }
    rts_set_prepare(&set[0], 0); /* removes what was left in its slot, and nothing else */
    CHECK_EQ(rts_set_create(&set[0], 0), 0);
    CHECK(rts_set_try(&set[0]) != 0);
    for (int i = 0; i < RTS_SETS; i++)
        CHECK_EQ(rts_set_destroy(&set[i]), 0);
    CHECK(rts_set_give(&set[0]) != 0);
}

static void high(void *arg)
{
    (void)arg;
    rts_sem_take(&gate);
    append('h');
}

static void low(void *arg)
{
    (void)arg;
    append('l');
    rts_sem_give(&done);
}

/* A task of higher priority preempts at once; one of lower priority runs when the others wait. */
static void driver(void *arg)
{
    (void)arg;
    rts_task h, l;
    start(&h, high, NULL, RTS_PRIO_MIN + 6);
    start(&l, low, NULL, RTS_PRIO_MIN + 2);
    append('1');
    rts_sem_give(&gate);
    append('2');
    rts_sem_take(&done);
    append('3');
    CHECK_EQ(rts_task_join(&h), 0);
    CHECK_EQ(rts_task_join(&l), 0);
}

static void test_the_most_urgent_ready_task_runs(void)
{
    rts_task d;
    if (!(rts_port_caps() & RTS_CAP_PRIORITIES)) {
        printf("priorities are not granted here: not checked\n");
        return;
    }
    order[0] = '\0';
    make(&gate, RTS_SEM_UNNAMED, 0, 1);
    make(&done, RTS_SEM_UNNAMED, 0, 2);
    start(&d, driver, NULL, RTS_PRIO_MIN + 4);
    CHECK_EQ(rts_task_join(&d), 0);
    CHECK_STR(order, "1h2l3");
    rts_sem_destroy(&gate);
    rts_sem_destroy(&done);
}

static char name_a = 'a', name_b = 'b';

static void yielder(void *arg)
{
    for (int i = 0; i < 3; i++) {
        append(*(const char *)arg);
        rts_yield();
    }
}

static void two_yielders(void *arg)
{
    rts_task a, b;
    (void)arg;
    start(&a, yielder, &name_a, RTS_PRIO_MIN + 2);
    start(&b, yielder, &name_b, RTS_PRIO_MIN + 2);
    rts_task_join(&a);
    rts_task_join(&b);
}

static void test_yield_goes_round(void)
{
    rts_task d;
    if (!(rts_port_caps() & RTS_CAP_PRIORITIES))
        return;
    order[0] = '\0';
    start(&d, two_yielders, NULL, RTS_PRIO_MIN + 4);
    rts_task_join(&d);
    CHECK(!strcmp(order, "ababab") || !strcmp(order, "bababa"));
}

static void test_sleep_is_never_short_and_clocks_never_go_back(void)
{
    for (int i = 0; i < 20; i++) {
        rts_tick until = rts_time() + rts_ns_to_ticks(1000000, RTS_TIME_HZ);
        rts_sleep_until(until);
        CHECK(rts_time() >= until);
    }
    rts_sleep_until(0); /* a time that has passed */
    rts_tick last = rts_now();
    for (int i = 0; i < 100000; i++) {
        rts_tick now = rts_now();
        CHECK(now >= last);
        last = now;
    }
}

/* On one CPU, M would starve L while H waits for L's lock; inheritance raises L above M. */
static rts_mutex lock;
static rts_sem l_locked;

static void low_owner(void *arg)
{
    rts_mutex_lock(&lock);
    rts_sem_give(&l_locked); /* wakes the driver, which starts M and H */
    append('l');
    rts_mutex_unlock(&lock);
    (void)arg;
}

static void middle(void *arg)
{
    (void)arg;
    append('m');
}

static void high_taker(void *arg)
{
    (void)arg;
    rts_mutex_lock(&lock);
    append('h');
    rts_mutex_unlock(&lock);
}

static void inversion(void *arg)
{
    rts_task l, m, h;
    (void)arg;
    start(&l, low_owner, NULL, RTS_PRIO_MIN + 1);
    rts_sem_take(&l_locked);
    start(&m, middle, NULL, RTS_PRIO_MIN + 2);
    start(&h, high_taker, NULL, RTS_PRIO_MIN + 3);
    rts_task_join(&h);
    rts_task_join(&m);
    rts_task_join(&l);
}

static void test_inheritance(void)
{
    rts_task d;
    if (!(rts_port_caps() & RTS_CAP_PRIORITIES))
        return;
    for (int protocol = RTS_LOCK_NONE; protocol <= RTS_LOCK_PROTECT; protocol++) {
        if (protocol == RTS_LOCK_PROTECT && !(rts_port_caps() & RTS_CAP_LOCK_PROTECT))
            continue;
        order[0] = '\0';
        CHECK_EQ(rts_mutex_create(&lock, (rts_protocol)protocol, RTS_PRIO_MAX), 0);
        make(&l_locked, RTS_SEM_UNNAMED, 0, 3);
        start(&d, inversion, NULL, RTS_PRIO_MIN + 5);
        rts_task_join(&d);
        CHECK_STR(order, protocol == RTS_LOCK_NONE ? "mlh" : "lhm");
        rts_sem_destroy(&l_locked);
        CHECK_EQ(rts_mutex_destroy(&lock), 0);
    }
}

static void test_queue_keeps_order(void)
{
    rts_queue q;
    uint32_t out = 0;
    CHECK_EQ(rts_queue_create(&q, 3, sizeof out, 0), 0);
    for (uint32_t i = 1; i <= 3; i++)
        CHECK_EQ(rts_queue_send(&q, &i), 0);
    for (uint32_t i = 1; i <= 3; i++) {
        CHECK_EQ(rts_queue_receive(&q, &out), 0);
        CHECK_EQ(out, i);
    }
    CHECK_EQ(rts_queue_destroy(&q), 0);
}

typedef struct common {
    volatile uint64_t number;
    rts_sem answer;
} common;

static void other_process(void *arg)
{
    common *k = arg;
    k->number++;
    rts_sem_give(&k->answer);
}

static void test_processes_share_what_they_should(void)
{
    if (!(rts_port_caps() & RTS_CAP_PROCESS))
        return;
    common *k = rts_port_shared(sizeof *k);
    rts_task task;
    rts_task_attr attr = {.run = other_process,
                          .arg = k,
                          .prio = RTS_PRIO_MIN,
                          .policy = RTS_FIFO,
                          .cpu = cpu,
                          .process = true};
    CHECK(k != NULL);
    k->number = 41;
    make(&k->answer, RTS_SEM_PSHARED, 0, 4);
    CHECK_EQ(rts_task_create(&task, &attr), 0);
    CHECK_EQ(rts_sem_take(&k->answer), 0);
    CHECK_EQ(rts_task_join(&task), 0);
    CHECK_EQ(k->number, 42);
    rts_port_unshare(k, sizeof *k);
}

/* A child of each kind, one level above or below its parent. */
static const char *child_kinds[] = {"thread", "clone", "fork", "spawn", "vfork"};

static int kinds_in(const char *choices)
{
    int n = 1;
    for (; *choices; choices++)
        n += *choices == '|';
    return n;
}

static void on_interrupt(void *mark)
{
    append(*(const char *)mark);
}

/* Each request is served before the requesting call returns, and none is served later. */
static void requests(void *arg)
{
    for (int form = 0; form < kinds_in(RTS_IRQ_FORMS); form++) {
        rts_irq irq;
        order[0] = '\0';
        CHECK_EQ(rts_irq_open(&irq, form, on_interrupt, arg), 0);
        for (int i = 0; i < 3; i++) {
            append('(');
            CHECK_EQ(rts_irq_raise(&irq), 0);
            append(')');
        }
        rts_irq_close(&irq);
        CHECK_STR(order, "(a)(a)(a)");
    }
}

static void test_interrupts_are_served_at_once(void)
{
    rts_task d;
    uint32_t needs = RTS_CAP_SOFT_IRQ | RTS_CAP_PRIORITIES;
    if ((rts_port_caps() & needs) != needs)
        return;
    start(&d, requests, &name_a, RTS_PRIO_MIN + 4);
    CHECK_EQ(rts_task_join(&d), 0);
}

/* Whoever goes on without a child kills number -1, which is every process of the machine. */
static bool created(rts_child *child, int kind)
{
    int err = rts_child_create(child, kind);
    CHECK_EQ(err, 0);
    return err == 0;
}

static void a_child_of_each_kind(void *arg)
{
    (void)arg;
#define ONE_MORE(k) +1
    CHECK_EQ(kinds_in(RTS_CHILD_KINDS), RTS_EACH_CHILD(ONE_MORE));
    for (int kind = 0; kind < kinds_in(RTS_CHILD_KINDS); kind++) {
        bool victim = kind < kinds_in(RTS_VICTIM_KINDS);
        rts_child child;
        CHECK_EQ(rts_child_prepare(&child, kind, RTS_PRIO_MIN + 2, 16 << 10), 0);
        int early = 0;
        for (int i = 0; i < 3; i++) {
            if (!created(&child, kind))
                break;
            early += rts_child_ran(&child, kind);
            CHECK_EQ(rts_child_lower(&child, kind), 0);
            if (victim)
                CHECK_EQ(rts_child_kill(&child, kind), 0);
            CHECK_EQ(rts_child_reap(&child, kind), 0);
        }
        /* A parent that sleeps in the call, for memory, lets a child run before it returns. */
        if (!strcmp(child_kinds[kind], "spawn") || !strcmp(child_kinds[kind], "vfork"))
            CHECK_EQ(early, 3);
        else
            CHECK(early < 3);
        rts_child_release(&child);
    }
}

static void test_children_do_not_run_before_their_parent_waits(void)
{
    rts_task d;
    if (!(rts_port_caps() & RTS_CAP_CHILDREN))
        return;
    start(&d, a_child_of_each_kind, NULL, RTS_PRIO_MIN + 4);
    CHECK_EQ(rts_task_join(&d), 0);
}

/* A child of higher priority, or one whose parent sleeps, is reported to have run. */
static void impatient_children(void *arg)
{
    rts_child child;
    (void)arg;
    CHECK_EQ(rts_child_prepare(&child, 0, RTS_PRIO_MIN + 6, 16 << 10), 0);
    if (!created(&child, 0))
        return;
    CHECK(rts_child_ran(&child, 0));
    CHECK_EQ(rts_child_kill(&child, 0), 0);
    CHECK_EQ(rts_child_reap(&child, 0), 0);
    rts_child_release(&child);
    for (int kind = 0; kind < kinds_in(RTS_VICTIM_KINDS); kind++) {
        CHECK_EQ(rts_child_prepare(&child, kind, RTS_PRIO_MIN + 2, 16 << 10), 0);
        if (!created(&child, kind))
            return;
        CHECK_EQ(rts_child_lower(&child, kind), 0);
        rts_sleep_until(rts_time() + rts_ns_to_ticks(20000000, RTS_TIME_HZ));
        CHECK(rts_child_ran(&child, kind));
        CHECK_EQ(rts_child_kill(&child, kind), 0);
        CHECK_EQ(rts_child_reap(&child, kind), 0);
        rts_child_release(&child);
    }
}

static void test_a_child_that_ran_is_seen(void)
{
    rts_task d;
    if (!(rts_port_caps() & RTS_CAP_CHILDREN))
        return;
    start(&d, impatient_children, NULL, RTS_PRIO_MIN + 4);
    CHECK_EQ(rts_task_join(&d), 0);
}

#define MESSAGE 4096

/* Messages arrive complete and in order; they are not copied exactly if a pointer is passed. */
static void test_channels_keep_messages(void)
{
    static _Alignas(64) unsigned char out[RTS_MESSAGE_ROOM + MESSAGE],
        in[RTS_MESSAGE_ROOM + MESSAGE];
    unsigned char *sent = out + RTS_MESSAGE_ROOM, *buffer = in + RTS_MESSAGE_ROOM;
    for (int kind = 0; kind < kinds_in(RTS_CHANNEL_KINDS); kind++) {
        rts_channel channel;
        CHECK_EQ(rts_channel_create(&channel, kind, 1, MESSAGE, 0), 0);
        for (unsigned round = 1; round <= 3; round++) {
            void *message = buffer;
            for (unsigned i = 0; i < MESSAGE; i++)
                sent[i] = (unsigned char)(i * 7 + round);
            CHECK_EQ(rts_channel_send(&channel, kind, sent), 0);
            CHECK_EQ(rts_channel_receive(&channel, kind, &message), 0);
            CHECK(!memcmp(message, sent, MESSAGE));
            CHECK_EQ(message == sent, rts_channel_passes_pointer(kind));
        }
        CHECK_EQ(rts_channel_destroy(&channel, kind), 0);
        CHECK(strlen(rts_channel_limits(kind)) > 0);
    }
}

/* CPU time is charged to the task that runs, and to no other. */
static volatile int enough;

static void spin(void *arg)
{
    (void)arg;
    while (!enough)
        ;
}

static void sleeper(void *arg)
{
    (void)arg;
    rts_sem_take(&gate);
}

static void preempting(void *arg)
{
    rts_task busy, idle;
    uint64_t before = rts_preemptions();
    (void)arg;
    enough = 0;
    start(&idle, sleeper, NULL, RTS_PRIO_MIN + 2);
    start(&busy, spin, NULL, RTS_PRIO_MIN + 1);
    rts_sleep_until(rts_time() + rts_ns_to_ticks(20000000, RTS_TIME_HZ));
    CHECK(rts_preemptions() > before);
    CHECK(rts_task_cpu_time(&busy) > rts_task_cpu_time(&idle));
    uint64_t used = rts_task_cpu_time(&idle);
    CHECK(used > 0);
    CHECK_EQ(rts_task_cpu_time(&idle), used);
    enough = 1;
    rts_sem_give(&gate);
    CHECK_EQ(rts_task_join(&busy), 0);
    CHECK_EQ(rts_task_join(&idle), 0);
}

static void test_cpu_time_is_of_who_runs(void)
{
    rts_task d;
    uint32_t needs = RTS_CAP_CPU_TIME | RTS_CAP_PRIORITIES;
    if ((rts_port_caps() & needs) != needs)
        return;
    make(&gate, RTS_SEM_UNNAMED, 0, 5);
    start(&d, preempting, NULL, RTS_PRIO_MIN + 4);
    CHECK_EQ(rts_task_join(&d), 0);
    rts_sem_destroy(&gate);
}

static void choose_cpu(void)
{
    cpu = rts_port_default_cpu();
    CHECK_EQ(rts_clock_start(), 0);
    CHECK(rts_the_clock.hz >= 1000000);
    CHECK(rts_the_clock.granule >= 1);
}

/* NOLINTNEXTLINE(misc-use-internal-linkage): if it is not main(), another file calls it */
TESTS(choose_cpu, test_semaphores_count, test_sets_count, test_the_most_urgent_ready_task_runs,
      test_yield_goes_round, test_sleep_is_never_short_and_clocks_never_go_back, test_inheritance,
      test_queue_keeps_order, test_processes_share_what_they_should,
      test_children_do_not_run_before_their_parent_waits, test_a_child_that_ran_is_seen,
      test_channels_keep_messages, test_cpu_time_is_of_who_runs, test_interrupts_are_served_at_once)
