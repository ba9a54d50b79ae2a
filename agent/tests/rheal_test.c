/* What the components of Rhealstone store of a classic measurement. */
#include <string.h>

#include "../benches/rheal.h"
#include "check.h"
#include "clock.h"

static void test_parts_add_up_by_name_and_have_a_limit(void)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
    static rts_case c;
    static struct {
        rheal_frame f;
        rheal_part beyond;
    } s = {.f = {.c = &c}, .beyond = {"beyond", 17}};
    for (int round = 0; round < 2; round++)
        for (unsigned i = 0; i < RHEAL_PARTS; i++)
            rheal_note(&s.f, names[i], i);
    CHECK_EQ(s.f.parts, RHEAL_PARTS);
    CHECK_EQ((int)s.f.part[7].sum, 14);
    CHECK_EQ(c.status, RTS_S_OK);
    rheal_note(&s.f, names[RHEAL_PARTS], 1);
    CHECK_EQ(c.status, RTS_S_FAILED);
    CHECK_EQ(s.f.parts, RHEAL_PARTS);
    CHECK_EQ((int)s.beyond.sum, 17);
}

/* As on FreeRTOS, where a yield with no other task ready takes longer than one that switches. */
static int subtract_more(void *state, double *ticks)
{
    static unsigned before; /* measurements; the first ones have a result */
    rheal_note(state, "T_dir", 144 + before);
    rheal_note(state, "T_loop", -2.5);
    *ticks = before++ < 2 ? 3 : -23.5;
    return 0;
}

static void test_a_difference_below_zero_is_no_result_and_its_parts_show_why(void)
{
    static rts_case c;
    static rts_rec rec;
    static const rheal_params params = {.form = RHEAL_CLASSIC};
    rheal_frame f = {.c = &c, .p = &params, .scale = 1};
    rts_the_clock.hz = 1000000000;
    rts_the_clock.unit = "ns";
    c.rec = &rec;
    rts_rec_init(&rec, &(rts_rec_setup){.hz = rts_the_clock.hz, .samples = 5});
    CHECK(rheal_measure(&f, NULL, subtract_more) != 0);
    CHECK_EQ(c.status, RTS_S_UNSUPPORTED);
    CHECK_STR(c.reason, "n.e.: by the loop difference an event takes -23.5 in the unit of the "
                        "clock; T_dir: 145.0; T_loop: -2.5");
}

TESTS(test_parts_add_up_by_name_and_have_a_limit,
      test_a_difference_below_zero_is_no_result_and_its_parts_show_why)
