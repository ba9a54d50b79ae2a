/*
 * Texts without a C library's printf(): that of a microcontroller has neither 64-bit numbers nor
 * reals, or costs ten times the memory.  Writes what snprintf() writes.
 *
 * %s %.Ns %.*s %c %d %u %ld %lu %lld %llu %zu %.Nf (up to nine digits) %%; no width, no other
 * flags. What else a format has is a mistake and stands in the text as it is.
 */
#ifndef RTS_TEXT_H
#define RTS_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes at most size - 1 characters and a 0; returns the length the text has. */
int rts_print(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int rts_vprint(char *to, size_t size, const char *format, va_list args);

#endif
