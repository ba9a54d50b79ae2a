/* Options and profiles: what counts as supported, and what a profile then lacks. */
#include "options.h"

#include <string.h>

#include "check.h"

static int never(const char **step)
{
    *step = "never";
    return 1;
}

#define A 1u
#define B 2u

static const posix_option planted[] = {
    {"HERE", "200809L", never, 0, A | B}, {"BROKEN", "200809L", never, 0, B},
    {"SILENT", "-1", never, 0, A},        {"ABSENT", "_POSIX_ABSENT", never, 0, A | B},
    {"module", "", never, -1, B},         {"other", "", never, -1, 4},
};
enum { N = sizeof planted / sizeof planted[0] };

static const option_state states[N] = {
    {200809, 0}, {200809, 24}, {-1, 0}, {-1, 38}, {-1, 0}, {-1, 38},
};

static void test_an_option_needs_both_word_and_deed(void)
{
    CHECK_EQ(option_judge(&planted[0], &states[0]), OPTION_YES);
    CHECK_EQ(option_judge(&planted[1], &states[1]), OPTION_PARTIAL);
    CHECK_EQ(option_judge(&planted[2], &states[2]), OPTION_UNANNOUNCED);
    CHECK_EQ(option_judge(&planted[3], &states[3]), OPTION_NO);
    CHECK_EQ(option_judge(&planted[0], &(option_state){0, 0}), OPTION_UNANNOUNCED);
}

static void test_a_module_needs_its_deed_alone(void)
{
    CHECK_EQ(option_judge(&planted[4], &states[4]), OPTION_YES);
    CHECK_EQ(option_judge(&planted[5], &states[5]), OPTION_NO);
}

static void judged(unsigned bit, unsigned required, unsigned present, const char *missing)
{
    char text[64];
    profile_count n = profile_judge(bit, planted, states, N, text, sizeof text);
    CHECK_EQ(n.required, required);
    CHECK_EQ(n.present, present);
    CHECK_STR(text, missing);
}

static void test_a_profile_lacks_what_is_not_there_in_full(void)
{
    judged(A, 3, 1, "SILENT, ABSENT");
    judged(B, 4, 2, "BROKEN, ABSENT");
    judged(4, 1, 0, "other");
    judged(8, 0, 0, "");
}

static void test_a_long_list_stays_within_its_room(void)
{
    char text[8] = "xxxxxxx";
    profile_count n = profile_judge(A, planted, states, N, text, 4);
    CHECK_EQ(n.present, 1);
    CHECK_STR(text, "SIL");
    CHECK_EQ(text[4], 'x');
}

/*
 * Each profile of 2003 requires everything that the smaller one does; 1998 adds processes and
 * files.
 */
static void test_the_table_is_sound(void)
{
    unsigned of_1998 = 0;
    CHECK_EQ(posix_option_table_n, 38);
    for (size_t i = 0; i < posix_option_table_n; i++) {
        const posix_option *o = &posix_option_table[i];
        unsigned p = o->profiles & FROM51;
        CHECK(p == FROM51 || p == FROM52 || p == FROM53 || p == PSE54);
        CHECK(o->name[0] && o->probe);
        CHECK((o->sysconf_name < 0) == !o->macro[0]);
        of_1998 += (o->profiles & ALL_1998) != 0;
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(o->name, posix_option_table[k].name) != 0);
    }
    CHECK_EQ(of_1998, 3);
    CHECK_EQ(posix_profiles_n, 8);
}

TESTS(test_an_option_needs_both_word_and_deed, test_a_module_needs_its_deed_alone,
      test_a_profile_lacks_what_is_not_there_in_full, test_a_long_list_stays_within_its_room,
      test_the_table_is_sound)
