#undef _FORTIFY_SOURCE /* it mistakes a jump to another stack for an error */
#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define STACK (256u << 10)
#define LOOK 4096                 /* time steps between two checks of the outside world */
#define STILL (UINT64_C(1) << 25) /* steps without time: it stands still for good */

uint64_t sim_now, sim_preemptions;
sim_task *sim_self;
unsigned sim_tasks;
void (*sim_look_around)(void);
const char *sim_dead;

static sim_list ready[SIM_LEVELS];
static uint64_t levels; /* a bit for each list that is not empty */
static unsigned n_ready;
static sim_task agent, *all;
static bool in_handler, silent, idled;

static void fatal(const char *why)
{
    fprintf(stderr, "rtstone-agent-sim: %s\n", why);
    exit(1);
}

/* ---- lists --------------------------------------------------------------------------------- */

static bool before(const sim_task *a, const sim_task *b)
{
    if (a->level != b->level)
        return a->level > b->level;
    return a->level == SIM_LEVEL_DEADLINE && a->due < b->due;
}

static void insert(sim_list *list, sim_task *t, sim_task *next)
{
    sim_task *previous = next ? next->previous : list->last;
    t->list = list;
    t->next = next;
    t->previous = previous;
    *(previous ? &previous->next : &list->first) = t;
    *(next ? &next->previous : &list->last) = t;
    list->n++;
}

/* Inserts after all tasks of equal urgency, or before them. */
static void insert_by_urgency(sim_list *list, sim_task *t, bool first)
{
    sim_task *behind = list->last;
    while (behind && (before(t, behind) || (first && !before(behind, t))))
        behind = behind->previous;
    insert(list, t, behind ? behind->next : list->first);
}

static void take_out(sim_task *t)
{
    sim_list *list = t->list;
    *(t->previous ? &t->previous->next : &list->first) = t->next;
    *(t->next ? &t->next->previous : &list->last) = t->previous;
    list->n--;
    t->list = NULL;
    if (t->state == SIM_READY) {
        n_ready--;
        if (!list->n)
            levels &= ~(UINT64_C(1) << (list - ready));
    }
}

static void make_ready(sim_task *t, bool first)
{
    sim_list *list = &ready[t->level];
    t->state = SIM_READY;
    if (t->level == SIM_LEVEL_DEADLINE)
        insert_by_urgency(list, t, first);
    else
        insert(list, t, first ? list->first : NULL);
    levels |= UINT64_C(1) << t->level;
    n_ready++;
}

/* Returns the most urgent ready task, or NULL. */
static sim_task *most_urgent(void)
{
    for (uint64_t left = levels; left;) {
        int level = 63 - __builtin_clzll(left);
        for (sim_task *t = ready[level].first; t; t = t->next)
            if (!silent || !t->load)
                return t;
        left &= ~(UINT64_C(1) << level);
    }
    return NULL;
}

/* ---- stalls: time passes, but nothing happens ---------------------------------------------- */

static uint64_t stall_next[SIM_STALLS];
static uint64_t stall_at; /* start of the next one */

static void find_stall(void)
{
    stall_at = UINT64_MAX;
    for (unsigned i = 0; i < sim_the_model.stalls; i++)
        stall_at = stall_next[i] < stall_at ? stall_next[i] : stall_at;
}

/* Advances to the end of the next stall. */
static void pass_stall(void)
{
    for (unsigned i = 0; i < sim_the_model.stalls; i++) {
        const sim_stall *s = &sim_the_model.stall[i];
        if (stall_next[i] != stall_at)
            continue;
        uint64_t end = stall_at + s->length;
        sim_now = end > sim_now ? end : sim_now;
        stall_next[i] = s->period ? stall_at + s->period : UINT64_MAX;
    }
    find_stall();
}

static void restart_stalls(void)
{
    for (unsigned i = 0; i < sim_the_model.stalls; i++)
        stall_next[i] = sim_the_model.stall[i].first;
    find_stall();
}

/* ---- time ---------------------------------------------------------------------------------- */

#define SECOND_NS UINT64_C(1000000000)

static void look_around(void)
{
    static uint64_t steps, since, then;
    if (sim_now != then)
        since = steps;
    then = sim_now;
    if (steps - since > STILL)
        fatal("time stands still: what its tasks do costs nothing in this model (cost.read.fixed, "
              "cost.add.amount)");
    if (++steps % LOOK == 0 && sim_look_around)
        sim_look_around();
}

/* Advances the clock to `time` without activity. */
static void idle_until(uint64_t time)
{
    look_around();
    while (stall_at <= time && sim_now < time)
        pass_stall();
    sim_now = time > sim_now ? time : sim_now;
}

/* Real-time tasks that have had their share of a second get the CPU again in the next. */
static void throttle(uint64_t ns)
{
    static uint64_t second, spent;
    if (sim_now / SECOND_NS != second) {
        second = sim_now / SECOND_NS;
        spent = 0;
    }
    spent += ns;
    if (spent > sim_the_model.throttle) {
        idle_until((second + 1) * SECOND_NS);
        fputs("throttled\n", stderr);
    }
}

/* Advances the clock by `ns` of activity. */
static void go_on(uint64_t ns)
{
    look_around();
    while (ns && stall_at < sim_now + ns) {
        ns -= stall_at > sim_now ? stall_at - sim_now : 0;
        pass_stall();
    }
    sim_now += ns;
    if (sim_the_model.throttle && sim_self && sim_self->policy != RTS_OTHER)
        throttle(ns);
}

static uint64_t cost_of(sim_op op, uint64_t amount, unsigned waiters)
{
    sim_load load = {amount, sim_tasks, n_ready, waiters};
    return sim_model_cost(op, &load);
}

static void use(uint64_t ns)
{
    go_on(ns);
    if (in_handler)
        return;
    sim_self->cpu += ns;
    sim_load_cpu += sim_self->load ? ns : 0;
    if (sim_self->slice)
        sim_self->slice -= ns < sim_self->slice ? ns : sim_self->slice;
}

void sim_charge(sim_op op, uint64_t amount, unsigned waiters)
{
    use(cost_of(op, amount, waiters));
}

/* ---- events -------------------------------------------------------------------------------- */

static sim_event **heap;
static size_t n_events, room;
static uint64_t sequence;

static bool earlier(const sim_event *a, const sim_event *b)
{
    return a->at != b->at ? a->at < b->at : a->sequence < b->sequence;
}

static void put(size_t place, sim_event *e)
{
    heap[place] = e;
    e->place = place;
}

static void sift(size_t place)
{
    sim_event *e = heap[place];
    for (; place && earlier(e, heap[(place - 1) / 2]); place = (place - 1) / 2)
        put(place, heap[(place - 1) / 2]);
    for (size_t child; (child = 2 * place + 1) < n_events; place = child) {
        if (child + 1 < n_events && earlier(heap[child + 1], heap[child]))
            child++;
        if (!earlier(heap[child], e))
            break;
        put(place, heap[child]);
    }
    put(place, e);
}

void sim_event_at(sim_event *e, uint64_t at)
{
    if (n_events == room) {
        room = room ? 2 * room : 64;
        sim_event **larger = realloc(heap, room * sizeof(sim_event *));
        if (!larger)
            fatal("no memory for events");
        heap = larger;
    }
    e->at = at;
    e->sequence = sequence++;
    e->pending = true;
    put(n_events, e);
    sift(n_events++);
}

void sim_event_cancel(sim_event *e)
{
    if (!e->pending)
        return;
    e->pending = false;
    size_t place = e->place;
    if (place == --n_events)
        return;
    put(place, heap[n_events]);
    sift(place);
}

static void interrupt(sim_op op, void (*handler)(void *arg), void *arg)
{
    bool nested = in_handler;
    in_handler = true;
    sim_charge(op, 0, 0);
    handler(arg);
    in_handler = nested;
}

void sim_interrupt(void (*handler)(void *arg), void *arg)
{
    interrupt(SIM_INTERRUPT, handler, arg);
}

static sim_event *due(void)
{
    return n_events && heap[0]->at <= sim_now ? heap[0] : NULL;
}

static void ring(void *arg)
{
    sim_wake_task(arg);
}

/* A single timer interrupt ends all sleeps that are due. */
static void ring_all(void *arg)
{
    for (sim_event *e = arg; e && e->handler == ring; e = due()) {
        sim_event_cancel(e);
        ring(e->arg);
    }
}

/* Serves due events, one interrupt after the other. */
static void serve(void)
{
    for (sim_event *e; (e = due());) {
        if (e->handler == ring) {
            interrupt(SIM_TIMER, ring_all, e);
        } else {
            sim_event_cancel(e);
            sim_interrupt(e->handler, e->arg);
        }
    }
}

/* ---- what AddressSanitizer needs to know about stacks -------------------------------------- */

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>

static const void *agent_stack;
static size_t agent_stack_size;

static void leaves_for(const sim_task *t)
{
    bool is_agent = t == &agent;
    __sanitizer_start_switch_fiber(NULL, is_agent ? agent_stack : t->stack,
                                   is_agent ? agent_stack_size : STACK);
}

static void arrives(const sim_task *from)
{
    const void *stack;
    size_t size;
    __sanitizer_finish_switch_fiber(NULL, &stack, &size);
    if (from == &agent) {
        agent_stack = stack;
        agent_stack_size = size;
    }
    /* The function that was called before the switch has not returned. */
    const char *bottom = sim_self == &agent ? agent_stack : sim_self->stack;
    const char *here = __builtin_frame_address(0);
    __asan_unpoison_memory_region(bottom, (size_t)(here - bottom));
}

static void forgets(void *stack)
{
    __asan_unpoison_memory_region(stack, STACK);
}
#else
static void leaves_for(const sim_task *t)
{
    (void)t;
}

static void arrives(const sim_task *from)
{
    (void)from;
}

static void forgets(void *stack)
{
    (void)stack;
}
#endif

/* ---- scheduling ---------------------------------------------------------------------------- */

uint64_t sim_load_cpu;

static const sim_task *came_from; /* the task that ran before */

static void enter(void)
{
    arrives(came_from);
    sim_self->entered = true;
    sim_leave();
    sim_self->run(sim_self->arg);
    sim_self->state = SIM_ENDED;
    sim_tasks--;
    while (sim_wake(&sim_self->joiners))
        ;
    sim_leave();
    fatal("a task that has ended runs");
}

#ifdef __SANITIZE_ADDRESS__
/* Its copies of frames, which find uses after a return, do not follow from one stack to another. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_stack_use_after_return=0";
}
#endif

/* Switches to a task: sets it up on its stack the first time, later continues where it was. */
static void go_to(sim_task *t)
{
    leaves_for(t);
    if (t->entered)
        longjmp(t->context, 1);
    ucontext_t first;
    getcontext(&first);
    first.uc_stack.ss_sp = t->stack;
    first.uc_stack.ss_size = STACK;
    makecontext(&first, enter, 0);
    setcontext(&first);
}

static void switch_to(sim_task *t)
{
    sim_task *from = sim_self;
    take_out(t);
    t->state = SIM_RUNNING;
    if (t != from || idled)
        go_on(cost_of(SIM_SWITCH, 0, 0));
    if (t->space != from->space)
        go_on(cost_of(SIM_SPACE, 0, 0));
    idled = false;
    sim_self = t;
    if (from == t)
        return;
    came_from = from;
    if (!_setjmp(from->context))
        go_to(t);
    arrives(came_from);
}

/* No task is ready: advances to the next event; if there is none, no task will ever run again. */
static void idle(void)
{
    idled = true;
    if (n_events) {
        idle_until(heap[0]->at);
        return;
    }
    sim_end("all its tasks wait for each other");
}

void sim_end(const char *why)
{
    sim_dead = why;
    if (agent.state != SIM_WAITING)
        fatal("no task can run");
    sim_wake_task(&agent);
}

static bool has_slices(const sim_task *t)
{
    return t->policy != RTS_FIFO && !t->by_deadline && sim_the_model.slice;
}

/* An expired time slice passes the CPU on; a task without rivals gets another slice. */
static void look_at_slice(void)
{
    sim_task *t = sim_self;
    if (t->state != SIM_RUNNING || t->slice || !has_slices(t))
        return;
    t->slice = sim_the_model.slice;
    bool rivals = false;
    for (const sim_task *o = ready[t->level].first; o && !rivals; o = o->next)
        rivals = !silent || !o->load;
    if (!rivals)
        return;
    t->taken++;
    sim_preemptions++;
    make_ready(t, false);
}

void sim_leave(void)
{
    if (in_handler)
        return;
    for (;;) {
        serve();
        look_at_slice();
        sim_task *best = most_urgent(), *self = sim_self;
        if (self->state == SIM_RUNNING) {
            if (!best || !before(best, self))
                return;
            self->taken++;
            sim_preemptions++;
            make_ready(self, true);
        }
        if (best)
            switch_to(best);
        else
            idle();
    }
}

void sim_call(sim_op op, uint64_t amount)
{
    sim_charge(op, amount, 0);
    sim_leave();
}

void sim_work(sim_op op, uint64_t amount)
{
    uint64_t left = cost_of(op, amount, 0);
    while (left) {
        uint64_t step = left;
        if (n_events && heap[0]->at - sim_now < step)
            step = heap[0]->at - sim_now;
        if (has_slices(sim_self) && sim_self->slice < step)
            step = sim_self->slice;
        use(step);
        left -= step;
        if (left) /* otherwise it ends before an event at the same instant */
            sim_leave();
    }
}

void sim_block(sim_list *list)
{
    sim_self->yielded++;
    sim_self->state = SIM_WAITING;
    insert_by_urgency(list, sim_self, false);
}

/* A task that has waited begins a new time slice. */
void sim_wake_task(sim_task *t)
{
    take_out(t);
    t->slice = sim_the_model.slice;
    make_ready(t, false);
}

sim_task *sim_wake(sim_list *list)
{
    sim_task *t = list->first;
    if (t)
        sim_wake_task(t);
    return t;
}

bool sim_has_rival(void)
{
    return ready[sim_self->level].n > 0;
}

void sim_pass(void)
{
    sim_self->yielded++;
    sim_self->slice = sim_the_model.slice;
    make_ready(sim_self, false);
}

void sim_set_level(sim_task *t, int level, uint64_t due)
{
    sim_list *list = t->list;
    sim_task current = {.level = t->level, .due = t->due};
    if (level == t->level && due == t->due)
        return;
    t->level = level;
    t->due = due;
    bool lowered = before(&current, t);
    if (!list)
        return;
    t->level = current.level;
    sim_state state = t->state;
    take_out(t);
    t->level = level;
    if (state == SIM_READY)
        make_ready(t, lowered);
    else
        insert_by_urgency(list, t, false);
}

bool sim_settle(sim_task *t)
{
    sim_task most = {.level = t->prio, .due = t->by_deadline ? t->deadline : 0};
    for (const rts_mutex *m = t->holds; m; m = m->next) {
        sim_task by = {0};
        if (m->protocol == RTS_LOCK_PROTECT)
            by.level = m->ceiling;
        else if (m->protocol == RTS_LOCK_INHERIT && m->waiters.first)
            by = (sim_task){.level = m->waiters.first->level, .due = m->waiters.first->due};
        most = before(&by, &most) ? by : most;
    }
    bool changes = most.level != t->level || most.due != t->due;
    sim_set_level(t, most.level, most.due);
    return changes;
}

void sim_settle_chain(sim_task *t)
{
    while (t && sim_settle(t))
        t = t->wants && t->wants->protocol == RTS_LOCK_INHERIT ? t->wants->owner : NULL;
}

/* ---- tasks --------------------------------------------------------------------------------- */

sim_task *sim_task_new(void (*run)(void *), void *arg, int level, rts_policy policy, int space)
{
    sim_task *t = calloc(1, sizeof *t);
    void *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (!t || stack == MAP_FAILED) {
        free(t);
        return NULL;
    }
    *t = (sim_task){.run = run,
                    .arg = arg,
                    .prio = level,
                    .level = level,
                    .policy = policy,
                    .space = space,
                    .stack = stack,
                    .slice = sim_the_model.slice,
                    .all_next = all};
    forgets(stack);
    all = t;
    sim_tasks++;
    make_ready(t, false);
    return t;
}

/* Mutexes that the task holds stay locked forever; it no longer lends priority to owners. */
static void leave_mutexes(sim_task *t)
{
    static sim_task nobody = {.state = SIM_ENDED};
    for (rts_mutex *m = t->holds; m; m = m->next)
        m->owner = &nobody;
    t->holds = NULL;
    if (t->wants)
        sim_settle_chain(t->wants->owner);
}

void sim_task_kill(sim_task *t)
{
    if (t->state == SIM_ENDED)
        return;
    take_out(t);
    leave_mutexes(t);
    t->state = SIM_ENDED;
    sim_tasks--;
    sim_event_cancel(&t->alarm);
    while (sim_wake(&t->joiners))
        ;
}

void sim_task_join(sim_task *t)
{
    while (t->state != SIM_ENDED && !sim_dead) {
        sim_block(&t->joiners);
        sim_leave();
    }
}

void sim_task_free(sim_task *t)
{
    sim_task **link = &all;
    while (*link != t)
        link = &(*link)->all_next;
    *link = t->all_next;
    munmap(t->stack, STACK);
    free(t);
}

void sim_kill_all(bool load)
{
    for (sim_task *t = all, *next; t; t = next) {
        next = t->all_next;
        if (t->load != load)
            continue;
        sim_task_kill(t);
        sim_task_free(t);
    }
}

static uint64_t next_tick(uint64_t time)
{
    uint64_t tick = sim_the_model.tick;
    return tick ? (time + tick - 1) / tick * tick : time;
}

void sim_sleep(uint64_t time)
{
    static sim_list sleepers;
    sim_task *self = sim_self;
    if (self->by_deadline) {
        self->deadline = time + self->period;
        sim_settle(self);
    }
    uint64_t wake_up = next_tick(time) - sim_the_model.early;
    if (time <= sim_now || wake_up <= sim_now)
        return;
    self->alarm.handler = ring;
    self->alarm.arg = self;
    sim_event_at(&self->alarm, wake_up);
    self->yielded++;
    self->state = SIM_WAITING;
    insert(&sleepers, self, NULL);
}

/* ---- interface to the agent ---------------------------------------------------------------- */

void sim_boot(void)
{
    agent = (sim_task){
        .state = SIM_RUNNING, .level = SIM_LEVEL_AGENT, .prio = SIM_LEVEL_AGENT, .entered = true};
    sim_self = &agent;
    sim_restart(0);
}

void sim_restart(uint64_t round)
{
    if (sim_tasks) { /* only tasks of a load are left, whose time continues */
        if (sim_model_is_loaded())
            sim_model_restart(round);
        return;
    }
    sim_now = 0;
    sim_model_restart(round);
    restart_stalls();
}

void sim_silence(bool on)
{
    silent = on;
    sim_leave();
}
