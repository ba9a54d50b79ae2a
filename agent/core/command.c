/* The host's commands: parameters from text, and back. */
#include <string.h>

#include "agent.h"

#define RAW_MAX 10000000
#define CENTURY_NS 3155760000000000000
#define SAMPLES_MAX 1000000000000000000

const rts_param rts_common_params[] = {
    {"samples", RTS_T_INT, offsetof(rts_common, samples), NULL, 0, 0, RTS_LIMIT(SAMPLES_MAX),
     RTS_SAY("samples to take; 0: until the time is up")},
    {"time", RTS_T_DURATION, offsetof(rts_common, time_ns), "ns", 0, 0, RTS_LIMIT(CENTURY_NS),
     RTS_SAY("longest duration of the timed section; 0: until the samples are taken")},
    {"warmup", RTS_T_INT, offsetof(rts_common, warmup), NULL, 0, 0, 1000000,
     RTS_SAY("samples discarded first")},
    {"prio", RTS_T_INT, offsetof(rts_common, prio), NULL, RTS_PRIO_MAX, RTS_PRIO_MIN + RTS_LEVELS,
     RTS_PRIO_MAX, RTS_SAY("highest priority of the case's tasks")},
    {"cpus", RTS_T_CPUS, offsetof(rts_common, cpus), NULL, 0, 0, RTS_CPUS - 1,
     RTS_SAY("CPUs to measure on; without it an isolated CPU, or else the last one")},
    {"raw", RTS_T_BOOL, offsetof(rts_common, raw), NULL, 0, 0, 1,
     RTS_SAY("keep every sample; needs a number of samples")},
    {"config", RTS_T_CHOICE, offsetof(rts_common, config), "bound|1cpu|2cpu|1rt", RTS_BOUND, 0, 0,
     RTS_SAY(
         "where the tasks run: on one CPU with everything else of rtstone's elsewhere; on one CPU "
         "with it; wherever the system puts them; as bound, but not without a second CPU")},
    {"batch", RTS_T_INT, offsetof(rts_common, batch), NULL, 0, 0, 4096,
     RTS_SAY("operations between two stamps; 0: as many as the clock's granule needs")},
    {"cache", RTS_T_CHOICE, offsetof(rts_common, cache), "warm|cold", RTS_WARM_CACHE, 0, 0,
     RTS_SAY("what caches and TLB hold when a sample begins: what the one before left there, or "
             "other things, with which they are filled before each sample")},
    RTS_PARAMS_END,
};

bool rts_cpuset_has(const rts_cpuset *set, unsigned cpu)
{
    return cpu < RTS_CPUS && (set->word[cpu / 64] >> cpu % 64 & 1);
}

void rts_cpuset_add(rts_cpuset *set, unsigned cpu)
{
    if (cpu < RTS_CPUS)
        set->word[cpu / 64] |= UINT64_C(1) << cpu % 64;
}

unsigned rts_cpuset_count(const rts_cpuset *set)
{
    unsigned n = 0;
    for (unsigned i = 0; i < RTS_CPUS / 64; i++)
        n += (unsigned)__builtin_popcountll(set->word[i]);
    return n;
}

int rts_cpuset_first(const rts_cpuset *set)
{
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (rts_cpuset_has(set, cpu))
            return (int)cpu;
    return -1;
}

/* A common parameter that this bench has: two are for what RTS_TIMED() times. */
static bool applies(const void *bench, const rts_param *p)
{
    bool timed =
        p->offset == offsetof(rts_common, batch) || p->offset == offsetof(rts_common, cache);
    return !timed || ((const rts_bench *)bench)->traits & RTS_BATCHES;
}

int64_t rts_limit_value(rts_limit limit)
{
#ifdef RTS_SMALL_CODE
    static const int64_t factor[8] = {1, 1000, 1000000, 1000000000, 1000000000000, RTS_2_30, -1};
    return (limit & 0x1fffffff) * factor[limit >> 29];
#else
    return limit;
#endif
}

/* What a parameter is when nobody says anything: a bench has its own limits and warm-up. */
static int64_t default_of(const void *entry, const rts_param *p)
{
    const rts_bench *bench = entry;
    if (!strcmp(p->name, "samples"))
        return bench->samples;
    if (!strcmp(p->name, "time"))
        return rts_limit_value(bench->time_ns);
    if (!strcmp(p->name, "warmup"))
        return bench->warmup;
    return rts_limit_value(p->def);
}

static rts_args args_of(rts_case *c)
{
    return (rts_args){.kind = "bench",
                      .id = c->bench->id,
                      .entry = c->bench,
                      .common = rts_common_params,
                      .common_applies = applies,
                      .common_default = default_of,
                      .own = c->bench->params,
                      .common_values = &c->common,
                      .own_values = c->params,
                      .reason = c->reason};
}

static bool has(const rts_args *a, const rts_param *p)
{
    return !a->common_applies || a->common_applies(a->entry, p);
}

/* Where the value of the parameter lies: common ones first, then the family's own. */
static const rts_param *find_param(const rts_args *a, const char *name, void **where)
{
    for (const rts_param *p = a->common; p->name; p++)
        if (!strcmp(p->name, name) && has(a, p)) {
            *where = (unsigned char *)a->common_values + p->offset;
            return p;
        }
    for (const rts_param *p = a->own; p && p->name; p++)
        if (!strcmp(p->name, name)) {
            *where = (unsigned char *)a->own_values + p->offset;
            return p;
        }
    return NULL;
}

static int reject(const rts_args *a, const rts_param *p, const char *value, const char *why)
{
    rts_print(a->reason, RTS_REASON, "parameter %s: '%s' %s", p->name, value, why);
    return -1;
}

bool rts_number(const char **s, int64_t *value)
{
    bool negative = **s == '-';
    const char *p = *s + negative;
    int64_t v = 0;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *p - '0', &v))
            return false;
    *value = negative ? -v : v;
    *s = p;
    return true;
}

/* "0-2,4" */
static bool parse_cpus(const char *text, rts_cpuset *set)
{
    memset(set, 0, sizeof *set);
    for (const char *s = text;; s++) {
        int64_t first, last;
        if (!rts_number(&s, &first))
            return false;
        last = first;
        if (*s == '-') {
            s++;
            if (!rts_number(&s, &last))
                return false;
        }
        if (first < 0 || last < first || last >= RTS_CPUS)
            return false;
        for (; first <= last; first++)
            rts_cpuset_add(set, (unsigned)first);
        if (*s != ',')
            return *s == '\0';
    }
}

/* The index of `value` in "one|two|three", or -1. */
static int64_t choice_index(const char *choices, const char *value)
{
    size_t length = strlen(value);
    for (int64_t i = 0;; i++) {
        const char *end = choices + strcspn(choices, "|");
        if ((size_t)(end - choices) == length && !memcmp(choices, value, length))
            return i;
        if (!*end)
            return -1;
        choices = end + 1;
    }
}

/* The byte that two hexadecimal digits stand for, or -1. */
static int hex_byte(const char *s)
{
    int value = 0;
    for (int i = 0; i < 2; i++) {
        const char *digit = s[i] ? strchr("0123456789ABCDEF", s[i]) : NULL;
        if (!digit)
            return -1;
        value = value * 16 + (int)(digit - "0123456789ABCDEF");
    }
    return value;
}

/* A text with %20 for a space and so on; false: malformed, or it does not fit. */
static bool parse_text(const char *value, char *text, size_t size)
{
    size_t used = 0;
    for (const char *s = value; *s; s++) {
        int byte = *s == '%' ? hex_byte(s + 1) : (unsigned char)*s;
        if (byte <= 0 || used + 1 >= size)
            return false;
        text[used++] = (char)byte;
        s += *s == '%' ? 2 : 0;
    }
    text[used] = '\0';
    return true;
}

static int set_param(const rts_args *a, const char *name, const char *value)
{
    void *where;
    const rts_param *p = find_param(a, name, &where);
    if (!p && a->common == rts_common_params && !strcmp(name, "cache")) {
        rts_print(a->reason, RTS_REASON,
                  "bench %s has no parameter 'cache': its samples are more than calls of one task",
                  a->id);
        return -1;
    }
    if (!p) {
        rts_print(a->reason, RTS_REASON, "%s %s has no parameter '%s'", a->kind, a->id, name);
        return -1;
    }
    if (p->type == RTS_T_CPUS)
        return parse_cpus(value, where) ? 0 : reject(a, p, value, "is not a list of CPUs (0-2,4)");
    if (p->type == RTS_T_TEXT)
        return parse_text(value, where, (size_t)rts_limit_value(p->max) + 1)
                   ? 0
                   : reject(a, p, value, "is too long, or has a % that is no %XX");
    int64_t v;
    if (p->type == RTS_T_CHOICE) {
        v = choice_index(p->domain, value);
        if (v < 0)
            return reject(a, p, value, "is none of its choices");
    } else {
        const char *s = value;
        if (!rts_number(&s, &v) || *s)
            return reject(a, p, value, "is not a whole number");
        int64_t min = rts_limit_value(p->min);
        if (v < min || v > rts_limit_value(p->max))
            return reject(a, p, value, v < min ? "is below the minimum" : "is above the maximum");
    }
    *(int64_t *)where = v;
    return 0;
}

void rts_args_defaults(const rts_args *a)
{
    for (const rts_param *p = a->common; p->name; p++)
        if (p->type != RTS_T_CPUS)
            *(int64_t *)((unsigned char *)a->common_values + p->offset) =
                a->common_default(a->entry, p);
    for (const rts_param *p = a->own; p && p->name; p++)
        if (p->type != RTS_T_TEXT)
            *(int64_t *)((unsigned char *)a->own_values + p->offset) = rts_limit_value(p->def);
}

char *rts_word(char **rest)
{
    char *word = *rest + strspn(*rest, " ");
    size_t length = strcspn(word, " ");
    *rest = word + length + (word[length] != '\0');
    word[length] = '\0';
    return length ? word : NULL;
}

int rts_args_parse(const rts_args *a, char *words)
{
    for (char *word; (word = rts_word(&words));) {
        char *value = strchr(word, '=');
        if (!value) {
            rts_print(a->reason, RTS_REASON, "'%s' is not of the form NAME=VALUE", word);
            return -1;
        }
        *value++ = '\0';
        if (set_param(a, word, value))
            return -1;
    }
    return 0;
}

static int check(rts_case *c)
{
    const char *wrong = NULL;
    if (!c->common.samples && !c->common.time_ns)
        wrong = "samples and time are both 0: the case would never end";
    else if (c->common.raw && (!c->common.samples || c->common.samples > RAW_MAX))
        wrong = "raw=1 needs a number of samples, 10000000 at most";
    else if (c->common.cache && c->common.batch > 1)
        wrong = "after its first operation a batch is no longer cold: cache=cold needs batch=1";
    if (wrong)
        rts_print(c->reason, sizeof c->reason, "%s", wrong);
    return wrong ? -1 : 0;
}

int rts_command_parse(rts_case *c, char *words)
{
    const char *id = rts_word(&words);
    const char *bench = rts_word(&words);
    int64_t number_of_case = 0;
    if (!id || !bench || !rts_number(&id, &number_of_case) || *id) {
        rts_print(c->reason, sizeof c->reason, "a case needs a number and a bench");
        return -1;
    }
    c->id = (uint64_t)number_of_case;
    c->bench = rts_registry_find(bench);
    if (!c->bench) {
        rts_print(c->reason, sizeof c->reason, "this agent has no bench '%s'", bench);
        return -1;
    }
    rts_args args = args_of(c);
    rts_args_defaults(&args);
    if (!(c->bench->traits & RTS_BATCHES))
        c->common.batch = 1;
    if (rts_args_parse(&args, words) || check(c))
        return -1;
    if (c->common.cache)
        c->common.batch = 1;
    return 0;
}

/* ---- and back ---------------------------------------------------------------------------- */

static void put_cpus(rts_wire *w, const char *key, const rts_cpuset *set)
{
    static char text[4 * RTS_CPUS + 1]; /* three CPUs are ten characters at most: 0-1,3-4, */
    size_t used = 0;
    text[0] = '\0';
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
        if (!rts_cpuset_has(set, cpu))
            continue;
        unsigned last = cpu;
        while (rts_cpuset_has(set, last + 1))
            last++;
        used += (size_t)rts_print(text + used, sizeof text - used, "%s%u", used ? "," : "", cpu);
        if (last > cpu)
            used += (size_t)rts_print(text + used, sizeof text - used, "-%u", last);
        cpu = last;
    }
    rts_wire_str(w, key, text);
}

static void put_choice(rts_wire *w, const char *key, const char *choices, int64_t index)
{
    while (index-- > 0)
        choices = strchr(choices, '|') + 1;
    rts_wire_strn(w, key, choices, (unsigned)strcspn(choices, "|"));
}

static void put_value(rts_wire *w, const char *key, const rts_param *p, const void *value)
{
    switch (p->type) {
    case RTS_T_CPUS:
        put_cpus(w, key, value);
        break;
    case RTS_T_CHOICE:
        put_choice(w, key, p->domain, *(const int64_t *)value);
        break;
    case RTS_T_TEXT:
        rts_wire_str(w, key, value);
        break;
    case RTS_T_BOOL:
        rts_wire_bool(w, key, *(const int64_t *)value != 0);
        break;
    default:
        rts_wire_int(w, key, *(const int64_t *)value);
    }
}

void rts_args_put(rts_wire *w, const rts_args *a)
{
    for (const rts_param *p = a->own; p && p->name; p++)
        put_value(w, p->name, p, (const unsigned char *)a->own_values + p->offset);
    for (const rts_param *p = a->common; p->name; p++)
        if (has(a, p))
            put_value(w, p->name, p, (const unsigned char *)a->common_values + p->offset);
}

void rts_command_params(rts_wire *w, const rts_case *c)
{
    rts_args args = args_of((rts_case *)c); /* which is only read */
    rts_args_put(w, &args);
}

void rts_command_value(rts_wire *w, const rts_case *c, const char *name)
{
    for (const rts_param *p = rts_common_params; p->name; p++)
        if (!strcmp(p->name, name))
            put_value(w, name, p, (const unsigned char *)&c->common + p->offset);
}

static void describe_param(rts_wire *w, const rts_param *p, int64_t def)
{
    static const char *const types[] = {
        [RTS_T_INT] = "int",   [RTS_T_DURATION] = "duration", [RTS_T_SIZE] = "size",
        [RTS_T_BOOL] = "bool", [RTS_T_CHOICE] = "choice",     [RTS_T_CPUS] = "cpus",
        [RTS_T_TEXT] = "text",
    };
    rts_wire_open(w, NULL, '{');
    rts_wire_str(w, "name", p->name);
    rts_wire_str(w, "type", types[p->type]);
    rts_wire_str(w, "unit", p->type == RTS_T_CHOICE ? NULL : p->domain);
    if (p->type == RTS_T_CPUS || p->type == RTS_T_TEXT)
        rts_wire_null(w, "default");
    else
        put_value(w, "default", p, &def);
    bool number = p->type == RTS_T_INT || p->type == RTS_T_DURATION || p->type == RTS_T_SIZE;
    if (number)
        rts_wire_int(w, "min", rts_limit_value(p->min));
    else
        rts_wire_null(w, "min");
    if (number || p->type == RTS_T_TEXT)
        rts_wire_int(w, "max", rts_limit_value(p->max));
    else
        rts_wire_null(w, "max");
    rts_wire_open(w, "choices", '[');
    for (const char *choice = p->type == RTS_T_CHOICE ? p->domain : NULL; choice;) {
        const char *end = choice + strcspn(choice, "|");
        rts_wire_strn(w, NULL, choice, (unsigned)(end - choice));
        choice = *end ? end + 1 : NULL;
    }
    rts_wire_close(w, ']');
    rts_wire_str(w, "help", RTS_SAID(p->help));
    rts_wire_close(w, '}');
}

void rts_args_describe(rts_wire *w, const rts_args *a, uint32_t needs)
{
    rts_wire_open(w, "needs", '[');
    for (unsigned i = 0; rts_cap_names[i]; i++)
        if (needs >> i & 1)
            rts_wire_str(w, NULL, rts_cap_names[i]);
    rts_wire_close(w, ']');
    rts_wire_open(w, "params", '[');
    for (const rts_param *p = a->own; p && p->name; p++)
        describe_param(w, p, rts_limit_value(p->def));
    for (const rts_param *p = a->common; p->name; p++)
        if (has(a, p))
            describe_param(w, p, a->common_default(a->entry, p));
    rts_wire_close(w, ']');
}

void rts_command_describe(const rts_bench *bench)
{
    rts_args args = {.entry = bench,
                     .common = rts_common_params,
                     .common_applies = applies,
                     .common_default = default_of,
                     .own = bench->params};
    rts_wire *w = rts_wire_begin("bench");
    rts_wire_str(w, "id", bench->id);
    rts_wire_str(w, "title", RTS_SAID(bench->title));
    rts_wire_str(w, "source", RTS_SAID(bench->source));
    rts_wire_str(w, "help", RTS_SAID(bench->help));
    rts_wire_str(w, "metric", bench->metric);
    rts_wire_str(w, "slope_over", bench->slope_over);
    rts_args_describe(w, &args, bench->needs);
    rts_wire_end(w);
}
