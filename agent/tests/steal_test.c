/* What is kept of looks at the count of stolen time: exact times, made up here. */
#include "../ports/linux/steal.h"

#include "check.h"

#define MS UINT64_C(1000000)

static int64_t around(uint64_t from_ms, uint64_t to_ms, uint64_t *span_ms)
{
    uint64_t span;
    int64_t ns = linux_steal_around(from_ms * MS, to_ms * MS, &span);
    *span_ms = span / MS;
    return ns < 0 ? ns : ns / (int64_t)MS;
}

/* Looks at 100, 200, 300 and 400 ms, of which the one at 300 finds 20 ms more. */
static void look_four_times(void)
{
    linux_steal_begin(100 * MS, 50 * (int64_t)MS);
    linux_steal_look(200 * MS, 50 * (int64_t)MS);
    linux_steal_look(300 * MS, 70 * (int64_t)MS);
    linux_steal_look(400 * MS, 70 * (int64_t)MS);
}

static void test_a_theft_lies_between_the_looks_that_found_it(void)
{
    uint64_t span;
    look_four_times();
    CHECK(around(250, 251, &span) == 20 && span == 100);
    CHECK(around(199, 201, &span) == 20);
    CHECK(around(299, 350, &span) == 20);
    CHECK(around(110, 399, &span) == 20 && span == 100);
    CHECK(around(110, 189, &span) == 0 && span == 0);
    CHECK(around(300, 301, &span) == 0);
}

static void test_it_is_counted_up_to_a_tick_later(void)
{
    uint64_t span;
    look_four_times();
    CHECK(around(185, 190, &span) == 0);
    CHECK(around(185, 191, &span) == 20);
}

static void test_without_looks_nothing_is_known(void)
{
    uint64_t span;
    look_four_times();
    CHECK(around(50, 99, &span) == -1);
    CHECK(around(50, 100, &span) == 0);
    CHECK(around(401, 402, &span) == -1);
    linux_steal_begin(100 * MS, 0);
    CHECK(around(100, 101, &span) == -1);
}

static void test_a_look_that_failed_widens_the_next(void)
{
    uint64_t span;
    linux_steal_begin(100 * MS, 0);
    linux_steal_look(200 * MS, -1);
    linux_steal_look(300 * MS, 10 * (int64_t)MS);
    CHECK(around(150, 151, &span) == 10 && span == 200);
}

static void test_several_are_added_up(void)
{
    uint64_t span, near_ns;
    linux_steal_begin(0, 0);
    for (uint64_t look = 1; look <= 6; look++)
        linux_steal_look(look * 100 * MS, (int64_t)(look / 2 * 10 * MS));
    CHECK(around(150, 350, &span) == 20 && span == 300);
    CHECK(linux_steal_watched(&near_ns) == 600 * MS);
    CHECK(near_ns == 300 * MS);
}

static void test_when_they_are_too_many_neighbours_become_one(void)
{
    uint64_t span, near_ns;
    linux_steal_begin(0, 0);
    for (uint64_t look = 1; look <= LINUX_THEFTS + 1; look++)
        linux_steal_look(look * 100 * MS, (int64_t)(look * 10 * MS));
    CHECK(around(150, 151, &span) == 20 && span == 200);
    CHECK(around(LINUX_THEFTS * 100 + 50, LINUX_THEFTS * 100 + 51, &span) == 10 && span == 100);
    CHECK(linux_steal_watched(&near_ns) == near_ns);
    CHECK(around(0, LINUX_THEFTS * 200, &span) == (LINUX_THEFTS + 1) * 10);
}

TESTS(test_a_theft_lies_between_the_looks_that_found_it, test_it_is_counted_up_to_a_tick_later,
      test_without_looks_nothing_is_known, test_a_look_that_failed_widens_the_next,
      test_several_are_added_up, test_when_they_are_too_many_neighbours_become_one)
