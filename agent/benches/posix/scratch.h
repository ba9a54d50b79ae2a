/* A file to read and write: a sequence of blocks of equal size, all of them on the disk. */
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
 * Opens the file with additional flags of open(), writes blocks 0 to SCRATCH_BLOCKS - 1, so that it
 * has its full length, and reports where it is. Returns -1 if the case has ended with a reason.
 */
int scratch_open(rts_case *c, scratch *s, size_t size, int flags);
void scratch_close(scratch *s);

/* Fills in the contents of block n; n is not limited by the size of the file. */
void scratch_fill(unsigned char *block, size_t size, uint64_t n);

/* Returns the place of block n, which replaces the block SCRATCH_BLOCKS before it. */
off_t scratch_offset(const scratch *s, uint64_t n);

/* Returns whether the file contains block n. */
bool scratch_holds(scratch *s, uint64_t n);

#define SCRATCH_SIZE(S)                                                                            \
    RTS_SIZE(S, size, 4096, 1, 1 << 20, "bytes per request; typical: 512, 4096 and 65536")

#endif
