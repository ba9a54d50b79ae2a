/*
 * posix.aio.*: asynchronous input and output on a file.
 *
 * The GNU C library serves a file's requests one after the other in a thread that has the
 * scheduling policy and CPU of the requesting task, and its priority less aio_reqprio. At equal
 * priority under FIFO this thread therefore runs only when the requesting task waits.
 */
#include <aio.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "scratch.h"

#define GROUP "asynchronous I/O"
#define REQUESTS_MAX 32

typedef struct aio_params {
    int64_t size, requests;
} aio_params;

static const rts_param size_param[] = {SCRATCH_SIZE(aio_params), RTS_PARAMS_END};

static const rts_param list_param[] = {
    SCRATCH_SIZE(aio_params),
    RTS_INT(aio_params, requests, "request", 4, 1, REQUESTS_MAX, "requests in the list"),
    RTS_PARAMS_END,
};

static int open_file(rts_case *c, scratch *s)
{
    const aio_params *p = rts_params(c);
    return scratch_open(c, s, (size_t)p->size, 0);
}

/* Returns the request to write block n, whose contents are in `block`. */
static struct aiocb request(const scratch *s, unsigned char *block, uint64_t n)
{
    return (struct aiocb){.aio_fildes = s->fd,
                          .aio_buf = block,
                          .aio_nbytes = s->size,
                          .aio_offset = scratch_offset(s, n),
                          .aio_sigevent = {.sigev_notify = SIGEV_NONE}};
}

/* Waits until the request has finished; returns whether all of it was done. */
static bool complete(struct aiocb *cb)
{
    const struct aiocb *list[] = {cb};
    while (aio_error(cb) == EINPROGRESS)
        aio_suspend(list, 1, NULL);
    return aio_error(cb) == 0 && aio_return(cb) == (ssize_t)cb->aio_nbytes;
}

/* Results of the requests of a case. */
typedef struct count {
    uint64_t completed, early, wrong;
    int error; /* error of a request that the system rejected */
} count;

static int report(rts_case *c, scratch *s, const count *k)
{
    scratch_close(s);
    if (k->error)
        return rts_port_failed(c, "a request was not taken", -k->error);
    rts_count_add(c, "requests completed", k->completed, "requests");
    rts_count_add(c, "transferred wrong", k->wrong, "requests");
    return 0;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* TA: times the submission; the request is completed before the next sample. */
static inline __attribute__((always_inline)) int submit(rts_case *c, int (*ask)(struct aiocb *),
                                                        bool writes)
{
    scratch s;
    count k = {0};
    if (open_file(c, &s))
        return -1;
    uint64_t n = SCRATCH_BLOCKS;
    RTS_SAMPLES(c) {
        struct aiocb cb = request(&s, writes ? s.block : s.back, ++n);
        scratch_fill(s.block, s.size, writes ? n : n % SCRATCH_BLOCKS);
        memset(s.back, 0, s.size);
        rts_tick a = rts_now();
        int err = ask(&cb);
        rts_tick b = rts_now();
        if (err) {
            k.error = errno;
            break;
        }
        k.early += aio_error(&cb) != EINPROGRESS;
        bool good = complete(&cb);
        k.completed++;
        k.wrong += !good || (writes ? !scratch_holds(&s, n) : memcmp(s.back, s.block, s.size) != 0);
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "completed before the call returned", k.early, "requests");
    return report(c, &s, &k);
}

static int run_submit_write(rts_case *c)
{
    return submit(c, aio_write, true);
}

static int run_submit_read(rts_case *c)
{
    return submit(c, aio_read, false);
}

/* From the submission to the completion. */
static inline __attribute__((always_inline)) int suspend(rts_case *c, int (*ask)(struct aiocb *),
                                                         bool writes)
{
    scratch s;
    count k = {0};
    if (open_file(c, &s))
        return -1;
    uint64_t n = SCRATCH_BLOCKS;
    RTS_SAMPLES(c) {
        struct aiocb cb = request(&s, writes ? s.block : s.back, ++n);
        const struct aiocb *list[] = {&cb};
        scratch_fill(s.block, s.size, writes ? n : n % SCRATCH_BLOCKS);
        memset(s.back, 0, s.size);
        rts_tick a = rts_now();
        int err = ask(&cb);
        aio_suspend(list, 1, NULL);
        rts_tick b = rts_now();
        if (err) {
            k.error = errno;
            break;
        }
        k.early += aio_error(&cb) == EINPROGRESS;
        bool good = complete(&cb);
        k.completed++;
        k.wrong += !good || (writes ? !scratch_holds(&s, n) : memcmp(s.back, s.block, s.size) != 0);
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "not completed after aio_suspend", k.early, "requests");
    return report(c, &s, &k);
}

static int run_write(rts_case *c)
{
    return suspend(c, aio_write, true);
}

static int run_read(rts_case *c)
{
    return suspend(c, aio_read, false);
}

static int run_signal(rts_case *c)
{
    static const struct timespec long_enough = {.tv_sec = 10};
    scratch s;
    count k = {0};
    uint64_t unnotified = 0;
    sigset_t set;
    if (open_file(c, &s))
        return -1;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    uint64_t n = SCRATCH_BLOCKS;
    RTS_SAMPLES(c) {
        struct aiocb cb = request(&s, s.block, ++n);
        siginfo_t info;
        cb.aio_sigevent = (struct sigevent){
            .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN, .sigev_value.sival_int = (int)n};
        scratch_fill(s.block, s.size, n);
        rts_tick a = rts_now();
        int err = aio_write(&cb);
        int signal = sigtimedwait(&set, &info, &long_enough);
        rts_tick b = rts_now();
        if (err) {
            k.error = errno;
            break;
        }
        unnotified += signal != SIGRTMIN || info.si_value.sival_int != (int)n;
        k.early += aio_error(&cb) == EINPROGRESS;
        bool good = complete(&cb);
        k.completed++;
        k.wrong += !good || !scratch_holds(&s, n);
        rts_rec_add(c->rec, b - a, b);
    }
    rts_count_add(c, "completed without its signal", unnotified, "requests");
    rts_count_add(c, "not completed at its signal", k.early, "requests");
    return report(c, &s, &k);
}

/* ---- several requests ------------------------------------------------------------------------ */

/* A list of requests, and the block that each writes. */
typedef struct batch {
    struct aiocb cb[REQUESTS_MAX], *list[REQUESTS_MAX];
    unsigned char *blocks;
} batch;

static void fill_batch(const scratch *s, batch *q, uint64_t first, int requests)
{
    for (int i = 0; i < requests; i++) {
        unsigned char *block = q->blocks + (size_t)i * s->size;
        scratch_fill(block, s->size, first + (uint64_t)i);
        q->cb[i] = request(s, block, first + (uint64_t)i);
        q->cb[i].aio_lio_opcode = LIO_WRITE;
        q->list[i] = &q->cb[i];
    }
}

/*
 * Waits for all requests of the list, whatever their result, and checks what the file contains
 * then.
 */
static void check_batch(scratch *s, batch *q, uint64_t first, int requests, count *k)
{
    for (int i = 0; i < requests; i++) {
        bool good = complete(&q->cb[i]);
        k->completed++;
        k->wrong += !good || !scratch_holds(s, first + (uint64_t)i);
    }
}

static int run_list(rts_case *c)
{
    const aio_params *p = rts_params(c);
    int requests = (int)p->requests;
    scratch s;
    count k = {0};
    batch q = {.blocks = rts_malloc((size_t)(p->requests * p->size))};
    uint64_t n = SCRATCH_BLOCKS;
    if (!q.blocks)
        return rts_failed(c, "no memory for %d blocks", requests);
    if (open_file(c, &s)) {
        rts_free(q.blocks);
        return -1;
    }
    RTS_SAMPLES(c) {
        fill_batch(&s, &q, n, requests);
        rts_tick a = rts_now();
        int err = lio_listio(LIO_WAIT, q.list, requests, NULL);
        rts_tick b = rts_now();
        if (err) {
            k.error = errno;
            check_batch(&s, &q, n, requests, &k); /* the accepted requests use the blocks */
            break;
        }
        for (int i = 0; i < requests; i++)
            k.early += aio_error(&q.cb[i]) == EINPROGRESS;
        check_batch(&s, &q, n, requests, &k);
        n += (uint64_t)requests;
        rts_rec_add(c->rec, b - a, b);
    }
    rts_free(q.blocks);
    rts_count_add(c, "not completed after lio_listio", k.early, "requests");
    return report(c, &s, &k);
}

/* Two requests for one file: the second waits for the first, and is cancelled meanwhile. */
static int run_cancel(rts_case *c)
{
    const aio_params *p = rts_params(c);
    scratch s;
    count k = {0};
    uint64_t n = SCRATCH_BLOCKS, uncancelled = 0, cancelled = 0;
    batch q = {.blocks = rts_malloc(2 * (size_t)p->size)};
    if (!q.blocks)
        return rts_failed(c, "no memory for two blocks");
    if (open_file(c, &s)) {
        rts_free(q.blocks);
        return -1;
    }
    RTS_SAMPLES(c) {
        /* the second would write the block of the next sample, and must not */
        fill_batch(&s, &q, ++n, 2);
        if (aio_write(&q.cb[0]) || aio_write(&q.cb[1])) {
            k.error = errno;
            complete(&q.cb[0]);
            break;
        }
        rts_tick a = rts_now();
        int result = aio_cancel(s.fd, &q.cb[1]);
        rts_tick b = rts_now();
        bool first = complete(&q.cb[0]);
        bool second = complete(&q.cb[1]);
        k.completed += first + second;
        k.wrong += !first || !scratch_holds(&s, n);
        if (result != AIO_CANCELED || aio_error(&q.cb[1]) != ECANCELED) {
            uncancelled++; /* cancelled too late: not what is measured */
            continue;
        }
        cancelled++;
        k.wrong += scratch_holds(&s, n + 1);
        rts_rec_add(c->rec, b - a, b);
    }
    rts_free(q.blocks);
    rts_count_add(c, "requests cancelled", cancelled, "requests");
    rts_count_add(c, "could not be cancelled", uncancelled, "requests");
    return report(c, &s, &k);
}

#define NEEDS (RTS_CAP_POSIX | RTS_CAP_FILES)
#define WHO                                                                                        \
    " The GNU C library uses a thread with the task's policy, priority and CPU, which runs when "  \
    "the task waits; the file is in $TMPDIR or /var/tmp."

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.aio.submit.write", .metric = GROUP,
     .title = RTS_SAY("Submit an asynchronous write"),
     .help = RTS_SAY("Duration of aio_write." WHO), .params = size_param, .needs = NEEDS,
     .traits = RTS_RESTS, .run = run_submit_write},
    {METRIC_COMMON, .id = "posix.aio.submit.read", .metric = GROUP,
     .title = RTS_SAY("Submit an asynchronous read"), .help = RTS_SAY("Duration of aio_read." WHO),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .run = run_submit_read},
    {METRIC_COMMON, .id = "posix.aio.write", .metric = GROUP,
     .title = RTS_SAY("Write asynchronously, to the completion"),
     .help = RTS_SAY("From the time stamp before aio_write to the return of aio_suspend; the data "
                     "is then in the page cache." WHO),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_write},
    {METRIC_COMMON, .id = "posix.aio.read", .metric = GROUP,
     .title = RTS_SAY("Read asynchronously, to the completion"),
     .help = RTS_SAY("From the time stamp before aio_read, of data in the page cache, to the "
                     "return of aio_suspend." WHO),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_read},
    {METRIC_COMMON, .id = "posix.aio.signal", .metric = GROUP,
     .title = RTS_SAY("Write asynchronously, to the signal"),
     .help = RTS_SAY("From the time stamp before aio_write to the return of sigtimedwait with the "
                     "signal of its completion." WHO),
     .params = size_param, .needs = NEEDS | RTS_CAP_SIGNALS, .traits = RTS_RESTS,
     .slope_over = "size", .run = run_signal},
    {METRIC_COMMON, .id = "posix.aio.list", .metric = GROUP,
     .title = RTS_SAY("Write a list of blocks asynchronously"),
     .help = RTS_SAY("Duration of lio_listio, waiting for all of its writes." WHO),
     .params = list_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "requests",
     .run = run_list},
    {METRIC_COMMON, .id = "posix.aio.cancel", .metric = GROUP,
     .title = RTS_SAY("Cancel an asynchronous write"),
     .help = RTS_SAY(
         "Duration of aio_cancel of a write that waits for another one to the same file." WHO),
     .params = size_param, .needs = NEEDS | RTS_CAP_PRIORITIES, .traits = RTS_ONE_CPU | RTS_RESTS,
     .run = run_cancel},
};

RTS_BENCHES(benches);
