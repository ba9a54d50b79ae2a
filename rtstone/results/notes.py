"""Notes on a run as a whole, one line each."""

from __future__ import annotations

from collections import Counter, defaultdict

from rtstone.documents.plan import Plan
from rtstone.documents.run import HARTSTONE
from rtstone.wire.reader import Defect


def limits(plan: Plan) -> list[str]:
    """Return the note on the time scale of the run."""
    notes = []
    if plan.scale_s is not None:
        whole = "model" in plan.target.detail and any(
            case.bench.startswith(HARTSTONE) and not case.params.get("time") for case in plan.cases
        )
        notes.append(
            f"time scale: each case measures for {plan.scale_s:g} s at most"
            f"{', experiments of Hartstone are simulated whole' if whole else ''}; --time 0 lets "
            "every case of the suite take as long as its publication did"
        )
    if until := plan.until:
        notes.append(
            "until: each case was measured in rounds until the 95% interval of its "
            f"{until.statistic} was within {until.share * 100:g}% of it, for at most "
            f"{until.time_s:g} s"
        )
    return notes


def wire_notes(
    plan: Plan, defects: list[Defect], costs: dict[int, Defect], left_out: Counter[str]
) -> list[str]:
    """Return a line for each kind of defect on the wire, and for what was too much to store.

    ``costs``: the cases that a defect may have taken something from, by their numbers on the wire.
    """
    kinds: dict[str, list[Defect]] = defaultdict(list)
    for defect in defects:
        kinds[defect.kind].append(defect)
    notes = []
    for kind, own in kinds.items():
        count, first = sum(defect.size for defect in own), own[0].first
        text = f"{count} records {kind} (first {first})" if count > 1 else str(own[0])
        hit = {plan.case_of(wire_id) for wire_id, why in costs.items() if why.kind == kind}
        cases = [str(case) for case in sorted(hit)]
        cost = f"costs case {', '.join(cases)}" if cases else "costs no case"
        notes.append(f"wire: {text}; {cost}")
    return notes + [
        f"{number} more {records} of the agent are left out; they are in its log"
        for records, number in left_out.items()
    ]
