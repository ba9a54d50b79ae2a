#include "host.h"

#include <string.h>

#include "clock.h"
#include "params.h"
#include "port.h"
#include "wire.h"

#define MARK "#cmd "
#define CRC_DIGITS 8
#define NOBODY (-2) /* no number follows: only `hello` is accepted */

static char line[RTS_COMMAND_BYTES];
static unsigned length;   /* of the line so far, of which as much is stored as fits */
static int64_t newest;    /* number of the newest accepted command */
static char *pending;     /* accepted, but not yet carried out; in `line` */
static rts_tick promised; /* until when the host's lease lasts; 0: there is none */
static bool stop, ended;

static bool is_crc(const char *digits, uint32_t crc)
{
    for (unsigned i = 0; i < CRC_DIGITS; i++, crc <<= 4)
        if (digits[i] != "0123456789abcdef"[crc >> 28])
            return false;
    return true;
}

/* Returns the words of the command at the mark, and its number; NULL if it is damaged. */
static char *undamaged(char *mark, int64_t *number)
{
    char *start = mark + sizeof MARK - 1, *end = line + length - CRC_DIGITS - 1;
    if (length >= sizeof line || end <= start || memcmp(mark, MARK, sizeof MARK - 1) != 0 ||
        *end != ' ' || !is_crc(end + 1, rts_crc32(0, start, (unsigned)(end - start))))
        return NULL;
    *end = '\0';
    const char *rest = start;
    return rts_number(&rest, number) && *rest == ' ' ? start + (rest - start) + 1 : NULL;
}

/* Echoes a command; NULL: what arrived was damaged, or not the next one, which is asked for. */
static void echo(const char *words)
{
    rts_wire *w = rts_wire_begin("heard");
    rts_wire_int(w, "n", newest);
    rts_wire_str(w, "text", words);
    rts_wire_end(w);
}

/* Returns the command in a complete line if it is the next one, and echoes it. */
static char *accepted(void)
{
    int64_t number;
    char *mark = strrchr(line, MARK[0]);     /* before it there may be noise */
    if (!length || (mark && mark[1] == 'r')) /* our own words, from a terminal that echoes */
        return NULL;
    char *words = mark ? undamaged(mark, &number) : NULL;
    if (words && !strcmp(words, "hello")) { /* numbers start anew; its answer is the echo */
        newest = number;
        rts_wire_restart();
        return words;
    }
    bool next = words && number == newest + 1;
    newest += next;
    echo(words && number == newest ? words : NULL); /* the same one again: its echo was lost */
    return next ? words : NULL;
}

/* Adds a byte to the line; returns the command that it completes, or NULL. */
static char *take(int byte)
{
    if (byte == '\r')
        return NULL;
    if (byte != '\n') {
        if (length < sizeof line - 1)
            line[length] = (char)byte;
        length += length < sizeof line;
        return NULL;
    }
    line[length < sizeof line ? length : sizeof line - 1] = '\0';
    char *words = accepted();
    length = 0;
    return words;
}

/* Starts or renews the lease: the host will speak again within `ms`; 0: it has no lease. */
static void renew(const char *number)
{
    int64_t ms;
    if (!rts_number(&number, &ms) || ms < 0 || ms > RTS_LEASE_MS)
        return;
    if (rts_port_lease((uint64_t)ms))
        promised = ms ? UINT64_MAX : 0;
    else
        promised = ms ? rts_time() + rts_ns_to_ticks((uint64_t)ms * 1000000, RTS_TIME_HZ) : 0;
}

/* Carries out a command that does not wait for the end of a case; returns false for others. */
static bool at_once(const char *words)
{
    if (!strcmp(words, "stop"))
        return stop = true;
    if (strncmp(words, "alive ", 6) != 0)
        return false;
    renew(words + 6);
    return true;
}

bool rts_host_listens(void)
{
    return promised && !pending && !ended;
}

bool rts_host_stops(void)
{
    int byte;
    while (rts_host_listens() && (byte = rts_port_getchar(0)) != RTS_NOTHING) {
        ended = byte == RTS_END_OF_INPUT;
        char *words = ended ? NULL : take(byte);
        if (words && !at_once(words))
            pending = words;
    }
    bool gone = promised && (ended || rts_time() >= promised);
    return stop || gone || (pending && !strcmp(pending, "hello"));
}

char *rts_host_command(void)
{
    char *words = pending;
    pending = NULL;
    while (!words && !ended) {
        int byte = rts_port_getchar(promised ? promised : UINT64_MAX);
        if (byte == RTS_NOTHING) { /* the lease is over */
            newest = NOBODY;
            promised = 0;
            break;
        }
        ended = byte == RTS_END_OF_INPUT;
        words = ended ? NULL : take(byte);
        if (words && at_once(words))
            words = NULL;
    }
    stop = false; /* it concerned what has ended */
    return words;
}

bool rts_host_may_return(void)
{
    return !ended;
}

int64_t rts_host_newest(void)
{
    return newest;
}
