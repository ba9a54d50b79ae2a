/* What the components of Rhealstone store of a classic measurement. */
#include "../benches/rheal.h"
#include "check.h"

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

TESTS(test_parts_add_up_by_name_and_have_a_limit)
