/* A file to read and write: a row of blocks of one size, all of them on the disk. */
#ifndef RTS_SCRATCH_H
#define RTS_SCRATCH_H

#include "../metric.h"

#define SCRATCH_BLOCKS 64

typedef struct scratch {
    int fd;
    size_t size;                 /* of a block */
    unsigned char *block, *back; /* one to write, one to read into */
} scratch;

/*
 * Opens the file with further flags of open(), writes blocks 0 to SCRATCH_BLOCKS - 1, so that it
 * has its length, and reports where it lies.  -1: the case has its reason.
 */
int scratch_open(rts_case *c, scratch *s, size_t size, int flags);
void scratch_close(scratch *s);

/* The contents of block n, of as many as are ever written. */
void scratch_fill(unsigned char *block, size_t size, uint64_t n);

/* Block n takes the place of the one SCRATCH_BLOCKS before. */
off_t scratch_offset(const scratch *s, uint64_t n);

/* True if the file holds block n. */
bool scratch_holds(scratch *s, uint64_t n);

#define SCRATCH_SIZE(S)                                                                            \
    RTS_SIZE(S, size, 4096, 1, 1 << 20, "bytes per request; typical: 512, 4096 and 65536")

#endif
