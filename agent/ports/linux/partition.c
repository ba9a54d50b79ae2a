/*
 * The partition of a case whose tasks are bound to one CPU and scheduled by deadline: a control
 * group that has this CPU alone, and with it a root domain of its own, for as long as the case
 * runs. The case's process and a load's workers on that CPU enter it; the agent and the case's
 * watchdog stay outside.
 *
 * In v2 the kernel takes the CPU from all other groups. In v1 (the kernel's sched-deadline.rst)
 * load balancing over all CPUs is off meanwhile, and a second group balances the other CPUs.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "groups.h"

/* Before 6.2 a partition, made or removed, resets the bindings of the processes around it. */
static bool keeps_bindings(void)
{
    struct utsname system;
    long long major = 0, minor = 0;
    const char *release = system.release;
    if (uname(&system) || !posix_number(&release, &major) || *release != '.')
        return false;
    release++;
    if (!posix_number(&release, &minor))
        return false;
    return major > 6 || (major == 6 && minor >= 2);
}

/* Moves the workers of a load that run on this CPU alone; false: it runs on others as well. */
static bool move_load(int group, int cpu)
{
    const rts_cpuset *cpus = posix_load_cpus();
    if (!cpus || !rts_cpuset_has(cpus, (unsigned)cpu))
        return true;
    if (rts_cpuset_count(cpus) > 1)
        return false;
    for (unsigned pass = 0; pass < 2; pass++) { /* once more for what was just being started */
        unsigned n = linux_find_family(0, posix_load_group);
        for (unsigned i = 0; i < n; i++)
            linux_move_to_group(group, linux_family[i].pid);
    }
    return true;
}

/* Moves the case, and a load, into the partition. */
static const char *enter(int group, int cpu)
{
    if (!move_load(group, cpu))
        return "the load runs on other CPUs as well: give it place=measured";
    int err = linux_move_to_group(group, 0);
    return err ? strerror(err) : NULL;
}

/* ---- v2 -------------------------------------------------------------------------------------- */

/* Opens the group in which that of the case is made. */
static int open_above(int root)
{
    char own[512];
    bool tuned = linux_own_group("", 2, own, sizeof own) && !strcmp(own, LINUX_TUNED_AGENTS);
    return linux_open_group(root, tuned ? LINUX_TUNED : ".");
}

static const char *enter_2(int group, int cpu)
{
    static char state[96];
    char number[16];
    snprintf(number, sizeof number, "%d", cpu);
    int err = linux_write_group(group, "cpuset.cpus", number);
    err = err ? err : linux_write_group(group, "cpuset.cpus.partition", "root");
    if (err)
        return strerror(err);
    linux_read_group(group, "cpuset.cpus.partition", state, sizeof state);
    state[strcspn(state, "\n")] = '\0';
    if (strcmp(state, "root") != 0)
        return *state ? state : "the kernel does not say whether it is valid";
    return enter(group, cpu);
}

static const char *make_2(const linux_hierarchy *h, int cpu)
{
    int above = open_above(h->root), group = -1;
    if (above < 0)
        return strerror(errno);
    int err = linux_make_group(h, above, "cpuset", "", &group);
    const char *why = err ? strerror(err) : enter_2(group, cpu);
    if (group >= 0)
        close(group);
    close(above);
    return why;
}

/* ---- v1 -------------------------------------------------------------------------------------- */

/* Writes the CPUs but this one, as a list, or this one alone. */
static int set_cpus(int group, int cpu, bool complement)
{
    char text[6 * RTS_CPUS] = ""; /* of each its number and a comma */
    size_t used = 0;
    rts_cpuset online;
    if (!linux_read_cpus("/sys/devices/system/cpu/online", &online))
        return EIO;
    for (unsigned i = 0; i < RTS_CPUS; i++)
        if (rts_cpuset_has(&online, i) && (i == (unsigned)cpu) != complement)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", used ? "," : "", i);
    return linux_write_group(group, "cpuset.cpus", text);
}

/* Makes a group of v1 with such CPUs, and the root's memory nodes; an error number. */
static int make_group_1(const linux_hierarchy *h, const char *suffix, int cpu, bool complement,
                        int *group)
{
    char nodes[512];
    linux_read_group(h->root, "cpuset.mems", nodes, sizeof nodes);
    int err = linux_make_group(h, h->root, "cpuset", suffix, group);
    err = err ? err : linux_write_group(*group, "cpuset.mems", nodes);
    return err ? err : set_cpus(*group, cpu, complement);
}

/* The group of the other CPUs is there first: it says that the balance is to be restored. */
static const char *make_1(const linux_hierarchy *h, int cpu)
{
    char balance[8];
    int rest = -1, group = -1, err = 0;
    linux_read_group(h->root, "cpuset.sched_load_balance", balance, sizeof balance);
    if (*balance == '1') {
        err = make_group_1(h, LINUX_GROUP_OTHERS, cpu, true, &rest);
        err = err ? err : linux_write_group(h->root, "cpuset.sched_load_balance", "0");
    }
    err = err ? err : make_group_1(h, "", cpu, false, &group);
    const char *why = err ? strerror(err) : enter(group, cpu);
    if (rest >= 0)
        close(rest);
    if (group >= 0)
        close(group);
    return why;
}

/* ---- both ------------------------------------------------------------------------------------ */

const char *linux_enter_partition(int cpu)
{
    linux_hierarchy hierarchy;
    if (!keeps_bindings())
        return "before Linux 6.2 that resets the CPU bindings of other processes";
    const char *why = linux_open_hierarchy(&hierarchy, "cpuset");
    if (why)
        return why;
    why = hierarchy.version == 2 ? make_2(&hierarchy, cpu) : make_1(&hierarchy, cpu);
    if (why)
        linux_remove_groups(posix_owner);
    close(hierarchy.root);
    return why;
}
