"""Where an x86-64 kernel has its preempt count, as far as its code says it.

It is a variable of each processor, which the code addresses behind GS, relative to the instruction:
``inc`` and ``dec`` as preemption is disabled and enabled, which none is so often.
"""

from __future__ import annotations

import re
import struct
from collections import Counter

from rtstone.explain.elf import EXECUTABLE, Elf

COUNTING = re.compile(rb"\x65\xff[\x05\x0d](.{4})", re.DOTALL)  # incl, decl %gs:offset(%rip)
ADDING = re.compile(rb"\x65\x01[\x05\x0d\x15\x1d\x25\x2d\x35\x3d](.{4})", re.DOTALL)  # addl %reg
OFTEN = 3  # times as often as any other


def preempt_count(kernel: Elf) -> int | None:
    """Return where the preempt count is behind GS, None if that is not seen.

    A kernel that is not preempted counts softirqs alone, by adding.
    """
    votes: Counter[int] = Counter()
    for section in kernel.sections:
        if not section.flags & EXECUTABLE:
            continue
        code = kernel.content(section)
        for form in (COUNTING, ADDING):
            for match in form.finditer(code):
                (distance,) = struct.unpack("<i", match[1])
                votes[(section.address + match.end() + distance) % (1 << 64)] += 1
    first, second = [*votes.most_common(2), (None, 0), (None, 0)][:2]
    return first[0] if first[1] > OFTEN * second[1] else None
