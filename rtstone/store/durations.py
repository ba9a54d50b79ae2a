"""How long stored runs took, to estimate how long others will take."""

from __future__ import annotations

from rtstone.documents.plan import Plan
from rtstone.store.index import entries
from rtstone.store.run_catalogue import cases_digest


class Past:
    """The stored runs, looked through when the first duration is needed."""

    def __init__(self) -> None:
        self._durations_s: dict[tuple[str, str], float | None] | None = None

    def took_s(self, plan: Plan) -> float | None:
        """Return how long the newest complete run of the same cases took there, in s, else None."""
        if self._durations_s is None:
            self._durations_s = {
                (entry.target, entry.cases): entry.duration_s
                for entry in entries()
                if entry.status == "complete"
            }
        cases = cases_digest((case.bench, case.params, case.load) for case in plan.cases)
        return self._durations_s.get((plan.target.name, cases))
