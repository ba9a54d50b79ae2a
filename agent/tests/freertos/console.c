/* Sends printf() and stderr of a test image to the board's console. */
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
