/* Two equal tasks, one of which loses the CPU while it takes its stamp. */
#define rheal_switch_once tested_switch_once /* the stub's agent has them, too */
#define rheal_switch_open tested_switch_open

#include "../benches/rheal.h"

static rts_tick planned_now(void);
#define rts_now() planned_now()
#define rts_yield() ((void)0)
#include "../benches/rheal_equal.c" /* NOLINT(bugprone-suspicious-include): with another clock */
#include "check.h"

static pair t;
static unsigned used; /* how often the other task used a stamp of before */

/* The other task has the CPU, and finds what there is. */
static rts_tick planned_now(void)
{
    used += take_stamp(&t, 1000) != 0;
    return 900;
}

static void test_no_stamp_is_used_before_it_was_taken(void)
{
    t.stamp = 10;
    hand_over(&t);
    CHECK_EQ(used, 0);
    CHECK_EQ(t.unasked, 1);
    CHECK_EQ(take_stamp(&t, 1000), 100);
}

TESTS(test_no_stamp_is_used_before_it_was_taken)
