/* Loads provoke, one action again and again, and actions, several, each at its time of a cycle. */
#include "provoke.h"

#include <string.h>

#include "../steps.h"

typedef struct provoke_params {
    int64_t action, n;
} provoke_params;

static const rts_param provoke_param[] = {
    RTS_CHOICE(provoke_params, action, PROVOKE_ACTIONS, 0,
               "what it does (docs/guides/provoke.md): spin only computes, as a control"),
    RTS_INT(provoke_params, n, NULL, 0, 0, PROVOKE_MOST,
            "how many tasks, timers, messages or the like it uses; 0: as many as is usual for it"),
    RTS_PARAMS_END,
};

#define TEXT (RTS_PARAM_BYTES < 496 ? RTS_PARAM_BYTES - 16 : 480)

typedef struct actions_params {
    int64_t every;
    char steps[TEXT];
} actions_params;

static const rts_param actions_param[] = {RTS_STEP_PARAMS(actions_params), RTS_PARAMS_END};

/* ---- the memory of workers ------------------------------------------------------------------- */

/* Helpers are tasks of the load: they are deleted with it, before this memory is released. */
static size_t size_of(const provoke_action *a, unsigned n)
{
    size_t size = sizeof(provoke_work) + n * (a->help ? sizeof(rts_task) : sizeof(void *));
    return (size + 15) & ~(size_t)15;
}

/* Bytes of the heap that are for cases. */
#ifdef RTS_SMALL_CODE
#define OF_CASES (45u << 10)
#else
#define OF_CASES                                                                                   \
    (configTOTAL_HEAP_SIZE < (1u << 20) ? configTOTAL_HEAP_SIZE / 4 * 3 : configTOTAL_HEAP_SIZE / 2)
#endif

bool provoke_room(provoke_work *k, size_t size)
{
    if (xPortGetFreeHeapSize() >= OF_CASES + size)
        return true;
    rts_worker_unsupported(k->worker, "%u KiB of the heap of %u KiB stay free for cases",
                           OF_CASES >> 10, configTOTAL_HEAP_SIZE >> 10);
    return false;
}

/* ---- a worker -------------------------------------------------------------------------------- */

static void help(void *work)
{
    provoke_work *k = work;
    k->action->help(k);
}

static bool start_helpers(provoke_work *k)
{
    const size_t stack = configMINIMAL_STACK_SIZE * sizeof(StackType_t);
    const rts_task_attr attr = {.run = help,
                                .arg = k,
                                .prio = RTS_PRIO_MIN,
                                .policy = k->action->urgent ? RTS_FIFO : RTS_OTHER,
                                .stack = stack};
    rts_task *helper = provoke_helpers(k);
    for (unsigned i = 0; k->action->help && i < k->n; i++) {
        if (!provoke_room(k, stack))
            return false;
        int err = rts_task_create(&helper[i], &attr);
        if (err) {
            rts_worker_unsupported(k->worker, "cannot start a task: %s", rts_port_strerror(err));
            return false;
        }
    }
    return true;
}

/* Does rounds until the load ends: one after the other, or in cycles, as rts_step_await() does. */
static void repeat(provoke_work *k, uint64_t every, uint64_t at)
{
    const provoke_action *a = k->action;
    uint64_t cycle = 0;
    /* Not ready before the first round: what the system does not do is then known to all cases. */
    if ((!a->begin || a->begin(k)) && start_helpers(k) && a->round(k))
        do {
            k->worker->done++;
            if (every)
                rts_step_await(k->worker, every, at, &cycle);
        } while (rts_load_goes_on(k->worker) && a->round(k));
    if (a->end)
        a->end(k);
}

static provoke_work *new_work(rts_worker *w, void *memory, const provoke_action *a, unsigned n)
{
    provoke_work *k = memory;
    k->worker = w;
    k->action = a;
    k->n = n;
    return k;
}

/* ---- provoke --------------------------------------------------------------------------------- */

static unsigned number_of(const provoke_params *p)
{
    return p->n ? (unsigned)p->n : provoke_actions[p->action].n;
}

static size_t provoke_state(const void *params)
{
    const provoke_params *p = params;
    return size_of(&provoke_actions[p->action], number_of(p));
}

static void run_provoke(rts_worker *w)
{
    const provoke_params *p = rts_load_params(w->load);
    repeat(new_work(w, w->load->state, &provoke_actions[p->action], number_of(p)), 0, 0);
}

/* ---- actions --------------------------------------------------------------------------------- */

static const void *find(const char *name, size_t length)
{
    for (unsigned i = 0; i < provoke_n_actions; i++) {
        const provoke_action *a = &provoke_actions[i];
        if (!strncmp(a->name, name, length) && !a->name[length])
            return a;
    }
    return NULL;
}

/* Reads the step at *text; false: there is none. Returns its size and its action's `n`. */
static bool next_step(const char **text, rts_step *s, size_t *size)
{
    if (!**text || !rts_step_read(text, find, PROVOKE_MOST, s))
        return false;
    const provoke_action *a = s->action;
    s->n = s->n ? s->n : a->n;
    *size = size_of(a, s->n);
    return true;
}

static size_t actions_state(const void *params)
{
    const actions_params *p = params;
    const char *rest = p->steps;
    size_t sum = 0, size;
    for (rts_step s; next_step(&rest, &s, &size);)
        sum += size;
    return sum;
}

static int prepare_actions(rts_running *l)
{
    const actions_params *p = rts_load_params(l);
    return rts_steps_check(l, p->steps, find, PROVOKE_MOST, (uint64_t)p->every, NULL);
}

static void run_step(rts_worker *w)
{
    const actions_params *p = rts_load_params(w->load);
    const char *rest = p->steps, *text = rest;
    char *memory = w->load->state;
    size_t size = 0;
    rts_step s;
    for (unsigned i = 0; i <= w->index; i++) {
        memory += size;
        text = rest;
        if (!next_step(&rest, &s, &size)) { /* prepare_actions() refuses these */
            rts_worker_failed(w, "no step: '%s'", rest);
            return;
        }
    }
    repeat(new_work(w, memory, s.action, s.n), (uint64_t)p->every, s.at);
    rts_step_failed(w, text);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_load loads[] = {
    {.id = "provoke",
     .title = RTS_SAY("One thing that other tasks do, again and again"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("A time-sharing task, with others that help it, makes the kernel do one kind "
                     "of work: the work that may delay a wake-up meanwhile. Counted are rounds "
                     "that completed."),
     .params = provoke_param,
     .place = RTS_PLACE_MEASURED,
     .state = provoke_state,
     .component = RTS_PARTS({.name = "provoke",
                             .title = "rounds of the action",
                             .unit = "rounds",
                             .run = run_provoke})},
    {.id = "actions",
     .title = RTS_SAY("Several things that other tasks do, each at its time"),
     .source = RTS_SAY("rtstone"),
     .help = RTS_SAY("A time-sharing task for each step does an action of load provoke once in "
                     "every cycle. `rtstone search` looks for the steps that delay a wake-up most. "
                     "Counted are rounds that completed."),
     .params = actions_param,
     .place = RTS_PLACE_MEASURED,
     .state = actions_state,
     .prepare = prepare_actions,
     .component = RTS_PARTS({.name = "actions",
                             .title = "rounds of the actions",
                             .unit = "rounds",
                             .workers = "steps",
                             .periodic = true,
                             .run = run_step})},
};
RTS_LOADS(loads);
