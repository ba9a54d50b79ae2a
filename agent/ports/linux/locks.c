/*
 * Marks an agent as running, and removes what agents that no longer exist have left behind.
 *
 * While it runs, an agent holds a lock on /dev/shm/rtstone-PID.lock; the kernel releases the lock
 * however the agent ends. The process that gets the lock then (the agent's keeper, or the next
 * agent of the same user) may remove objects with that number, and the directory noted in the file.
 * Other users can create files with these names, so nothing is trusted or removed that does not
 * belong to this user.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "linux.h"
#include "tracefs.h"

#define SHM "/dev/shm"

static int lock_fd = -1;

static bool is_mine(const struct stat *status)
{
    return status->st_uid == geteuid();
}

/* Makes the path of the lock file of agent `number`. */
static void lock_path(char *path, size_t size, long number)
{
    snprintf(path, size, SHM "/rtstone-%ld.lock", number);
}

/*
 * Opens a file with that name that this user has created, and locks it; -1: there is none, or
 * another process has the lock. Another user can plant such a name, but cannot make it belong to
 * this user.
 */
static int open_lock(int shm, const char *name)
{
    struct stat status;
    int fd = openat(shm, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    /* Lock first: the previous owner may have removed the file, and another agent created a new
     * one. */
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && fstat(fd, &status) == 0 &&
        S_ISREG(status.st_mode) && is_mine(&status) && status.st_nlink == 1)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/*
 * Opens a file without a name, locks it, and gives it the name: a sweep never sees it unlocked.
 * -1: the name is taken, or there are no such files.
 */
static int link_locked(const char *path)
{
    char own[32];
    int fd = open(SHM, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Creates the file and then locks it; -1: the name is taken, or a sweep was faster. */
static int create_locked(const char *path)
{
    struct stat status;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool locked = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0;
    if (locked && fstat(fd, &status) == 0 && status.st_nlink)
        return fd;
    if (fd >= 0 && !locked && errno != EWOULDBLOCK) /* nobody can lock it, and so remove it */
        unlink(path);
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Returns whether this agent holds the lock on a new file of that name. */
static bool take_lock(void)
{
    char path[64];
    lock_path(path, sizeof path, posix_owner);
    lock_fd = link_locked(path);
    if (lock_fd < 0) /* not every file system has files without a name */
        lock_fd = create_locked(path);
    return lock_fd >= 0;
}

int posix_lock_file(void)
{
    return lock_fd;
}

#define PID_LIMIT (1L << 22) /* limit of Linux */
#define TRIES 8

void posix_claim_names(void)
{
    /* Taken: by a sweep in progress, by another user, or in another PID namespace that shares
     * /dev/shm. */
    posix_owner = getpid();
    for (int i = 0; i < TRIES && !take_lock(); i++)
        posix_owner += PID_LIMIT;
}

/* Queues cannot be listed on all systems; a case has few. */
#define QUEUE_SLOTS 64

static void remove_posix_queue(const char *name)
{
    struct stat status;
    mqd_t queue = mq_open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a descriptor, on Linux */
    bool mine = queue >= 0 && fstat(queue, &status) == 0 && is_mine(&status);
    if (queue >= 0)
        mq_close(queue);
    if (mine)
        mq_unlink(name);
}

/* Removes the queues of agent `number`. */
static void remove_queues(long number)
{
    char name[64];
    posix_remove_system_v(number);
    for (unsigned slot = 0; slot < QUEUE_SLOTS; slot++) {
        snprintf(name, sizeof name, "/rtstone-%ld.%u", number, slot);
        remove_posix_queue(name);
    }
}

/* Returns true for "sem.rtstone-PID.SLOT", and the same with "shm." and "fifo.". */
static bool is_object(const char *name, long pid)
{
    char prefix[32];
    snprintf(prefix, sizeof prefix, ".rtstone-%ld.", pid);
    const char *dot = strchr(name, '.');
    return dot && !strncmp(dot, prefix, strlen(prefix)) &&
           (!strncmp(name, "sem.", 4) || !strncmp(name, "shm.", 4) || !strncmp(name, "fifo.", 5));
}

static DIR *open_shm(int *fd)
{
    *fd = open(SHM, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = *fd < 0 ? NULL : fdopendir(*fd);
    if (!dir && *fd >= 0)
        close(*fd);
    return dir;
}

/*
 * Removes everything of this user that agent `pid` has left behind, and its lock file, which is
 * open.
 */
static void remove_objects(long pid, int lock)
{
    char path[64];
    int shm;
    remove_queues(pid);
    linux_remove_instances(pid, lock);
    linux_remove_groups(pid);
    DIR *dir = open_shm(&shm);
    for (struct dirent *e; dir && (e = readdir(dir));)
        if (is_object(e->d_name, pid))
            posix_remove_object(shm, e->d_name);
    if (dir)
        closedir(dir);
    lock_path(path, sizeof path, pid);
    posix_remove_object(AT_FDCWD, path);
}

void posix_release_names(void)
{
    if (lock_fd < 0)
        return;
    posix_remove_work_dir();
    remove_objects(posix_owner, lock_fd); /* left by a case that was killed */
    close(lock_fd);
    lock_fd = -1;
}

/* ---- the keeper ------------------------------------------------------------------------------ */

/*
 * Sleeps until the agent and all its child processes have released the lock, then removes what they
 * have left behind.
 */
static _Noreturn void keep(void)
{
    char path[64];
    struct stat held, status;
    lock_path(path, sizeof path, posix_owner);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) || fstat(lock_fd, &held) || status.st_ino != held.st_ino)
        _exit(1);
    close(lock_fd);
    lock_fd = -1;
    while (flock(fd, LOCK_EX) && errno == EINTR)
        ;
    if (fstat(fd, &status) == 0 && status.st_nlink) {
        posix_remove_noted(fd);
        remove_objects(posix_owner, fd);
    } else { /* an agent that does not see tracefs has swept */
        linux_remove_instances(posix_owner, fd);
        linux_remove_groups(posix_owner);
    }
    _exit(0);
}

/* Closes everything inherited from the agent, and ignores the signals that end the agent. */
static void leave_agent(void)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0)
        _exit(1);
    setsid();
    prctl(PR_SET_NAME, "rtstone-keeper");
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    syscall(SYS_close_range, 3, lock_fd - 1, 0);
    syscall(SYS_close_range, lock_fd + 1, ~0u, 0);
    (void)!chdir("/");
}

void posix_start_keeper(void)
{
    if (lock_fd < 3)
        return;
    pid_t between = fork(); /* so that the keeper is not a child of the agent */
    if (between == 0) {
        if (fork() == 0) {
            leave_agent();
            keep();
        }
        _exit(0);
    }
    while (between > 0 && waitpid(between, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- what other agents have left behind ------------------------------------------------------ */

/* Returns the agent that a lock file belongs to; -1: not a lock file. */
static long pid_of_lock(const char *name)
{
    static const char prefix[] = "rtstone-";
    long long pid;
    if (strncmp(name, prefix, sizeof prefix - 1) != 0)
        return -1;
    name += sizeof prefix - 1;
    return posix_number(&name, &pid) && !strcmp(name, ".lock") ? (long)pid : -1;
}

int linux_other_locks(linux_lock *lock, int most)
{
    int shm, n = 0;
    struct stat status;
    DIR *dir = open_shm(&shm);
    if (!dir)
        return access(SHM, F_OK) ? 0 : -1;
    for (struct dirent *e; (e = readdir(dir));) {
        long number = pid_of_lock(e->d_name);
        if (number < 0 || number == posix_owner ||
            fstatat(shm, e->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
            continue;
        if (n < most)
            lock[n] =
                (linux_lock){number, (pid_t)(number % PID_LIMIT), status.st_uid, status.st_ctim};
        n++;
    }
    closedir(dir);
    return n;
}

bool linux_is_held(long number)
{
    char path[64];
    lock_path(path, sizeof path, number);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool held = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB);
    if (fd >= 0)
        close(fd);
    return held;
}

void posix_sweep(void)
{
    int shm;
    DIR *dir = open_shm(&shm);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        long pid = pid_of_lock(e->d_name);
        int lock = pid < 0 || pid == posix_owner ? -1 : open_lock(shm, e->d_name);
        if (lock < 0)
            continue;
        posix_remove_noted(lock);
        remove_objects(pid, lock);
        close(lock);
    }
    if (dir)
        closedir(dir);
}
