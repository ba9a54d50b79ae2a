/*
 * Which sections and terms are counted: those between the first and the last sample, summed up.
 *
 * Lines of the request:
 *
 *     during FROM TO        sections that begin between these instructions are recorded
 *     case NUMBER WARMUP    where it is not known beforehand when samples are taken: sections of
 *                           the NUMBER-th case (from 1), which has so many samples to discard first
 *
 * Of a case each section is held back until it is clear whether it counts.  Which sample is the
 * last one is only clear at the end of the case, and when the first one was due only the host can
 * tell.  So what is near the first and the last sample is written alone, row by row, and the host
 * chooses; what lies between is summed up.  A row of kind CASE ends the rows of a case.
 */
#include "tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16, CASES = 4096, MOST_HELD = 1 << 20, FEW = 4096 };
enum { TERMS = 5, CASE = 254, CHECK = 255 }; /* kinds; from TERMS on: parts of the bound */
enum { COMMAND, SERIES, DONE };              /* numbers of the agent's functions */

/*
 * All sections of one kind from one place to another; the caller of a place is 0 unless it is in a
 * wrapper.  `at`: where the longest began; `ended`: when the last of them did.  Of CHECK: `n`
 * interrupts, `sum` of them while masked, and `longest`: a value was not known.  Of CASE: `n` is
 * its number, `begin` by how much the kernel was moved; nothing that began before `at` is in its
 * rows, and what began from `ended` on is not summed up.
 */
typedef struct section {
    uint64_t begin, begin_caller, end, end_caller, n, sum, longest, at, ended;
    uint64_t kind;
} section;

static range during;
static struct {
    uint64_t number, warmup;
} cases[CASES];
static unsigned n_cases;

static FILE *file;
static section *table;
static uint64_t moved;

/* The case that is carried out. */
static struct {
    uint64_t number;
    bool counts;
    uint64_t warmup, samples; /* samples: so far, those to be discarded included */
    uint64_t *times;          /* of the last `behind` samples, by their number */
    uint64_t behind;
    uint64_t first;        /* when the first one that counts was counted, 0: not yet */
    uint64_t since, until; /* what is complete, and what of it is summed up */
} now;
static section *held;
static size_t n_held, room, n_left; /* n_left: at the last sorting */

bool tally_take(const char *word, uint64_t a, uint64_t b)
{
    if (!strcmp(word, "during")) {
        during = (range){a, b};
        return true;
    }
    if (strcmp(word, "case") != 0 || n_cases == CASES)
        return false;
    cases[n_cases].number = a;
    cases[n_cases++].warmup = b;
    return true;
}

bool tally_open(const char *name)
{
    table = calloc(SLOTS, sizeof *table);
    file = fopen(name, "wb");
    return table && file;
}

bool tally_wanted(void)
{
    return during.to || n_cases;
}

bool tally_goes_on(void)
{
    return file;
}

uint64_t tally_until(void)
{
    return during.to ? during.to : UINT64_MAX;
}

void tally_moved(uint64_t by)
{
    moved = by;
}

/* ---- sums -------------------------------------------------------------------------------------
 */

static section *slot(const section *key)
{
    const uint64_t words[] = {key->begin, key->begin_caller, key->end, key->end_caller, key->kind};
    uint64_t hash = 0;
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15U;
    for (unsigned i = 0; i < SLOTS; i++) {
        section *s = &table[(hash + i) % SLOTS];
        if (!s->ended) {
            *s = *key;
            s->n = s->sum = s->longest = s->ended = 0;
            return s;
        }
        if (s->kind == key->kind && s->begin == key->begin && s->end == key->end &&
            s->begin_caller == key->begin_caller && s->end_caller == key->end_caller)
            return s;
    }
    abort(); /* more places than any program has: a section that is lost would be worse */
}

static void sum_up(const section *one)
{
    section *s = slot(one);
    if (one->longest > s->longest || !s->ended) {
        s->longest = one->longest;
        s->at = one->at;
    }
    s->n += one->n;
    s->sum += one->sum;
    if (one->ended > s->ended)
        s->ended = one->ended;
}

static void write_row(const section *row)
{
    fwrite(row, sizeof *row, 1, file);
}

static void write_sums(void)
{
    for (unsigned i = 0; i < SLOTS; i++)
        if (table[i].ended)
            write_row(&table[i]);
    memset(table, 0, SLOTS * sizeof *table);
}

void tally_end(void)
{
    if (!file)
        return;
    if (during.to) {
        write_sums();
        write_row(&(section){.kind = CHECK});
    }
    fclose(file);
    file = NULL;
}

/* ---- of a case: what is held back until it is clear whether it counts --------------------------
 */

/* Begin anew: with a case, or with a series of samples, as another may have been a trial. */
static void restart(uint64_t when)
{
    now.samples = now.first = now.until = 0;
    now.since = when;
    n_held = n_left = 0;
    memset(table, 0, SLOTS * sizeof *table);
}

/*
 * Return before when everything is older than the last samples: after the last one that counts come
 * up to half as many more as were discarded first (agent/core/recorder.c).
 */
static uint64_t settled(void)
{
    return now.samples < now.behind ? 0 : now.times[now.samples % now.behind];
}

static void sort_out(void)
{
    const uint64_t before = settled();
    size_t left = 0;
    for (size_t i = 0; i < n_held; i++) {
        const section *s = &held[i];
        if (s->at >= before)
            held[left++] = *s;
        else if (now.first && s->at >= now.first)
            sum_up(s);
        else if (now.first)
            write_row(s);
    }
    n_held = n_left = left;
    if (now.first)
        now.until = before;
    else if (before > now.since)
        now.since = before;
}

/* Make room: what comes long before the first sample does not count. */
static void drop_half(void)
{
    const size_t half = n_held / 2;
    for (size_t i = 0; i < half; i++)
        if (held[i].at >= now.since)
            now.since = held[i].at + 1;
    if (now.first)
        now.since = UINT64_MAX; /* nothing of this case is complete any more */
    memmove(held, held + half, (n_held - half) * sizeof *held);
    n_held -= half;
}

static void hold(const section *s)
{
    if (n_held == MOST_HELD)
        drop_half();
    if (n_held == room) {
        room = room ? 2 * room : FEW;
        section *larger = realloc(held, room * sizeof *held);
        if (!larger)
            abort();
        held = larger;
    }
    held[n_held++] = *s;
}

static void begin_case(uint64_t when)
{
    now.number++;
    now.counts = false;
    for (unsigned i = 0; i < n_cases; i++)
        if (cases[i].number == now.number) {
            now.counts = true;
            now.warmup = cases[i].warmup;
            now.behind = now.warmup / 2 + 3;
            free(now.times);
            now.times = calloc(now.behind, sizeof *now.times);
            if (!now.times)
                abort();
            restart(when);
        }
}

static void end_case(void)
{
    sort_out();
    for (size_t i = 0; i < n_held; i++)
        write_row(&held[i]);
    write_sums();
    write_row(&(section){
        .begin = moved, .n = now.number, .at = now.since, .ended = now.until, .kind = CASE});
    fflush(file);
    now.counts = false;
}

void tally_entry(uint64_t function, uint64_t when)
{
    if (!file || !n_cases)
        return;
    if (function == COMMAND)
        begin_case(when);
    else if (function == SERIES && now.counts)
        restart(when);
    else if (function == DONE && now.counts)
        end_case();
}

void tally_sample(uint64_t when)
{
    if (!file || !now.counts)
        return;
    if (n_held > 2 * n_left + FEW)
        sort_out();
    now.times[now.samples++ % now.behind] = when;
    if (now.samples == now.warmup + 1)
        now.first = when;
}

/* ---- what happens -----------------------------------------------------------------------------
 */

static void take(const section *s)
{
    if (!file)
        return;
    if (n_cases) {
        if (now.counts)
            hold(s);
        return;
    }
    const bool term = s->kind >= TERMS && s->kind != CHECK;
    if (s->at < during.to && (term ? s->ended > during.from : s->at >= during.from))
        sum_up(s);
}

void tally_add(unsigned kind, place begin, place end, uint64_t length, uint64_t at, uint64_t when)
{
    take(&(section){begin.pc, begin.caller, end.pc, end.caller, 1, length, length, at, when, kind});
}

void tally_interrupt(uint64_t when, bool masked)
{
    take(&(section){.n = 1, .sum = masked, .at = when, .ended = when, .kind = CHECK});
}

void tally_unknown(uint64_t when)
{
    take(&(section){.longest = 1, .at = when, .ended = when, .kind = CHECK});
}
