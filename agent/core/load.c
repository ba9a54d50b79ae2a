/* The load that runs beside the cases: its start, its end, and its measured rate. */
#include "load.h"

#include <stdarg.h>
#include <string.h>

#include "host.h"

#define READY_NS (60 * RTS_NS_PER_S)

static const rts_param common_params[] = {
    {"place", RTS_T_CHOICE, offsetof(rts_load_common, place), "auto|others|measured|any",
     RTS_PLACE_AUTO, 0, 0,
     RTS_SAY("where it runs: on the CPUs that are not measured (others), on the measured ones, or "
             "on any; auto: others, but measured where all CPUs are")},
    {"away", RTS_T_CPUS, offsetof(rts_load_common, away), NULL, 0, 0, RTS_CPUS - 1,
     RTS_SAY("the measured CPUs; default: the last of the largest, isolated first")},
    RTS_PARAMS_END,
};

static rts_running *the_load; /* NULL: none is running */

/* ---- the table --------------------------------------------------------------------------- */

/* The linker collects what RTS_LOADS() registers between these two symbols. */
extern const rts_load_family __start_rts_loads[], __stop_rts_loads[];

static const rts_load *find(const char *id)
{
    for (const rts_load_family *s = __start_rts_loads; s < __stop_rts_loads; s++)
        for (unsigned i = 0; i < s->n; i++)
            if (!strcmp(s->load[i].id, id))
                return &s->load[i];
    return NULL;
}

static int64_t default_of(const void *load, const rts_param *p)
{
    return p->offset == offsetof(rts_load_common, place) ? (int64_t)((const rts_load *)load)->place
                                                         : rts_limit_value(p->def);
}

static rts_args args_of(rts_running *l)
{
    return (rts_args){.kind = "load",
                      .id = l->load->id,
                      .entry = l->load,
                      .common = common_params,
                      .common_default = default_of,
                      .own = l->load->params,
                      .common_values = &l->common,
                      .own_values = l->params,
                      .reason = l->reason};
}

static void describe(const rts_load *load)
{
    rts_args args = {
        .entry = load, .common = common_params, .common_default = default_of, .own = load->params};
    rts_wire *w = rts_wire_begin("load");
    rts_wire_str(w, "id", load->id);
    rts_text_put(w, "title", load->title);
    rts_text_put(w, "source", load->source);
    rts_text_put(w, "help", load->help);
    rts_args_describe(w, &args, load->needs);
    rts_wire_end(w);
}

void rts_load_list(void)
{
    for (const rts_load_family *s = __start_rts_loads; s < __stop_rts_loads; s++)
        for (unsigned i = 0; i < s->n; i++)
            describe(&s->load[i]);
}

/* ---- functions for workers --------------------------------------------------------------- */

/* Returns the time until which a real-time worker has to rest; 0: it may run. */
static rts_ns rest_of(rts_running *l)
{
    rts_ns now = rts_time_ns();
    if (l->busy.ns && !rts_ns_less(now, l->busy_until)) {
        l->rest_until = rts_ns_add(now, l->rest);
        l->busy_until = rts_ns_add(l->rest_until, l->busy);
    }
    if (rts_ns_less(now, l->silent_until))
        return l->silent_until;
    return rts_ns_less(now, l->rest_until) ? l->rest_until : rts_ns_of(0);
}

bool rts_load_goes_on(rts_worker *w)
{
    rts_running *l = w->load;
    w->ready = true;
    for (rts_ns until; w->prio && !l->stop && (until = rest_of(l)).ns;)
        rts_sleep_until_ns(until);
#ifdef RTS_OTHER_YIELDS
    if (!w->prio)
        rts_yield();
#endif
    return !l->stop;
}

void rts_worker_run(void *worker)
{
    rts_worker *w = worker;
    w->component->run(w);
}

void rts_worker_failed(rts_worker *w, const char *format, ...)
{
    va_list args;
    if (w->why[0])
        return;
    va_start(args, format);
    rts_vprint(w->why, sizeof w->why, format, args);
    va_end(args);
}

void rts_worker_unsupported(rts_worker *w, const char *format, ...)
{
    va_list args;
    if (w->why[0])
        return;
    va_start(args, format);
    rts_vprint(w->why, sizeof w->why, format, args);
    va_end(args);
    w->unsupported = true;
}

void rts_load_silent_until(rts_ns until)
{
    if (the_load)
        the_load->silent_until = until;
}

/* ---- start ------------------------------------------------------------------------------- */

static int give_up(rts_running *l, rts_status status, const char *format, va_list args)
{
    l->status = status;
    rts_vprint(l->reason, sizeof l->reason, format, args);
    return -1;
}

int rts_load_unsupported(rts_running *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    give_up(l, RTS_S_UNSUPPORTED, format, args);
    va_end(args);
    return -1;
}

int rts_load_failed(rts_running *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    give_up(l, RTS_S_FAILED, format, args);
    va_end(args);
    return -1;
}

static int parse(rts_running *l, char *words)
{
    const char *id = rts_word(&words);
    memset(l, 0, sizeof *l);
    if (!id)
        return rts_load_failed(l, "load needs the name of a load, or none");
    l->load = find(id);
    if (!l->load)
        return rts_load_failed(l, "this agent has no load '%s'", id);
    rts_args args = args_of(l);
    rts_args_defaults(&args);
    l->status = RTS_S_FAILED; /* until parsing has succeeded */
    if (rts_args_parse(&args, words))
        return -1;
    l->status = RTS_S_OK;
    return 0;
}

/* Returns -1 with a reason if the load would lend the agent's rights to programs or files. */
static int check_guard(rts_running *l)
{
    const char *why = rts_port_guard();
    for (const rts_component *k = l->load->component; why && k->name; k++)
        if (k->program)
            return rts_load_unsupported(l, "it runs programs: %s", why);
    const rts_param *p = rts_args_guarded(l->load->params, l->params);
    return p ? rts_load_unsupported(l, "parameter %s: %s", p->name, why) : 0;
}

/* Returns true if all CPUs are measured; an isolated CPU is not among those allowed. */
static bool covers(const rts_cpuset *away, const rts_cpuset *allowed)
{
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(allowed, cpu) && !rts_cpuset_has(away, cpu))
            return false;
    return true;
}

static int choose_cpus(rts_running *l)
{
    rts_cpuset *away = &l->common.away;
    rts_cpuset allowed;
    rts_port_cpus(&allowed);
    if (rts_cpuset_first(away) < 0)
        rts_cpuset_add(away, (unsigned)rts_port_default_cpu());
    if (l->common.place == RTS_PLACE_AUTO)
        l->common.place = covers(away, &allowed) ? RTS_PLACE_MEASURED : RTS_PLACE_OTHERS;
    if (l->common.place == RTS_PLACE_MEASURED) {
        l->cpus = *away; /* may be an isolated one, which is not among those allowed */
        return 0;
    }
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(&allowed, cpu) &&
            (l->common.place == RTS_PLACE_ANY || !rts_cpuset_has(away, cpu)))
            rts_cpuset_add(&l->cpus, cpu);
    if (rts_cpuset_first(&l->cpus) >= 0)
        return 0;
    return rts_load_unsupported(l, "no CPU is left beside the measured ones: measure fewer, or let "
                                   "the load run on them with place=any");
}

/* Returns how many pieces a text has, which are separated by commas. */
static unsigned pieces(const char *text)
{
    unsigned n = *text != '\0';
    for (; *text; text++)
        n += *text == ',';
    return n;
}

static unsigned workers_of(const rts_running *l, const rts_component *k)
{
    if (!k->workers)
        return 1;
    for (const rts_param *p = l->load->params;; p++)
        if (!strcmp(p->name, k->workers)) {
            const void *value = l->params + p->offset;
            return p->type == RTS_T_TEXT ? pieces(value) : (unsigned)*(const int64_t *)value;
        }
}

static unsigned all_workers(const rts_running *l)
{
    unsigned n = 0;
    for (const rts_component *k = l->load->component; k->name; k++)
        n += workers_of(l, k);
    return n;
}

/* Copies a parsed load to memory that its workers share; NULL: no memory. */
static rts_running *share(const rts_running *parsed)
{
    unsigned n = all_workers(parsed);
    size_t head = (sizeof *parsed + RTS_CACHE_LINE - 1) & ~(size_t)(RTS_CACHE_LINE - 1);
    size_t state = parsed->load->state ? parsed->load->state(parsed->params) : 0;
    size_t size = head + n * sizeof(rts_worker) + state;
    rts_running *l = rts_port_shared(size);
    if (!l)
        return NULL;
    *l = *parsed;
    l->size = size;
    l->n_workers = n;
    l->worker = (void *)((unsigned char *)l + head);
    l->state = &l->worker[n];
    rts_worker *w = l->worker;
    for (const rts_component *k = l->load->component; k->name; k++)
        for (unsigned i = 0, end = workers_of(l, k); i < end; i++, w++) {
            w->load = l;
            w->component = k;
            w->index = i;
            w->prio = k->prio ? k->prio(w) : 0;
            w->lowest = k->lowest;
            w->program = k->program;
        }
    return l;
}

/*
 * A real-time load rests after half of the time that a single task may keep the CPU: the measuring
 * task runs during its rests, and both together must stay below the RT throttling limit.
 */
static void set_throttling(rts_running *l)
{
    uint64_t busy_ns, rest_ns;
    rts_port_throttling(&busy_ns, &rest_ns);
    l->busy = rts_ns_of(busy_ns / 2);
    l->rest = rts_ns_of(rest_ns);
    l->busy_until = rts_ns_add(rts_time_ns(), l->busy);
}

/* Returns a worker that has ended, or NULL; of component k, or of any if k is NULL. */
static const rts_worker *ended(rts_running *l, const rts_component *k)
{
    rts_worker *w = l->worker;
    for (unsigned i = 0; i < l->n_workers; i++, w++)
        if ((!k || w->component == k) && !rts_port_load_alive(i)) {
            rts_worker_failed(w, "it returned");
            return w;
        }
    return NULL;
}

static rts_ns in_ns(uint64_t ns)
{
    return rts_ns_add(rts_time_ns(), rts_ns_of(ns));
}

/* Sleeps briefly, at most until then; returns -1 if a worker has ended or the agent has to. */
static int go_on_waiting(rts_running *l, rts_ns until)
{
    rts_ns soon = in_ns(RTS_NS_PER_S / 50);
    rts_sleep_until_ns(rts_ns_less(soon, until) ? soon : until);
    const rts_worker *w = ended(l, NULL);
    if (w && w->unsupported)
        return rts_load_unsupported(l, "component %s: %s", w->component->name, w->why);
    if (w)
        return rts_load_failed(l, "component %s ended: %s", w->component->name, w->why);
    return rts_port_stopped() || rts_host_stops() ? rts_load_failed(l, "stopped") : 0;
}

static const rts_worker *unready(const rts_running *l)
{
    for (unsigned i = 0; i < l->n_workers; i++)
        if (!l->worker[i].ready)
            return &l->worker[i];
    return NULL;
}

static int await_ready(rts_running *l)
{
    rts_ns end = in_ns(READY_NS);
    for (const rts_worker *w; (w = unready(l));) {
        if (!rts_ns_less(rts_time_ns(), end))
            return rts_load_failed(l, "component %s is not ready after 60 s", w->component->name);
        if (go_on_waiting(l, end))
            return -1;
    }
    return 0;
}

static void forget_marks(void);

static int ramp_up(rts_running *l)
{
    uint64_t ns = l->load->ramp_up_ns > RTS_RAMP_UP_NS ? l->load->ramp_up_ns : RTS_RAMP_UP_NS;
    if (await_ready(l))
        return -1;
    forget_marks();
    for (rts_ns end = in_ns(ns); rts_ns_less(rts_time_ns(), end);)
        if (go_on_waiting(l, end))
            return -1;
    return 0;
}

static int start_workers(rts_running *l)
{
    if (l->load->prepare && l->load->prepare(l))
        return -1;
    set_throttling(l);
    int err = rts_port_load_start(l->worker, l->n_workers, &l->cpus);
    if (!err)
        return 0;
    return rts_port_is_limit(err) ? rts_load_unsupported(l, "cannot start its %u tasks: %s",
                                                         l->n_workers, rts_port_strerror(err))
                                  : rts_load_failed(l, "cannot start its %u tasks: %s",
                                                    l->n_workers, rts_port_strerror(err));
}

rts_running *rts_load_start(char *words, rts_running *refused)
{
    rts_load_stop();
    if (parse(refused, words) || check_guard(refused) || choose_cpus(refused))
        return NULL;
    if (rts_caps_lack(refused->load->needs, refused->reason)) {
        refused->status = RTS_S_UNSUPPORTED;
        return NULL;
    }
    if (!all_workers(refused)) {
        rts_load_failed(refused, "all its components are left out: that is load none");
        return NULL;
    }
    the_load = share(refused);
    if (!the_load) {
        rts_load_unsupported(refused, "no memory for a load");
        return NULL;
    }
    if (!start_workers(the_load) && !ramp_up(the_load))
        return the_load;
    *refused = *the_load;
    rts_load_stop();
    return NULL;
}

void rts_load_stop(void)
{
    if (!the_load)
        return;
    the_load->stop = true;
    rts_port_load_stop();
    rts_port_unshare(the_load, the_load->size);
    the_load = NULL;
}

int rts_load_top_prio(const rts_cpuset *cpus)
{
    int top = 0;
    bool shared = false;
    for (unsigned i = 0; the_load && i < RTS_CPUS / 64; i++)
        shared = shared || cpus->word[i] & the_load->cpus.word[i];
    for (unsigned i = 0; shared && i < the_load->n_workers; i++)
        top = the_load->worker[i].prio > top ? the_load->worker[i].prio : top;
    return top;
}

/* ---- rates ------------------------------------------------------------------------------- */

/* Work of a component up to some time. */
typedef struct sum {
    uint64_t done, missed, runs;
    int64_t cpu_ns; /* -1: unknown */
} sum;

typedef struct mark {
    rts_ns at;
    sum component[RTS_COMPONENTS];
} mark;

/* Marks are at least MARK_DISTANCE_NS apart, so that together they span more than a window. */
#define MARK_DISTANCE_NS (RTS_RATE_NS * 8 / (5 * RTS_MARKS))
static mark marks[RTS_MARKS];
static unsigned n_marks; /* number made since the load started */
static rts_ns case_start;
static mark case_end;
static const mark *case_since; /* the rates are measured from this mark on */

static void read_sums(mark *m)
{
    *m = (mark){.at = rts_time_ns()};
    rts_running *l = the_load;
    for (unsigned i = 0; i < l->n_workers; i++) {
        const rts_worker *w = &l->worker[i];
        sum *s = &m->component[w->component - l->load->component];
        int64_t cpu_ns = rts_port_load_cpu_ns(i);
        s->cpu_ns = cpu_ns < 0 || s->cpu_ns < 0 ? -1 : s->cpu_ns + cpu_ns;
        s->done += w->component->program ? (uint64_t)(cpu_ns > 0 ? cpu_ns : 0) : w->done;
        s->missed += w->missed;
        s->runs += w->runs;
    }
    m->at.ns +=
        rts_ns_between(m->at, rts_time_ns()).ns / 2; /* asking many processes takes a while */
}

void rts_load_read(rts_load_sums *sums)
{
    mark m;
    if (!the_load)
        return;
    read_sums(&m);
    sums->at = m.at;
    for (unsigned k = 0; k < RTS_COMPONENTS; k++)
        sums->done[k] = m.component[k].done;
}

void rts_load_counts(const rts_load_sums *from, const rts_load_sums *to)
{
    if (!the_load)
        return;
    rts_load_sums *sums = &the_load->counted;
    sums->at = rts_ns_add(sums->at, rts_ns_between(from->at, to->at));
    for (unsigned k = 0; k < RTS_COMPONENTS; k++)
        sums->done[k] += to->done[k] - from->done[k];
}

static void forget_marks(void)
{
    n_marks = 1;
    read_sums(&marks[0]);
}

/* The last case slowed the load down; it has to recover before the next one starts. */
static bool starved;

void rts_load_case_starts(void)
{
    if (the_load && starved) {
        forget_marks();
        rts_sleep_until_ns(in_ns(RTS_RATE_NS));
    }
    starved = false;
    if (the_load)
        the_load->counted = (rts_load_sums){.at = {0}};
    if (the_load &&
        rts_ns_between(marks[(n_marks - 1) % RTS_MARKS].at, rts_time_ns()).ns >= MARK_DISTANCE_NS)
        read_sums(&marks[n_marks++ % RTS_MARKS]);
    case_start = rts_time_ns(); /* not before the mark */
}

/* Returns the latest mark at or before `limit` that is at least `ns` old, or else the first. */
static const mark *mark_before(rts_ns now, uint64_t ns, rts_ns limit)
{
    unsigned n = n_marks < RTS_MARKS ? n_marks : RTS_MARKS;
    const mark *m = &marks[(n_marks - n) % RTS_MARKS];
    for (unsigned i = n_marks - n; i < n_marks; i++) {
        const mark *next = &marks[i % RTS_MARKS];
        if (!rts_ns_less(limit, next->at) && next->at.ns + ns <= now.ns)
            m = next;
    }
    return m;
}

static uint32_t per_unit(const rts_component *k)
{
    return k->per_unit ? k->per_unit : 1;
}

/*
 * Returns true if between two marks any component missed a period, fell short of its rate by a
 * tenth, or made no progress for half a window. Without this check, successive cases that each slow
 * the load down a little would end up measuring under half a load, or none.
 */
static bool is_starved(const rts_running *l, const mark *since, const mark *now)
{
    const uint64_t window_ms = rts_ns_between(since->at, now->at).ns / 1000000;
    const mark *lately = mark_before(now->at, RTS_RATE_NS / 2, now->at);
    bool long_enough = lately->at.ns + RTS_RATE_NS / 2 <= now->at.ns;
    const sum *from = since->component, *to = now->component, *late = lately->component;
    for (const rts_component *k = l->load->component; k->name; k++, from++, to++, late++) {
        uint64_t wanted = (uint64_t)k->rate * per_unit(k) * window_ms; /* in thousandths */
        if (to->missed != from->missed)
            return true;
        if (workers_of(l, k) && (10000 * (to->done - from->done) < 9 * wanted ||
                                 (long_enough && to->done == late->done)))
            return true;
    }
    return false;
}

static void put_alive(rts_wire *w, rts_running *l, const rts_component *k)
{
    const rts_worker *dead = ended(l, k);
    rts_wire_bool(w, "alive", !dead);
    if (dead)
        rts_wire_str(w, "why", dead->why);
}

static void put_rate(rts_wire *w, const rts_component *k)
{
    rts_wire_str(w, "unit", k->unit);
    if (k->rate > 0)
        rts_wire_real(w, "wanted", k->rate);
}

/* Where its workers run, if that could be elsewhere. */
static void put_cpus(rts_wire *w, const rts_running *l)
{
    if (RTS_NEVER & RTS_CAP_SMP)
        return;
    rts_wire_open(w, "cpus", '[');
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(&l->cpus, cpu))
            rts_wire_uint(w, NULL, cpu);
    rts_wire_close(w, ']');
}

static void put_component(rts_wire *w, rts_running *l, const rts_component *k)
{
    const sum *from = &case_since->component[k - l->load->component];
    const sum *to = &case_end.component[k - l->load->component];
    double window_s = (double)rts_ns_between(case_since->at, case_end.at).ns / 1e9;
    rts_wire_open(w, NULL, '{');
    rts_wire_str(w, "component", k->name);
    put_rate(w, k);
    put_cpus(w, l);
    rts_wire_real(w, "achieved", (double)(to->done - from->done) / per_unit(k) / window_s);
    rts_wire_real(w, "window_s", window_s);
    if (l->counted.at.ns) {
        double counted_s = (double)l->counted.at.ns / 1e9;
        uint64_t done = l->counted.done[k - l->load->component];
        rts_wire_real(w, "counted", (double)done / per_unit(k) / counted_s);
        rts_wire_real(w, "counted_s", counted_s);
    }
    put_alive(w, l, k);
    if (to->cpu_ns >= 0 && from->cpu_ns >= 0)
        rts_wire_real(w, "cpu_ms", (double)(to->cpu_ns - from->cpu_ns) / 1e6 / window_s);
    rts_wire_optional(w, "missed", k->periodic ? (int64_t)(to->missed - from->missed) : -1);
    rts_wire_optional(w, "runs", k->program ? (int64_t)(to->runs - from->runs) : -1);
    rts_wire_close(w, '}');
}

void rts_load_case_ends(void)
{
    starved = false;
    if (!the_load)
        return;
    read_sums(&case_end);
    case_since = mark_before(case_end.at, RTS_RATE_NS, case_start);
    starved = is_starved(the_load, case_since, &case_end);
}

void rts_load_put(rts_wire *w)
{
    rts_running *l = the_load;
    if (!l)
        return;
    rts_wire_open(w, "load", '[');
    for (const rts_component *k = l->load->component; k->name; k++)
        if (workers_of(l, k))
            put_component(w, l, k);
    rts_wire_close(w, ']');
}

/* ---- the command ------------------------------------------------------------------------- */

static void put_components(rts_wire *w, const rts_running *l)
{
    for (const rts_component *k = l->load->component; k->name; k++) {
        if (!workers_of(l, k))
            continue;
        rts_wire_open(w, NULL, '{');
        rts_wire_str(w, "name", k->name);
        rts_wire_str(w, "title", k->title);
        put_rate(w, k);
        rts_wire_close(w, '}');
    }
}

static void answer(const char *id, rts_running *l)
{
    rts_wire *w = rts_wire_begin("loaded");
    rts_wire_str(w, "load", id);
    rts_wire_open(w, "params", '{');
    if (l->load) {
        rts_args args = args_of(l);
        rts_args_put(w, &args);
    }
    rts_wire_close(w, '}');
    rts_wire_status(w, l->status, l->reason);
    rts_wire_open(w, "components", '[');
    if (l->load)
        put_components(w, l);
    rts_wire_close(w, ']');
    rts_wire_end(w);
}

/* The load requested last, if it does not run; static, as it is too large for a small stack. */
static rts_running refused;
static char load_name[64];

void rts_load_command(char *words)
{
    words += strspn(words, " ");
    rts_print(load_name, sizeof load_name, "%.*s", (int)strcspn(words, " "), words);
    memset(&refused, 0, sizeof refused);
    rts_running *l = &refused;
    if (!strcmp(words, "none"))
        rts_load_stop();
    else
        l = rts_load_start(words, &refused);
    answer(load_name, l ? l : &refused);
}

rts_status rts_load_refused(char *reason)
{
    if (refused.status != RTS_S_OK)
        rts_print(reason, RTS_REASON, "load %s: %s", load_name, refused.reason);
    return refused.status;
}
