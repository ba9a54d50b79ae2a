/* The host, over a serial line that needs two functions: read a byte, write a byte. */
#include "rtos.h"

#define POLL_TICKS (RTS_TIME_HZ / 1000)

/* PORT: waits until the UART accepts the byte. */
static void write_byte(char byte)
{
    os_uart_write(byte);
}

/*
 * PORT: returns the next byte of the UART, or -1; use an interrupt and a ring buffer at high rates.
 */
static int read_byte(void)
{
    return os_uart_read();
}

void rts_port_put(const char *bytes, size_t n)
{
    while (n--)
        write_byte(*bytes++);
}

/* PORT: returns when the last byte has been sent: nothing may be output during a measurement. */
void rts_port_flush(void)
{
    os_uart_drain();
}

/*
 * Bytes that arrive while a case runs stay in the UART, or in the port's buffer, until the agent's
 * watchdog looks for them; what is lost is asked for again.
 */
int rts_port_getchar(rts_tick until)
{
    for (;;) {
        int byte = read_byte();
        if (byte >= 0)
            return byte;
        if (rts_time() >= until)
            return RTS_NOTHING;
        rts_sleep_until(rts_time() + POLL_TICKS);
    }
}
