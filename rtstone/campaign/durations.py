"""How long stored runs took, to estimate how long others will take."""

from __future__ import annotations

from contextlib import suppress

import msgspec

from rtstone.documents.plan import Plan
from rtstone.store.index import Entry, entries
from rtstone.store.layout import LARGEST, PLAN, RUN, UNREADABLE, regular, runs


class _Took(msgspec.Struct):
    duration_s: float | None = None


class _Case(msgspec.Struct):
    bench: str
    params: dict[str, object] = {}
    load: str = "none"


class _Cases(msgspec.Struct):
    cases: list[_Case] = []


class Past:
    """The stored runs, looked through when the first one is asked for."""

    def __init__(self) -> None:
        self._newest: dict[tuple[str, str], list[Entry]] | None = None
        self._took: dict[str, float | None] = {}

    def took_s(self, plan: Plan) -> float | None:
        """Return how long the newest complete run of the same cases took there, in s, else None."""
        if self._newest is None:
            self._newest = {}
            for entry in entries():
                if entry.status == "complete":
                    self._newest.setdefault((entry.target, entry.benches), []).append(entry)
        benches = {case.bench for case in (*plan.cases, *plan.absent, *plan.derived)}
        place = plan.target.name, " ".join(sorted(benches))
        for entry in reversed(self._newest.get(place, [])[-TRIED:]):
            if _same(entry.run_id, plan):
                return self._duration(entry.run_id)
        return None

    def _duration(self, run_id: str) -> float | None:
        if run_id not in self._took:
            self._took[run_id] = None
            with suppress(OSError, *UNREADABLE):
                text = regular(runs() / run_id / RUN, LARGEST)
                self._took[run_id] = msgspec.json.decode(text, type=_Took).duration_s
        return self._took[run_id]


TRIED = 20  # runs of the same benches that are compared with a plan


def _same(run_id: str, plan: Plan) -> bool:
    """Return whether a run had the same cases."""
    with suppress(OSError, *UNREADABLE):
        text = regular(runs() / run_id / PLAN, LARGEST)
        then = msgspec.json.decode(text, type=_Cases).cases
        now = [(case.bench, case.params, case.load) for case in plan.cases]
        return [(case.bench, case.params, case.load) for case in then] == now
    return False
