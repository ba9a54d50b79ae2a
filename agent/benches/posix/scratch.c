/* The file used to measure synchronous and asynchronous input and output. */
#include "scratch.h"

#include <string.h>

#include "posix.h"

void scratch_fill(unsigned char *block, size_t size, uint64_t n)
{
    for (size_t i = 0; i < size; i++)
        block[i] = (unsigned char)(n * 37 + i * 7 + (i >> 8));
}

off_t scratch_offset(const scratch *s, uint64_t n)
{
    return (off_t)(n % SCRATCH_BLOCKS * s->size);
}

bool scratch_holds(scratch *s, uint64_t n)
{
    scratch_fill(s->block, s->size, n);
    return pread(s->fd, s->back, s->size, scratch_offset(s, n)) == (ssize_t)s->size &&
           memcmp(s->back, s->block, s->size) == 0;
}

void scratch_close(scratch *s)
{
    close(s->fd);
    rts_free(s->block);
    rts_free(s->back);
}

/* Writes all blocks; returns 0 or an error. */
static int write_all(scratch *s)
{
    for (uint64_t n = 0; n < SCRATCH_BLOCKS; n++) {
        scratch_fill(s->block, s->size, n);
        errno = ENOSPC; /* if less was written than requested */
        if (pwrite(s->fd, s->block, s->size, scratch_offset(s, n)) != (ssize_t)s->size)
            return errno;
    }
    return fsync(s->fd) ? errno : 0;
}

int scratch_open(rts_case *c, scratch *s, size_t size, int flags)
{
    char why[RTS_REASON];
    unsigned long type;
    long block;
    *s = (scratch){.size = size, .fd = posix_scratch_file(flags, why, sizeof why)};
    if (s->fd < 0)
        return rts_unsupported(c, "%s", why);
    s->block = rts_malloc(size);
    s->back = rts_malloc(size);
    int error = s->block && s->back ? write_all(s) : ENOMEM;
    if (error) {
        scratch_close(s);
        if (error == ENOSPC)
            return rts_unsupported(c, "no space for a file of %zu bytes: set TMPDIR elsewhere",
                                   size * SCRATCH_BLOCKS);
        return rts_port_failed(c, "cannot write a file", -error);
    }
    if (posix_file_system(s->fd, &type, &block)) {
        rts_table(c, "file", "type of file system (statfs)\tblock size");
        rts_row(c, "0x%lx\t%ld", type, block);
    }
    return 0;
}
