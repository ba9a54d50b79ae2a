/* The limits of control groups, of which each test writes the files. */
#include "../ports/linux/linux.h"
#include "check.h"

#include <string.h>

/* ---- the files ------------------------------------------------------------------------------- */

static struct {
    const char *path, *text;
} file[16];
static int files;

static void put_file(const char *path, const char *text)
{
    for (int i = 0; i < files; i++)
        if (strcmp(file[i].path, path) == 0) {
            file[i].text = text;
            return;
        }
    file[files].path = path;
    file[files++].text = text;
}

/* NOLINTBEGIN(misc-use-internal-linkage): the linker makes other files call them */
int __wrap_posix_read_file(const char *path, char *buffer, size_t size);
bool __wrap_posix_read_line(const char *path, char *buffer, size_t size);
void __wrap_rts_wire_str(rts_wire *w, const char *key, const char *value);
/* NOLINTEND(misc-use-internal-linkage) */

int __wrap_posix_read_file(const char *path, char *buffer, size_t size)
{
    for (int i = 0; i < files; i++)
        if (strcmp(file[i].path, path) == 0)
            return snprintf(buffer, size, "%s", file[i].text);
    return -1;
}

bool __wrap_posix_read_line(const char *path, char *buffer, size_t size)
{
    if (__wrap_posix_read_file(path, buffer, size) < 0)
        return false;
    buffer[strcspn(buffer, "\n")] = '\0';
    return true;
}

/* What the conditions say: members of the record that was begun last. */
static char quota[256], budget[256];

void __wrap_rts_wire_str(rts_wire *w, const char *key, const char *value)
{
    (void)w;
    char *place = strcmp(key, "cgroup.cpu_quota") == 0 ? quota : budget;
    snprintf(place, sizeof quota, "%s", value ? value : "null");
}

#define V2                                                                                         \
    "25 1 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"                       \
    "26 1 0:23 / /proc rw - proc proc rw\n"
#define V1                                                                                         \
    "30 1 0:26 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"                             \
    "31 1 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"          \
    "32 1 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw"

static void system_of(const char *mounts, const char *groups)
{
    files = 0;
    put_file("/proc/self/mountinfo", mounts);
    put_file("/proc/self/cgroup", groups);
}

static int64_t opened(void)
{
    linux_quota_open();
    linux_put_quota(NULL);
    return linux_quota_periods();
}

/* ---- what they say --------------------------------------------------------------------------- */

static void test_periods_of_a_group_and_of_those_above_it_are_added_up(void)
{
    system_of(V2, "0::/user.slice/build\n");
    put_file("/sys/fs/cgroup/user.slice/build/cpu.max", "20000 100000\n");
    put_file("/sys/fs/cgroup/user.slice/build/cpu.stat", "nr_periods 9\nnr_throttled 4\n");
    put_file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    put_file("/sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 9\nnr_throttled 1\n");
    CHECK(opened() == 5);
    CHECK(strcmp(quota, "20000 of 100000 us, 150000 of 100000 us") == 0);
    CHECK(strcmp(budget, "null") == 0);
    put_file("/sys/fs/cgroup/user.slice/build/cpu.stat", "nr_periods 11\nnr_throttled 6\n");
    CHECK(linux_quota_periods() == 7);
}

static void test_a_quota_may_come_and_go_while_it_measures(void)
{
    system_of(V2, "0::/a\n");
    put_file("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put_file("/sys/fs/cgroup/a/cpu.stat", "nr_periods 9\nnr_throttled 4\n"); /* of another time */
    CHECK(opened() == 4);
    CHECK(strcmp(quota, "none") == 0);
    put_file("/sys/fs/cgroup/a/cpu.max", "20000 100000\n");
    put_file("/sys/fs/cgroup/a/cpu.stat", "nr_periods 19\nnr_throttled 11\n");
    CHECK(linux_quota_periods() == 11);
    put_file("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
    CHECK(linux_quota_periods() == 11); /* what was counted is not taken back */
    put_file("/sys/fs/cgroup/a/cpu.stat", "usage_usec 7\n");
    CHECK(linux_quota_periods() == 0); /* nothing is counted without a quota */
}

static void test_a_quota_of_the_group_above_binds_too(void)
{
    system_of(V2, "0::/user.slice/build\n");
    put_file("/sys/fs/cgroup/user.slice/build/cpu.max", "max 100000\n");
    put_file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    put_file("/sys/fs/cgroup/user.slice/cpu.stat", "nr_periods 9\nnr_throttled 3\n");
    CHECK(opened() == 3);
    CHECK(strcmp(quota, "150000 of 100000 us") == 0);
}

static void test_the_first_version_counts_where_it_has_the_controller(void)
{
    system_of(V1, "9:name=systemd:/b\n4:cpuset:/c\n3:cpu,cpuacct:/docker/x\n0::/d\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_quota_us", "20000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.cfs_period_us", "100000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.stat", "nr_periods 3\nnr_throttled 2\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.rt_runtime_us", "0\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/x/cpu.rt_period_us", "1000000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n"); /* none, now */
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
    put_file("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.stat", "nr_periods 8\nnr_throttled 7\n");
    CHECK(opened() == 9);
    CHECK(strcmp(quota, "20000 of 100000 us") == 0);
    CHECK(strcmp(budget, "0 of 1000000 us") == 0);
}

static void test_a_container_sees_its_own_group_at_the_mount(void)
{
    system_of(V2, "0::/../../outside\n");
    put_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    put_file("/sys/fs/cgroup/cpu.stat", "usage_usec 7\nnr_periods 3\nnr_throttled 3");
    CHECK(opened() == 3);
    system_of(V2, "0::/\n");
    put_file("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    put_file("/sys/fs/cgroup/cpu.stat", "usage_usec 7\nnr_throttled 8\n");
    CHECK(opened() == 8);
}

static void test_what_is_not_seen_is_not_known(void)
{
    files = 0;
    CHECK(opened() == -1); /* no /proc */
    CHECK(strcmp(quota, "null") == 0);
    system_of("26 1 0:23 / /proc rw - proc proc rw\n", "0::/a\n"); /* no control groups */
    CHECK(opened() == -1);
    system_of("25 1 0:22 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", "0::/\n");
    put_file("/sys/fs/cgroup/cpu.max", "50000 100000\n"); /* of a group above */
    put_file("/sys/fs/cgroup/cpu.stat", "nr_throttled 8\n");
    CHECK(opened() == -1);
    CHECK(strcmp(quota, "null") == 0);
    system_of(V2, "0::/a\n");
    put_file("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    CHECK(opened() == -1); /* a quota, but no count */
    CHECK(strcmp(quota, "50000 of 100000 us") == 0);
}

TESTS(test_periods_of_a_group_and_of_those_above_it_are_added_up,
      test_a_quota_may_come_and_go_while_it_measures, test_a_quota_of_the_group_above_binds_too,
      test_the_first_version_counts_where_it_has_the_controller,
      test_a_container_sees_its_own_group_at_the_mount, test_what_is_not_seen_is_not_known)
