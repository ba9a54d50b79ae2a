/* Parameters of benches and loads: conversion from and to text. */
#include "params.h"

#include <string.h>

#include "caps.h"
#include "text.h"

int64_t rts_limit_value(rts_limit limit)
{
#ifdef RTS_SMALL_CODE
    static const int64_t factor[8] = {1, 1000, 1000000, 1000000000, 1000000000000, RTS_2_30, -1};
    return (limit & 0x1fffffff) * factor[limit >> 29];
#else
    return limit;
#endif
}

static bool has(const rts_args *a, const rts_param *p)
{
    return !a->common_applies || a->common_applies(a->entry, p);
}

/* Finds a parameter, common ones first, and where its value is stored. */
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

/* "0-2,4", or "all" that the agent may use, isolated ones too. */
static bool parse_cpus(const char *text, rts_cpuset *set)
{
    memset(set, 0, sizeof *set);
    if (!strcmp(text, "all")) {
        rts_port_usable_cpus(set);
        return true;
    }
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

/* Returns the index of `value` in "one|two|three", or -1. */
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

/* Returns the byte encoded by two hexadecimal digits, or -1. */
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

/* Decodes a text with %20 for a space and so on; returns false if it is malformed or too long. */
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
    if (!p) {
        rts_print(a->reason, RTS_REASON, "%s %s has no parameter '%s'%s", a->kind, a->id, name,
                  a->common_absent ? a->common_absent(name) : "");
        return -1;
    }
    if (p->type == RTS_T_CPUS)
        return parse_cpus(value, where)
                   ? 0
                   : reject(a, p, value, "is not a list of CPUs (0-2,4 or all)");
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

static void put_cpus(rts_wire *w, const char *key, const rts_cpuset *set)
{
    static char text[4 * RTS_CPUS + 1]; /* at most ten characters for three CPUs: 0-1,3-4, */
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

void rts_param_put(rts_wire *w, const char *key, const rts_param *p, const void *value)
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
        rts_param_put(w, p->name, p, (const unsigned char *)a->own_values + p->offset);
    for (const rts_param *p = a->common; p->name; p++)
        if (has(a, p))
            rts_param_put(w, p->name, p, (const unsigned char *)a->common_values + p->offset);
}

static void put_choices(rts_wire *w, const char *choices)
{
    rts_wire_open(w, "choices", '[');
    for (const char *choice = choices; choice;) {
        size_t n = strcspn(choice, "|");
        rts_wire_strn(w, NULL, choice, (unsigned)n);
        choice = choice[n] ? choice + n + 1 : NULL;
    }
    rts_wire_close(w, ']');
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
    if (p->type != RTS_T_CPUS && p->type != RTS_T_TEXT)
        rts_param_put(w, "default", p, &def);
    bool number = p->type == RTS_T_INT || p->type == RTS_T_DURATION || p->type == RTS_T_SIZE;
    if (number)
        rts_wire_int(w, "min", rts_limit_value(p->min));
    if (number || p->type == RTS_T_TEXT)
        rts_wire_int(w, "max", rts_limit_value(p->max));
    if (p->type == RTS_T_CHOICE)
        put_choices(w, p->domain);
    else if (p->domain)
        rts_wire_str(w, "unit", p->domain);
    rts_text_put(w, "help", p->help);
    rts_wire_close(w, '}');
}

void rts_args_describe(rts_wire *w, const rts_args *a, uint32_t needs)
{
    rts_caps_put(w, "needs", needs);
    rts_wire_open(w, "params", '[');
    for (const rts_param *p = a->own; p && p->name; p++)
        describe_param(w, p, rts_limit_value(p->def));
    for (const rts_param *p = a->common; p->name; p++)
        if (has(a, p))
            describe_param(w, p, a->common_default(a->entry, p));
    rts_wire_close(w, ']');
}
