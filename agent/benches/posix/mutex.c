/* posix.mutex.*: operations that the port's mutexes do not offer; all with default attributes. */
#include <pthread.h>

#include "../metric.h"

#define GROUP "mutexes and condition variables"

/* Destroys the first n mutexes of an array; returns how many could not be destroyed. */
static int drop_row(pthread_mutex_t *row, uint64_t n)
{
    int bad = 0;
    while (n > 0)
        bad += pthread_mutex_destroy(&row[--n]) != 0;
    return bad;
}

static pthread_mutex_t *new_row(rts_case *c)
{
    pthread_mutex_t *row = rts_malloc(c->batch * sizeof(pthread_mutex_t));
    if (!row)
        rts_failed(c, "no memory for %llu mutexes", (unsigned long long)c->batch);
    for (unsigned i = 0; row && i < c->batch; i++)
        pthread_mutex_init(&row[i], NULL);
    return row;
}

static int run_try_free(rts_case *c)
{
    pthread_mutex_t *row = new_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        pthread_mutex_t *m = row;
        RTS_TIMED(c, bad |= pthread_mutex_trylock(m++));
        for (unsigned i = 0; i < c->batch; i++)
            bad |= pthread_mutex_unlock(&row[i]);
    }
    bad |= drop_row(row, c->batch);
    rts_free(row);
    return bad ? rts_failed(c, "a free mutex could not be locked") : 0;
}

static int run_try_busy(rts_case *c)
{
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    uint64_t taken = 0;
    pthread_mutex_lock(&m);
    RTS_SAMPLES(c) {
        RTS_TIMED(c, taken += pthread_mutex_trylock(&m) != EBUSY);
    }
    pthread_mutex_unlock(&m);
    return taken ? rts_failed(c, "a locked mutex could be locked") : 0;
}

static int run_create(rts_case *c)
{
    pthread_mutex_t *row = new_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        bad |= drop_row(row, c->batch);
        pthread_mutex_t *m = row;
        RTS_TIMED(c, bad |= pthread_mutex_init(m++, NULL));
    }
    bad |= drop_row(row, c->batch);
    rts_free(row);
    return bad ? rts_failed(c, "a mutex could not be made or destroyed") : 0;
}

static int run_delete(rts_case *c)
{
    pthread_mutex_t *row = new_row(c);
    int bad = 0;
    if (!row)
        return -1;
    RTS_SAMPLES(c) {
        pthread_mutex_t *m = row;
        RTS_TIMED(c, bad |= pthread_mutex_destroy(m++));
        for (unsigned i = 0; i < c->batch; i++)
            bad |= pthread_mutex_init(&row[i], NULL);
    }
    bad |= drop_row(row, c->batch);
    rts_free(row);
    return bad ? rts_failed(c, "a mutex could not be made or destroyed") : 0;
}

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.mutex.try.free", .metric = GROUP,
     .title = RTS_SAY("Try to lock a mutex that is free"),
     .help = RTS_SAY("Duration of pthread_mutex_trylock that succeeds."), .needs = RTS_CAP_POSIX,
     .traits = ALONE, .run = run_try_free},
    {METRIC_COMMON, .id = "posix.mutex.try.busy", .metric = GROUP,
     .title = RTS_SAY("Try to lock a mutex that is locked"),
     .help = RTS_SAY("Duration of pthread_mutex_trylock that fails."), .needs = RTS_CAP_POSIX,
     .traits = ALONE, .run = run_try_busy},
    {METRIC_COMMON, .id = "posix.mutex.create", .metric = GROUP, .title = RTS_SAY("Create a mutex"),
     .help = RTS_SAY("Duration of pthread_mutex_init."), .needs = RTS_CAP_POSIX, .traits = ALONE,
     .run = run_create},
    {METRIC_COMMON, .id = "posix.mutex.delete", .metric = GROUP, .title = RTS_SAY("Delete a mutex"),
     .help = RTS_SAY("Duration of pthread_mutex_destroy."), .needs = RTS_CAP_POSIX, .traits = ALONE,
     .run = run_delete},
};

RTS_BENCHES(benches);
