"""Collect the records of one agent, and determine what defects of the wire cost."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from typing import Any, TypeVar

from rtstone.documents.plan import Plan
from rtstone.results.identity import Heads
from rtstone.wire import commands
from rtstone.wire import records as wire
from rtstone.wire.reader import Defect, Noise, Reader

WARNINGS = 200  # of the agent, that are kept; a stuck one says the same for ever
SERIES = 4096  # of a case, that are kept: more than there are CPUs
LETTERS = 1000  # of a warning

_T = TypeVar("_T")


class CaseRecords:
    """Hold the records of one case."""

    def __init__(self) -> None:
        self.params: dict[str, Any] | None = None
        self.results: list[wire.Result] = []
        self.end: wire.End | None = None

    @property
    def began(self) -> bool:
        """Return whether the case ran; False if the agent refused it before measuring anything."""
        refused = self.end is not None and self.end.status == "failed" and not self.results
        return self.params is not None or not refused


class Received:
    """Collect the records in the lines of one agent, wherever they come from.

    ``earlier``: what an agent before it said of the same run; warnings and loads go on from there.
    """

    def __init__(self, plan: Plan, earlier: Received | None = None) -> None:
        self._plan = plan
        self._asked = {case.id for case in plan.cases}
        self.cases: dict[int, CaseRecords] = defaultdict(CaseRecords)  # by number on the wire
        self._place: dict[int, tuple[int, str]] = {}  # seq: case, "start" | "mid" | "end"
        self._latest: tuple[int, str] | None = None
        self.warnings: list[str] = list(earlier.warnings) if earlier else []
        self.loads: list[wire.Loaded] = list(earlier.loads) if earlier else []
        self._most_loads = len(self.loads) + len(plan.cases)
        self.left_out: Counter[str] = Counter(earlier.left_out if earlier else ())
        self._since: dict[int, int] = {}  # case: seq, since which all its records are being sent
        self._whole: set[int] = set()  # cases of which all records have come
        self.reader = Reader()
        self.hello: wire.Hello | None = None
        self.clock: wire.Clock | None = None
        self.conditions: wire.Conditions | None = None
        self.bye: wire.Bye | None = None
        # The last case that has certainly ended: also if its own end was lost, it did before the
        # next one started.
        self.ended = 0

    @property
    def heads(self) -> Heads:
        """Return the records that concern all cases, as received so far."""
        return Heads(self.hello, self.clock, self.conditions)

    @property
    def placed(self) -> set[int]:
        """Return the ids of the cases that have a record."""
        return {case for case, _ in self._place.values()}

    def feed(self, line: bytes) -> list[wire.Body]:
        """Take one raw line; return the records in it."""
        bodies = []
        for event in self.reader.feed(line):
            if isinstance(event, Noise):
                continue
            bodies.append(event.body)
            match event.body:
                case body if isinstance(body, wire.OfACase):
                    if self._is_asked_for(body.id):
                        self._take_of_case(event.seq, body)
                case wire.Hello() as hello:
                    self.hello = hello
                case wire.Heard(_, str(command)) if sent := commands.sends(command):
                    if self._is_asked_for(sent):
                        self._since[sent] = event.seq
                case wire.Clock() as clock:
                    self.clock = clock
                case wire.Conditions() as conditions:
                    self.conditions = conditions
                case wire.Loaded() as loaded:
                    self._keep("answers to loads", self.loads, loaded, self._most_loads)
                case wire.Log("warn", text):
                    short = text if len(text) <= LETTERS else f"{text[:LETTERS]}…"
                    self._keep("warnings", self.warnings, short, WARNINGS)
                case wire.Bye() as bye:
                    self.bye = bye
        return bodies

    def _take_of_case(self, seq: int, body: wire.OfACase) -> None:
        if body.id in self._whole:  # sent again all the same, and may be damaged this time
            return
        match body:
            case wire.Case(id, _, params):
                self._since[id] = seq
                self.cases[id].params = params
                self._at(seq, id, "start")
            case wire.Result() as result:
                results = self.cases[result.id].results
                results[:] = [earlier for earlier in results if earlier.series != result.series]
                self._keep("results", results, result, SERIES)
                self._at(seq, result.id, "mid")
            case (
                wire.Progress(id) | wire.Raw(id) | wire.Event(id) | wire.Snapshot(id)
                | wire.Symbol(id)
            ):  # fmt: skip
                self._at(seq, id, "mid")
            case wire.End(id) as end:
                self.cases[id].end = end
                self._at(seq, id, "end")
                if id in self._since and not self.reader.lacks(self._since[id], seq):
                    self._whole.add(id)

    def _keep(self, kind: str, records: list[_T], record: _T, most: int) -> None:
        """Add a record, or only count it if there are too many."""
        if len(records) < most:
            records.append(record)
        else:
            self.left_out[kind] += 1

    def _is_asked_for(self, wire_id: int) -> bool:
        return self._plan.case_of(wire_id) in self._asked

    def _at(self, seq: int, case: int, kind: str) -> None:
        if (case, kind) != self._latest or kind != "mid":  # a case may have any number of these
            self._place[seq] = self._latest = (case, kind)
        self.ended = max(self.ended, case if kind == "end" else case - 1)

    def costs(self) -> dict[int, Defect]:
        """Return the cases that may have lost records to a defect of the wire, and the defect.

        What a lost record held nobody knows: it costs the cases that were open before and after.
        """
        costs: dict[int, Defect] = {}
        defects = [defect for defect in self.reader.defects if defect.costs]
        places = sorted(self._place) if defects else []
        for defect in defects:
            before, after = bisect_left(places, defect.first), bisect_right(places, defect.last)
            first, kind = self._place[places[before - 1]] if before else (0, "end")
            last, next_kind = (
                self._place[places[after]] if after < len(places) else (first + 1, "start")
            )
            for case in range(first + (kind == "end"), last + (next_kind != "start")):
                if case not in self._whole:
                    costs.setdefault(case, defect)
        return costs
