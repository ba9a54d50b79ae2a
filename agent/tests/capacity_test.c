/* Which CPU is measured by default where there are several kinds, on made-up systems. */
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../ports/linux/linux.h"
#include "check.h"

#define CPU "/sys/devices/system/cpu/"

/* ---- a system -------------------------------------------------------------------------------- */

static struct {
    const char *online, *isolated, *core, *atom, *lowpower;
    const char *capacity[RTS_CPUS]; /* NULL: no such file */
    bool allowed[RTS_CPUS];
    int forbidden; /* an isolated CPU that cannot be used; -1: none */
} fake;

static void begin(const char *online)
{
    memset(&fake, 0, sizeof fake);
    fake.online = online;
    fake.forbidden = -1;
}

/* Gives CPUs a capacity, and allows them to the agent. */
static void put(unsigned first, unsigned last, const char *capacity)
{
    for (unsigned cpu = first; cpu <= last; cpu++) {
        fake.capacity[cpu] = capacity;
        fake.allowed[cpu] = true;
    }
}

static const char *content(const char *path)
{
    char name[96];
    if (!strcmp(path, CPU "online"))
        return fake.online;
    if (!strcmp(path, CPU "isolated"))
        return fake.isolated ? fake.isolated : "";
    if (!strcmp(path, "/sys/devices/cpu_core/cpus"))
        return fake.core;
    if (!strcmp(path, "/sys/devices/cpu_atom/cpus"))
        return fake.atom;
    if (!strcmp(path, "/sys/devices/cpu_lowpower/cpus"))
        return fake.lowpower;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++) {
        snprintf(name, sizeof name, CPU "cpu%u/cpu_capacity", cpu);
        if (!strcmp(path, name))
            return fake.capacity[cpu];
    }
    return NULL;
}

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
bool __wrap_posix_read_line(const char *path, char *buffer, size_t size);
int __wrap_sched_getaffinity(pid_t task, size_t size, cpu_set_t *set);
int __wrap_sched_setaffinity(pid_t task, size_t size, const cpu_set_t *set);
/* NOLINTEND(misc-use-internal-linkage) */

bool __wrap_posix_read_line(const char *path, char *buffer, size_t size)
{
    const char *text = content(path);
    if (text)
        snprintf(buffer, size, "%s", text);
    return text != NULL;
}

int __wrap_sched_getaffinity(pid_t task, size_t size, cpu_set_t *set)
{
    (void)task;
    for (unsigned cpu = 0; cpu < RTS_CPUS; cpu++)
        if (fake.allowed[cpu])
            CPU_SET_S(cpu, size, set);
    return 0;
}

int __wrap_sched_setaffinity(pid_t task, size_t size, const cpu_set_t *set)
{
    (void)task;
    bool only = fake.forbidden >= 0 && CPU_COUNT_S(size, set) == 1;
    return only && CPU_ISSET_S((unsigned)fake.forbidden, size, set) ? -1 : 0;
}

/* Returns the choice of an agent that starts there: it looks once. */
static int choice(void)
{
    int ends[2], cpu = -1;
    if (pipe(ends))
        return -1;
    if (!fork()) {
        cpu = rts_port_default_cpu();
        _exit(write(ends[1], &cpu, sizeof cpu) != sizeof cpu);
    }
    close(ends[1]);
    if (read(ends[0], &cpu, sizeof cpu) != sizeof cpu)
        cpu = -1;
    close(ends[0]);
    wait(NULL);
    return cpu;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_the_last_of_the_largest(void)
{
    begin("0-7"); /* the big ones first, as no board has to have them last */
    put(0, 3, "1024");
    put(4, 7, "446");
    CHECK_EQ(choice(), 3);
    put(0, 3, "446");
    put(4, 7, "1024");
    CHECK_EQ(choice(), 7);
    put(2, 3, "701"); /* three kinds */
    put(4, 4, "1024");
    put(5, 7, "446");
    CHECK_EQ(choice(), 4);
    fake.allowed[4] = false;
    CHECK_EQ(choice(), 3);
    put(0, 0, "1024");
    CHECK_EQ(choice(), 0);
}

static void test_cpus_that_are_alike(void)
{
    begin("0-7");
    put(0, 7, "1024");
    CHECK_EQ(choice(), 7);
    put(2, 2, "1024");
    put(3, 7, "922"); /* within a tenth: a higher turbo is not another kind */
    CHECK_EQ(choice(), 7);
    put(3, 7, "921");
    CHECK_EQ(choice(), 2);
}

static void test_isolated_ones_come_first(void)
{
    begin("0-7");
    put(0, 3, "1024");
    put(4, 7, "446");
    fake.isolated = "2,6-7";
    CHECK_EQ(choice(), 2);
    fake.isolated = "6-7";
    CHECK_EQ(choice(), 7);
    fake.isolated = "2,6-7";
    fake.forbidden = 2;
    CHECK_EQ(choice(), 7);
    fake.isolated = "2";
    CHECK_EQ(choice(), 3);
}

static void test_types_of_cores(void)
{
    begin("0-11");
    put(0, 11, NULL);
    fake.core = "0-5";
    fake.atom = "6-9";
    fake.lowpower = "10-11";
    CHECK_EQ(choice(), 5);
    fake.allowed[10] = fake.allowed[11] = true;
    for (int cpu = 0; cpu < 6; cpu++)
        fake.allowed[cpu] = false;
    CHECK_EQ(choice(), 9);
    begin("0-11");
    put(0, 11, "1024"); /* as with SMT: all have the largest */
    fake.core = "0-5";
    fake.atom = "6-11";
    CHECK_EQ(choice(), 5);
    put(0, 5, "400"); /* where capacities differ, they decide */
    CHECK_EQ(choice(), 11);
}

static void test_types_that_are_not_of_all_or_contradict_themselves(void)
{
    static const struct {
        const char *core, *atom;
        int cpu;
    } lists[] = {
        {"0-3", NULL, 7},
        {"0-3", "4-6", 7},
        {"0-3", "3-7", 7},
        {"0-3", "4-7", 3},
        {"1-3", "4-7", 7},
        {"0-3", "4-7 and more", 7},
        {"0-3", "4-7,x", 7},
        {"0-3", "4-7,7-6", 7},
        {"0-3", "-7", 7},
        {"0-3", "7-4", 7},
        {"0-3", "4-99999999999999999999", 3},
    };
    begin("0-7");
    put(0, 7, NULL);
    for (unsigned i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        fake.core = lists[i].core;
        fake.atom = lists[i].atom;
        CHECK_EQ(choice(), lists[i].cpu);
    }
}

static void test_a_system_that_does_not_tell(void)
{
    static const char *const bad[] = {NULL,   "",     "0",    "-1024",  "1025",
                                      "1e3",  "many", "12 1", "0x400",  "99999999999999999999",
                                      "\x7f", "1.5",  ",",    "446 KiB"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin("0-7");
        put(0, 3, "1024");
        put(4, 7, "446");
        put(1, 1, bad[i]);
        CHECK_EQ(choice(), 7);
    }
    put(1, 1, "1");
    CHECK_EQ(choice(), 3);
    fake.online = NULL;
    CHECK_EQ(choice(), 7);
    fake.online = "";
    CHECK_EQ(choice(), 7);
}

static void test_cpus_that_are_offline(void)
{
    begin("0-3,6-7"); /* what is offline has no capacity */
    put(0, 3, "1024");
    put(6, 7, "446");
    CHECK_EQ(choice(), 3);
}

static void test_many_cpus(void)
{
    begin("0-1023");
    put(0, 699, "1024");
    put(700, 1023, "300");
    CHECK_EQ(choice(), 699);
    begin("0-8191"); /* more than the agent knows: those with the lowest numbers */
    put(0, 299, "1024");
    put(300, 1023, "300");
    CHECK_EQ(choice(), 299);
}

TESTS(test_the_last_of_the_largest, test_cpus_that_are_alike, test_isolated_ones_come_first,
      test_types_of_cores, test_types_that_are_not_of_all_or_contradict_themselves,
      test_a_system_that_does_not_tell, test_cpus_that_are_offline, test_many_cpus)
