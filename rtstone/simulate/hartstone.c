#include "hartstone.h"

#include <stdbool.h>
#include <stdlib.h>

#define NEVER INT64_MAX
#define NOBODY (-1)
#define ABOVE_ALL INT64_MIN
#define ENDED_KEY (INT64_C(1) << 61) /* of EDF: after all deadlines, before the background */

/* What a task does next. */
typedef enum phase {
    OWN,     /* its own work */
    CALL,    /* asks for the server */
    SERVICE, /* the server's work */
    RETURN,  /* the call has returned: the activation is complete */
    CLOSE,   /* sheds what has passed, and waits for the next release */
    LEAVE,   /* had its last activation */
} phase;

typedef struct task {
    int64_t key;       /* urgency, its own or inherited; smaller is more urgent */
    int64_t own_key;   /* its own */
    int64_t left;      /* execution time until the end of the phase */
    int64_t at;        /* its activation */
    int64_t completed; /* when the last one was */
    phase phase;
} task;

typedef struct entry {
    int64_t key, who;
} entry;

/* In order of urgency, the first at the end. */
typedef struct queue {
    entry *at;
    int64_t n;
} queue;

typedef struct sim {
    const hart_set *set;
    const hart_rules *rules;
    hart_counts *counts;
    hart_totals *totals;
    task *all;
    int64_t now;
    int64_t busy;       /* the kernel has the CPU until then */
    int64_t current;    /* the task that runs */
    int64_t executed;   /* who had the CPU last; the server's task is number `tasks` */
    int64_t owner;      /* of the mutex */
    int64_t unfinished; /* tasks */
    int64_t next_tick;
    int64_t used;   /* of the runtime of this period; more than it by at most one switch */
    int64_t refill; /* when the next period begins */
    queue ready, waiting, asleep; /* waiting: for the mutex; asleep: by release */
} sim;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* Behind all that are as urgent, or before them. */
static void add(queue *q, int64_t key, int64_t who, bool first)
{
    int64_t place = q->n++;
    for (; place > 0; place--) {
        int64_t other = q->at[place - 1].key;
        if (other > key || (other == key && first))
            break;
        q->at[place] = q->at[place - 1];
    }
    q->at[place] = (entry){key, who};
}

static int64_t take_first(queue *q)
{
    return q->at[--q->n].who;
}

static int64_t first_key(const queue *q)
{
    return q->n ? q->at[q->n - 1].key : NEVER;
}

static void take_out(queue *q, int64_t who)
{
    int64_t place = 0;
    while (q->at[place].who != who)
        place++;
    for (q->n--; place < q->n; place++)
        q->at[place] = q->at[place + 1];
}

/* ---- activations ----------------------------------------------------------------------------- */

static void begin(sim *s, int64_t who)
{
    const hart_set *set = s->set;
    task *t = &s->all[who];
    bool by_level = s->rules->policy == HART_RM || set->background[who];
    t->own_key = by_level ? set->level[who] : set->release[t->at] + set->relative[who];
    t->key = t->own_key;
    t->left = set->own[who];
    t->phase = t->left ? OWN : CALL;
}

static void complete(sim *s, int64_t who)
{
    hart_counts *c = &s->counts[who];
    task *t = &s->all[who];
    int64_t due = s->set->due[t->at], response = s->now - s->set->release[t->at];
    s->totals->events++;
    t->completed = s->now;
    t->phase = CLOSE;
    c->longest = response > c->longest ? response : c->longest;
    if (due > s->set->end)
        return;
    c->met += s->now <= due;
    c->missed += s->now > due;
    c->late += s->now > due ? s->now - due : 0;
}

/* What was released before the completion is lost, but not to the background. */
static void close_activation(sim *s, int64_t who)
{
    const hart_set *set = s->set;
    task *t = &s->all[who];
    int64_t last = set->first[who + 1];
    for (t->at++; t->at < last && !set->background[who]; t->at++) {
        if (set->release[t->at] >= t->completed)
            break;
        s->counts[who].skipped += set->due[t->at] <= set->end;
    }
    if (t->at == last) {
        t->phase = LEAVE;
        t->key = s->rules->policy == HART_RM ? ABOVE_ALL : ENDED_KEY;
        return;
    }
    begin(s, who);
    if (set->release[t->at] <= s->now)
        return; /* it goes on */
    add(&s->asleep, set->release[t->at], who, false);
    s->current = NOBODY;
}

static void leave(sim *s, int64_t who)
{
    s->totals->last = who;
    s->totals->last_time = s->now;
    s->current = NOBODY;
    s->unfinished--;
}

/* ---- the server ------------------------------------------------------------------------------ */

static void begin_service(sim *s, int64_t who)
{
    s->all[who].phase = SERVICE;
    s->all[who].left = s->set->service;
}

/* Who has the mutex executes with the urgency of who asks for it, behind all as urgent. */
static void wait_for_mutex(sim *s, int64_t who)
{
    task *owner = &s->all[s->owner];
    int64_t key = s->all[who].key;
    add(&s->waiting, key, who, false);
    s->current = NOBODY;
    if (key >= owner->key)
        return;
    owner->key = key;
    take_out(&s->ready, s->owner);
    add(&s->ready, key, s->owner, false);
}

static void call(sim *s, int64_t who)
{
    s->totals->events++;
    if (s->rules->form == HART_MONITOR && s->owner != NOBODY) {
        wait_for_mutex(s, who);
        return;
    }
    if (s->rules->form == HART_MONITOR)
        s->owner = who;
    else
        s->all[who].key = ABOVE_ALL;
    begin_service(s, who);
}

/* The mutex goes to the first who waits. */
static void end_service(sim *s, int64_t who)
{
    task *t = &s->all[who];
    t->key = t->own_key;
    t->phase = RETURN;
    s->owner = NOBODY;
    if (!s->waiting.n)
        return;
    s->owner = take_first(&s->waiting);
    begin_service(s, s->owner);
    add(&s->ready, s->all[s->owner].key, s->owner, false);
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* What the task that runs does without time; false: it has work to do. */
static bool step(sim *s)
{
    int64_t who = s->current;
    switch (s->all[who].phase) {
    case CALL:
        call(s, who);
        return true;
    case RETURN:
        complete(s, who);
        return true;
    case CLOSE:
        close_activation(s, who);
        return true;
    case LEAVE:
        leave(s, who);
        return true;
    default:
        return false;
    }
}

/* The most urgent, and among equals who has the CPU; then who had it before, or was ready first. */
static void choose(sim *s)
{
    if (s->current != NOBODY && s->ready.n && first_key(&s->ready) < s->all[s->current].key) {
        add(&s->ready, s->all[s->current].key, s->current, true);
        s->current = NOBODY;
    }
    if (s->current == NOBODY && s->ready.n)
        s->current = take_first(&s->ready);
}

static int64_t executes(const sim *s)
{
    bool serves = s->current != NOBODY && s->all[s->current].phase == SERVICE;
    return serves && s->rules->form == HART_SERVER ? s->set->tasks : s->current;
}

/* Lets the tasks do all that takes no time, until one has work, or the kernel has. */
static void decide(sim *s)
{
    do {
        choose(s);
        bool goes_on = executes(s) == s->executed;
        s->executed = executes(s);
        if (!goes_on && s->current != NOBODY && s->rules->switch_cost) {
            s->busy = s->now + s->rules->switch_cost;
            return;
        }
    } while (s->current != NOBODY && step(s));
}

/* ---- the course of time ---------------------------------------------------------------------- */

static int64_t next_time(const sim *s)
{
    int64_t time = smaller(smaller(first_key(&s->asleep), s->next_tick), s->refill);
    if (s->busy > s->now)
        return smaller(time, s->busy);
    if (s->current == NOBODY)
        return time;
    if (s->rules->runtime)
        time = smaller(time, s->now + s->rules->runtime - s->used);
    return smaller(time, s->now + s->all[s->current].left);
}

/* Pauses all tasks until the next period if they have used up what is theirs of this one. */
static void throttle(sim *s, int64_t span)
{
    s->used += span;
    if (s->rules->runtime && s->used >= s->rules->runtime && s->busy < s->refill)
        s->busy = s->refill;
}

/* Goes on to what happens next. */
static void pass(sim *s)
{
    int64_t time = next_time(s), span = time - s->now;
    bool worked = s->busy <= s->now && s->current != NOBODY;
    s->now = time;
    if (!worked)
        return;
    task *t = &s->all[s->current];
    t->left -= span;
    throttle(s, span);
    if (t->left)
        return;
    if (t->phase == SERVICE)
        end_service(s, s->current);
    else if (s->set->calls[s->current])
        t->phase = CALL;
    else
        complete(s, s->current);
}

static void happen(sim *s)
{
    while (s->asleep.n && first_key(&s->asleep) == s->now) {
        int64_t who = take_first(&s->asleep);
        s->totals->events++;
        add(&s->ready, s->all[who].key, who, false);
    }
    if (s->refill == s->now) {
        s->used = 0;
        s->refill += s->rules->period;
    }
    if (s->next_tick == s->now) {
        s->totals->events++;
        s->busy = (s->busy > s->now ? s->busy : s->now) + s->rules->tick_cost;
        s->next_tick += s->rules->tick;
    }
}

static void set_up(sim *s)
{
    const hart_set *set = s->set;
    *s->totals = (hart_totals){.last = NOBODY};
    for (int64_t who = 0; who < set->tasks; who++) {
        s->counts[who] = (hart_counts){0};
        s->all[who] = (task){.at = set->first[who]};
        if (set->first[who] == set->first[who + 1])
            continue;
        begin(s, who);
        add(&s->asleep, set->release[set->first[who]], who, false);
        s->unfinished++;
    }
}

static void simulate(sim *s)
{
    for (happen(s); s->unfinished; happen(s)) {
        if (s->busy <= s->now)
            decide(s);
        if (s->unfinished)
            pass(s);
    }
}

int hart_run(const hart_set *set, const hart_rules *rules, hart_counts *counts, hart_totals *totals)
{
    if (set->tasks < 0 || set->tasks >= INT32_MAX)
        return -1;
    sim s = {
        .set = set,
        .rules = rules,
        .counts = counts,
        .totals = totals,
        .current = NOBODY,
        .executed = NOBODY,
        .owner = NOBODY,
        .next_tick = rules->tick ? rules->tick : NEVER,
        .refill = rules->runtime ? rules->period : NEVER,
    };
    size_t room = (size_t)set->tasks + 1;
    s.all = malloc(room * sizeof *s.all);
    s.ready.at = malloc(room * sizeof *s.ready.at);
    s.waiting.at = malloc(room * sizeof *s.waiting.at);
    s.asleep.at = malloc(room * sizeof *s.asleep.at);
    bool memory = s.all && s.ready.at && s.waiting.at && s.asleep.at;
    if (memory) {
        set_up(&s);
        simulate(&s);
    }
    free(s.all);
    free(s.ready.at);
    free(s.waiting.at);
    free(s.asleep.at);
    return memory ? 0 : -1;
}
