"""The identity of the system that a run measures; a run is resumed only on the same system.

The target describes itself before it starts (its model, kernel, emulator, agent, and how the place
is tuned), the agent and the system that it runs on by the first records.  All of that
is part of the identity except what changes by itself, so a machine that was rebooted in between is
the same if it came up the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from rtstone.documents.run import Value
from rtstone.wire.records import Clock, Conditions, Hello

Identity = Mapping[str, Value]

# Conditions that change on the same system: by the hour, at each login, or by what was measured
# itself, which loads modules.
CHANGING = frozenset({
    "cgroup", "cpu.capacity", "cpu.mhz", "machine.load", "memory.available", "modules",
    "tune.since",
})  # fmt: skip

# What a person calls what has these names; others are shown as they are.
_WORDS = {
    "agent_sha256": "the agent's program",
    "emulator_sha256": "the emulator's program",
    "image_sha256": "the image",
    "initramfs_sha256": "the initial file system",
    "kernel_sha256": "the kernel's file",
    "machine": "the machine",
    "model_sha256": "the model's file",
    "qemu": "the version of QEMU",
    "tune": "tuning",
}
_NAMED = 3  # differences in a message
_HASH = re.compile(r"[0-9a-f]{16,}")
_LETTERS = 60  # of a value in a message


def of_target(detail: Mapping[str, Value], surroundings: Mapping[str, str | None]) -> Identity:
    """Return what is known before an agent starts."""
    return {**detail, **_lasting(surroundings)}


class Heads(NamedTuple):
    """The records that concern all cases, None for a missing one."""

    hello: Hello | None
    clock: Clock | None
    conditions: Conditions | None

    def lacking(self) -> list[str]:
        """Return the names of the missing records."""
        return [name for name, record in self._asdict().items() if record is None]

    def or_else(self, other: Heads) -> Heads:
        """Return these records, completed by the others."""
        return Heads(
            self.hello or other.hello,
            self.clock or other.clock,
            self.conditions or other.conditions,
        )

    def as_far_as(self, other: Heads) -> Identity:
        """Return these records restricted to what the others have as well.

        What a clock costs is measured anew each time, as is the frequency of some; neither counts.
        """
        identity: dict[str, Value] = {}
        if self.hello and other.hello:
            named = {n: getattr(self.hello, n) for n in Hello.__struct_fields__ if n != "wire"}
            identity |= {f"agent.{name}": value for name, value in named.items()}
        if self.clock and other.clock:
            identity |= {"clock.source": self.clock.source, "clock.unit": self.clock.unit}
        if self.conditions and other.conditions:
            identity |= _lasting(self.conditions.values)
        return identity


def _lasting(values: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in values.items() if name not in CHANGING}


def difference(then: Identity, now: Identity) -> str | None:
    """Return a description of the differences, None if there are none."""
    names = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    texts = []
    for name in names[:_NAMED]:
        old, new = _apart(_text(then.get(name)), _text(now.get(name)))
        texts.append(f"{_WORDS.get(name, name)} was {old}, is {new}")
    rest = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return "; ".join(texts + rest) or None


def _apart(then: str, now: str) -> tuple[str, str]:
    """Shorten two texts for a message: of long ones, keep only the words that differ."""
    if max(len(then), len(now)) > _LETTERS and not _HASH.fullmatch(then + now):
        words, new_words = then.split(), now.split()
        then = " ".join(word for word in words if word not in new_words)
        now = " ".join(word for word in new_words if word not in words)
    old, new = (_HASH.sub(lambda match: match[0][:12], text) for text in (then, now))
    old, new = (t if len(t) <= _LETTERS else f"{t[:_LETTERS]}…" for t in (old, new))
    return old or "without", new or "without"


def _text(value: Value) -> str:
    if value is None:
        return "not known"
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
