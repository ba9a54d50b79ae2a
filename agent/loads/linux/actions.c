/* Load actions: several actions of load provoke, each at its own time of a cycle. */
#include <string.h>

#include "linux.h"
#include "provoke.h"

#define STEPS 16
#define TEXT 480

typedef struct actions_params {
    int64_t every, consent;
    char steps[TEXT];
} actions_params;

/* 4.937 ms is no multiple of a usual period, so that the actions come at all times of it in turn.
 */
static const rts_param actions_param[] = {
    RTS_DURATION(actions_params, every, 4937000, 1000000, RTS_NS_PER_S, "length of a cycle"),
    RTS_TEXT(actions_params, steps,
             "what is done in each cycle, and when: ACTION*N@TIMEus,... with the actions of load "
             "provoke, how many each uses (without *N as many as is usual for it), and the time "
             "since the start of the cycle"),
    RTS_CHOICE(actions_params, consent, PROVOKE_CONSENTS, PROVOKE_OWN,
               "what the actions may do, as with load provoke"),
    RTS_PARAMS_END,
};

typedef struct step {
    const provoke_action *action;
    unsigned n;
    uint64_t at; /* ns */
} step;

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

/* Reads a step at *text and moves *text past it and its comma; false: it is none. */
static bool read_step(const char **text, step *out)
{
    const char *s = *text;
    size_t length = strcspn(s, "*@,");
    int64_t n = 0, at = 0;
    out->action = provoke_named(s, length);
    s += length;
    if (!out->action || (skip(&s, '*') && !read_number(&s, 1, PROVOKE_MOST, &n)) ||
        !skip(&s, '@') || !read_number(&s, 0, 1000000, &at) || !skip(&s, 'u') || !skip(&s, 's') ||
        (*s && (!skip(&s, ',') || !*s)))
        return false;
    out->n = n ? (unsigned)n : out->action->n;
    out->at = (uint64_t)at * 1000;
    *text = s;
    return true;
}

static int prepare(rts_running *l)
{
    const actions_params *p = rts_load_params(l);
    const char *rest = p->steps;
    unsigned n = 0;
    for (step s; *rest; n++) {
        const char *text = rest;
        if (!read_step(&rest, &s))
            return rts_load_unsupported(l, "no step: '%s'; write ACTION*N@TIMEus", text);
        if (s.at >= (uint64_t)p->every)
            return rts_load_unsupported(l, "after the end of the cycle: '%s'", text);
        if (provoke_allowed(l, s.action, (provoke_consent)p->consent))
            return -1;
    }
    return n <= STEPS ? 0 : rts_load_unsupported(l, "%u steps: %u is the most", n, STEPS);
}

static void run_step(rts_worker *w)
{
    const actions_params *p = rts_load_params(w->load);
    const char *rest = p->steps;
    step s = {0};
    for (unsigned i = 0; i <= w->index; i++)
        if (!read_step(&rest, &s)) { /* prepare() refuses these */
            rts_worker_failed(w, "no step: '%s'", rest);
            return;
        }
    provoke_repeat(w, s.action, s.n, (uint64_t)p->every, s.at);
}

static const rts_load loads[] = {
    {.id = "actions",
     .title = RTS_SAY("Several things that other programs do, each at its time"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY(
         "A time-sharing process for each step does an action of load provoke once in every cycle. "
         "`rtstone search` looks for the steps that delay a wake-up most. Counted are rounds that "
         "completed."),
     .params = actions_param,
     .needs = RTS_CAP_PROCESS | RTS_CAP_FILES,
     .place = RTS_PLACE_MEASURED,
     .prepare = prepare,
     .component = RTS_PARTS({.name = "actions",
                             .title = "rounds of the actions",
                             .unit = "rounds",
                             .workers = "steps",
                             .periodic = true,
                             .run = run_step})},
};
RTS_LOADS(loads);
