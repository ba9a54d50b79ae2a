/* Replaces functions for which the C library takes kilobytes that a small image does not have. */
#include <string.h>

#include "freertos.h"
#include "port.h"

#ifdef RTS_SMALL_CODE

/*
 * The library's versions are fast on long strings, in 0.8 KB; here they compare and search names.
 */

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++)
        b++;
    return (unsigned char)*a - (unsigned char)*b;
}

int strncmp(const char *a, const char *b, size_t n)
{
    for (; n && *a && *a == *b; a++, n--)
        b++;
    return n ? (unsigned char)*a - (unsigned char)*b : 0;
}

char *strchr(const char *s, int c)
{
    for (; *s != (char)c; s++)
        if (!*s)
            return NULL;
    return (char *)s;
}

int __kernel_rem_pio2(const double *x, const double *y, int e0, int nx, int precision,
                      const int32_t *two_over_pi);

/*
 * Reduces arguments of sin() and cos() beyond 2^19 pi / 2, for which the library needs 3 KB.
 * Whetstone's are below 10; a larger one is an error instead of a wrong result.
 */
int __kernel_rem_pio2(const double *x, const double *y, int e0, int nx, int precision,
                      const int32_t *two_over_pi)
{
    (void)x, (void)y, (void)nx, (void)precision, (void)two_over_pi;
    freertos_fault("sin() or cos() of a number beyond 2^19", (unsigned long)e0, 0, 0);
}

#endif
