/* Searching directories, for loads. */
#ifndef RTS_LOAD_SEARCH_H
#define RTS_LOAD_SEARCH_H

#include "load.h"

/*
 * Repeatedly reads all files in and below `dir`, up to `most` bytes of each, and searches their
 * names and contents for a text; counts files.
 */
void rts_load_search(rts_worker *w, const char *dir, size_t most);

/* Does the same in /proc. */
void rts_load_read_proc(rts_worker *w);

#endif
