/* iso.*: antagonists of Linux, and its mechanisms: reclaiming, control groups, a partition. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/timerfd.h>
#include <sys/wait.h>

#include "../../ports/linux/groups.h"
#include "../iso.h"

/* ---- antagonists ----------------------------------------------------------------------------- */

static const char *nothing(iso *g)
{
    (void)g;
    return NULL;
}

static void no_end(iso *g)
{
    (void)g;
}

static const char *fork_once(iso *g)
{
    (void)g;
    pid_t pid = fork();
    if (pid == 0)
        _exit(0);
    if (pid < 0)
        return strerror(errno);
    while (waitpid(pid, NULL, 0) < 0)
        if (errno != EINTR)
            return strerror(errno);
    return NULL;
}

#define FAULTS 64
#define PAGE 4096

/* Has the kernel find, clear and take back pages. */
static const char *take_faults(iso *g)
{
    char *page =
        mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return strerror(errno);
    for (int i = 0; i < FAULTS; i++)
        ((volatile char *)page)[(ptrdiff_t)i * PAGE] = 1;
    munmap(page, FAULTS * PAGE);
    g->done += FAULTS - 1;
    return NULL;
}

/* Else mmap() has filled the pages before they are touched. */
static const char *unlock_pages(iso *g)
{
    (void)g;
    return munlockall() ? strerror(errno) : NULL;
}

#define TIMERS 500
#define SPACE_NS 20000 /* from one interrupt to the next */

static int timers[TIMERS];

static const char *open_timers(iso *g)
{
    (void)g;
    for (int i = 0; i < TIMERS; i++)
        if ((timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0) {
            const char *why = strerror(errno);
            while (i-- > 0)
                close(timers[i]);
            return why;
        }
    return NULL;
}

/* Arms all for the next 10 ms: they expire whether or not the antagonist then has any budget. */
static const char *arm_timers(iso *g)
{
    const rts_tick from = rts_time() + TIMERS * (SPACE_NS / 10);
    for (int i = 0; i < TIMERS; i++) {
        rts_tick at = from + (rts_tick)i * SPACE_NS;
        struct itimerspec when = {.it_value = {.tv_sec = (time_t)(at / RTS_TIME_HZ),
                                               .tv_nsec = (long)(at % RTS_TIME_HZ)}};
        if (timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &when, NULL))
            return strerror(errno);
    }
    g->done += TIMERS - 1;
    rts_sleep_until(from + (rts_tick)TIMERS * SPACE_NS);
    return NULL;
}

static void close_timers(iso *g)
{
    (void)g;
    for (int i = 0; i < TIMERS; i++)
        close(timers[i]);
}

const iso_kind iso_forks = {"processes", nothing, fork_once, no_end};
const iso_kind iso_faults = {"faults", unlock_pages, take_faults, no_end};
const iso_kind iso_interrupts = {"interrupts", open_timers, arm_timers, close_timers};

/* ---- reclaiming ------------------------------------------------------------------------------ */

/* The antagonist's processes are not scheduled by deadline: their parent alone may fork. */
int iso_reserve(uint64_t runtime, uint64_t period, bool reclaims)
{
    return linux_set_own_deadline(runtime, period,
                                  LINUX_RESET_ON_FORK | (reclaims ? LINUX_RECLAIM : 0));
}

static int run_reclaiming(rts_case *c)
{
    return iso_run_deadline(c, true);
}

/* ---- control groups -------------------------------------------------------------------------- */

/* The groups of both, open; the processes of a case inherit them. */
static linux_hierarchy cpu_groups;
static int group_of[2];

static const char *make_groups(void)
{
    static char why[80];
    static const char *const suffixes[] = {[ISO_RESERVED] = LINUX_GROUP_RESERVED,
                                           [ISO_ANTAGONIST] = LINUX_GROUP_ANTAGONIST};
    for (int i = 0; i < 2; i++) {
        int err = linux_make_group(&cpu_groups, cpu_groups.root, "cpu", suffixes[i], &group_of[i]);
        if (err) {
            snprintf(why, sizeof why, "no control group can be made: %s", strerror(err));
            return why;
        }
    }
    return NULL;
}

/* Writes a number of us, or of anything, to a file of a group; NULL, or why it is refused. */
static const char *set(iso_role role, const char *file, int64_t number)
{
    static char why[80];
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    int err = linux_write_group(group_of[role], file, text);
    if (!err)
        return NULL;
    snprintf(why, sizeof why, "%s of %s is refused: %s", file, text, strerror(err));
    return why;
}

/* Moves the caller to its group, with a policy that the group allows. */
static const char *enter_group(iso *g, iso_role role, int below, rts_policy policy)
{
    if (rts_own_level(g->c, below, policy))
        return g->c->reason;
    int err = linux_move_to_group(group_of[role], 0);
    if (policy == RTS_OTHER && role == ISO_RESERVED)
        g->c->job.evidence.prio = -1;
    return err ? strerror(err) : NULL;
}

/* ---- a quota of time sharing ----------------------------------------------------------------- */

/* Limits a group to so many ns in every period; 0: no more. */
static const char *set_quota(const iso *g, iso_role role, uint64_t ns)
{
    char text[48];
    int64_t period = g->p->period / 1000;
    if (cpu_groups.version == 1) {
        const char *why = set(role, "cpu.cfs_period_us", period);
        return why ? why : set(role, "cpu.cfs_quota_us", ns ? (int64_t)(ns / 1000) : -1);
    }
    if (ns)
        snprintf(text, sizeof text, "%llu %lld", (unsigned long long)ns / 1000, (long long)period);
    else
        snprintf(text, sizeof text, "max");
    int err = linux_write_group(group_of[role], "cpu.max", text);
    return err ? "cpu.max is refused" : NULL;
}

static const char *prepare_quota(iso *g)
{
    const char *why = linux_open_hierarchy(&cpu_groups, "cpu");
    why = why ? why : make_groups();
    why = why                       ? why
          : cpu_groups.version == 1 ? set(ISO_RESERVED, "cpu.shares", 262144)
                                    : set(ISO_RESERVED, "cpu.weight", 10000);
    return why ? why : set_quota(g, ISO_ANTAGONIST, (uint64_t)g->p->share);
}

static const char *enter_quota(iso *g, iso_role role)
{
    return enter_group(g, role, 0, RTS_OTHER);
}

/* The reserved task keeps its weight alone; a quota of its own is only asked for. */
static bool admits_quota(iso *g, uint64_t budget)
{
    bool accepted = !set_quota(g, ISO_RESERVED, budget);
    set_quota(g, ISO_RESERVED, 0);
    return accepted;
}

static int run_quota(rts_case *c)
{
    static const iso_mechanism by = {prepare_quota, enter_quota, admits_quota, no_end, false};
    return iso_run(c, &by);
}

/* ---- groups of real-time tasks --------------------------------------------------------------- */

#define RT_BUDGET "cpu.rt_runtime_us"

static const char *prepare_rt(iso *g)
{
    const char *why = linux_open_hierarchy(&cpu_groups, "cpu");
    if (why)
        return why;
    if (cpu_groups.version == 2)
        return "real-time tasks have budgets in cgroup v1 only, and the controller cpu is in v2";
    if (faccessat(cpu_groups.root, RT_BUDGET, F_OK, 0))
        return "the kernel has no groups of real-time tasks (CONFIG_RT_GROUP_SCHED)";
    why = make_groups();
    for (int i = 0; !why && i < 2; i++) {
        why = set((iso_role)i, "cpu.rt_period_us", g->p->period / 1000);
        why = why ? why
                  : set((iso_role)i, RT_BUDGET,
                        (i == ISO_RESERVED ? g->p->budget : g->p->share) / 1000);
    }
    return why;
}

/* The antagonist is the more urgent one: only its group's budget limits it. */
static const char *enter_rt(iso *g, iso_role role)
{
    return enter_group(g, role, role == ISO_RESERVED ? 1 : 0, RTS_FIFO);
}

static bool admits_rt(iso *g, uint64_t budget)
{
    (void)g;
    return !set(ISO_RESERVED, RT_BUDGET, (int64_t)(budget / 1000));
}

static int run_rt(rts_case *c)
{
    static const iso_mechanism by = {prepare_rt, enter_rt, admits_rt, no_end, false};
    return iso_run(c, &by);
}

/* ---- a partition ----------------------------------------------------------------------------- */

static int other_cpu = -1;

static const char *find_other_cpu(iso *g)
{
    rts_cpuset cpus;
    rts_port_cpus(&cpus);
    for (unsigned i = 0; i < RTS_CPUS && other_cpu < 0; i++)
        if (rts_cpuset_has(&cpus, i) && (int)i != g->c->job.cpu)
            other_cpu = (int)i;
    return other_cpu < 0 ? "a partition takes a second CPU, for all others" : NULL;
}

static const char *enter_partition(iso *g, iso_role role)
{
    if (role == ISO_RESERVED)
        return linux_enter_partition(g->c->job.cpu);
    rts_port_bind(other_cpu);
    return rts_task_set_own_prio(0, RTS_OTHER) ? "it cannot be made a time-sharing task" : NULL;
}

static int run_partition(rts_case *c)
{
    static const iso_mechanism by = {find_other_cpu, enter_partition, NULL, no_end, false};
    return iso_run(c, &by);
}

/* ---- the table ------------------------------------------------------------------------------- */

static const rts_bench benches[] = {
    {ISO_COMMON, .id = "iso.deadline.reclaim",
     .title = RTS_SAY("isolation by deadline scheduling that reclaims"),
     .help = ISO_HELP("Both tasks are scheduled by deadline with SCHED_FLAG_RECLAIM: each may "
                      "use, beyond its budget, what is reserved for nobody."),
     .needs = RTS_CAP_POSIX | RTS_CAP_PRIORITIES | RTS_CAP_DEADLINE, .run = run_reclaiming},
    {ISO_COMMON, .id = "iso.quota", .title = RTS_SAY("isolation by a quota of a control group"),
     .help = ISO_HELP("Both are time-sharing tasks, in a control group each: the antagonist's has "
                      "its share as quota (cpu.max), the reserved task's has the largest weight."),
     .needs = RTS_CAP_POSIX | RTS_CAP_PRIORITIES, .run = run_quota},
    {ISO_COMMON, .id = "iso.rtgroup",
     .title = RTS_SAY("isolation by budgets of groups of real-time tasks"),
     .help = ISO_HELP("Both are SCHED_FIFO tasks, in a control group each with its budget "
                      "(cpu.rt_runtime_us), and the antagonist is the more urgent one."),
     .needs = RTS_CAP_POSIX | RTS_CAP_PRIORITIES, .run = run_rt},
    {ISO_COMMON, .id = "iso.partition", .title = RTS_SAY("isolation by a partition of CPUs"),
     .help = ISO_HELP("The reserved task is alone in a partition of the measured CPU, under "
                      "SCHED_FIFO; the antagonist is a time-sharing task on another CPU."),
     .needs = RTS_CAP_POSIX | RTS_CAP_PRIORITIES | RTS_CAP_SMP, .run = run_partition},
};

RTS_BENCHES(benches);
