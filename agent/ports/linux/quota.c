/*
 * The limits that control groups set to the CPU time of this process: of its own group, and of
 * those above it as far as they are seen from here.
 */
#include <stdio.h>
#include <string.h>

#include "linux.h"

static char text[65536];

typedef struct group {
    bool unified; /* of cgroup v2 */
    size_t mount; /* letters of `path` that are its mount's */
    char path[1024];
} group;

/* Returns whether a list of words with commas between them has "cpu", up to `end`. */
static bool has_cpu(const char *words, const char *end)
{
    while (words < end) {
        size_t n = strcspn(words, ",");
        if (words + n > end)
            n = (size_t)(end - words);
        if (n == 3 && strncmp(words, "cpu", 3) == 0)
            return true;
        words += n + 1;
    }
    return false;
}

/* Finds this process's group of v1's controller, or of v2, below its mount. */
static bool find_own(char *path, size_t size, bool *unified)
{
    bool any = false;
    if (posix_read_file("/proc/self/cgroup", text, sizeof text) <= 0)
        return false;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *names = strchr(line, ':'), *rest = names ? strchr(names + 1, ':') : NULL;
        if (!rest)
            return false;
        bool v1 = has_cpu(names + 1, rest);
        if (!v1 && rest != names + 1)
            continue;
        rest++;
        /* One outside of the namespace begins with "/..": the mount's own is the nearest seen. */
        int n = strncmp(rest, "/..", 3) == 0 ? 0 : (int)strcspn(rest, "\n");
        snprintf(path, size, "%.*s", n, rest);
        *unified = !v1;
        any = true;
        if (v1)
            return true;
    }
    return any;
}

/* Finds where the groups are mounted: the fifth word of a line. */
static bool find_mount(char *path, size_t size, bool unified)
{
    if (posix_read_file("/proc/self/mountinfo", text, sizeof text) <= 0)
        return false;
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const char *kind = strstr(line, " - "), *place = line;
        if (!kind)
            continue;
        kind += 3;
        const char *options = strrchr(kind, ' ');
        bool fits = unified ? strncmp(kind, "cgroup2 ", 8) == 0
                            : strncmp(kind, "cgroup ", 7) == 0 && options &&
                                  has_cpu(options + 1, options + strlen(options));
        if (!fits)
            continue;
        bool outside =
            false; /* of another namespace: the place of the own group in it is not shown */
        for (int words = 0; words < 4 && place; words++) {
            place = strchr(place, ' ') ? strchr(place, ' ') + 1 : NULL;
            outside = outside || (words == 2 && place && !strncmp(place, "/..", 3));
        }
        if (place && !outside) {
            snprintf(path, size, "%.*s", (int)strcspn(place, " "), place);
            return true;
        }
    }
    return false;
}

static bool find_group(group *g)
{
    char own[512], mount[256];
    if (!find_own(own, sizeof own, &g->unified) || !find_mount(mount, sizeof mount, g->unified))
        return false;
    g->mount = strlen(mount);
    snprintf(g->path, sizeof g->path, "%s%s", mount, strcmp(own, "/") == 0 ? "" : own);
    return true;
}

/* Goes to the group above; false: there is none. */
static bool ascend(group *g)
{
    char *slash = strrchr(g->path + g->mount, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return true;
}

/* Reads the first line of a file of a group. */
static bool read_member(const group *g, const char *name, char *line, size_t size)
{
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", g->path, name);
    return posix_read_line(path, line, size);
}

static bool read_number(const group *g, const char *name, long long *value)
{
    char line[64];
    const char *at = line;
    return read_member(g, name, line, sizeof line) && posix_number(&at, value);
}

/* Reads the us of each period that the tasks of a group may run; false: as long as they want. */
static bool read_quota(const group *g, long long *quota, long long *period)
{
    char line[64];
    const char *at = line;
    if (!g->unified)
        return read_number(g, "cpu.cfs_quota_us", quota) && *quota > 0 &&
               read_number(g, "cpu.cfs_period_us", period);
    return read_member(g, "cpu.max", line, sizeof line) && posix_number(&at, quota) &&
           posix_number(&at, period);
}

/* Returns how often tasks of a group were held back so far; -1: not known. */
static int64_t held_back(const group *g)
{
    char path[1100];
    long long count;
    snprintf(path, sizeof path, "%s/cpu.stat", g->path);
    const char *line =
        posix_read_file(path, text, sizeof text) > 0 ? strstr(text, "nr_throttled ") : NULL;
    const char *at = line ? line + strlen("nr_throttled ") : "";
    return posix_number(&at, &count) ? count : -1;
}

/* Of the only case that this process runs. */
static struct {
    bool seen;
    group group;
} own;

void linux_quota_open(void)
{
    own.seen = find_group(&own.group);
}

/* A quota may come and go while it measures, so a group without one counts, too. */
int64_t linux_quota_periods(void)
{
    int64_t sum = 0;
    long long quota, period;
    if (!own.seen)
        return -1;
    group g = own.group;
    do {
        int64_t count = held_back(&g);
        if (count < 0 && read_quota(&g, &quota, &period))
            return -1;
        sum += count < 0 ? 0 : count; /* the topmost group has no count, and no quota */
    } while (ascend(&g));
    return sum;
}

/* Adds a limit to a list of them, as far as there is room. */
static void add_limit(char *list, size_t size, long long us, long long period)
{
    size_t n = strlen(list);
    snprintf(list + n, size - n, "%s%lld of %lld us", n ? ", " : "", us, period);
}

void linux_put_quota(rts_wire *w)
{
    group g;
    char quotas[256] = "", budgets[256] = "";
    bool seen = find_group(&g), ascending = seen;
    for (; ascending; ascending = ascend(&g)) {
        long long us, period;
        if (read_quota(&g, &us, &period))
            add_limit(quotas, sizeof quotas, us, period);
        if (!g.unified && read_number(&g, "cpu.rt_runtime_us", &us) &&
            read_number(&g, "cpu.rt_period_us", &period))
            add_limit(budgets, sizeof budgets, us, period);
    }
    rts_wire_str(w, "cgroup.cpu_quota", !seen ? NULL : quotas[0] ? quotas : "none");
    rts_wire_str(w, "cgroup.rt_budget", budgets[0] ? budgets : NULL);
}
