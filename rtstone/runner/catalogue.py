"""Ask the agent of a target what it can measure."""

from __future__ import annotations

import time

from rtstone.assemble.derived import DERIVED
from rtstone.errors import Interrupted, TargetError
from rtstone.inputs.parameters import Catalogue
from rtstone.interrupt import Interrupt
from rtstone.targets.base import Options, Target
from rtstone.wire import records
from rtstone.wire.reader import Reader, Record

LIST_S = 10.0  # time limit for an agent to list its benches
POLL_S = 0.25  # interval in which an interrupt is noticed


def catalogue(target: Target, interrupt: Interrupt) -> Catalogue:
    """Return the benches and loads of the target's agent, and the derived benches.

    Raises TargetError, Interrupted.
    """
    found: list[records.Body] = []
    with target.start(Options(catalogue=True)) as link:
        reader, begin = Reader(), time.monotonic()
        while (line := link.read(POLL_S)) != b"":
            if interrupt.requested:
                raise Interrupted("interrupted before the run began")
            if time.monotonic() - begin > LIST_S:
                raise TargetError(
                    f"the agent did not finish its list of benches in {LIST_S:.0f} s, "
                    f"{target.agent}; it was stopped"
                )
            events = reader.feed(line or b"")
            found += [event.body for event in events if isinstance(event, Record)]
    if not found and not reader.damaged:
        raise TargetError(
            f"not an rtstone agent, {target.agent}: no record in its output; see RTSTONE_AGENT"
        )
    benches = {body.id: body for body in found if isinstance(body, records.Bench)}
    loads = {body.id: body for body in found if isinstance(body, records.Load)}
    if not benches or reader.damaged or any(defect.costs for defect in reader.defects):
        raise TargetError(f"the agent's list of benches is damaged, on target '{target.name}'")
    derived = {name: entry.bench for name, entry in DERIVED.items()}
    source = next((body.source for body in found if isinstance(body, records.Hello)), None)
    return Catalogue(benches | derived, loads, target.apart(), source)
