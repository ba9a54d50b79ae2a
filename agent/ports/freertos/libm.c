/* What the C library would spend 3 KB on, and nothing here asks of it. */
#include "freertos.h"
#include "port.h"

#ifdef RTS_SMALL_CODE

int __kernel_rem_pio2(const double *x, double *y, int e0, int nx, int precision,
                      const int32_t *two_over_pi);

/*
 * Arguments of sin() and cos() beyond 2^19 pi / 2, reduced to many digits.  Whetstone's are below
 * 10; whoever has a larger one is told, instead of a number that is wrong.
 */
int __kernel_rem_pio2(const double *x, double *y, int e0, int nx, int precision,
                      const int32_t *two_over_pi)
{
    (void)x, (void)y, (void)nx, (void)precision, (void)two_over_pi;
    freertos_fault("sin() or cos() of a number beyond 2^19", (unsigned long)e0, 0, 0);
}

#endif
