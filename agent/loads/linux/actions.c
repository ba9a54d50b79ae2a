/* Load actions: several actions of load provoke, each at its own time of a cycle. */
#include "../steps.h"
#include "linux.h"
#include "provoke.h"

#define TEXT 480

typedef struct actions_params {
    int64_t every, consent;
    char steps[TEXT];
} actions_params;

static const rts_param actions_param[] = {
    RTS_STEP_PARAMS(actions_params),
    RTS_CHOICE(actions_params, consent, PROVOKE_CONSENTS, PROVOKE_OWN,
               "what the actions may do, as with load provoke"),
    RTS_PARAMS_END,
};

static const void *find(const char *name, size_t length)
{
    return provoke_named(name, length);
}

static int allowed(rts_running *l, const void *action)
{
    const actions_params *p = rts_load_params(l);
    return provoke_allowed(l, action, (provoke_consent)p->consent);
}

static int prepare(rts_running *l)
{
    const actions_params *p = rts_load_params(l);
    return rts_steps_check(l, p->steps, find, PROVOKE_MOST, (uint64_t)p->every, allowed);
}

static void run_step(rts_worker *w)
{
    const actions_params *p = rts_load_params(w->load);
    const char *rest = p->steps, *text = rest;
    rts_step s = {0};
    for (unsigned i = 0; i <= w->index; i++) {
        text = rest;
        if (!rts_step_read(&rest, find, PROVOKE_MOST, &s)) { /* prepare() refuses these */
            rts_worker_failed(w, "no step: '%s'", rest);
            return;
        }
    }
    const provoke_action *a = s.action;
    provoke_repeat(w, a, s.n ? s.n : a->n, (uint64_t)p->every, s.at);
    rts_step_failed(w, text);
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
