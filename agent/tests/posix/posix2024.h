/* Features of POSIX.1-2024 that this C library hides from programs that ask for POSIX only. */
#ifndef POSIX2024_H
#define POSIX2024_H

#include <semaphore.h>
#include <sys/mman.h>
#include <time.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS 0x20
#endif
#ifndef O_SEARCH
#define O_SEARCH 0 /* O_RDONLY */
#endif

extern char **environ;

int pipe2(int ends[2], int flags);
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *end);
int asprintf(char **text, const char *format, ...);

#endif
