#include "steps.h"

#include <string.h>

/* Moves *s past a character; returns whether it is there. */
static bool skip(const char **s, char c)
{
    bool is = **s == c;
    *s += is;
    return is;
}

/* Reads a number from `least` to `most` at *s and moves *s past it; false: there is none. */
static bool read_number(const char **s, int64_t least, int64_t most, int64_t *value)
{
    return rts_number(s, value) && *value >= least && *value <= most;
}

bool rts_step_read(const char **text, rts_action_find *find, int64_t most, rts_step *step)
{
    const char *s = *text;
    size_t length = strcspn(s, "*@,");
    int64_t n = 0, at = 0;
    step->action = find(s, length);
    s += length;
    if (!step->action || (skip(&s, '*') && !read_number(&s, 1, most, &n)) || !skip(&s, '@') ||
        !read_number(&s, 0, 1000000, &at) || !skip(&s, 'u') || !skip(&s, 's') ||
        (*s && (!skip(&s, ',') || !*s)))
        return false;
    step->n = (unsigned)n;
    step->at = (uint64_t)at * 1000;
    *text = s;
    return true;
}

int rts_steps_check(rts_running *l, const char *text, rts_action_find *find, int64_t most,
                    uint64_t every, int (*allowed)(rts_running *l, const void *action))
{
    const char *rest = text;
    unsigned n = 0;
    for (rts_step s; *rest; n++) {
        const char *here = rest;
        if (!rts_step_read(&rest, find, most, &s))
            return rts_load_unsupported(l, "no step: '%s'; write ACTION*N@TIMEus", here);
        if (s.at >= every)
            return rts_load_unsupported(l, "after the end of the cycle: '%s'", here);
        if (allowed && allowed(l, s.action))
            return -1;
    }
    return n <= RTS_STEPS ? 0 : rts_load_unsupported(l, "%u steps: %u is the most", n, RTS_STEPS);
}

/* Sleeps; where sleeps end at ticks, until the last one before the time, and yields from then on.
 */
static void sleep_until(rts_ns time)
{
    const uint64_t tick_ns =
        RTS_SLEEP_GRAIN == 1 ? 0 : RTS_SLEEP_GRAIN * RTS_NS_PER_S / RTS_TIME_HZ;
    rts_sleep_until_ns(rts_ns_of(time.ns - tick_ns));
    while (tick_ns && rts_ns_less(rts_time_ns(), time))
        rts_yield();
}

void rts_step_await(rts_worker *w, uint64_t every, uint64_t at, uint64_t *cycle)
{
    uint64_t now = rts_time_ns().ns;
    uint64_t next = now < at ? 0 : (now - at) / every + 1;
    if (*cycle)
        w->missed += next - *cycle - 1;
    *cycle = next;
    sleep_until(rts_ns_of(next * every + at));
}

void rts_step_failed(rts_worker *w, const char *text)
{
    char why[RTS_REASON];
    if (!w->why[0])
        return;
    rts_print(why, sizeof why, "%.*s: %s", (int)strcspn(text, ","), text, w->why);
    memcpy(w->why, why, sizeof why);
}
