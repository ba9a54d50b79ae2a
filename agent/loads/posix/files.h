/* What loads on files share. */
#ifndef RTS_LOAD_FILES_H
#define RTS_LOAD_FILES_H

#include "load.h"

#define RTS_LOAD_BLOCK (64u << 10) /* bytes that are read or written at a time */
#define RTS_LOAD_PATH 256

/* Parameters `dir` and `ram` of a struct that has them. */
#define RTS_LOAD_DIR(S)                                                                            \
    RTS_TEXT(S, dir,                                                                               \
             "directory on the disk that is used; default $TMPDIR, or /var/tmp, or /tmp where "    \
             "there is none"),                                                                     \
        RTS_BOOL(S, ram, 0, "allow a directory in memory, for systems without a disk")

/* True if files can be made in `dir` and lie on a disk, or may lie in `ram`; else it is refused. */
bool rts_load_has_disk(rts_running *l, const char *dir, bool ram);

/*
 * The size that each of `files` files in `dir` may have: as wanted, or as much less as it takes
 * that half of the room there is left, which is told.  0: there is no room, and the load is
 * refused.
 */
int64_t rts_load_size(rts_running *l, const char *dir, unsigned files, int64_t wanted);

/* A new file there that has no name, so that nothing is left of it; -1: the worker has failed. */
int rts_load_scratch(rts_worker *w, const char *dir);

/* Writes one block at *at, which moves on and wraps at `size`; false: the worker has failed. */
bool rts_load_write_block(rts_worker *w, int file, uint64_t *at, uint64_t size);

#endif
