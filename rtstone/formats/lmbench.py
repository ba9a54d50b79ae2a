"""Import lmbench: lat_syscall and the like (one line each), and lat_ctx (a table per size).

lmbench prints one figure per measurement, without the number of samples behind it: a mean or a
median of its own repetitions, net of its own overhead.
"""

from __future__ import annotations

import re
from collections import Counter

from rtstone.documents.run import Figure, Result, Value
from rtstone.formats.reading import Reading, figures_result
from rtstone.formats.source import ONE_FILE, Source
from rtstone.wire.records import Bench, Param

CALL = Bench(
    "lmbench.call", "A call as lmbench measures it", "lmbench lat_syscall, lat_sig, lat_select, …",
    "Time of an operation, from many in a row.",
    params=[Param("call", "text", help="What lmbench calls it.")],
)  # fmt: skip
SWITCH = Bench(
    "lmbench.ctx", "Context switch as lmbench lat_ctx measures it", "lmbench lat_ctx",
    "A token goes round in a ring of processes through pipes; less the cost of the pipes.",
    params=[
        Param("size", "size", "B", help="What each process touches."),
        Param("procs", "int", help="Processes in the ring."),
    ],
)  # fmt: skip

_NUMBER = r"([0-9]{1,18}(?:\.[0-9]{1,9})?)"
_CALL = re.compile(rf"([A-Z][\w/+ ']*(?: latency)?): {_NUMBER} microseconds")
_RING = re.compile(rf'"size=([0-9]{{1,12}})k ovr={_NUMBER}')
_STEP = re.compile(rf"([0-9]{{1,12}}) {_NUMBER}")


def read(source: Source) -> Reading:
    """Return the figures.  Raises UsageError for any other line."""
    results: list[Result] = []
    size: int | None = None
    for number, line in source.lines():
        text = line.strip()
        if match := _CALL.fullmatch(text):
            size = None
            results.append(_result(CALL, {"call": match[1]}, match[2], {}))
        elif match := _RING.fullmatch(text):
            size = source.number(match[1], number, "size") * 1024
            overhead: dict[str, Value] = {"overhead_ns": _ns(match[2])}
        elif (match := _STEP.fullmatch(text)) and size is not None:
            procs = source.number(match[1], number, "number of processes")
            results.append(_result(SWITCH, {"size": size, "procs": procs}, match[2], overhead))
        elif text:
            source.refuse(f"'{text[:40]}' is not a line of lat_syscall or lat_ctx", number)
    source.check_end()
    if not results:
        source.cut("no figure")
    cases = Counter(f"{result.bench} {result.params}" for result in results)
    if twice := next((case for case, n in cases.items() if n > 1), None):
        source.refuse(f"{twice} appears twice", do=ONE_FILE)
    benches = {SWITCH.id: SWITCH, CALL.id: CALL}
    return Reading(
        tool="lmbench", results=results,
        benches=[benches[name] for name in dict.fromkeys(result.bench for result in results)],
    )  # fmt: skip


def _result(
    bench: Bench, params: dict[str, Value], text: str, evidence: dict[str, Value]
) -> Result:
    figures = {"time": Figure(value=_ns(text), unit="ns")}
    return figures_result(bench, params, figures, evidence=evidence)


def _ns(microseconds: str) -> float:
    return round(float(microseconds) * 1000, 4)
