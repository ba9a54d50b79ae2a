/* The kernel of the simulated system: which task runs when, and how it handles errors. */
#include <errno.h>
#include <string.h>

#include "agent.h"
#include "check.h"
#include "kernel.h"

static char order[64];

static void append(char mark)
{
    size_t n = strlen(order);
    if (n + 1 < sizeof order)
        order[n] = mark;
}

static void begin(void)
{
    static bool booted;
    if (!booted) {
        sim_boot();
        CHECK(sim_model_set("cost.add.amount=0:0,1:1000")); /* an addition takes a nanosecond */
    }
    booted = true;
    sim_restart(0);
    memset(order, 0, sizeof order);
}

/* Waits until all tasks have ended or are deadlocked; returns whether they have ended. */
static bool finish(rts_task *task, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        rts_task_join(&task[i]);
    bool ended = !sim_dead;
    sim_dead = NULL;
    sim_kill_all(false);
    CHECK_EQ(sim_tasks, 0);
    return ended;
}

static void start(rts_task *task, void (*run)(void *), void *arg, int prio, rts_policy policy)
{
    rts_task_attr attr = {.run = run, .arg = arg, .prio = prio, .policy = policy};
    CHECK_EQ(rts_task_create(task, &attr), 0);
}

static void work(uint64_t ns)
{
    rts_worked(RTS_WORK_ADD, ns);
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Sleeps, works and appends the letter that it is given. */
typedef struct life {
    char name;
    uint64_t sleep, work;
    uint64_t ended;
} life;

static void live(void *arg)
{
    life *l = arg;
    rts_sleep_until(l->sleep);
    append(l->name);
    work(l->work);
    l->ended = rts_time();
    append((char)(l->name - 'a' + 'A'));
}

static void test_equal_tasks_run_as_they_came_and_the_preempted_first(void)
{
    rts_task t[4];
    life a = {'a', 0, 100, 0}, b = {'b', 0, 100, 0}, c = {'c', 0, 100, 0}, h = {'h', 50, 30, 0};
    begin();
    start(&t[0], live, &a, 10, RTS_FIFO);
    start(&t[1], live, &b, 10, RTS_FIFO);
    start(&t[2], live, &c, 10, RTS_FIFO);
    start(&t[3], live, &h, 20, RTS_FIFO);
    CHECK(finish(t, 4));
    CHECK_STR(order, "ahHAbBcC");
    CHECK_EQ(h.ended, 80);
    CHECK_EQ(a.ended, 130);
    CHECK_EQ(c.ended, 330);
}

static void test_slices_go_round_and_a_wait_begins_a_new_one(void)
{
    rts_task t[3];
    life a = {'a', 0, 25, 0}, b = {'b', 0, 25, 0}, h = {'h', 15, 5, 0};
    begin();
    CHECK(sim_model_set("slice=10"));
    start(&t[0], live, &a, 10, RTS_RR);
    start(&t[1], live, &b, 10, RTS_RR);
    start(&t[2], live, &h, 20, RTS_FIFO);
    CHECK(finish(t, 3));
    CHECK_STR(order, "abhHAB");
    CHECK_EQ(h.ended, 20); /* it used nothing of b's slice, which lasts from 10 to 25 */
    CHECK_EQ(a.ended, 50); /* 0 to 10, 25 to 35, 45 to 50 */
    CHECK_EQ(b.ended, 55);
    CHECK(sim_model_set("slice=10000000"));
}

/* Has jobs with this relative deadline; the first is released at 100. */
static void meet(void *arg)
{
    life *l = arg;
    rts_task_set_own_deadline(1, l->sleep);
    rts_sleep_until(100);
    append(l->name);
    work(l->work);
    append((char)(l->name - 'a' + 'A'));
}

static void test_the_earliest_deadline_runs(void)
{
    rts_task t[5];
    life a = {'a', 300, 50, 0}, b = {'b', 200, 50, 0}, c = {'c', 200, 50, 0};
    life d = {'d', 120, 10, 0}, r = {'r', 0, 200, 0};
    begin();
    start(&t[0], live, &r, 61, RTS_FIFO); /* a fixed priority ranks below all deadlines */
    start(&t[1], meet, &a, 61, RTS_FIFO);
    start(&t[2], meet, &b, 61, RTS_FIFO);
    start(&t[3], meet, &c, 61, RTS_FIFO);
    start(&t[4], meet, &d, 61, RTS_FIFO);
    CHECK(finish(t, 5));
    /* r keeps the others from getting deadlines; afterwards none of them sleeps any more */
    CHECK_STR(order, "rRaAbBcCdD");
    memset(order, 0, sizeof order);
    begin();
    start(&t[0], meet, &a, 61, RTS_FIFO);
    start(&t[1], meet, &b, 61, RTS_FIFO);
    start(&t[2], meet, &c, 61, RTS_FIFO);
    start(&t[3], meet, &d, 61, RTS_FIFO);
    start(&t[4], live, &r, 61, RTS_FIFO);
    CHECK(finish(t, 5));
    CHECK_STR(order, "rdDbBcCaAR");
}

/* ---- mutexes -------------------------------------------------------------------------------- */

static rts_mutex outer, inner;
static rts_task actor[5];

/* Holds the inner mutex; records its urgency, inherited through the chain of waiters. */
static void chain_low(void *arg)
{
    int *level = arg;
    rts_mutex_lock(&inner);
    rts_sleep_until(100);
    level[0] = actor[0].task->level;
    level[1] = actor[1].task->level;
    append('l');
    rts_mutex_unlock(&inner);
    level[2] = actor[0].task->level;
    append('L');
}

static void chain_middle(void *arg)
{
    (void)arg;
    rts_sleep_until(10);
    rts_mutex_lock(&outer);
    rts_mutex_lock(&inner);
    append('m');
    rts_mutex_unlock(&inner);
    rts_mutex_unlock(&outer);
    append('M');
}

static void chain_high(void *arg)
{
    (void)arg;
    rts_sleep_until(20);
    rts_mutex_lock(&outer);
    append('h');
    rts_mutex_unlock(&outer);
}

static void test_priority_is_inherited_along_a_chain(void)
{
    int level[3] = {0};
    begin();
    rts_mutex_create(&outer, RTS_LOCK_INHERIT, 0);
    rts_mutex_create(&inner, RTS_LOCK_INHERIT, 0);
    start(&actor[0], chain_low, level, 10, RTS_FIFO);
    start(&actor[1], chain_middle, NULL, 20, RTS_FIFO);
    start(&actor[2], chain_high, NULL, 30, RTS_FIFO);
    CHECK(finish(actor, 3));
    CHECK_EQ(level[0], 30);
    CHECK_EQ(level[1], 30);
    CHECK_EQ(level[2], 10);
    CHECK_STR(order, "lmhML");
}

static void yielding_owner(void *arg)
{
    (void)arg;
    rts_mutex_lock(&inner);
    rts_yield();
    append('a');
    rts_mutex_unlock(&inner);
}

static void yielding_bystander(void *arg)
{
    (void)arg;
    rts_yield();
    append('b');
}

static void equal_asker(void *arg)
{
    (void)arg;
    rts_mutex_lock(&inner);
    append('c');
    rts_mutex_unlock(&inner);
}

static void test_an_equal_waiter_does_not_send_the_owner_back(void)
{
    begin();
    rts_mutex_create(&inner, RTS_LOCK_INHERIT, 0);
    start(&actor[0], yielding_owner, NULL, 10, RTS_FIFO);
    start(&actor[1], yielding_bystander, NULL, 10, RTS_FIFO);
    start(&actor[2], equal_asker, NULL, 10, RTS_FIFO);
    CHECK(finish(actor, 3));
    CHECK_STR(order, "abc");
    CHECK_EQ(rts_mutex_unlock(&inner), (unsigned long long)-EPERM);
}

static int ceiling_error;

static void above_ceiling(void *arg)
{
    (void)arg;
    ceiling_error = rts_mutex_lock(&inner);
}

static void below_ceiling(void *arg)
{
    int *level = arg;
    rts_mutex_lock(&inner);
    level[0] = sim_self->level;
    rts_mutex_unlock(&inner);
    level[1] = sim_self->level;
}

static void test_a_ceiling_lifts_at_once_and_is_kept(void)
{
    int level[2] = {0};
    begin();
    rts_mutex_create(&inner, RTS_LOCK_PROTECT, 25);
    start(&actor[0], above_ceiling, NULL, 30, RTS_FIFO);
    start(&actor[1], below_ceiling, level, 20, RTS_FIFO);
    CHECK(finish(actor, 2));
    CHECK_EQ(ceiling_error, (unsigned long long)-EINVAL);
    CHECK_EQ(level[0], 25);
    CHECK_EQ(level[1], 20);
}

/* ---- tasks that never end ------------------------------------------------------------------- */

static void lock_twice(void *arg)
{
    (void)arg;
    rts_mutex_lock(&inner);
    rts_mutex_lock(&inner);
    append('x');
}

static void test_a_mutex_locked_twice_is_a_deadlock(void)
{
    begin();
    rts_mutex_create(&inner, RTS_LOCK_INHERIT, 0);
    start(&actor[0], lock_twice, NULL, 10, RTS_FIFO);
    CHECK(!finish(actor, 1));
    CHECK_STR(order, "");
}

static void cross(void *arg)
{
    rts_mutex *first = arg, *second = first == &inner ? &outer : &inner;
    rts_mutex_lock(first);
    rts_sleep_until(10);
    rts_mutex_lock(second);
    append('x');
}

static void test_two_mutexes_taken_crosswise_are_a_deadlock(void)
{
    begin();
    rts_mutex_create(&outer, RTS_LOCK_INHERIT, 0);
    rts_mutex_create(&inner, RTS_LOCK_INHERIT, 0);
    start(&actor[0], cross, &inner, 10, RTS_FIFO);
    start(&actor[1], cross, &outer, 20, RTS_FIFO);
    CHECK(!finish(actor, 2));
    CHECK_STR(order, "");
}

static void hold_for_ever(void *arg)
{
    (void)arg;
    rts_mutex_lock(&inner);
    rts_suspend();
}

static void wait_once(void *arg)
{
    (void)arg;
    rts_sleep_until(10);
    rts_mutex_lock(&inner);
    append('x');
}

static void killer(void *arg)
{
    int *level = arg;
    rts_sleep_until(20);
    level[0] = actor[0].task->level;
    sim_task_kill(actor[1].task); /* a waiter: the owner gets its old urgency back */
    level[1] = actor[0].task->level;
    sim_task_kill(actor[0].task); /* the owner: the mutex stays locked */
    CHECK(inner.owner != actor[0].task);
    rts_mutex_lock(&inner);
    append('x');
}

static void test_a_killed_owner_leaves_its_mutex_locked(void)
{
    int level[2] = {0};
    begin();
    rts_mutex_create(&inner, RTS_LOCK_INHERIT, 0);
    start(&actor[0], hold_for_ever, NULL, 10, RTS_FIFO);
    start(&actor[1], wait_once, NULL, 20, RTS_FIFO);
    start(&actor[2], killer, level, 30, RTS_FIFO);
    CHECK(!finish(actor, 3));
    CHECK_STR(order, "");
    CHECK_EQ(level[0], 20);
    CHECK_EQ(level[1], 10);
}

/* ---- queues and interrupts ------------------------------------------------------------------ */

static rts_queue queue;

static void receive_once(void *arg)
{
    char message;
    rts_queue_receive(&queue, &message);
    append(*(char *)arg);
    append(message);
}

static void send_four(void *arg)
{
    (void)arg;
    rts_sleep_until(10);
    sim_task_kill(actor[4].task); /* blocked in the queue, from which it is removed */
    for (const char *message = "1234"; *message; message++)
        rts_queue_send(&queue, message);
    append('s');
}

static void test_the_most_urgent_receiver_gets_the_message_first_come_first_served(void)
{
    static char a = 'a', b = 'b', c = 'c', d = 'd';
    rts_task sender;
    begin();
    CHECK_EQ(rts_queue_create(&queue, 8, 1, 0), 0);
    start(&actor[0], receive_once, &a, 10, RTS_FIFO);
    start(&actor[1], receive_once, &b, 20, RTS_FIFO);
    start(&actor[2], receive_once, &c, 10, RTS_FIFO);
    start(&actor[3], receive_once, &d, 20, RTS_FIFO);
    start(&actor[4], receive_once, &a, 20, RTS_FIFO);
    start(&sender, send_four, NULL, 30, RTS_FIFO);
    CHECK(finish(actor, 4));
    CHECK_STR(order, "sb1d2a3c4");
    CHECK_EQ(rts_queue_destroy(&queue), 0);
}

static rts_sem sem;

static void long_call(void *arg)
{
    uint64_t *after = arg;
    rts_sem_give(&sem);
    *after = rts_time();
}

static void test_an_interrupt_waits_for_the_end_of_a_call(void)
{
    uint64_t after = 0;
    life h = {'h', 50, 0, 0};
    begin();
    CHECK(sim_model_set("cost.sem_give.fixed=100000"));
    rts_sem_create(&sem, 0);
    start(&actor[0], live, &h, 20, RTS_FIFO);
    start(&actor[1], long_call, &after, 10, RTS_FIFO);
    CHECK(finish(actor, 2));
    CHECK_EQ(h.ended, 100);
    CHECK_EQ(after, 100);
    CHECK(sim_model_set("cost.sem_give.fixed=0"));
}

static void suspended(void *arg)
{
    (void)arg;
    rts_suspend(); /* resumed before: continues */
    append('1');
    rts_suspend();
    append('2');
}

static void resumer(void *arg)
{
    (void)arg;
    rts_resume(&actor[0]);
    rts_sleep_until(10);
    append('r');
    rts_resume(&actor[0]);
}

static void test_a_resume_is_not_lost(void)
{
    begin();
    start(&actor[0], suspended, NULL, 10, RTS_FIFO);
    start(&actor[1], resumer, NULL, 20, RTS_FIFO);
    CHECK(finish(actor, 2));
    CHECK_STR(order, "1r2");
}

TESTS(test_equal_tasks_run_as_they_came_and_the_preempted_first,
      test_slices_go_round_and_a_wait_begins_a_new_one, test_the_earliest_deadline_runs,
      test_priority_is_inherited_along_a_chain, test_an_equal_waiter_does_not_send_the_owner_back,
      test_a_ceiling_lifts_at_once_and_is_kept, test_a_mutex_locked_twice_is_a_deadlock,
      test_two_mutexes_taken_crosswise_are_a_deadlock, test_a_killed_owner_leaves_its_mutex_locked,
      test_the_most_urgent_receiver_gets_the_message_first_come_first_served,
      test_an_interrupt_waits_for_the_end_of_a_call, test_a_resume_is_not_lost)
