/*
 * The agent as the first process of a guest that runs nothing else (rtstone/lab): mounts the file
 * systems that programs expect, reads its commands from a file, writes its records to the console,
 * and powers the guest off. The agent itself is a child, so that the first process only has to reap
 * orphans.
 */
#include <dirent.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#include "linux.h"

#define CONSOLE "/dev/console"
#define SCRIPT "/rtstone/script"
#define MODULES "/rtstone/modules"
#define DISK "/rtstone/disk" /* contents of the RAM disk: pairs of offset and block */
#define RAM_DISK "/dev/ram0"
#define HELD "/rtstone/held"
#define WORK "/var/tmp" /* where files are expected not to be kept in memory */
#define BLOCK 4096
#define SETTLE_NS UINT64_C(1000000000) /* the kernel's deferred start-up work is done by then */

/* ---- end of the guest ------------------------------------------------------------------------ */

static _Noreturn void power_off(void)
{
    sync();
    tcdrain(STDERR_FILENO);
    reboot(RB_POWER_OFF);
    reboot(RB_AUTOBOOT); /* for a board that cannot be powered off; the emulator ends at this too */
    _exit(1);
}

/* Prints one line with the problem and ends the guest, which would otherwise wait forever. */
static _Noreturn void __attribute__((format(printf, 1, 2))) give_up(const char *format, ...)
{
    int err = errno;
    va_list arguments;
    va_start(arguments, format);
    dprintf(STDERR_FILENO, "rtstone: init: ");
    vdprintf(STDERR_FILENO, format, arguments);
    dprintf(STDERR_FILENO, ": %s\n", strerror(err));
    va_end(arguments);
    power_off();
}

/* ---- a working system ------------------------------------------------------------------------ */

/* By itself, because no compiler knows how long this is, and some branches do not reach over it. */
static _Noreturn __attribute__((noinline)) void stay_awake(void)
{
    for (;;)
        __asm__ volatile(".rept 500\n\tnop\n\t.endr");
}

/*
 * Starts a task of the lowest priority that keeps the CPU from halting, if the command line asks
 * for it. In an emulator that counts instructions, a halted CPU is where two threads of the
 * emulator race: one may advance the clock to the next timer before the other has added up what it
 * executed, and the run is then not reproducible. Long sequences of no-ops cost the emulator almost
 * nothing.
 */
static void keep_awake(const char *line)
{
    if (!strstr(line, "rtstone.awake"))
        return;
    pid_t awake = fork();
    if (awake < 0)
        give_up("cannot start the task that keeps the CPU from halting");
    if (awake)
        return;
    if (sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0}))
        give_up("cannot use SCHED_IDLE");
    stay_awake();
}

/*
 * Waits for the kernel's random numbers if the command line asks for it: nobody has given a domain
 * of Xen a seed, and without one each system call takes some ten thousand instructions more for the
 * random offset of its stack. The kernel gathers what it needs while somebody waits.
 */
static void await_random(const char *line)
{
    char byte;
    if (strstr(line, "rtstone.random") && getrandom(&byte, 1, 0) != 1)
        give_up("cannot read random numbers");
}

/*
 * Sets the ns of each second that the deadline server gives to tasks without real-time priority, if
 * the command line says so. (sysctl.kernel.sched_rt_runtime_us= is the kernel's own.)
 */
static void set_server(const char *line)
{
    static const char word[] = "rtstone.fair_server=";
    const char *value = strstr(line, word);
    if (!value)
        return;
    value += sizeof word - 1;
    size_t length = strcspn(value, " ");
    int file = open(LINUX_SCHED "/fair_server/cpu0/runtime", O_WRONLY | O_CLOEXEC);
    if (file < 0 || write(file, value, length) != (ssize_t)length)
        give_up("cannot set the deadline server");
    close(file);
}

/* What the command line of the kernel asks for. */
static void obey_kernel_words(void)
{
    char line[4096];
    if (!posix_read_line("/proc/cmdline", line, sizeof line))
        return;
    keep_awake(line);
    await_random(line);
    set_server(line);
}

static const struct {
    const char *type, *where, *options;
    bool optional; /* a kernel may be built without it */
} mounts[] = {
    {"proc", "/proc", NULL, false},
    {"sysfs", "/sys", NULL, false},
    {"devtmpfs", "/dev", NULL, false},
    {"tmpfs", "/tmp", "mode=1777", false},
    {"tmpfs", "/dev/shm", "mode=1777", false},
    {"mqueue", "/dev/mqueue", NULL, true},
    {"devpts", "/dev/pts", "ptmxmode=0666", true}, /* dk.schedlat opens /dev/ptmx */
    {"debugfs", "/sys/kernel/debug", NULL, true},  /* shows the preemption model */
    {"tracefs", "/sys/kernel/tracing", NULL, true},
};

static void mount_all(void)
{
    for (size_t i = 0; i < sizeof mounts / sizeof mounts[0]; i++) {
        (void)mkdir(mounts[i].where, 0755);
        if (mount(mounts[i].type, mounts[i].where, mounts[i].type, 0, mounts[i].options) &&
            !mounts[i].optional)
            give_up("cannot mount %s on %s", mounts[i].type, mounts[i].where);
    }
    if (sysconf(_SC_NPROCESSORS_ONLN) > 1) /* for partitions (partition.c) */
        (void)mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
}

/* The console must neither echo records nor change their line ends. */
static void take_console(void)
{
    struct termios line;
    int console = open(CONSOLE, O_RDWR | O_NOCTTY);
    if (console < 0)
        give_up("cannot open " CONSOLE);
    if (tcgetattr(console, &line) == 0) {
        cfmakeraw(&line);
        tcsetattr(console, TCSANOW, &line);
    }
    dup2(console, STDOUT_FILENO);
    dup2(console, STDERR_FILENO);
    if (console > STDERR_FILENO)
        close(console);
    posix_option.drain = true;
}

/* Returns false where there is none: the first process of a container is an agent like others. */
static bool take_script(void)
{
    int script = open(SCRIPT, O_RDONLY);
    if (script < 0 && errno == ENOENT)
        return false;
    if (script < 0)
        give_up("cannot open " SCRIPT);
    dup2(script, STDIN_FILENO);
    close(script);
    return true;
}

static void load_module(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, MODULES "/%s", name);
    const char *arguments = strstr(name, "-brd.ko") ? "rd_nr=1 rd_size=65536" : "";
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 || syscall(SYS_finit_module, file, arguments, 0))
        give_up("cannot load %s", path);
    close(file);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Names begin with numbers, which are the order of loading. */
static void load_modules(void)
{
    struct dirent **modules;
    int n = scandir(MODULES, &modules, NULL, by_name);
    for (int i = 0; i < n; i++) {
        if (modules[i]->d_name[0] != '.')
            load_module(modules[i]->d_name);
        free(modules[i]);
    }
    if (n >= 0)
        free(modules);
}

static void make_disk(void)
{
    struct {
        uint64_t at; /* little endian, like all guests */
        char bytes[BLOCK];
    } block;
    int from = open(DISK, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return; /* no RAM disk was requested */
    int to = open(RAM_DISK, O_WRONLY | O_CLOEXEC);
    if (to < 0)
        give_up("cannot open " RAM_DISK);
    while (read(from, &block, sizeof block) == sizeof block)
        if (pwrite(to, block.bytes, BLOCK, (off_t)block.at) != BLOCK)
            give_up("cannot write " RAM_DISK);
    close(to);
    close(from);
    if (mount(RAM_DISK, WORK, "ext4", 0, NULL))
        give_up("cannot mount " RAM_DISK " on " WORK);
    (void)chmod(WORK, 01777);
}

static void start_loopback(void)
{
    struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};
    int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (any < 0)
        return; /* a kernel without networking */
    if (ioctl(any, SIOCSIFFLAGS, &request))
        give_up("cannot bring up interface lo");
    close(any);
}

/* ---- the start of the guest ------------------------------------------------------------------ */

static int the_console; /* while records are held */

/* Returns whether the script's first case is the bench that measures the start, without a load. */
static bool measures_start(void)
{
    static const char command[] = " case ", bench[] = " boot";
    char script[4096];
    ssize_t n = pread(STDIN_FILENO, script, sizeof script - 1, 0);
    script[n > 0 ? n : 0] = '\0';
    const char *first = strstr(script, command), *load = strstr(script, " load ");
    if (!first || (load && load < first))
        return false;
    first += sizeof command - 1;
    first += strspn(first, "0123456789");
    size_t length = sizeof bench - 1;
    return !strncmp(first, bench, length) && strchr(" \n", first[length]);
}

/* Goes ahead of what the kernel still has to do by itself, or no longer. */
static void hurry(bool ahead)
{
    if (setpriority(PRIO_PROCESS, 0, ahead ? -20 : 0))
        give_up("cannot change the nice value");
}

/*
 * Records of the start are held in memory until it is over: writing to the console waits for
 * whatever the kernel is doing.
 */
static void hold_records(void)
{
    the_console = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    int held = open(HELD, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (the_console < 0 || held < 0 || dup2(held, STDOUT_FILENO) < 0)
        give_up("cannot open " HELD);
    close(held);
}

/* Returns to the console, for which there may be nothing. */
static void write_held(void)
{
    char text[4096];
    int held = open(HELD, O_RDONLY | O_CLOEXEC);
    if (held < 0)
        return;
    dup2(the_console, STDOUT_FILENO);
    close(the_console);
    for (ssize_t n; (n = read(held, text, sizeof text)) > 0;)
        rts_port_put(text, (size_t)n);
    rts_port_flush();
    close(held);
    (void)unlink(HELD);
}

/* Completes the guest, by its modules, RAM disk and network, and waits until it is at rest. */
static void settle(void)
{
    load_modules();
    make_disk();
    start_loopback();
    rts_sleep_until(rts_time() + SETTLE_NS);
}

void posix_case_over(void)
{
    linux_remove_groups(posix_owner);
    if (!linux_start.measured)
        return;
    linux_start.measured = false;
    hurry(false);
    write_held();
    settle();
}

/* ---- the first process ----------------------------------------------------------------------- */

/*
 * Reaps all processes that end until it is the agent, and reports how that ended unless successful.
 */
static void await_agent(pid_t agent)
{
    int status;
    for (pid_t ended; (ended = wait(&status)) != agent;)
        if (ended < 0 && errno != EINTR)
            give_up("the agent is lost");
    if (WIFSIGNALED(status))
        dprintf(STDERR_FILENO, "rtstone: the agent was killed by signal %d (%s)\n",
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        dprintf(STDERR_FILENO, "rtstone: the agent ended with exit status %d\n",
                WEXITSTATUS(status));
}

bool posix_init(void)
{
    if (rts_port_guard()) {
        linux_guard();
        return false;
    }
    if (getpid() != 1)
        return false;
#ifdef POSIX_NOTHING
    linux_start.entered = posix_counter();
#endif
    if (!take_script())
        return false;
    linux_start.guest = true;
    linux_start.measured = measures_start();
    if (linux_start.measured)
        hurry(true);
    mount_all();
    take_console();
    obey_kernel_words();
    if (linux_start.measured) {
        hold_records();
    } else {
        settle();
        linux_start.settled_ms = SETTLE_NS / 1000000;
    }
    pid_t agent = fork();
    if (agent < 0)
        give_up("cannot start the agent");
    if (agent == 0)
        return true;
    close(STDIN_FILENO);
    await_agent(agent);
    write_held(); /* of an agent that died */
    power_off();
}
