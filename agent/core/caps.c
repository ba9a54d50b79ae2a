#include "caps.h"

#include "text.h"

#define NAME(name, wire) wire,
static const char *const names[] = {RTS_EACH_CAP(NAME)};

bool rts_caps_lack(uint32_t needs, char *reason)
{
    uint32_t missing = needs & ~rts_port_caps();
    if (!missing)
        return false;
    unsigned i = (unsigned)__builtin_ctz(missing);
    rts_print(reason, RTS_REASON, "needs %s: %s", names[i], rts_port_why_not(1u << i));
    return true;
}

void rts_caps_put(rts_wire *w, const char *key, uint32_t caps)
{
    rts_wire_open(w, key, '[');
    for (unsigned i = 0; i < RTS_CAPS; i++)
        if (caps >> i & 1)
            rts_wire_str(w, NULL, names[i]);
    rts_wire_close(w, ']');
}
