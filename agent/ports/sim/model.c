#include "model.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

sim_model sim_the_model = {.name = "ideal", .label = "no costs", .slice = 10000000};

/* Costs are in ps, so that a byte may cost a fraction of a ns. */
#define PS_PER_NS 1000
#define POINTS 24

/* A piecewise linear function given by points; beyond the last two it is extrapolated. */
typedef struct table {
    unsigned n;
    struct {
        int64_t x, ps;
    } point[POINTS];
} table;

typedef struct cost {
    bool defined;
    int64_t fixed;
    table amount, tasks, ready, waiters;
    table random; /* over 10^9 times a random number in [0, 1): the inverse of a distribution */
} cost;

static cost costs[SIM_OPS];

/*
 * Costs under the loads of a model. `charges` counts those under the load `now`; NULL: there is no
 * load.
 */
static const char *const loads[SIM_LOADS] = {"heavy", "stress"};
static cost loaded[SIM_LOADS][SIM_OPS];
static bool has[SIM_LOADS], quiet;
static sim_load_kind now;
static volatile uint64_t *charges;

#define SIM_COST_NAME(name) #name,
static const char *const names[SIM_OPS] = {SIM_COSTS(SIM_COST_NAME)};

/* What parts of load heavy add to an operation, while all of `parts` run. */
#define ADDITIONS 16

static struct addition {
    unsigned parts; /* bits, by the place in part_names */
    sim_op op;
    cost cost;
} additions[ADDITIONS];
static unsigned n_additions;
static unsigned running; /* parts of the load that run; none while it is off */

#define PART_NAME(part) #part,
static const char *const part_names[] = {SIM_HEAVY_PARTS(PART_NAME)};
#define PARTS (sizeof part_names / sizeof part_names[0])

/* ---- reading a model --------------------------------------------------------------------- */

static bool refuse(const char *word, const char *why)
{
    fprintf(stderr, "rtstone-agent-sim: '%s': %s\n", word, why);
    return false;
}

static bool same_name(const char *name, const char *small, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!name[i] || tolower((unsigned char)name[i]) != small[i])
            return false;
    return !name[length];
}

/* Reads a number and the character `behind` after it, and moves past both. */
static bool read_number(const char **at, int64_t *value, char behind)
{
    char *end;
    *value = strtoll(*at, &end, 10);
    if (end == *at || *end != behind)
        return false;
    *at = end + (behind != '\0');
    return true;
}

/* Reads "X:PS,X:PS,...", with X ascending. */
static bool read_table(table *t, const char *at)
{
    for (t->n = 0; t->n < POINTS; t->n++) {
        int64_t x, ps;
        char behind = strchr(at, ',') ? ',' : '\0';
        if (!read_number(&at, &x, ':') || !read_number(&at, &ps, behind))
            return false;
        if (t->n && x <= t->point[t->n - 1].x)
            return false;
        t->point[t->n].x = x;
        t->point[t->n].ps = ps;
        if (!behind) {
            t->n++;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *kind;
    size_t offset;
} tables[] = {
    {"amount", offsetof(cost, amount)}, {"tasks", offsetof(cost, tasks)},
    {"ready", offsetof(cost, ready)},   {"waiters", offsetof(cost, waiters)},
    {"random", offsetof(cost, random)},
};

static table *table_of(cost *c, const char *kind)
{
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        if (!strcmp(tables[i].kind, kind))
            return (table *)(void *)((unsigned char *)c + tables[i].offset);
    return NULL;
}

/* Returns the operation of NAME.KIND and sets *kind; SIM_OPS if there is none. */
static sim_op op_of(const char *key, const char **kind)
{
    unsigned op = 0;
    *kind = strchr(key, '.');
    while (*kind && op < SIM_OPS && !same_name(names[op], key, (size_t)(*kind - key)))
        op++;
    return *kind ? (sim_op)op : SIM_OPS;
}

/* Sets one part of a cost: for KIND fixed the value is a number of ps, otherwise a table. */
static bool set_kind(cost *c, const char *word, const char *kind, const char *value)
{
    c->defined = true;
    if (!strcmp(kind, "fixed"))
        return read_number(&value, &c->fixed, '\0') || refuse(word, "no number");
    table *t = table_of(c, kind);
    return (t && read_table(t, value)) || refuse(word, "no table");
}

/* Sets NAME.KIND=... */
static bool set_cost(cost *book, const char *word, const char *key, const char *value)
{
    const char *kind;
    sim_op op = op_of(key, &kind);
    return op == SIM_OPS ? refuse(word, "no such cost")
                         : set_kind(&book[op], word, kind + 1, value);
}

/* Returns the bits of PART+PART+... up to `end`, 0 if one of them does not exist. */
static unsigned parts_of(const char *list, const char *end)
{
    unsigned parts = 0;
    while (list < end) {
        size_t length = strcspn(list, "+.");
        unsigned i = 0;
        while (i < PARTS &&
               (strlen(part_names[i]) != length || strncmp(part_names[i], list, length) != 0))
            i++;
        if (i == PARTS)
            return 0;
        parts |= 1u << i;
        list += length + (list + length < end);
    }
    return parts;
}

/* Sets PART+PART.NAME.KIND=...: what these parts of load heavy add while all of them run. */
static bool set_addition(const char *word, const char *key, const char *value)
{
    const char *kind, *dot = strchr(key, '.');
    unsigned i = 0, parts = dot ? parts_of(key, dot) : 0;
    sim_op op = parts ? op_of(dot + 1, &kind) : SIM_OPS;
    if (op == SIM_OPS)
        return refuse(word, parts ? "no such cost" : "no such part of the load");
    while (i < n_additions && (additions[i].parts != parts || additions[i].op != op))
        i++;
    if (i == ADDITIONS)
        return refuse(word, "too many costs of parts");
    if (i == n_additions)
        additions[n_additions++] = (struct addition){.parts = parts, .op = op};
    return set_kind(&additions[i].cost, word, kind + 1, value);
}

static const char *const lacks[] = {"inherit", "protect",  "event", "soft_irq",   "suspend",
                                    "process", "deadline", "heap",  "round_robin"};

static bool set_lack(const char *word, const char *value)
{
    for (unsigned i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        if (!strcmp(lacks[i], value)) {
            sim_the_model.lacks |= 1u << i;
            return true;
        }
    return refuse(word, "nothing that a system may lack");
}

static bool set_stall(const char *word, const char *value)
{
    sim_stall *s = &sim_the_model.stall[sim_the_model.stalls];
    int64_t first, length, period;
    if (sim_the_model.stalls == SIM_STALLS)
        return refuse(word, "too many stalls");
    if (!read_number(&value, &first, ':') || !read_number(&value, &length, ':') ||
        !read_number(&value, &period, '\0') || first < 0 || length <= 0 ||
        (period && period <= length))
        return refuse(word, "no stall");
    *s = (sim_stall){(uint64_t)first, (uint64_t)length, (uint64_t)period};
    sim_the_model.stalls++;
    return true;
}

static bool set_text(const char *word, const char *value, char *text, size_t size)
{
    size_t length = strlen(value);
    if (!length || length >= size)
        return refuse(word, length ? "too long" : "empty");
    memcpy(text, value, length + 1);
    return true;
}

static uint64_t *number_of(const char *key)
{
    sim_model *m = &sim_the_model;
    return !strcmp(key, "seed")       ? &m->seed
           : !strcmp(key, "tick")     ? &m->tick
           : !strcmp(key, "slice")    ? &m->slice
           : !strcmp(key, "throttle") ? &m->throttle
           : !strcmp(key, "early")    ? &m->early
           : !strcmp(key, "drift")    ? &m->drift
           : !strcmp(key, "chirp")    ? &m->chirp
                                      : NULL;
}

bool sim_model_set(const char *word)
{
    sim_model *m = &sim_the_model;
    const char *equals = strchr(word, '=');
    char key[64];
    if (!equals || (size_t)(equals - word) >= sizeof key)
        return refuse(word, "not KEY=VALUE");
    snprintf(key, sizeof key, "%.*s", (int)(equals - word), word);
    const char *value = equals + 1;
    if (!strncmp(key, "cost.", 5))
        return set_cost(costs, word, key + 5, value);
    if (!strncmp(key, "heavy.with.", 11))
        return set_addition(word, key + 11, value);
    for (unsigned kind = 0; kind < SIM_LOADS; kind++) {
        size_t length = strlen(loads[kind]);
        if (!strncmp(key, loads[kind], length) && key[length] == '.') {
            has[kind] = true;
            return set_cost(loaded[kind], word, key + length + 1, value);
        }
    }
    if (!strcmp(key, "name"))
        return set_text(word, value, m->name, sizeof m->name);
    if (!strcmp(key, "label"))
        return set_text(word, value, m->label, sizeof m->label);
    if (!strcmp(key, "lacks"))
        return set_lack(word, value);
    if (!strcmp(key, "stall"))
        return set_stall(word, value);
    uint64_t *number = number_of(key);
    int64_t n;
    if (!number)
        return refuse(word, "no such key");
    if (!read_number(&value, &n, '\0') || n < 0)
        return refuse(word, "no number");
    *number = (uint64_t)n;
    return true;
}

static void list(const char *kind, const char *word)
{
    printf("%s ", kind);
    for (; *word; word++)
        putchar(tolower((unsigned char)*word));
    putchar('\n');
}

void sim_model_list(void)
{
    for (unsigned op = 0; op < SIM_OPS; op++)
        list("cost", names[op]);
    list("part", "fixed");
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        list("part", tables[i].kind);
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++)
        list("lack", lacks[i]);
    for (unsigned kind = 0; kind < SIM_LOADS; kind++)
        list("load", loads[kind]);
    for (size_t i = 0; i < PARTS; i++)
        list("component", part_names[i]);
    printf("most points %d\nmost stalls %d\nmost additions %d\n", POINTS, SIM_STALLS, ADDITIONS);
    printf("most title %zu\nmost label %zu\n", sizeof sim_the_model.name - 1,
           sizeof sim_the_model.label - 1);
}

/* ---- cost of an operation ---------------------------------------------------------------- */

/* State of splitmix64: the same numbers on every host. */
static uint64_t state;

static uint64_t mixed(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void sim_model_restart(uint64_t round)
{
    state = sim_the_model.seed + mixed(round); /* far away for each round; 0 for round 0 */
}

static int64_t random_part(void)
{
    return (int64_t)((mixed(state += 0x9e3779b97f4a7c15u) >> 32) * UINT64_C(1000000000) >> 32);
}

/* Integers only, as floating point may differ between hosts. */
static int64_t at(const table *t, uint64_t x)
{
    int64_t x_ = (int64_t)x;
    if (t->n == 1 || x_ <= t->point[0].x)
        return t->point[0].ps;
    unsigned i = 1;
    while (i < t->n - 1 && t->point[i].x < x_)
        i++;
    int64_t dx = t->point[i].x - t->point[i - 1].x, dy = t->point[i].ps - t->point[i - 1].ps;
    __int128 product = (__int128)dy * (x_ - t->point[i - 1].x);
    return t->point[i - 1].ps + (int64_t)(product / dx);
}

/* A shortcut: most costs are fixed, among them every reading of a clock. */
static inline int64_t part(const table *t, uint64_t x)
{
    return t->n ? at(t, x) : 0;
}

/* A special case that the model does not give costs as much as the general one. */
static const cost *cost_of(sim_op op)
{
    static const sim_op general[SIM_OPS] = {
        [SIM_TIMER] = SIM_INTERRUPT,
        [SIM_SEM_WAKE_SPACE] = SIM_SEM_WAKE,
        [SIM_QUEUE_WAKE_SPACE] = SIM_QUEUE_WAKE,
    };
    bool on = charges && !quiet;
    if (general[op] && !costs[op].defined && !(on && loaded[now][op].defined))
        op = general[op];
    return on && loaded[now][op].defined ? &loaded[now][op] : &costs[op];
}

bool sim_model_has_load(sim_load_kind kind)
{
    return has[kind] || (kind == SIM_HEAVY && n_additions);
}

bool sim_model_has_parts(void)
{
    return n_additions;
}

bool sim_model_is_loaded(void)
{
    return charges != NULL;
}

void sim_model_load(sim_load_kind kind, volatile uint64_t *count, unsigned parts)
{
    now = kind;
    charges = count;
    running = parts;
}

void sim_model_pause(bool on)
{
    quiet = on;
}

bool sim_model_gives(sim_op op)
{
    return costs[op].defined;
}

static int64_t ps_of(const cost *c, const sim_load *load)
{
    int64_t ps = c->fixed + part(&c->amount, load->amount) + part(&c->tasks, load->tasks) +
                 part(&c->ready, load->ready) + part(&c->waiters, load->waiters);
    return c->random.n ? ps + at(&c->random, (uint64_t)random_part()) : ps;
}

uint64_t sim_model_cost(sim_op op, const sim_load *load)
{
    int64_t ps = ps_of(cost_of(op), load);
    if (charges && !quiet) {
        ++*charges;
        for (unsigned i = 0; i < n_additions; i++)
            if (additions[i].op == op && (additions[i].parts & ~running) == 0)
                ps += ps_of(&additions[i].cost, load);
    }
    return ps > 0 ? (uint64_t)(ps + PS_PER_NS / 2) / PS_PER_NS : 0;
}
