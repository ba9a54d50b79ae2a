#include "text.h"

#include <stdint.h>
#include <string.h>

typedef struct out {
    char *to;
    size_t size, used;
} out;

static void put(out *o, const char *s, size_t n)
{
    for (; n--; s++, o->used++)
        if (o->used + 1 < o->size)
            o->to[o->used] = *s;
}

/* Writes at least `least` digits. */
static void put_number(out *o, uint64_t value, int least)
{
    char digits[20];
    size_t i = sizeof digits;
    for (; value || least > 0; value /= 10, least--)
        digits[--i] = (char)('0' + value % 10);
    put(o, digits + i, sizeof digits - i);
}

static void put_signed(out *o, int64_t value, int least)
{
    if (value < 0)
        put(o, "-", 1);
    put_number(o, value < 0 ? -(uint64_t)value : (uint64_t)value, least);
}

#ifndef RTS_WITHOUT_REALS
/* Returns the first decimal of *fraction / 2^64, and leaves the remainder there. */
static unsigned next_digit(uint64_t *fraction)
{
    uint64_t low = (*fraction & UINT32_MAX) * 10, high = (*fraction >> 32) * 10 + (low >> 32);
    *fraction = high << 32 | (low & UINT32_MAX);
    return (unsigned)(high >> 32);
}

/*
 * Rounds the exact value to nearest, ties to even: the bits of a double's fraction that matter fit
 * into 64 bits.
 */
static void put_real(out *o, double value, int places)
{
    const uint64_t half = UINT64_C(1) << 63;
    uint64_t power = 1, behind = 0;
    if (__builtin_signbit(value)) {
        put(o, "-", 1);
        value = -value;
    }
    if (!(value < 18446744073709551616.0)) { /* 2^64 */
        put(o, value > 0 ? "inf" : "nan", 3);
        return;
    }
    uint64_t whole = (uint64_t)value;
    uint64_t fraction = (uint64_t)((value - (double)whole) * 18446744073709551616.0);
    for (int i = 0; i < places; i++, power *= 10)
        behind = behind * 10 + next_digit(&fraction);
    uint64_t last = places ? behind : whole;
    if (fraction > half || (fraction == half && last % 2))
        behind++;
    if (behind == power || (!places && behind)) {
        whole++;
        behind = 0;
    }
    put_number(o, whole, 1);
    if (places) {
        put(o, ".", 1);
        put_number(o, behind, places);
    }
}
#endif

static void put_string(out *o, const char *s, int most)
{
    size_t n = 0;
    while ((most < 0 || n < (size_t)most) && s[n])
        n++;
    put(o, s, n);
}

/* Writes an integer with at least `least` digits; `longs` is the number of letters l. */
static void put_whole(out *o, char kind, int longs, int least, va_list *args)
{
    if (kind == 'd')
        put_signed(o,
                   longs == 2 ? va_arg(*args, long long)
                   : longs    ? va_arg(*args, long)
                              : va_arg(*args, int),
                   least);
    else
        put_number(o,
                   longs == 2 ? va_arg(*args, unsigned long long)
                   : longs    ? va_arg(*args, unsigned long)
                              : va_arg(*args, unsigned),
                   least);
}

/* Writes one conversion, given what follows its %; returns the rest of the format. */
static const char *convert(out *o, const char *s, va_list *args)
{
    int places = -1, longs = 0;
    if (*s == '.' && s[1] == '*') {
        places = va_arg(*args, int);
        s += 2;
    } else if (*s == '.') {
        for (places = 0, s++; *s >= '0' && *s <= '9'; s++)
            places = places * 10 + (*s - '0');
    }
    for (; *s == 'l' || *s == 'z'; s++)
        longs += *s == 'l' || sizeof(size_t) > sizeof(unsigned);
    char c = *s;
    if (c == 's')
        put_string(o, va_arg(*args, const char *), places);
    else if (c == 'd' || c == 'u')
        put_whole(o, c, longs, places < 0 ? 1 : places, args);
#ifndef RTS_WITHOUT_REALS
    else if (c == 'f')
        put_real(o, va_arg(*args, double), places < 0 ? 6 : places);
#endif
    else if (c == 'c')
        put(o, &(char){(char)va_arg(*args, int)}, 1);
    else
        put(o, s, c != '\0');
    return c ? s + 1 : s;
}

int rts_vprint(char *to, size_t size, const char *format, va_list args)
{
    out o = {to, size, 0};
    va_list rest;
    va_copy(rest, args);
    for (const char *s = format; *s;) {
        size_t plain = strcspn(s, "%");
        put(&o, s, plain);
        s += plain;
        if (*s)
            s = convert(&o, s + 1, &rest);
    }
    va_end(rest);
    if (size)
        to[o.used < size ? o.used : size - 1] = '\0';
    return (int)o.used;
}

int rts_print(char *to, size_t size, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = rts_vprint(to, size, format, args);
    va_end(args);
    return n;
}
