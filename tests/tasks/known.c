/*
 * A program of tasks that are known, for `rtstone tasks from-trace`.
 *
 * control: every 10 ms, wakes act; slow: every 25 ms, less urgent, takes a mutex that control takes,
 * too. Each job works for an execution time of its own, which the program measures by its thread's
 * clock. When its input ends it prints of each task the number of jobs, and the median and the sum
 * of their execution times in ns. All on one CPU, a quarter of it, and for a minute at most.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#define S INT64_C(1000000000)
#define JOBS 4000

typedef struct task {
    const char *name;
    int priority;
    int64_t period_ns, work_ns;
    int n;
    int64_t spent[JOBS];
} task;

static task control = {.name = "control", .priority = 30, .period_ns = 10000000, .work_ns = 1000000};
static task act = {.name = "act", .priority = 20, .work_ns = 800000};
static task slow = {.name = "slow", .priority = 10, .period_ns = 25000000, .work_ns = 2000000};
static sem_t go;
static pthread_mutex_t bus;
static int64_t begin;
static atomic_bool over;

static int64_t now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * S + t.tv_nsec;
}

/* Works until the thread has had so much execution time since `since`. */
static void work(int64_t since, int64_t ns)
{
    while (now(CLOCK_THREAD_CPUTIME_ID) - since < ns)
        ;
}

static void sleep_until(int64_t time)
{
    struct timespec t = {.tv_sec = time / S, .tv_nsec = time % S};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL))
        ;
}

static int64_t job(task *t)
{
    int64_t since = now(CLOCK_THREAD_CPUTIME_ID);
    if (t != &act) {
        work(since, t->work_ns / 2);
        pthread_mutex_lock(&bus);
        work(since, t->work_ns * 3 / 4);
        pthread_mutex_unlock(&bus);
    }
    work(since, t->work_ns + t->n % 5 * (t->work_ns / 50));
    return now(CLOCK_THREAD_CPUTIME_ID) - since;
}

static void *run(void *context)
{
    task *t = context;
    prctl(PR_SET_NAME, t->name);
    for (int64_t release = begin; t->n < JOBS; release += t->period_ns) {
        if (t->period_ns)
            sleep_until(release);
        else
            sem_wait(&go);
        if (over)
            break;
        t->spent[t->n] = job(t);
        t->n++;
        if (t == &control)
            sem_post(&go);
    }
    if (t == &control)
        sem_post(&go); /* act ends, too */
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static pthread_t start(task *t)
{
    pthread_attr_t attributes;
    pthread_t thread;
    struct sched_param p = {.sched_priority = t->priority};
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &p);
    if (pthread_create(&thread, &attributes, run, t)) {
        perror("a thread of real-time priority");
        exit(1);
    }
    return thread;
}

int main(void)
{
    task *tasks[] = {&control, &act, &slow};
    pthread_t threads[3];
    char byte;
    pthread_mutexattr_t inherits;
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(sched_getcpu(), &cpus);
    sched_setaffinity(0, sizeof cpus, &cpus);
    mlockall(MCL_CURRENT | MCL_FUTURE);
    sem_init(&go, 0, 0);
    pthread_mutexattr_init(&inherits);
    pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&bus, &inherits);
    begin = now(CLOCK_MONOTONIC) + S / 10;
    alarm(60); /* which ends it, whoever has forgotten it */
    for (int i = 0; i < 3; i++)
        threads[i] = start(tasks[i]);
    puts("started");
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    over = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 3; i++) {
        int64_t sum = 0;
        qsort(tasks[i]->spent, (size_t)tasks[i]->n, sizeof(int64_t), by_size);
        for (int k = 0; k < tasks[i]->n; k++)
            sum += tasks[i]->spent[k];
        printf("%s %d %lld %lld\n", tasks[i]->name, tasks[i]->n,
               (long long)tasks[i]->spent[tasks[i]->n / 2], (long long)sum);
    }
    return 0;
}
