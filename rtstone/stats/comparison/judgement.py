"""Turn systems and the rows of their comparison into judged cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.comparison import Cell, Effect, Row, Rules
from rtstone.documents.imported import bucket_ns, hiding, missed_most, tool
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.stats.comparison.conditions import counted, mixed
from rtstone.stats.comparison.direction import SMALLER, direction
from rtstone.stats.comparison.effects import UNKNOWN
from rtstone.stats.comparison.systems import System, session
from rtstone.stats.comparison.verdicts import JudgedCase, Runs, Side, judged, spreads
from rtstone.units import NS_PER_S, count

_FEWEST = 2  # runs that show scatter


class Pool(NamedTuple):
    """Rows of two columns, by index, of which the worst of each column is compared.

    ``rows``: those that the first of the columns has results of, and those of the other.
    """

    first: int
    other: int
    rows: tuple[Sequence[int], Sequence[int]]


class Content(NamedTuple):
    """A row, its results by column and run, and those of the runs of the noise floor."""

    row: Row
    columns: Sequence[Runs]
    floor: Runs


class Judge:
    """Judges the cases of a comparison, and states what the verdicts are based on."""

    def __init__(
        self, systems: Sequence[System], floor: Sequence[Run], stored: Sequence[Run] = ()
    ) -> None:
        """Raises UsageError if ``floor`` is of no use; ``stored``: used if there is none."""
        self._systems = systems
        self._floor = floor or stored
        self._stored = stored
        runs = [run for system in systems for run in system.runs]
        sides = [{run.turn.side for run in s.runs if run.turn} for s in systems]
        self._session = session(runs) if sides == [{"A"}, {"B"}] else None
        self._numbers = sorted({run.turn.pair for run in runs if run.turn and self._session})
        if not self._floor:
            return
        if len(self._floor) < _FEWEST:
            raise UsageError("one run shows no scatter, in --floor; name two or more of one system")
        if why := mixed(self._floor):
            raise UsageError(f"not runs of one system, in --floor: {why}; name runs that are")
        if all(len(system.runs) > 1 for system in self._systems):
            raise UsageError(
                "each side has several runs, which show their own noise; leave out --floor"
            )
        if counted(self._floor[0]) != counted(self._systems[0].first):
            raise UsageError(
                "the runs do not measure what the others do, in --floor; name runs of one of them"
            )

    def verdicts(
        self, contents: Sequence[Content], pools: Sequence[Pool] = ()
    ) -> tuple[dict[int, list[Effect]], dict[int, list[Effect]], Rules]:
        """Return the effects and those on spreads by row number, and the basis of the verdicts.

        The effects of the first of ``pools`` have the number -1, those of the next -2.
        """
        cases = [
            case for number, content in enumerate(contents) for case in self._cases(number, content)
        ]
        cases += [self._pooled(-number, pool, contents) for number, pool in enumerate(pools, 1)]
        effects, rules = judged(cases, self._pairs())
        spread_effects, number = spreads(cases)
        bases = dict.fromkeys(e.basis for value in effects.values() for e in value if e.basis)
        floor = "; ".join(filter(None, (self._words(str(basis)) for basis in bases)))
        remarks = list(self._remarks())
        rules = structs.replace(rules, floor=floor, remarks=remarks, spreads=number)
        return effects, spread_effects, rules

    # ---- cases ----------------------------------------------------------------------------------

    def _cases(self, number: int, content: Content) -> Iterator[JudgedCase]:
        row = content.row
        better = direction(row.figure, row.unit)
        measured = [
            (n, cell) for n, cell in enumerate(row.cells) if cell and bool(cell.n or cell.runs)
        ]
        if better is None or not measured:
            return
        (base, first), *rest = measured  # the first that measured it
        for column, cell in rest:
            yield JudgedCase(
                number, self._systems[column].label, row.figure, better,
                self._side(content, base, first), self._side(content, column, cell),
                bool(self._session), usable(content.floor),
                self._systems[base].label if base else None,
            )  # fmt: skip

    def _pooled(self, number: int, pool: Pool, contents: Sequence[Content]) -> JudgedCase:
        """Return the case of several rows.

        A run that lacks one of its column's rows shows nothing of the worst of them.
        """
        row_of: dict[int, int] = {}

        def together(several: Sequence[tuple[int, Runs]]) -> Runs:
            row_of.update((id(r), row) for row, runs in several for own in runs for r in own)
            by_run = zip(*(runs for _, runs in several), strict=True)
            return [[r for own in rows for r in own] if all(rows) else [] for rows in by_run]

        sides = []
        for column, rows in zip((pool.first, pool.other), pool.rows, strict=True):
            cells = [(row, contents[row].row.cells[column]) for row in rows]
            parts = [(n, self._side(contents[n], column, cell)) for n, cell in cells if cell]
            sides.append(parts[0][1]._replace(runs=together([(n, p.runs) for n, p in parts])))
        floor = together([
            (row, usable(contents[row].floor)) for row in sorted({*pool.rows[0], *pool.rows[1]})
        ])  # fmt: skip
        first, other = (self._systems[column].label for column in (pool.first, pool.other))
        better = direction(None, contents[pool.rows[0][0]].row.unit)
        return JudgedCase(
            number, other, None, better or SMALLER, sides[0], sides[1], bool(self._session), floor,
            first if pool.first else None, row_of,
        )  # fmt: skip

    def _side(self, content: Content, column: int, cell: Cell) -> Side:
        system = self._systems[column]
        runs = usable(content.columns[column])
        if self._session:
            place = {run.turn.pair: n for n, run in enumerate(system.runs) if run.turn}
            runs = [runs[place[n]] if n in place else [] for n in self._numbers]
        why = None if any(runs) else cell.status
        return side(system, runs, system.label, why)

    def _pairs(self) -> list[tuple[int, int, tuple[str, str]]]:
        """Return number, index and run ids of each pair with both sides."""
        if not self._session:
            return []
        ids = [{r.turn.pair: r.run_id for r in system.runs if r.turn} for system in self._systems]
        first, other = ids
        return [
            (number, place, (first[number], other[number]))
            for place, number in enumerate(self._numbers)
            if number in first and number in other
        ]

    # ---- the noise floor ------------------------------------------------------------------------

    def _single_seeds(self) -> bool:
        """Return whether these are single runs that repeat exactly, but only for their seed."""
        seeded = [system for system in self._systems if system.seeds]
        single = all(len(system.runs) == 1 for system in self._systems)
        return bool(seeded) and single and counted(self._systems[0].first)

    def _words(self, basis: str) -> str:
        """Return in words where the noise floor comes from."""
        if basis == "pairs":
            return f"from {len(self._pairs())} pairs of runs taken in turn"
        if basis == "runs":
            return "from the scatter of the runs of each side"
        if basis == "exact":
            return "none, as counts repeat exactly" + (
                " for a seed" if self._single_seeds() else ""
            )
        if self._floor:
            ids = [run.run_id for run in self._floor]
            runs = f"further runs: {', '.join(ids)}"
            if self._stored:
                runs = f"stored runs under the same conditions: {ids[0]} to {ids[-1]}"
            return f"from {len(ids)} {runs}"
        if several := [s.label for s in self._systems if len(s.runs) > 1]:
            return f"from the scatter of the runs of {' and '.join(several)}"
        return (
            "unknown: intervals reflect the samples of single runs alone, and only medians beyond "
            f"a ratio of {1 + UNKNOWN:g} are called different"
        )

    def _remarks(self) -> Iterator[str]:
        """Yield warnings about what can make these verdicts wrong."""
        if self._single_seeds():
            yield (
                "of one seed each: a difference is real for these seeds, and another seed is "
                "another sample; name runs of several seeds (+seed=2, +seed=3) for the system"
            )
        for system in self._systems:
            if hid := _hidden(system):
                yield f"{system.label}: {hid}"
        if self._session or counted(self._systems[0].first):
            return
        runs = self._systems[0].runs
        for system in self._systems[1:]:
            names = self._systems[0].label, system.label
            a, b = (sorted((r.created, r.run_id) for r in side) for side in (runs, system.runs))
            if len(a) > 1 and len(b) > 1 and (a[-1] < b[0] or b[-1] < a[0]):
                yield (
                    f"all runs of {names[0]} were taken before or after those of {names[1]}: a "
                    "drift of the machine looks like a difference; `rtstone compare --run` takes "
                    "them in turn"
                )
            elif self._floor and _span([*runs, *system.runs]) > _span(self._floor):
                origin = "the noise floor" if self._stored else "--floor"
                yield (
                    f"{names[0]} and {names[1]} were run further apart in time than the runs of "
                    f"{origin}, which may scatter less for that reason"
                )


def _hidden(system: System) -> str:
    """Return what another tool does not say of late wake-ups, empty of all others."""
    lacking = hiding(result for run in system.runs for result in run.results)
    if not lacking:
        return ""
    mosts = [most for result in lacking if (most := missed_most(result)) is not None]
    number = "it is not known how many"
    if len(mosts) == len(lacking):
        number = f"up to {count(sum(mosts))}"
    names = " and ".join(dict.fromkeys(tool(run) or "" for run in system.runs))
    return (
        f"activations that late wake-ups hid are not counted by {names}, {number}: its percentiles "
        "are those of the others"
    )


def side(system: System, runs: Runs, label: str, why: str | None = None) -> Side:
    """Return one side of a case: a system's results by run, and ``why`` it has none."""
    first = system.first
    repeats = counted(first) and not system.seeds
    lack = f"{why} on {label}" if why else None
    return Side(usable(runs), tick(first), counted(first), repeats, lack)


def usable(runs: Runs) -> Runs:
    """Return the results of each run that can be judged."""
    return [
        [r for r in results if r.status == "ok" and (r.n or r.figures or r.missed)]
        for results in runs
    ]


def tick(run: Run) -> float:
    """Return the step of the clock, or of another tool's values, in ns; 0 for exact values."""
    if run.clock is None:
        return bucket_ns(run.results)
    if counted(run):
        return 0.0
    return max(NS_PER_S / run.clock.hz, run.clock.resolution_ns)


def _span(runs: Sequence[Run]) -> float:
    times = [datetime.fromisoformat(run.created) for run in runs]
    return (max(times) - min(times)).total_seconds()
