"""Report how far a campaign has come, from its tables and the run directories alone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from rtstone import structures
from rtstone.campaign.estimate import in_parallel_s
from rtstone.campaign.job_table import Row, State, Table, arrived, folder, incomplete_run
from rtstone.campaign.jobs import run_id
from rtstone.campaign.matrix import Campaign
from rtstone.documents.campaign import CampaignCell, CampaignState, Counts, Missing
from rtstone.errors import UsageError

if TYPE_CHECKING:
    from rtstone.campaign.planning import Planned

ABSENT = "absent"  # fact of a table: the targets that did not answer
_STATES: dict[State, str] = {"leased": "running"}  # as the document calls them
_FIRST: tuple[State, ...] = ("done", "leased", "failed", "unsupported", "planned")


def planned(campaign: Campaign, plan: Planned) -> CampaignState:
    """Return the state of a plan that is not carried out yet, or whose runs are there already."""
    rows = [
        Row(
            job.key,
            rank,
            job.cell,
            job.lane,
            job.expected_s,
            "unsupported" if job.lacks else "planned",
            job.lacks,
        )
        for rank, job in enumerate(plan.jobs)
    ]
    return _state(campaign, rows, _absent(plan), 0)


def note_absent(table: Table, plan: Planned) -> None:
    """Note in a table which targets did not answer and have no jobs of an earlier plan."""
    targets = table.targets()
    lost = {name: missing for name, missing in _absent(plan).items() if name not in targets}
    table.note(ABSENT, msgspec.json.encode(lost).decode())


def _absent(plan: Planned) -> dict[str, Missing]:
    return {
        name: Missing(reason=reason, jobs=plan.unkeyed[name])
        for name, reason in plan.absent.items()
    }


def status(campaign: Campaign) -> CampaignState:
    """Return how far a campaign has come.  Raises UsageError if it was never begun, StoreError."""
    best: dict[str, Row] = {}
    absent: dict[str, Missing] = {}
    earlier = 0
    for table in tables(campaign):
        for row in table.rows():
            other = best.get(row.key)
            if other is None or _FIRST.index(row.state) < _FIRST.index(other.state):
                best[row.key] = row
        earlier += table.earlier()
        note = table.fact(ABSENT)
        absent |= structures.decode(note or "{}", dict[str, Missing])
        table.close()
    rows = sorted(best.values(), key=lambda row: row.rank)
    return _state(campaign, rows, absent, earlier)


def tables(campaign: Campaign) -> Iterator[Table]:
    """Yield the tables of a campaign, which the caller closes.

    There are several if parts of it were carried out.  Raises UsageError if there is none,
    StoreError.
    """
    parts = sorted(path.stem for path in folder(campaign.name).glob("*.db"))
    if not parts:
        raise UsageError(
            f"campaign '{campaign.name}' was never begun; `rtstone campaign run` begins it"
        )
    for part in parts:
        yield Table(campaign.name, part, fresh=False)


def _state(
    campaign: Campaign, rows: Sequence[Row], absent: dict[str, Missing], earlier: int
) -> CampaignState:
    keys = arrived(campaign.name)  # the run directories decide what is done
    rows = [
        row
        if (row.key in keys) == (row.state == "done")
        else row._replace(state="done" if row.key in keys else "planned", reason=None)
        for row in rows
    ]
    left = [(row.lane, row.expected_s) for row in rows if row.state in {"planned", "leased"}]
    cells: dict[str, list[Row]] = {}
    titles: dict[int, str] = {}  # jobs of a cell share its object, within a table
    for row in rows:
        title = titles.get(id(row.cell))
        if title is None:
            title = titles[id(row.cell)] = f"{row.cell.target}: {row.cell.title}"
        cells.setdefault(title, []).append(row)
    return CampaignState(
        name=campaign.name,
        title=campaign.title,
        jobs=_counts(rows),
        left_s=in_parallel_s(left, len(os.sched_getaffinity(0))),
        cells=[_cell(campaign.name, jobs) for jobs in cells.values()],
        absent=absent,
        earlier=earlier,
    )


def _counts(rows: Iterable[Row]) -> Counts:
    return Counts(**Counter(_STATES.get(row.state, row.state) for row in rows))


def _cell(name: str, rows: Sequence[Row]) -> CampaignCell:
    cell = rows[0].cell
    incomplete = [
        incomplete_run(name, run_id(name, row.key)) for row in rows if row.state == "failed"
    ]
    return CampaignCell(
        target=cell.target,
        measure=cell.measure,
        load=cell.load,
        params=cell.params,
        jobs=_counts(rows),
        runs=[run_id(name, row.key) for row in rows if row.state == "done"],
        remarks=_reasons(row for row in rows if row.state == "done"),
        missing=_reasons(row for row in rows if row.state != "done"),
        incomplete=[str(path) for path in incomplete if path.is_dir()],
    )


def _reasons(rows: Iterable[Row]) -> list[Missing]:
    numbers = Counter(row.reason for row in rows if row.reason)
    return [Missing(reason=reason, jobs=n) for reason, n in numbers.most_common()]
