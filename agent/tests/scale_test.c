/* Products of more than 64 bits, scaled exactly without a longer type. */
#include "check.h"
#include "clock.h"

__extension__ typedef unsigned __int128 wide;

static uint64_t by_128_bits(uint64_t a, uint64_t b, uint64_t c)
{
    return (uint64_t)((wide)a * b / c);
}

/* Returns numbers of any length, the same in every run. */
static uint64_t draw(unsigned bits)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state ^ state >> 32) >> (64 - bits);
}

static void test_extremes_of_hartstone(void)
{
    const uint64_t hz10 = UINT64_C(10000000000), two32 = UINT64_C(1) << 32;
    const uint64_t number[] = {
        0,         1,        2,    3,        999999999, two32 - 1,  two32,
        two32 + 1, hz10 - 1, hz10, hz10 + 1, INT64_MAX, UINT64_MAX, UINT64_MAX - 1};
    const uint64_t rate[] = {1, 2, 3, 7, 10, 320, 64000, 1000003, 1800000000};
    for (unsigned i = 0; i < sizeof number / sizeof number[0]; i++) {
        for (unsigned k = 0; k < sizeof rate / sizeof rate[0]; k++) {
            CHECK_EQ(rts_scale(number[i], hz10, rate[k]), by_128_bits(number[i], hz10, rate[k]));
            CHECK_EQ(rts_scale(number[i], rate[k], hz10), by_128_bits(number[i], rate[k], hz10));
        }
        CHECK_EQ(rts_scale(number[i], two32 - 1, two32), by_128_bits(number[i], two32 - 1, two32));
        CHECK_EQ(rts_scale(number[i], number[i], two32), by_128_bits(number[i], number[i], two32));
    }
}

static void test_any_three(void)
{
    for (int i = 0; i < 1000000; i++) {
        uint64_t a = draw(64), b = draw(1 + i % 64), c = draw(1 + i / 64 % 32) + 1;
        CHECK_EQ(rts_scale(a, b, c), by_128_bits(a, b, c));
    }
}

TESTS(test_extremes_of_hartstone, test_any_three)
