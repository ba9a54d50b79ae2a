/*
 * Formats texts without a C library's printf(): on microcontrollers it lacks 64-bit integers or
 * floating point, or takes ten times the memory. The output is the same as that of snprintf().
 *
 * %s %.Ns %.*s %c %d %u %ld %lu %lld %llu %zu %.Nu (and so on) %.Nf (up to nine digits) %%; no
 * width, no other flags. Anything else in a format is a mistake and is copied unchanged; so is %f
 * in an image that defines RTS_WITHOUT_REALS.
 */
#ifndef RTS_TEXT_H
#define RTS_TEXT_H

#include <stdarg.h>
#include <stddef.h>

/* Writes at most size - 1 characters and a 0; returns the length of the complete text. */
int rts_print(char *to, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int rts_vprint(char *to, size_t size, const char *format, va_list args);

#endif
