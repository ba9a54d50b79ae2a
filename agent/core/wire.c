#include "wire.h"

#include <stdarg.h>
#include <string.h>

#include "port.h"
#include "text.h"

struct rts_wire {
    uint32_t seq;
    uint32_t crc;
    bool comma; /* write a comma before the next member */
    unsigned used;
    char buffer[RTS_WIRE_BYTES];
};

static rts_wire the_wire;

uint32_t rts_crc32(uint32_t crc, const char *bytes, unsigned n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    crc = ~crc;
    for (unsigned i = 0; i < n; i++) {
        crc ^= (uint8_t)bytes[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

static void flush(rts_wire *w)
{
    rts_port_put(w->buffer, w->used);
    w->used = 0;
}

/* Writes bytes that the checksum covers. */
static void put(rts_wire *w, const char *bytes, unsigned n)
{
    w->crc = rts_crc32(w->crc, bytes, n);
    for (unsigned i = 0; i < n; i++) {
        if (w->used == sizeof w->buffer)
            flush(w);
        w->buffer[w->used++] = bytes[i];
    }
}

static void puts_(rts_wire *w, const char *s)
{
    put(w, s, (unsigned)strlen(s));
}

static void put_uint(rts_wire *w, uint64_t value)
{
    char digits[20];
    unsigned i = sizeof digits;
    do
        digits[--i] = (char)('0' + value % 10);
    while (value /= 10);
    put(w, digits + i, (unsigned)(sizeof digits - i));
}

static void put_hex(rts_wire *w, uint32_t value, unsigned digits)
{
    while (digits-- > 0)
        put(w, &"0123456789abcdef"[value >> 4 * digits & 15], 1);
}

/*
 * Decodes one code point of UTF-8 at s (n bytes left) and returns its length; an invalid byte
 * stands for itself.
 */
static unsigned decode(const unsigned char *s, unsigned n, uint32_t *point)
{
    unsigned length = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : s[0] >= 0xc2 ? 2 : 1;
    *point = s[0];
    if (length == 1 || length > n)
        return 1;
    uint32_t value = s[0] & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 1;
        value = value << 6 | (s[i] & 0x3f);
    }
    *point = value;
    return length;
}

static void put_escape(rts_wire *w, uint32_t unit)
{
    puts_(w, "\\u");
    put_hex(w, unit, 4);
}

static void put_string(rts_wire *w, const char *s, unsigned n)
{
    put(w, "\"", 1);
    for (unsigned i = 0; i < n;) {
        uint32_t point;
        unsigned length = decode((const unsigned char *)s + i, n - i, &point);
        if (point == '"' || point == '\\')
            put(w, "\\", 1);
        if (point >= 0x20 && point < 0x7f) {
            put(w, &s[i], 1);
        } else if (point >= 0x10000) { /* as a surrogate pair */
            put_escape(w, 0xd800 + ((point - 0x10000) >> 10));
            put_escape(w, 0xdc00 + ((point - 0x10000) & 0x3ff));
        } else {
            put_escape(w, point);
        }
        i += length;
    }
    put(w, "\"", 1);
}

static void member(rts_wire *w, const char *key)
{
    if (w->comma)
        put(w, ",", 1);
    w->comma = true;
    if (!key)
        return;
    put_string(w, key, (unsigned)strlen(key));
    put(w, ":", 1);
}

void rts_wire_restart(void)
{
    the_wire.seq = 0;
}

rts_wire *rts_wire_begin(const char *t)
{
    rts_wire *w = &the_wire;
    w->used = 0;
    puts_(w, "#rts ");
    w->crc = 0;
    put_uint(w, w->seq++);
    puts_(w, " {");
    w->comma = false;
    rts_wire_str(w, "t", t);
    return w;
}

void rts_wire_end(rts_wire *w)
{
    put(w, "}", 1);
    uint32_t crc = w->crc;
    put(w, " ", 1);
    put_hex(w, crc, 8);
    put(w, "\n", 1);
    flush(w);
    rts_port_flush();
}

void rts_wire_strn(rts_wire *w, const char *key, const char *value, unsigned n)
{
    member(w, key);
    put_string(w, value, n);
}

void rts_wire_str(rts_wire *w, const char *key, const char *value)
{
    if (value)
        rts_wire_strn(w, key, value, (unsigned)strlen(value));
    else
        rts_wire_null(w, key);
}

void rts_wire_uint(rts_wire *w, const char *key, uint64_t value)
{
    member(w, key);
    put_uint(w, value);
}

/* Divides by ten, a word of 32 bits at a time, until nothing is left. */
void rts_wire_sum(rts_wire *w, const char *key, uint64_t high, uint64_t low)
{
    uint32_t word[] = {(uint32_t)(high >> 32), (uint32_t)high, (uint32_t)(low >> 32),
                       (uint32_t)low};
    char digits[40];
    unsigned n = sizeof digits;
    do {
        uint32_t rest = 0, left = 0;
        for (unsigned i = 0; i < 4; i++) {
            uint64_t part = (uint64_t)rest << 32 | word[i];
            word[i] = (uint32_t)(part / 10);
            rest = (uint32_t)(part % 10);
            left |= word[i];
        }
        digits[--n] = (char)('0' + rest);
        if (!left)
            break;
    } while (n);
    member(w, key);
    put(w, digits + n, sizeof digits - n);
}

void rts_wire_int(rts_wire *w, const char *key, int64_t value)
{
    member(w, key);
    if (value < 0)
        put(w, "-", 1);
    put_uint(w, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void rts_wire_optional(rts_wire *w, const char *key, int64_t value)
{
    if (value >= 0)
        rts_wire_int(w, key, value);
}

void rts_wire_real(rts_wire *w, const char *key, double value)
{
    if (!(value > -9e15 && value < 9e15)) { /* including NaN */
        rts_wire_null(w, key);
        return;
    }
    member(w, key);
    if (value < 0) {
        put(w, "-", 1);
        value = -value;
    }
    uint64_t thousandths = (uint64_t)(value * 1000 + 0.5);
    put_uint(w, thousandths / 1000);
    const char fraction[4] = {'.', (char)('0' + thousandths / 100 % 10),
                              (char)('0' + thousandths / 10 % 10), (char)('0' + thousandths % 10)};
    put(w, fraction, sizeof fraction);
}

void rts_wire_bool(rts_wire *w, const char *key, bool value)
{
    member(w, key);
    puts_(w, value ? "true" : "false");
}

void rts_wire_status(rts_wire *w, rts_status status, const char *reason)
{
    static const char *const names[] = {"ok", "unsupported", "failed"};
    rts_wire_str(w, "status", names[status]);
    if (status != RTS_S_OK)
        rts_wire_str(w, "reason", reason);
}

void rts_wire_null(rts_wire *w, const char *key)
{
    member(w, key);
    puts_(w, "null");
}

void rts_wire_open(rts_wire *w, const char *key, char bracket)
{
    member(w, key);
    put(w, &bracket, 1);
    w->comma = false;
}

void rts_wire_close(rts_wire *w, char bracket)
{
    put(w, &bracket, 1);
    w->comma = true;
}

void rts_log(const char *level, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    rts_vprint(text, sizeof text, format, args);
    va_end(args);
    rts_wire *w = rts_wire_begin("log");
    rts_wire_str(w, "level", level);
    rts_wire_str(w, "text", text);
    rts_wire_end(w);
}
