#include "schedule.h"

#include <stdbool.h>
#include <stdlib.h>

/* NOLINTBEGIN(clang-analyzer-security.ArrayBound): it loses the lengths that get_memory() gives;
 * tests/simulate/test_sanitized.py looks at all accesses. */

#define NEVER INT64_MAX
#define NOBODY (-1)
#define MOST 10000000 /* of anything that is counted */

typedef struct job {
    int64_t task, done, next; /* next: of who executes it */
} job;

typedef struct refill {
    int64_t at, amount;
} refill;

/* Who has a CPU: a task, or a server of several. */
typedef struct entity {
    int64_t level, due;       /* larger is more urgent; of equal levels the earlier due */
    int64_t lent, lent_due;   /* the same with what it has of others */
    int64_t head, tail;       /* its jobs in order; NOBODY: none */
    int64_t order;            /* in the queue of its level */
    int64_t slice;            /* what is left of the quantum */
    int64_t waits;            /* for this resource */
    int64_t again;            /* work to do again */
    int64_t cpu;              /* that it has */
    bool executes;            /* in this span of time */
    bool repeats;             /* what it executes is work to do again */
    bool pending;             /* a server: has work and budget */
    int64_t budget, used;     /* of a server; used: since active */
    int64_t active, refilled; /* when it became pending; when the next budget comes */
    refill *refills;          /* of SCHEDULE_SPORADIC: a ring */
    int64_t refill_first, refill_n;
} entity;

typedef struct processor {
    int64_t current; /* who has it */
    int64_t last;    /* who had it last */
    int64_t busy;    /* the kernel, or what is beyond it, has it until then */
    int64_t steal;   /* next stolen time */
    int64_t chosen;
    int64_t rt_used;
} processor;

typedef struct sim {
    const schedule_set *set;
    int64_t *begun, *ended, *released;
    int64_t now, jobs, left, orders, changes, resumed, entities, ready;
    int64_t rt_next;
    job *job;
    entity *all;    /* tasks, then servers */
    entity **queue; /* those that are ready, the most urgent first */
    processor *cpu;
    int64_t *next;  /* of each task: the next job to be released */
    int64_t *owner; /* of each resource */
    refill *refills;
} sim;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool above(int64_t level, int64_t due, int64_t other_level, int64_t other_due)
{
    return level != other_level ? level > other_level : due < other_due;
}

static bool is_server(const sim *s, const entity *e)
{
    return e - s->all >= s->set->tasks;
}

static int64_t server_of(const sim *s, const entity *e)
{
    return e - s->all - s->set->tasks;
}

/* Real-time throttling spares who has a reservation, and is not for who has no priority. */
static bool is_limited(const sim *s, const entity *e)
{
    if (is_server(s, e))
        return s->set->server_kind[server_of(s, e)] != SCHEDULE_CBS;
    int64_t policy = s->set->policy[e - s->all];
    return policy == SCHEDULE_FIFO || policy == SCHEDULE_RR;
}

static void to_tail(sim *s, entity *e)
{
    e->order = s->orders++;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void begin_job(const sim *s, entity *e)
{
    int64_t task = e - s->all;
    if (!is_server(s, e) && s->set->policy[task] == SCHEDULE_DEADLINE)
        e->due = s->released[e->head] + s->set->deadline[task];
}

static void release_job(sim *s, int64_t task)
{
    int64_t number = s->next[task]++, server = s->set->server[task];
    entity *e = &s->all[server == NOBODY ? task : s->set->tasks + server];
    s->released[number] = s->now;
    if (e->head != NOBODY) {
        s->job[e->tail].next = number;
        e->tail = number;
        return;
    }
    e->head = e->tail = number;
    begin_job(s, e);
    if (!is_server(s, e))
        to_tail(s, e);
}

static int64_t next_release(const sim *s, int64_t task)
{
    bool any = s->set->waker[task] == NOBODY && s->next[task] < s->set->first[task + 1];
    return any ? s->set->release[s->next[task]] : NEVER;
}

static void complete_job(sim *s, entity *e)
{
    int64_t task = s->job[e->head].task;
    s->ended[e->head] = s->now;
    s->left--;
    e->head = s->job[e->head].next;
    if (e->head != NOBODY)
        begin_job(s, e); /* who goes on with its next job has not left its place */
    for (int64_t other = 0; other < s->set->tasks; other++) {
        if (s->set->waker[other] == task && s->next[other] < s->set->first[other + 1])
            release_job(s, other);
    }
}

/* ---- resources ------------------------------------------------------------------------------- */

static void lend(entity *to, int64_t level, int64_t due)
{
    if (above(level, due, to->lent, to->lent_due)) {
        to->lent = level;
        to->lent_due = due;
    }
}

/* Finds everybody's urgency: own, ceilings of what is held, and that of who waits for it. */
static void find_urgency(const sim *s)
{
    const schedule_set *set = s->set;
    for (entity *e = s->all; e < s->all + s->entities; e++) {
        e->lent = e->level;
        e->lent_due = e->due;
    }
    for (int64_t r = 0; r < set->resources; r++) {
        if (s->owner[r] != NOBODY && set->protocol[r] == SCHEDULE_PROTECT)
            lend(&s->all[s->owner[r]], set->ceiling[r], 0);
    }
    for (bool changed = set->resources > 0; changed;) {
        changed = false;
        for (const entity *e = s->all; e < s->all + set->tasks; e++) {
            if (e->waits == NOBODY || set->protocol[e->waits] == SCHEDULE_NONE ||
                set->protocol[e->waits] == SCHEDULE_PROTECT)
                continue;
            entity *holder = &s->all[s->owner[e->waits]];
            if (above(e->lent, e->lent_due, holder->lent, holder->lent_due)) {
                lend(holder, e->lent, e->lent_due);
                changed = true;
            }
        }
    }
}

/* What keeps a task from taking a free resource under the original ceiling protocol, or NOBODY. */
static int64_t ceiling_above(const sim *s, const entity *e)
{
    int64_t highest = NOBODY;
    find_urgency(s);
    for (int64_t r = 0; r < s->set->resources; r++) {
        bool foreign = s->owner[r] != NOBODY && s->owner[r] != e - s->all;
        if (foreign && s->set->protocol[r] == SCHEDULE_CEILING && s->set->ceiling[r] >= e->lent &&
            (highest == NOBODY || s->set->ceiling[r] > s->set->ceiling[highest]))
            highest = r;
    }
    return highest;
}

/* Takes what is due at this progress; false: somebody else has it, and the task waits. */
static bool take_due(sim *s, entity *e)
{
    const schedule_set *set = s->set;
    if (is_server(s, e))
        return true;
    int64_t task = e - s->all, done = s->job[e->head].done;
    for (int64_t use = set->use_first[task]; use < set->use_first[task + 1]; use++) {
        int64_t resource = set->use_resource[use];
        if (set->use_after[use] != done || s->owner[resource] == task)
            continue;
        if (s->owner[resource] != NOBODY)
            e->waits = resource;
        else if (set->protocol[resource] == SCHEDULE_CEILING)
            e->waits = ceiling_above(s, e);
        if (e->waits != NOBODY)
            return false;
        s->owner[resource] = task;
    }
    return true;
}

/* Releases a resource; all that wait for it try again, as the last of their level. */
static void give(sim *s, int64_t resource)
{
    s->owner[resource] = NOBODY;
    for (entity *e = s->all; e < s->all + s->set->tasks; e++) {
        if (e->waits == resource) {
            e->waits = NOBODY;
            to_tail(s, e);
        }
    }
}

static void give_due(sim *s, const entity *e)
{
    const schedule_set *set = s->set;
    if (is_server(s, e))
        return;
    int64_t task = e - s->all, done = s->job[e->head].done;
    for (int64_t use = set->use_first[task]; use < set->use_first[task + 1]; use++) {
        int64_t after = set->use_after[use], resource = set->use_resource[use];
        bool ends = done == after + set->use_length[use] || done == set->work[e->head];
        if (s->owner[resource] == task && ends && done > after)
            give(s, resource);
    }
}

/* How much execution until a section of the job begins or ends, or the job does. */
static int64_t progress(const sim *s, const entity *e)
{
    const schedule_set *set = s->set;
    int64_t done = s->job[e->head].done, span = set->work[e->head] - done;
    if (is_server(s, e))
        return span;
    int64_t task = e - s->all;
    for (int64_t use = set->use_first[task]; use < set->use_first[task + 1]; use++) {
        int64_t begin = set->use_after[use] - done, end = begin + set->use_length[use];
        span = begin > 0 ? smaller(span, begin) : end > 0 ? smaller(span, end) : span;
    }
    return span;
}

/* ---- servers --------------------------------------------------------------------------------- */

static int64_t refill_time(const sim *s, const entity *e)
{
    int64_t kind = s->set->server_kind[server_of(s, e)];
    if (kind == SCHEDULE_SPORADIC)
        return e->refill_n ? larger(e->refills[e->refill_first].at, s->now) : NEVER;
    if (kind == SCHEDULE_CBS)
        return e->budget == 0 ? larger(e->due, s->now) : NEVER;
    return e->refilled;
}

static void refill_server(const sim *s, entity *e)
{
    int64_t server = server_of(s, e), kind = s->set->server_kind[server];
    int64_t most = s->set->server_budget[server], period = s->set->server_period[server];
    if (kind == SCHEDULE_SPORADIC) {
        e->budget += e->refills[e->refill_first].amount;
        e->refill_first = (e->refill_first + 1) % (s->jobs + 2);
        e->refill_n--;
    } else if (kind == SCHEDULE_CBS) {
        e->budget = most;
        e->due = e->due + period > s->now ? e->due + period : s->now + period;
    } else {
        e->budget = kind == SCHEDULE_DEFERRABLE || e->head != NOBODY ? most : 0;
        e->refilled += period;
    }
}

/* A request comes to a server that had none: what is left of its budget may be too much for what is
 * left of its period (Abeni, Buttazzo 1998). */
static void renew_cbs(const sim *s, entity *e)
{
    int64_t server = server_of(s, e);
    int64_t most = s->set->server_budget[server], period = s->set->server_period[server];
    bool too_much = (double)e->budget * (double)period > (double)(e->due - s->now) * (double)most;
    if (e->due <= s->now || too_much) {
        e->due = s->now + period;
        e->budget = most;
    }
}

/* After all that happened at this time: is there work, and budget for it? */
static void update_server(sim *s, entity *e)
{
    int64_t server = server_of(s, e), kind = s->set->server_kind[server];
    bool work = e->head != NOBODY;
    if (kind == SCHEDULE_POLLING && !work)
        e->budget = 0;
    if (kind == SCHEDULE_CBS && work && !e->active && e->budget > 0)
        renew_cbs(s, e);
    if (kind == SCHEDULE_CBS)
        e->active = work;
    bool ready = work && e->budget > 0;
    if (ready && !e->pending) {
        to_tail(s, e);
        if (kind != SCHEDULE_CBS)
            e->active = s->now;
        e->used = 0;
    } else if (e->pending && !ready && kind == SCHEDULE_SPORADIC && e->used > 0) {
        int64_t at = (e->refill_first + e->refill_n++) % (s->jobs + 2);
        e->refills[at] = (refill){e->active + s->set->server_period[server], e->used};
    }
    e->pending = ready;
}

/* ---- who has which CPU ----------------------------------------------------------------------- */

static bool is_ready(const sim *s, const entity *e)
{
    return is_server(s, e) ? e->pending : e->head != NOBODY && e->waits == NOBODY;
}

static bool before(const entity *a, const entity *b)
{
    if (a->lent != b->lent || a->lent_due != b->lent_due)
        return above(a->lent, a->lent_due, b->lent, b->lent_due);
    return a->order < b->order;
}

static void sort_ready(sim *s)
{
    find_urgency(s);
    s->ready = 0;
    for (entity *e = s->all; e < s->all + s->entities; e++) {
        e->cpu = NOBODY;
        if (!is_ready(s, e))
            continue;
        int64_t at = s->ready++;
        for (; at > 0 && before(e, s->queue[at - 1]); at--)
            s->queue[at] = s->queue[at - 1];
        s->queue[at] = e;
    }
}

static bool is_free(const sim *s, int64_t number, const entity *e)
{
    const processor *cpu = &s->cpu[number];
    int64_t who = e - s->all, server = server_of(s, e);
    int64_t allowed = server < 0 ? s->set->affinity[who] : s->set->server_affinity[server];
    bool throttled = s->set->rt_period && cpu->rt_used >= s->set->rt_runtime;
    return cpu->chosen == NOBODY && cpu->busy <= s->now && (allowed >> number & 1) &&
           !(throttled && is_limited(s, e));
}

/* The CPU that a task gets: the one it has, else the first that is free; NOBODY: none. */
static int64_t free_cpu(const sim *s, const entity *e)
{
    int64_t best = NOBODY;
    for (int64_t number = s->set->cpus - 1; number >= 0; number--) {
        if (!is_free(s, number, e))
            continue;
        if (s->cpu[number].current == e - s->all)
            return number;
        best = number;
    }
    return best;
}

static void choose(sim *s)
{
    sort_ready(s);
    for (int64_t number = 0; number < s->set->cpus; number++) {
        processor *cpu = &s->cpu[number];
        cpu->chosen = cpu->busy > s->now ? cpu->current : NOBODY;
        if (cpu->chosen != NOBODY)
            s->all[cpu->chosen].cpu = number;
    }
    for (int64_t i = 0; i < s->ready; i++) {
        entity *e = s->queue[i];
        int64_t number = e->cpu == NOBODY ? free_cpu(s, e) : NOBODY;
        if (number != NOBODY) {
            s->cpu[number].chosen = e - s->all;
            e->cpu = number;
        }
    }
}

/* Gives a CPU to who is chosen for it, at a cost if it is another. */
static void switch_to_chosen(sim *s, processor *cpu)
{
    if (cpu->chosen == cpu->current)
        return;
    cpu->current = cpu->chosen;
    if (cpu->current == NOBODY)
        return;
    entity *e = &s->all[cpu->current];
    if (s->set->resumes && cpu->last != cpu->current && s->job[e->head].done > 0)
        e->again += s->set->resume_cost[s->resumed++ % s->set->resumes];
    cpu->last = cpu->current;
    if (s->set->switches)
        cpu->busy = s->now + s->set->switch_cost[s->changes % s->set->switches];
    s->changes++;
}

static void decide(sim *s)
{
    for (bool all = false; !all;) {
        all = true;
        choose(s);
        for (int64_t number = 0; number < s->set->cpus; number++) {
            if (s->cpu[number].busy <= s->now)
                switch_to_chosen(s, &s->cpu[number]);
        }
        for (int64_t i = 0; i < s->ready; i++) {
            entity *e = s->queue[i];
            e->executes = e->cpu != NOBODY && s->cpu[e->cpu].busy <= s->now;
            if (e->executes && !take_due(s, e))
                all = false;
        }
    }
}

/* ---- the course of time ---------------------------------------------------------------------- */

static int64_t stretch(const sim *s, const entity *e)
{
    int64_t time = e->again ? e->again : progress(s, e);
    if (is_server(s, e))
        time = smaller(time, e->budget);
    else if (s->set->policy[e - s->all] == SCHEDULE_RR)
        time = smaller(time, e->slice);
    if (s->set->rt_period && is_limited(s, e))
        time = smaller(time, s->set->rt_runtime - s->cpu[e->cpu].rt_used);
    return time;
}

static int64_t next_time(const sim *s)
{
    int64_t time = s->set->end;
    for (int64_t task = 0; task < s->set->tasks; task++)
        time = smaller(time, next_release(s, task));
    for (int64_t i = 0; i < s->ready; i++) {
        if (s->queue[i]->executes)
            time = smaller(time, s->now + stretch(s, s->queue[i]));
    }
    for (int64_t number = 0; number < s->set->cpus; number++) {
        const processor *cpu = &s->cpu[number];
        if (cpu->busy > s->now)
            time = smaller(time, cpu->busy);
        if (cpu->steal < s->set->steal_first[number + 1])
            time = smaller(time, s->set->steal_at[cpu->steal]);
    }
    for (int64_t server = 0; server < s->set->servers; server++)
        time = smaller(time, refill_time(s, &s->all[s->set->tasks + server]));
    return s->set->rt_period ? smaller(time, s->rt_next) : time;
}

static void execute(sim *s, entity *e, int64_t span)
{
    if (s->begun[e->head] < 0)
        s->begun[e->head] = s->now;
    e->repeats = e->again > 0;
    if (e->repeats)
        e->again -= span;
    else
        s->job[e->head].done += span;
    e->slice -= span;
    e->budget -= span;
    e->used += span;
    if (is_limited(s, e))
        s->cpu[e->cpu].rt_used += span;
}

/* What has become of who executed. */
static void settle(sim *s, entity *e)
{
    if (!is_server(s, e) && s->set->policy[e - s->all] == SCHEDULE_RR && e->slice == 0) {
        e->slice = s->set->quantum;
        to_tail(s, e);
    }
    if (e->repeats)
        return;
    give_due(s, e);
    if (s->job[e->head].done == s->set->work[e->head])
        complete_job(s, e);
}

/* What comes from outside at this time: releases, budgets, and stolen times. */
static void happen(sim *s)
{
    for (int64_t task = 0; task < s->set->tasks; task++) {
        while (next_release(s, task) == s->now)
            release_job(s, task);
    }
    for (entity *e = s->all + s->set->tasks; e < s->all + s->entities; e++) {
        do { /* what is used up long after it began may be due back at once */
            while (refill_time(s, e) == s->now)
                refill_server(s, e);
            update_server(s, e);
        } while (refill_time(s, e) == s->now);
    }
    for (int64_t number = 0; number < s->set->cpus; number++) {
        processor *cpu = &s->cpu[number];
        for (;
             cpu->steal < s->set->steal_first[number + 1] && s->set->steal_at[cpu->steal] == s->now;
             cpu->steal++)
            cpu->busy = larger(cpu->busy, s->now) + s->set->steal_length[cpu->steal];
        if (s->rt_next == s->now)
            cpu->rt_used = 0;
    }
    if (s->rt_next == s->now)
        s->rt_next += s->set->rt_period;
}

static void simulate(sim *s)
{
    happen(s);
    while (s->left > 0 && s->now < s->set->end) {
        decide(s);
        int64_t next = next_time(s), span = next - s->now;
        for (int64_t i = 0; i < s->ready; i++) {
            if (s->queue[i]->executes)
                execute(s, s->queue[i], span);
        }
        s->now = next;
        for (int64_t i = 0; i < s->ready; i++) {
            if (s->queue[i]->executes)
                settle(s, s->queue[i]);
        }
        happen(s);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static void set_up(sim *s)
{
    const schedule_set *set = s->set;
    for (int64_t task = 0; task < set->tasks; task++) {
        s->next[task] = set->first[task];
        for (int64_t number = set->first[task]; number < set->first[task + 1]; number++) {
            s->job[number] = (job){.task = task, .next = NOBODY};
            s->begun[number] = s->ended[number] = s->released[number] = -1;
        }
    }
    for (int64_t i = 0; i < s->entities; i++) {
        entity *e = &s->all[i];
        int64_t server = i - set->tasks;
        *e = (entity){.head = NOBODY, .tail = NOBODY, .waits = NOBODY, .slice = set->quantum};
        e->level = server < 0 ? set->level[i] : set->server_level[server];
        if (server >= 0)
            e->refills = s->refills + server * (s->jobs + 2);
        if (server >= 0 && set->server_kind[server] >= SCHEDULE_SPORADIC)
            e->budget = set->server_budget[server];
    }
    for (int64_t r = 0; r < set->resources; r++)
        s->owner[r] = NOBODY;
    for (int64_t number = 0; number < set->cpus; number++)
        s->cpu[number] =
            (processor){.current = NOBODY, .last = NOBODY, .steal = set->steal_first[number]};
    s->rt_next = set->rt_period ? set->rt_period : NEVER;
}

static void *array(int64_t n, size_t size)
{
    return calloc((size_t)larger(n, 1), size);
}

static bool countable(int64_t n)
{
    return n >= 0 && n < MOST;
}

static bool get_memory(sim *s, const schedule_set *set)
{
    s->all = array(s->entities, sizeof *s->all);
    s->queue = array(s->entities, sizeof *s->queue);
    s->job = array(s->jobs, sizeof *s->job);
    s->cpu = array(set->cpus, sizeof *s->cpu);
    s->next = array(set->tasks, sizeof *s->next);
    s->owner = array(set->resources, sizeof *s->owner);
    s->refills = array(set->servers * (s->jobs + 2), sizeof *s->refills);
    return s->all && s->queue && s->job && s->cpu && s->next && s->owner && s->refills;
}

static void free_memory(const sim *s)
{
    free(s->all);
    free((void *)s->queue);
    free(s->job);
    free(s->cpu);
    free(s->next);
    free(s->owner);
    free(s->refills);
}

int schedule_run(const schedule_set *set, int64_t *begun, int64_t *ended, int64_t *released,
                 int64_t *changes)
{
    int64_t jobs = set->first[set->tasks];
    if (!countable(set->tasks) || !countable(set->cpus) || !countable(set->resources) ||
        !countable(set->servers) || !countable(jobs) || !countable(set->servers * (jobs + 2)))
        return -1;
    sim s = {
        .set = set,
        .begun = begun,
        .ended = ended,
        .released = released,
        .jobs = jobs,
        .left = jobs,
        .entities = set->tasks + set->servers,
    };
    bool memory = get_memory(&s, set);
    if (memory) {
        set_up(&s);
        simulate(&s);
        *changes = s.changes;
    }
    free_memory(&s);
    return memory ? 0 : -1;
}

/* NOLINTEND(clang-analyzer-security.ArrayBound) */
