/* Restoring what a load changes, however the load ends. */
#ifndef RTS_LOAD_RESTORE_H
#define RTS_LOAD_RESTORE_H

/*
 * Starts a process called `name` that is no child of this worker and calls restore(context, file)
 * once the worker has ended, by whatever signal, or rts_load_restore() is called. `file` is open in
 * that process as well, and no other is; -1: none. Returns a descriptor for rts_load_restore(), -1:
 * see errno. From here on the worker ignores SIGTERM: it ends when rts_load_goes_on() says so.
 */
int rts_load_restorer(const char *name, void (*restore)(const void *context, int file),
                      const void *context, int file);

/* Returns when everything is restored. */
void rts_load_restore(int restorer);

#endif
