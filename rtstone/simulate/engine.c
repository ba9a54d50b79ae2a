#include "engine.h"

#include <stdbool.h>
#include <stdlib.h>

#define NEVER INT64_MAX
#define NOBODY (-1)
#define LAST (NEVER - 1) /* key of the background */

/* A task, or the server: what it executes is its oldest job or request. */
typedef struct entity {
    int64_t key;      /* urgency under the policy; smaller is more urgent */
    int64_t released; /* of the oldest job */
    int64_t due;      /* its absolute deadline */
    int64_t left;     /* execution time it still needs */
    int64_t done;     /* execution time it has had */
    int64_t job;      /* its number */
    int64_t queued;   /* jobs released and not completed */
    int64_t action;   /* next action of the job */
    bool pending;
    bool started; /* the oldest job has begun to execute; a server never has */
} entity;

/* A tournament: finds the smallest key, and among equals the smallest number.  won[1] has won, the
 * children of won[i] are won[2 * i] and the next, and all numbers, `leaves` in a power of two, are
 * the last of them. */
typedef struct tree {
    int64_t leaves;
    int64_t *key;
    int32_t *won;
} tree;

typedef struct refill {
    int64_t at, amount;
} refill;

typedef struct sim {
    const sim_set *set;
    sim_rules rules;
    sim_counts *counts;
    sim_totals totals;
    int64_t *completed, *request_completed;
    int64_t now;
    int64_t busy;    /* the kernel has the CPU until then */
    int64_t current; /* who has the CPU */
    int64_t slice;   /* what is left of the quantum */
    int64_t turn;    /* of SIM_RR */
    int64_t next_tick;
    int64_t outside; /* when something comes from there */
    int64_t missed;
    entity *all;  /* tasks, then the server */
    tree pending; /* by urgency */
    tree coming;  /* tasks by next release */
    int64_t *owner, ceiling;
    /* the server */
    int64_t arrived, budget;
    int64_t used, active_since; /* of SIM_SPORADIC: since it became pending */
    int64_t next_refill;        /* of SIM_POLLING and SIM_DEFERRABLE */
    refill *refills;            /* of SIM_SPORADIC: a ring */
    int64_t refill_first, refill_n;
} sim;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* ---- tournaments ----------------------------------------------------------------------------- */

/* Sets a key.  Without branches on what is compared, which no processor could predict; among
 * equals the left one of two, at an even place, has the smaller number. */
static void put(const tree *t, int64_t who, int64_t key)
{
    t->key[who] = key;
    for (int64_t at = t->leaves + who; at > 1; at /= 2) {
        int64_t other = t->won[at ^ 1], its = t->key[other], is_smaller = at & 1;
        int64_t lost = -(int64_t)(its - is_smaller < key);
        who = (who & ~lost) | (other & lost);
        key = smaller(key, its);
        t->won[at / 2] = (int32_t)who;
    }
}

/* As put; quicker if it was the first and stays so, as only its own key needs to be known then. */
static void put_back(const tree *t, int64_t who, int64_t key)
{
    bool lost = t->won[1] != who;
    for (int64_t at = t->leaves + who; at > 1; at /= 2) {
        int64_t is_smaller = at & 1;
        lost |= t->key[t->won[at ^ 1]] - is_smaller < key;
    }
    if (lost)
        put(t, who, key);
    else
        t->key[who] = key;
}

static int64_t first_key(const tree *t)
{
    return t->key[t->won[1]];
}

/* ---- who is pending -------------------------------------------------------------------------- */

static void add_pending(sim *s, int64_t who)
{
    s->all[who].pending = true;
    put(&s->pending, who, s->all[who].key);
}

static void drop_pending(sim *s, int64_t who)
{
    s->all[who].pending = false;
    put(&s->pending, who, NEVER);
}

static bool is_server(const sim *s, int64_t who)
{
    return who == s->set->tasks;
}

/* Sets the urgency of what is about to wait for the CPU; `nominal` is what it is thought to need.
 */
static void set_key(sim *s, int64_t who, int64_t nominal)
{
    entity *e = &s->all[who];
    switch (s->rules.policy) {
    case SIM_FIXED:
        e->key = s->set->prio[who];
        break;
    case SIM_FIFO:
        e->key = e->released;
        break;
    case SIM_RR:
        e->key = s->turn++;
        break;
    case SIM_EDF:
        e->key = e->due;
        break;
    default:
        e->key = e->due - nominal;
        break;
    }
}

/* The oldest job of a task becomes the one that it executes. */
static void begin_job(sim *s, int64_t task)
{
    const sim_set *set = s->set;
    entity *e = &s->all[task];
    e->released = set->offset[task] + e->job * set->period[task];
    e->due = e->released + set->deadline[task];
    e->left = set->work ? set->work[set->first[task] + e->job] : set->nominal[task];
    e->done = 0;
    e->started = false;
    e->action = set->resources ? set->action_first[task] : 0;
    set_key(s, task, set->nominal[task]);
    if (task == s->current)
        s->slice = s->rules.quantum;
}

/* ---- resources ------------------------------------------------------------------------------- */

static bool has_action(const sim *s, int64_t who)
{
    return s->set->resources && !is_server(s, who) &&
           s->all[who].action < s->set->action_first[who + 1];
}

/* The resource that a task is about to take, or NOBODY. */
static int64_t wanted(const sim *s, int64_t who)
{
    if (!has_action(s, who))
        return NOBODY;
    int64_t action = s->all[who].action, what = s->set->action_what[action];
    return what > 0 && s->set->action_at[action] == s->all[who].done ? what - 1 : NOBODY;
}

/* Who holds what a task is about to take, or NOBODY. */
static int64_t holder(const sim *s, int64_t who)
{
    int64_t resource = wanted(s, who);
    return resource == NOBODY ? NOBODY : s->owner[resource];
}

/* The ceiling of the system: the highest level of a task that uses what is taken. */
static void find_ceiling(sim *s)
{
    const sim_set *set = s->set;
    s->ceiling = INT64_MIN;
    for (int64_t task = 0; task < set->tasks; task++) {
        for (int64_t a = set->action_first[task]; a < set->action_first[task + 1]; a++) {
            int64_t what = set->action_what[a];
            if (what > 0 && s->owner[what - 1] != NOBODY)
                s->ceiling = larger(s->ceiling, set->level[task]);
        }
    }
}

static void hold(sim *s, int64_t resource, int64_t who)
{
    s->owner[resource] = who;
    s->totals.events++;
    if (s->rules.protocol == SIM_CEILING)
        find_ceiling(s);
}

/* Takes what is free and due at this progress; false: somebody else has it. */
static bool take_due(sim *s, int64_t who)
{
    for (int64_t resource; (resource = wanted(s, who)) != NOBODY; s->all[who].action++) {
        if (s->owner[resource] != NOBODY)
            return false;
        hold(s, resource, who);
    }
    return true;
}

static void give_due(sim *s, int64_t who)
{
    const sim_set *set = s->set;
    entity *e = &s->all[who];
    while (has_action(s, who) && set->action_at[e->action] == e->done &&
           set->action_what[e->action] < 0)
        hold(s, -set->action_what[e->action++] - 1, NOBODY);
}

static void give_all(sim *s, int64_t who)
{
    const sim_set *set = s->set;
    for (int64_t a = set->action_first[who]; a < set->action_first[who + 1]; a++) {
        int64_t what = set->action_what[a];
        if (what > 0 && s->owner[what - 1] == who)
            hold(s, what - 1, NOBODY);
    }
}

/* ---- the decision ---------------------------------------------------------------------------- */

/* Who executes on behalf of a pending candidate: itself, who it waits for, or NOBODY. */
static int64_t runner(const sim *s, int64_t candidate)
{
    int64_t who = candidate, by;
    bool background = is_server(s, who) && s->rules.server == SIM_BACKGROUND;
    if (s->rules.protocol == SIM_CEILING && !s->all[who].started && !background &&
        s->set->level[who] <= s->ceiling)
        return NOBODY;
    for (int64_t steps = 0; (by = holder(s, who)) != NOBODY; steps++) {
        if (s->rules.protocol != SIM_INHERIT || steps > s->set->tasks)
            return NOBODY; /* it waits, or all wait for each other */
        who = by;
    }
    return who;
}

/* The most urgent that can go on; who has the CPU keeps it among equals, else the first has it. */
static int64_t choose_with_resources(const sim *s)
{
    int64_t best = NOBODY, best_key = 0;
    for (int64_t candidate = 0; candidate <= s->set->tasks; candidate++) {
        int64_t key = s->all[candidate].key;
        if (!s->all[candidate].pending || (best != NOBODY && key > best_key))
            continue;
        int64_t who = runner(s, candidate);
        if (who == NOBODY || (best != NOBODY && key == best_key && who != s->current))
            continue;
        best = who;
        best_key = key;
    }
    return best;
}

static int64_t choose(const sim *s)
{
    if (s->set->resources)
        return choose_with_resources(s);
    int64_t first = first_key(&s->pending);
    if (first == NEVER)
        return NOBODY;
    if (s->current != NOBODY && s->pending.key[s->current] == first)
        return s->current;
    return s->pending.won[1];
}

/* True: the CPU had to leave a job that has begun and could go on. */
static bool preempted(const sim *s, int64_t who)
{
    return who != NOBODY && !is_server(s, who) && s->all[who].pending && s->all[who].done > 0 &&
           holder(s, who) == NOBODY;
}

/* Gives the CPU to who shall have it; it executes from `busy` on. */
static void decide(sim *s)
{
    for (;;) {
        int64_t who = choose(s);
        if (who != s->current) {
            if (preempted(s, s->current))
                s->counts[s->current].preemptions++;
            s->current = who;
            s->slice = s->rules.quantum;
            s->totals.switches += who != NOBODY;
            if (who != NOBODY && s->rules.switch_cost) {
                s->busy = s->now + s->rules.switch_cost;
                return;
            }
        }
        if (who == NOBODY)
            return;
        s->all[who].started = !is_server(s, who);
        if (!s->set->resources || take_due(s, who))
            return;
    }
}

/* ---- the server ------------------------------------------------------------------------------ */

static void begin_request(sim *s)
{
    entity *e = &s->all[s->set->tasks];
    e->done = 0;
    e->left = e->job < s->arrived ? s->set->request_work[e->job] : 0;
    if (s->current == s->set->tasks)
        s->slice = s->rules.quantum;
}

static void wake_server(sim *s, int64_t server)
{
    entity *e = &s->all[server];
    e->released = s->active_since = s->now;
    s->used = 0;
    e->due = s->rules.server == SIM_SPORADIC ? s->now + s->rules.server_period : s->next_refill;
    if (s->rules.server == SIM_BACKGROUND)
        e->key = LAST;
    else
        set_key(s, server, s->budget);
    add_pending(s, server);
}

static void rest_server(sim *s, int64_t server)
{
    drop_pending(s, server);
    if (s->rules.server == SIM_SPORADIC && s->used > 0) {
        int64_t at = (s->refill_first + s->refill_n++) % (s->set->requests + 2);
        s->refills[at] = (refill){s->active_since + s->rules.server_period, s->used};
    }
}

/* After all that happened at this time: is there work, and budget for it? */
static void update_server(sim *s)
{
    int64_t server = s->set->tasks;
    bool work = s->all[server].job < s->arrived;
    bool pending = s->all[server].pending;
    if (s->rules.server == SIM_POLLING && !work)
        s->budget = 0;
    bool ready = work && (s->rules.server == SIM_BACKGROUND || s->budget > 0);
    if (ready && !pending)
        wake_server(s, server);
    else if (pending && !ready)
        rest_server(s, server);
}

static int64_t refill_time(const sim *s)
{
    if (s->rules.server == SIM_SPORADIC)
        return s->refill_n ? larger(s->refills[s->refill_first].at, s->now) : NEVER;
    return s->rules.server == SIM_BACKGROUND ? NEVER : s->next_refill;
}

static void refill_server(sim *s)
{
    int64_t server = s->set->tasks;
    entity *e = &s->all[server];
    s->totals.events++;
    if (s->rules.server == SIM_SPORADIC) {
        s->budget += s->refills[s->refill_first].amount;
        s->refill_first = (s->refill_first + 1) % (s->set->requests + 2);
        s->refill_n--;
    } else {
        bool work = e->job < s->arrived;
        s->budget = work || s->rules.server == SIM_DEFERRABLE ? s->rules.server_budget : 0;
        s->next_refill += s->rules.server_period;
        e->due = s->next_refill;
    }
    bool by_deadline = s->rules.policy == SIM_EDF || s->rules.policy == SIM_LLF;
    if (e->pending && by_deadline) {
        set_key(s, server, s->budget);
        add_pending(s, server);
    }
}

static void complete_request(sim *s)
{
    entity *e = &s->all[s->set->tasks];
    int64_t response = s->now - s->set->arrival[e->job];
    if (s->request_completed)
        s->request_completed[e->job] = s->now;
    s->totals.served++;
    s->totals.response += response;
    s->totals.worst_response = larger(s->totals.worst_response, response);
    e->job++;
    begin_request(s);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void count_due(sim *s, int64_t task, int64_t lateness, bool met)
{
    sim_counts *c = &s->counts[task];
    c->due++;
    c->met += met;
    c->missed += !met;
    c->late += met ? 0 : lateness;
    c->lateness += lateness;
    c->worst = larger(c->worst, lateness);
    s->missed += !met;
}

static void complete_job(sim *s, int64_t task)
{
    entity *e = &s->all[task];
    if (s->set->resources)
        give_all(s, task);
    if (s->completed)
        s->completed[s->set->first[task] + e->job] = s->now;
    s->counts[task].completed++;
    if (e->due <= s->set->end)
        count_due(s, task, s->now - e->due, s->now <= e->due);
    e->queued--;
    e->job++;
    if (e->queued) {
        begin_job(s, task);
        add_pending(s, task);
    } else {
        drop_pending(s, task);
    }
}

static void release_job(sim *s)
{
    int64_t task = s->coming.won[1], next = s->now + s->set->period[task];
    entity *e = &s->all[task];
    s->counts[task].released++;
    put(&s->coming, task, next < s->set->end ? next : NEVER);
    if (s->rules.first_miss && e->queued && e->due <= s->now)
        count_due(s, task, s->now - e->due, false);
    if (e->queued++ == 0) {
        begin_job(s, task);
        add_pending(s, task);
    }
}

/* What never came to its end, but was due. */
static void count_unfinished(sim *s)
{
    int64_t end = s->set->end;
    for (int64_t task = 0; task < s->set->tasks; task++) {
        entity *e = &s->all[task];
        for (int64_t i = 0; i < e->queued; i++) {
            int64_t due = e->due + i * s->set->period[task];
            if (due <= end)
                count_due(s, task, end - due, false);
        }
    }
}

/* ---- the course of time ---------------------------------------------------------------------- */

/* How long who has the CPU can go on before something becomes of it. */
static int64_t stretch(const sim *s)
{
    const entity *e = &s->all[s->current];
    int64_t time = e->left;
    if (s->rules.policy == SIM_RR || s->rules.policy == SIM_LLF)
        time = smaller(time, s->slice);
    if (has_action(s, s->current))
        time = smaller(time, s->set->action_at[e->action] - e->done);
    if (is_server(s, s->current) && s->rules.server != SIM_BACKGROUND)
        time = smaller(time, s->budget);
    return time;
}

/* When something comes from outside, or the simulation ends. */
static int64_t next_from_outside(const sim *s)
{
    int64_t t = smaller(first_key(&s->coming), s->next_tick);
    if (s->arrived < s->set->requests)
        t = smaller(t, s->set->arrival[s->arrived]);
    if (s->set->requests)
        t = smaller(t, refill_time(s));
    return smaller(t, s->set->end);
}

static int64_t next_time(const sim *s)
{
    if (s->busy > s->now)
        return smaller(s->outside, s->busy);
    return s->current == NOBODY ? s->outside : smaller(s->outside, s->now + stretch(s));
}

/* Lets a span of time pass. */
static void pass(sim *s, int64_t span)
{
    if (s->busy > s->now) {
        s->totals.overhead += span;
    } else if (s->current == NOBODY) {
        s->totals.idle += span;
    } else {
        entity *e = &s->all[s->current];
        s->totals.executed += span;
        e->left -= span;
        e->done += span;
        s->slice -= span;
        if (s->rules.policy == SIM_LLF && e->key != LAST) {
            e->key += span;
            put_back(&s->pending, s->current, e->key);
        }
        if (is_server(s, s->current)) {
            s->budget -= span;
            s->used += span;
        }
    }
    s->now += span;
}

/* What has become of who executed. */
static void settle(sim *s, int64_t who)
{
    entity *e = &s->all[who];
    bool sliced = s->rules.policy == SIM_RR || s->rules.policy == SIM_LLF;
    if (e->left == 0) {
        s->totals.events++;
        if (is_server(s, who))
            complete_request(s);
        else
            complete_job(s, who);
        return;
    }
    if (s->set->resources)
        give_due(s, who);
    if (sliced && s->slice == 0) {
        s->totals.events++;
        s->slice = s->rules.quantum;
        if (s->rules.policy == SIM_RR && e->key != LAST) {
            e->key = s->turn++;
            add_pending(s, who);
        }
    }
}

/* What comes from outside at this time, and what becomes of the server. */
static void happen(sim *s)
{
    while (first_key(&s->coming) == s->now) {
        s->totals.events++;
        release_job(s);
    }
    if (s->set->requests) {
        while (s->arrived < s->set->requests && s->set->arrival[s->arrived] == s->now) {
            s->totals.events++;
            if (s->all[s->set->tasks].job == s->arrived++)
                begin_request(s);
        }
        do { /* what is used up long after it began may be due back at once */
            while (refill_time(s) == s->now)
                refill_server(s);
            update_server(s);
        } while (refill_time(s) == s->now);
    }
    if (s->next_tick == s->now) {
        s->totals.events++;
        s->totals.ticks++;
        s->busy = larger(s->busy, s->now) + s->rules.tick_cost;
        s->next_tick += s->rules.tick;
    }
    s->outside = next_from_outside(s);
}

/* True: what is left of the time cannot change what is asked for. */
static bool known(const sim *s)
{
    bool idles = s->current == NOBODY && s->busy <= s->now && s->totals.idle == 0;
    return idles && s->now <= s->set->settled;
}

static void simulate(sim *s)
{
    happen(s);
    while (s->now < s->set->end && !(s->missed && s->rules.first_miss)) {
        if (s->busy <= s->now)
            decide(s);
        if (s->set->settled && known(s))
            return;
        bool executes = s->busy <= s->now && s->current != NOBODY;
        pass(s, next_time(s) - s->now);
        if (executes)
            settle(s, s->current);
        bool served = executes && is_server(s, s->current);
        if (s->now < s->set->end && (served || s->now == s->outside))
            happen(s);
    }
    if (s->now == s->set->end)
        count_unfinished(s);
}

static void set_up_tree(const tree *t)
{
    for (int64_t i = 0; i < t->leaves; i++) {
        t->key[i] = NEVER;
        t->won[t->leaves + i] = (int32_t)i;
    }
    for (int64_t i = t->leaves - 1; i > 0; i--)
        t->won[i] = t->won[2 * i];
}

static void set_up(sim *s)
{
    const sim_set *set = s->set;
    set_up_tree(&s->pending);
    set_up_tree(&s->coming);
    for (int64_t task = 0; task <= set->tasks; task++)
        s->all[task] = (entity){0};
    for (int64_t task = 0; task < set->tasks; task++) {
        s->counts[task] = (sim_counts){.worst = INT64_MIN};
        if (set->offset[task] < set->end)
            put(&s->coming, task, set->offset[task]);
    }
    for (int64_t r = 0; r < set->resources; r++)
        s->owner[r] = NOBODY;
    for (int64_t i = set->first[0]; s->completed && i < set->first[set->tasks]; i++)
        s->completed[i] = -1;
    for (int64_t i = 0; s->request_completed && i < set->requests; i++)
        s->request_completed[i] = -1;
}

static bool countable(int64_t n)
{
    return n >= 0 && n < INT32_MAX / 2;
}

static bool get_tree(tree *t, size_t numbers)
{
    size_t leaves = 1;
    while (leaves < numbers)
        leaves *= 2;
    t->leaves = (int64_t)leaves;
    t->key = calloc(leaves, sizeof *t->key);
    t->won = calloc(2 * leaves, sizeof *t->won);
    return t->key && t->won;
}

/* Gets memory for the largest of the sets. */
static bool get_memory(sim *s, const sim_set *sets, int64_t n)
{
    int64_t tasks = 0, resources = 0, requests = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!countable(sets[i].tasks) || !countable(sets[i].resources) ||
            !countable(sets[i].requests))
            return false;
        tasks = larger(tasks, sets[i].tasks);
        resources = larger(resources, sets[i].resources);
        requests = larger(requests, sets[i].requests);
    }
    size_t entities = (size_t)tasks + 1;
    bool pending = get_tree(&s->pending, entities), coming = get_tree(&s->coming, entities);
    s->all = calloc(entities, sizeof *s->all);
    s->owner = calloc((size_t)resources + 1, sizeof *s->owner);
    s->refills = calloc((size_t)requests + 2, sizeof *s->refills);
    return pending && coming && s->all && s->owner && s->refills;
}

static void free_memory(const sim *s)
{
    free(s->pending.key);
    free(s->pending.won);
    free(s->coming.key);
    free(s->coming.won);
    free(s->all);
    free(s->owner);
    free(s->refills);
}

int sim_run(const sim_set *sets, int64_t n, const sim_rules *rules, sim_counts *counts,
            sim_totals *totals, int64_t *completed, int64_t *request_completed)
{
    sim fresh = {
        .rules = *rules,
        .counts = counts,
        .completed = completed,
        .request_completed = request_completed,
        .current = NOBODY,
        .next_tick = rules->tick ? rules->tick : NEVER,
        .ceiling = INT64_MIN,
        .budget = rules->server == SIM_SPORADIC ? rules->server_budget : 0,
    };
    bool memory = get_memory(&fresh, sets, n);
    for (int64_t i = 0; memory && i < n; i++) {
        sim s = fresh;
        s.set = &sets[i];
        set_up(&s);
        simulate(&s);
        totals[i] = s.totals;
        fresh.counts += sets[i].tasks;
        if (request_completed)
            fresh.request_completed += sets[i].requests;
    }
    free_memory(&fresh);
    return memory ? 0 : -1;
}
