/* The work itself: one pass leaves the same state as the published procedure. */
#include "whetstone.c" /* NOLINT(bugprone-suspicious-include): the test reads the state of a pass */

#include "check.h"

static void test_a_pass_gives_the_published_result(void)
{
    state s = {.y = 1.0, .ij = 1, .ik = 2, .il = 3};
    pass(&s);
    CHECK(fabs(s.z - 0.9413745806) < 1e-10);
    CHECK_EQ(s.ij, 1);
    CHECK_EQ(s.ik, 2);
    CHECK_EQ(s.il, 3);
}

static void test_every_pass_counts(void)
{
    state s = {.y = 1.0, .ij = 1, .ik = 2, .il = 3};
    for (int i = 0; i < 100; i++)
        pass(&s);
    CHECK(fabs(s.sum - 94.13745806) < 1e-8);
    CHECK(rts_whetstone(1));
    CHECK(rts_whetstone(1000));
}

TESTS(test_a_pass_gives_the_published_result, test_every_pass_counts)
