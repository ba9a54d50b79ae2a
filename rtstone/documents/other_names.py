"""Other names of benches: those of the tools and of the trades that people come from.

Whoever takes the name of a bench takes these as well: ``cyclictest`` is dk.periodic, and ``audio``
is dk.periodic with the period of a small buffer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rtstone.documents.run import Value
from rtstone.wire.parameters import quantity
from rtstone.wire.records import Bench

_BUFFER_NS = 64 * 1_000_000_000 // 48_000  # 64 frames at 48 kHz


class OtherName(NamedTuple):
    """Another name of a bench, or of a family of benches, which is a suite of that name.

    ``params``, in base units, make its case; ``lasting`` say how long it is measured, and ``loads``
    under what, unless that is requested.  ``missed``: what a missed activation is then called.
    """

    bench: str
    title: str
    params: Mapping[str, Value] = {}
    lasting: Mapping[str, Value] = {}
    loads: tuple[str, ...] = ()
    missed: str = ""

    @property
    def family(self) -> bool:
        """Whether it names a family."""
        return "." not in self.bench


OTHER_NAMES: Mapping[str, OtherName] = {
    "wakeup": OtherName("dk.periodic", "How late does a periodic task wake up?"),
    "cyclictest": OtherName("dk.periodic", "Wake-up latency, as cyclictest measures it"),
    "timerlat": OtherName("int.latency.timerlat", "Latency of timer interrupt and thread"),
    "hwlatdetect": OtherName("hw.latency", "Does hardware or firmware stop the CPU?"),
    "oslat": OtherName("det.bintime", "What takes the CPU from a busy loop?", {"clock": "counter"}),
    "audio": OtherName(
        "dk.periodic",
        "Are buffers of 64 frames filled in time?",
        {"period": _BUFFER_NS},
        {"samples": 0, "time": 20_000_000_000},
        ("none", "heavy"),
        missed="dropout",
    ),
    "rhealstone": OtherName("rheal", "Rhealstone: six operations in one number"),
}


def settings(other: OtherName, table: Bench | None) -> list[str]:
    """Return what distinguishes it from its bench: ``period=1333333ns``, ``load heavy``.

    ``table``: of the bench.
    """
    params = [
        f"{name}={quantity(param, value)}" if table and (param := table.param(name)) else name
        for name, value in {**other.params, **other.lasting}.items()
        if value != 0
    ]
    return [*params, *(f"load {load}" for load in other.loads)]


def is_called(bench: str, name: str, params: Mapping[str, Value] | None = None) -> bool:
    """Return whether a name is the id of a bench, or another name of it.

    ``params``: of a result of it, of which an unsupported one may lack some; without them, whether
    a result of it can be meant.
    """
    other = OTHER_NAMES.get(name)
    if bench == name or other is None:
        return bench == name
    if bench != other.bench and not (other.family and bench.startswith(f"{other.bench}.")):
        return False
    own = params or {}
    return all(own.get(parameter, value) == value for parameter, value in other.params.items())


def missed_called(bench: str, params: Mapping[str, Value], run_id: str) -> str:
    """Return what a missed activation of a result is called; empty where it has no other name.

    ``run_id``: has the name by which a run was requested, whatever parameters were then set.
    """
    return next(
        (
            other.missed
            for name, other in OTHER_NAMES.items()
            if other.missed and bench == other.bench
            and (is_called(bench, name, params) or f"-{name}-" in run_id)
        ),
        "",
    )  # fmt: skip
