/* Shared by loads on files. */
#ifndef RTS_LOAD_FILES_H
#define RTS_LOAD_FILES_H

#include "load.h"

#define RTS_LOAD_BLOCK (64u << 10) /* bytes read or written at a time */
#define RTS_LOAD_PATH 256

/* Parameters `dir` and `ram` of a struct that has these members. */
#define RTS_LOAD_DIR(S)                                                                            \
    RTS_TEXT(S, dir,                                                                               \
             "directory on the disk that is used; default $TMPDIR, or /var/tmp, or /tmp where "    \
             "there is none"),                                                                     \
        RTS_BOOL(S, ram, 0, "allow a directory in memory, for systems without a disk")

/*
 * Returns whether files can be created in `dir` and are on a disk, or may be in RAM (`ram`); if
 * not, refuses the load.
 */
bool rts_load_has_disk(rts_running *l, const char *dir, bool ram);

/*
 * Returns the size that each of `files` files in `dir` may have: `wanted`, or less, so that half of
 * the free room remains; a reduction is reported. 0: there is no room, and the load is refused.
 */
int64_t rts_load_size(rts_running *l, const char *dir, unsigned files, int64_t wanted);

/* Creates an unnamed file there, so that nothing of it remains; -1: the worker has failed. */
int rts_load_scratch(rts_worker *w, const char *dir);

/* Writes one block at *at, which advances and wraps at `size`; false: the worker has failed. */
bool rts_load_write_block(rts_worker *w, int file, uint64_t *at, uint64_t size);

#endif
