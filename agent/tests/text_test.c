/* The agent's formatting, compared with the C library's. */
#include "text.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "check.h"

#ifndef ROUNDS
#define ROUNDS 200000
#endif

#define BOTH(...)                                                                                  \
    do {                                                                                           \
        char mine[400], theirs[400];                                                               \
        CHECK_EQ(rts_print(mine, sizeof mine, __VA_ARGS__),                                        \
                 snprintf(theirs, sizeof theirs, __VA_ARGS__));                                    \
        CHECK_STR(mine, theirs);                                                                   \
    } while (0)

static uint64_t draw(void)
{
    static uint64_t state = 7;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

static void test_whole_numbers(void)
{
    BOTH("%d %d %d %u %u", 0, INT_MIN, INT_MAX, 0u, UINT_MAX);
    BOTH("%ld %ld %lu", LONG_MIN, LONG_MAX, ULONG_MAX);
    BOTH("%lld %lld %llu %llu", LLONG_MIN, LLONG_MAX, ULLONG_MAX, 10ull);
    BOTH("%zu%%, %c", SIZE_MAX, 'x');
    BOTH("%.3u %.3u %.2llu %.4d", 0u, 7u, 1000ull, -12);
}

static void test_strings(void)
{
    BOTH("a %s, %.3s, %.*s|%.0s|", "word", "longer", 2, "abc", "none");
    BOTH("%s", "");
}

static void test_what_is_too_long_is_cut_and_its_length_told(void)
{
    char text[6] = "xxxxx";
    CHECK_EQ(rts_print(text, sizeof text, "%s-%d", "abc", 1234), 8);
    CHECK_STR(text, "abc-1");
    CHECK_EQ(rts_print(text, 1, "abc"), 3);
    CHECK_STR(text, "");
    text[0] = 'x';
    CHECK_EQ(rts_print(text, 0, "abc"), 3);
    CHECK_EQ(text[0], 'x');
}

static void test_reals(void)
{
    const double value[] = {0,      -0.0, 0.5,    1.5,    2.5,  0.125, 0.375,
                            0.25,   0.75, 9.95,   1e15,   -1.5, 99.95, 999.5,
                            1.0005, 1e-9, 5e-324, 0.0005, 0.1,  0.3,   2.675};
    for (unsigned i = 0; i < sizeof value / sizeof value[0]; i++) {
        BOTH("%.0f %.1f %.2f %.3f", value[i], value[i], value[i], value[i]);
        BOTH("%.6f %.9f", -value[i], value[i]);
    }
    for (int i = 0; i < ROUNDS; i++) { /* of every magnitude, and halves of the last digit */
        double v = (double)(draw() >> (1 + i % 63)) / (double)(1 + draw() % 5000);
        BOTH("%.0f %.1f %.2f %.3f", v, v, v, v);
        v = (double)(draw() % 100000) / 2000;
        BOTH("%.0f %.1f %.2f %.3f", v, v, v, v);
    }
    BOTH("%.1f %.1f", (double)INFINITY, (double)NAN);
}

TESTS(test_whole_numbers, test_strings, test_what_is_too_long_is_cut_and_its_length_told,
      test_reals)
