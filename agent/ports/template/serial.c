/* The host, over a serial line that needs two functions: read a byte, write a byte. */
#include "rtos.h"

#define END_OF_TEXT 3         /* ctrl-C: the case has to end now */
#define END_OF_TRANSMISSION 4 /* ctrl-D: there are no more commands */
#define POLL_TICKS (RTS_TIME_HZ / 1000)

/* Input received while no command was expected. */
static struct {
    char bytes[RTS_COMMAND_BYTES];
    unsigned n, read;
    bool stop, end;
} kept;

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

/* Reads the available input; the two control characters are recognised anywhere. */
static void take_bytes(void)
{
    int byte;
    if (kept.read == kept.n)
        kept.read = kept.n = 0;
    while (kept.n < sizeof kept.bytes && !kept.end && (byte = read_byte()) >= 0) {
        kept.stop = kept.stop || byte == END_OF_TEXT;
        kept.end = byte == END_OF_TRANSMISSION;
        if (byte != END_OF_TEXT && byte != END_OF_TRANSMISSION && byte != '\r')
            kept.bytes[kept.n++] = (char)byte;
    }
}

bool rtos_stop_asked(void)
{
    take_bytes();
    return kept.stop;
}

/* Returns the next character of a command; -1: there are no more. */
static int next_character(void)
{
    while (kept.read == kept.n) {
        take_bytes();
        if (kept.read == kept.n && kept.end)
            return -1;
        if (kept.read == kept.n)
            rts_sleep_until(rts_time() + POLL_TICKS);
    }
    return (unsigned char)kept.bytes[kept.read++];
}

int rts_port_getline(char *line, size_t size)
{
    size_t length = 0;
    int c;
    while ((c = next_character()) >= 0 && c != '\n') {
        if (length + 1 < size)
            line[length] = (char)c;
        length++;
    }
    if (c < 0 && !length)
        return -1;
    line[length < size ? length : size - 1] = '\0';
    return (int)length;
}

bool rts_port_stopped(void)
{
    return kept.stop;
}
