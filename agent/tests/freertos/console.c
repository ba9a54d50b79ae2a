/* What test images have in common: their begin, and the board's console for printf() and stderr. */
#include <stdio.h>

#include "freertos.h"

static int put(char c, FILE *file)
{
    (void)file;
    board_put(&c, 1);
    return (unsigned char)c;
}

static FILE console = FDEV_SETUP_STREAM(put, NULL, NULL, _FDEV_SETUP_WRITE);
FILE *const stdout = &console;
FILE *const stderr = &console;

int late_main(void);
int test_main(void);

/* The kernel's ticks do not count from 0 (image.cmake). */
int late_main(void)
{
    freertos_ticks_before -= configINITIAL_TICK_COUNT;
    return test_main();
}
