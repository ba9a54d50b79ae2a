/* posix.sio.*: synchronous input and output on a file. */
#include <string.h>

#include "scratch.h"

#define GROUP "synchronous I/O"

typedef struct sio_params {
    int64_t size;
} sio_params;

static const rts_param size_param[] = {SCRATCH_SIZE(sio_params), RTS_PARAMS_END};

static size_t size_of(const rts_case *c)
{
    const sio_params *p = rts_params(c);
    return (size_t)p->size;
}

static int no_flush(int fd)
{
    (void)fd;
    return 0;
}

/* Writes a block to a file opened with `flags`, and makes sure that it is on the disk. */
static inline __attribute__((always_inline)) int write_through(rts_case *c, int flags,
                                                               int (*sync)(int))
{
    scratch s;
    uint64_t n = SCRATCH_BLOCKS, wrong = 0;
    bool bad = false;
    if (scratch_open(c, &s, size_of(c), flags))
        return -1;
    RTS_SAMPLES(c) {
        off_t offset = scratch_offset(&s, ++n);
        scratch_fill(s.block, s.size, n);
        rts_tick a = rts_now();
        ssize_t written = pwrite(s.fd, s.block, s.size, offset);
        int err = sync(s.fd);
        rts_tick b = rts_now();
        bad = written != (ssize_t)s.size || err;
        if (bad)
            break;
        wrong += !scratch_holds(&s, n);
        rts_rec_add(c->rec, b - a, b);
    }
    int error = errno;
    scratch_close(&s);
    if (bad)
        return rts_port_failed(c, "cannot write a file", -error);
    rts_count_add(c, "read back wrong", wrong, "blocks");
    return 0;
}

static int run_fsync(rts_case *c)
{
    return write_through(c, 0, fsync);
}

static int run_fdatasync(rts_case *c)
{
    return write_through(c, 0, fdatasync);
}

static int run_sync(rts_case *c)
{
    return write_through(c, O_SYNC, no_flush);
}

static int run_dsync(rts_case *c)
{
    return write_through(c, O_DSYNC, no_flush);
}

static int run_pread(rts_case *c)
{
    scratch s;
    uint64_t n = 0, wrong = 0;
    if (scratch_open(c, &s, size_of(c), 0))
        return -1;
    RTS_SAMPLES(c) {
        off_t offset = scratch_offset(&s, ++n);
        scratch_fill(s.block, s.size, n % SCRATCH_BLOCKS);
        memset(s.back, 0, s.size);
        rts_tick a = rts_now();
        ssize_t got = pread(s.fd, s.back, s.size, offset);
        rts_tick b = rts_now();
        wrong += got != (ssize_t)s.size || memcmp(s.back, s.block, s.size) != 0;
        rts_rec_add(c->rec, b - a, b);
    }
    scratch_close(&s);
    rts_count_add(c, "read back wrong", wrong, "blocks");
    return 0;
}

#define NEEDS (RTS_CAP_POSIX | RTS_CAP_FILES)
#define WHERE                                                                                      \
    " The file is in $TMPDIR or /var/tmp and keeps its length. The disk and the system's own "     \
    "threads do the work, at their own priority."

static const rts_bench benches[] = {
    {METRIC_COMMON, .id = "posix.sio.fsync", .metric = GROUP, .title = RTS_SAY("Write, then fsync"),
     .help = RTS_SAY("Duration of pwrite of one block, followed by fsync." WHERE),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_fsync},
    {METRIC_COMMON, .id = "posix.sio.fdatasync", .metric = GROUP,
     .title = RTS_SAY("Write, then fdatasync"),
     .help = RTS_SAY("Duration of pwrite of one block, followed by fdatasync." WHERE),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_fdatasync},
    {METRIC_COMMON, .id = "posix.sio.osync", .metric = GROUP,
     .title = RTS_SAY("Write to a file opened with O_SYNC"),
     .help = RTS_SAY("Duration of pwrite of one block to a file opened with O_SYNC." WHERE),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_sync},
    {METRIC_COMMON, .id = "posix.sio.odsync", .metric = GROUP,
     .title = RTS_SAY("Write to a file opened with O_DSYNC"),
     .help = RTS_SAY("Duration of pwrite of one block to a file opened with O_DSYNC." WHERE),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_dsync},
    {METRIC_COMMON, .id = "posix.sio.pread", .metric = GROUP,
     .title = RTS_SAY("Read data from the page cache"),
     .help = RTS_SAY("Duration of pread of one block that has been written before."),
     .params = size_param, .needs = NEEDS, .traits = RTS_RESTS, .slope_over = "size",
     .run = run_pread},
};

RTS_BENCHES(benches);
