/* The record writer, byte for byte, on a port that stores what is written. */
#include "wire.h"

#include <string.h>

#include "check.h"
#include "port.h"

static char out[4096];
static size_t used;

void rts_port_put(const char *bytes, size_t n)
{
    memcpy(out + used, bytes, n);
    used += n;
}

void rts_port_flush(void)
{
    out[used] = '\0';
    used = 0;
}

static void test_crc_of_the_standard_vector(void)
{
    CHECK_EQ(rts_crc32(0, "123456789", 9), 0xcbf43926);
    CHECK_EQ(rts_crc32(rts_crc32(0, "1234", 4), "56789", 5), 0xcbf43926);
}

static void test_a_record(void)
{
    rts_wire *w = rts_wire_begin("case");
    rts_wire_uint(w, "max", UINT64_MAX);
    rts_wire_int(w, "min", INT64_MIN);
    rts_wire_open(w, "list", '[');
    rts_wire_int(w, NULL, -1);
    rts_wire_open(w, NULL, '{');
    rts_wire_bool(w, "yes", true);
    rts_wire_null(w, "no");
    rts_wire_close(w, '}');
    rts_wire_close(w, ']');
    rts_wire_str(w, "last", NULL);
    rts_wire_end(w);
    const char *body = "0 {\"t\":\"case\",\"max\":18446744073709551615,"
                       "\"min\":-9223372036854775808,\"list\":[-1,{\"yes\":true,\"no\":null}],"
                       "\"last\":null}";
    char expected[512];
    snprintf(expected, sizeof expected, "#rts %s %08x\n", body,
             rts_crc32(0, body, (unsigned)strlen(body)));
    CHECK_STR(out, expected);
}

static void test_strings_are_ascii_on_one_line(void)
{
    rts_wire *w = rts_wire_begin("log");
    rts_wire_str(w, "s", "a\"b\\c\nd\te\x7f|\xc3\xa9|\xe2\x82\xac|\xf0\x9f\x98\x80|\xff|\xc3");
    rts_wire_end(w);
    CHECK(strstr(out, "\"s\":\"a\\\"b\\\\c\\u000ad\\u0009e\\u007f|\\u00e9|\\u20ac|\\ud83d\\ude00|"
                      "\\u00ff|\\u00c3\"") != NULL);
}

static void test_reals(void)
{
    rts_wire *w = rts_wire_begin("x");
    rts_wire_real(w, "a", 0.385);
    rts_wire_real(w, "b", -1.0005);
    rts_wire_real(w, "c", 1e300);
    rts_wire_real(w, "d", 0.0 / 0.0);
    rts_wire_real(w, "e", 1234567890.0);
    rts_wire_end(w);
    CHECK(strstr(out, "\"a\":0.385,\"b\":-1.001,\"c\":null,\"d\":null,\"e\":1234567890.000}") !=
          NULL);
}

static void test_long_records_are_whole(void)
{
    rts_wire *w = rts_wire_begin("hist");
    rts_wire_open(w, "v", '[');
    for (unsigned i = 0; i < 500; i++)
        rts_wire_uint(w, NULL, i % 10);
    rts_wire_close(w, ']');
    rts_wire_end(w);
    const char *body = strchr(out, ' ') + 1;
    const char *crc = strrchr(out, ' ');
    char expected[16];
    snprintf(expected, sizeof expected, " %08x\n", rts_crc32(0, body, (unsigned)(crc - body)));
    CHECK_STR(crc, expected);
    CHECK(strlen(out) > 1000);
}

TESTS(test_crc_of_the_standard_vector, test_a_record, test_strings_are_ascii_on_one_line,
      test_reals, test_long_records_are_whole)
