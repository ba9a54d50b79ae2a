"""One result of a stored run, as the history of the store keeps it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from msgspec import structs

from rtstone.documents.run import Result, Run
from rtstone.wire.records import Bench


class Tables(msgspec.Struct, frozen=True):
    """The tables of the benches of a run, which many runs share."""

    benches: list[Bench]


class Observation(NamedTuple):
    """A result and the run that it is from.

    ``run``: without its results and the tables of its benches.  ``place``: of the result in the
    run.  ``result``: its statistics, figures and evidence, without the histogram and what else
    takes room.  ``table``: of its bench, None if the run has none.
    """

    run: Run
    place: int
    result: Result
    table: Bench | None

    @property
    def whole(self) -> Run:
        """The run with this result alone."""
        benches = [self.table] if self.table else []
        return structs.replace(self.run, results=[self.result], benches=benches)


def observed(run: Run) -> Iterator[Observation]:
    """Yield the results of a run as observations, each with all that the run has of it."""
    head = structs.replace(run, results=[], benches=[])
    tables = {table.id: table for table in run.benches}
    for place, result in enumerate(run.results):
        yield Observation(head, place, result, tables.get(result.bench))
