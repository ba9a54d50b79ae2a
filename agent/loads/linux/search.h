/* Searching directories, as loads do. */
#ifndef RTS_LOAD_SEARCH_H
#define RTS_LOAD_SEARCH_H

#include "load.h"

/*
 * Reads all files in and below `dir`, up to `most` bytes of each, and looks for a text in their
 * names and contents, again and again; counts files.
 */
void rts_load_search(rts_worker *w, const char *dir, size_t most);

/* The same in /proc. */
void rts_load_read_proc(rts_worker *w);

#endif
