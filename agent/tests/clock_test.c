/* The frequency of the counter, whatever is reported of it. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "posix.h"

static uint64_t reported;
static char logged[256];

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
uint64_t __wrap_posix_counter_hz(void);
bool __wrap_posix_counter_is_stable(void);
void __wrap_rts_log(const char *level, const char *format, ...);
/* NOLINTEND(misc-use-internal-linkage) */

uint64_t __wrap_posix_counter_hz(void)
{
    return reported;
}

bool __wrap_posix_counter_is_stable(void)
{
    return true;
}

void __wrap_rts_log(const char *level, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rts_print(logged, sizeof logged, "%s: ", level);
    rts_vprint(logged + strlen(logged), sizeof logged - strlen(logged), format, args);
    va_end(args);
}

static rts_clock chosen(uint64_t hz)
{
    rts_clock clock = {0};
    reported = hz;
    logged[0] = '\0';
    CHECK_EQ(rts_port_clock_init(&clock), 0);
    return clock;
}

static void test_a_wrong_report_is_not_believed(void)
{
    double wrong = (double)chosen(10000).hz; /* no counter is that slow */
    CHECK(strstr(logged, "says that the counter has 10000 Hz, but it has "));
    uint64_t right = (uint64_t)wrong;
    CHECK_EQ(chosen(right).hz, right);
    CHECK_STR(logged, "");
    CHECK(fabs((double)chosen(right * 2).hz / wrong - 1) < 0.001);
    CHECK(strstr(logged, "warn: ") == logged);
}

/*
 * A clock that advances by 40 at each reading, and by one more at the second of each of the first
 * `odd` pairs that rts_clock_granule() reads.
 */
static struct {
    rts_tick time;
    unsigned pair, reading, odd;
} planted;

static rts_tick planted_reading(void)
{
    bool second = planted.reading == 1;
    planted.time += 40 + (second && planted.pair < planted.odd);
    if (++planted.reading == 2 + planted.pair % 61) {
        planted.reading = 0;
        planted.pair++;
    }
    return planted.time;
}

static uint64_t granule_with(unsigned odd)
{
    memset(&planted, 0, sizeof planted);
    planted.odd = odd;
    return rts_clock_granule(planted_reading);
}

static void test_a_granule_fits_99_of_100_differences(void)
{
    CHECK_EQ(granule_with(0), 40);
    CHECK_EQ(granule_with(RTS_GRANULE_READS / 100), 40);
    CHECK_EQ(granule_with(RTS_GRANULE_READS / 100 + 1), 1);
}

/* The last test: where the counter is not used, its readings are replaced for good. */
static void test_without_a_report(void)
{
    rts_clock clock = chosen(0);
#if defined __aarch64__ || defined __arm__
    CHECK_STR(clock.source, "vdso");
    CHECK_EQ(clock.hz, RTS_TIME_HZ);
    CHECK(strstr(logged, " is 0: the firmware has not set up the counter"));
    rts_tick before = rts_time(), stamp = rts_now();
    CHECK(stamp >= before && stamp <= rts_time());
#else
    CHECK(clock.hz > 10000);
#endif
}

TESTS(test_a_wrong_report_is_not_believed, test_a_granule_fits_99_of_100_differences,
      test_without_a_report)
