"""Actions of other processes as a page: the answer, the systems side by side, and each ranking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log

from rtstone.documents.provocation import Provocation, Provoked, System
from rtstone.report.parts.model import (
    Bar,
    Bars,
    Block,
    Finding,
    Findings,
    Folded,
    Head,
    Notes,
    Page,
    Section,
    Table,
)  # fmt: skip
from rtstone.report.parts.model_html import write
from rtstone.report.provocation.text import (
    NAMED,
    against,
    answer,
    beside,
    decisive,
    notes,
    ranking,
    sentence,
    unmeasured,
)  # fmt: skip
from rtstone.units import counted, quantity

_METHOD = {
    "While": "Each action runs alone beside the wake-up, by a process of its own. A delay is one "
    "while it runs: it may be due to a thread of the kernel that the action sets going.",
    "Controls": "A process that only computes runs in the place of the action.",
    "Beyond": "In the lab, later than twice the worst of the controls. On a machine, a p99 whose "
    "ranks among the controls of its blocks have a chance of at most 5%, corrected for the number "
    "of actions.",
}


def compose(provocation: Provocation) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    systems = provocation.systems
    answers = [answer(system) for system in systems]
    if len(systems) == 2:
        answers.insert(0, against(*systems))
    names = " and ".join(dict.fromkeys(system.target for system in systems))
    page = Page(
        title=f"What delays a wake-up on {names}",
        verdict=answers[0],
        remarks=answers[1:],
        sections=list(_sections(systems)),
        method=_METHOD,
    )
    return write(page)


def _sections(systems: Sequence[System]) -> Iterator[Section]:
    """Yield the delays as bars, then the systems side by side, and each with its causes."""
    if bars := _bars(systems):
        yield Section("delays", "Delays beside the controls", bars)
    if len(systems) > 1:
        yield Section("beside", "Side by side", [beside(systems)])
    for number, system in enumerate(systems):
        beyond = [row for row in system.actions if row.outcome == "beyond"]
        causes = Findings([Finding(sentence(row, system)) for row in beyond[:NAMED]])
        blocks: list[Block] = [causes] if beyond else []
        blocks += [ranking(system), _actions(system), Notes([*unmeasured(system), *notes(system)])]
        yield Section(f"system{number}", system.target, blocks)


def _actions(system: System) -> Folded:
    """Return what each action is."""
    rows = [[row.action.name, row.action.consent, row.action.meanwhile] for row in system.actions]
    table = Table(["action", "consent", "while"], rows, texts=(2,))
    return Folded(f"What the {counted(len(rows), 'action')} are", [table])


def _bars(systems: Sequence[System]) -> list[Block]:
    """Return a group for each action, those first that delay most on the first system.

    Lengths are logarithmic, from the least of all; systems of different units have no common axis.
    """
    rows = [{row.action.name: row for row in system.actions} for system in systems]
    values = [
        value
        for system in systems
        for levels in [system.control, *(row.levels for row in system.actions)]
        if (value := decisive(levels, system))
    ]
    if not values or len({(system.unit, system.exact) for system in systems}) > 1:
        return []
    least, most = min(values), max(values)

    def bar(system: System, row: Provoked | None) -> Bar:
        levels = row.levels if row else system.control
        value = decisive(levels, system)
        share = log(value / least) / log(most / least) * 100 if value and most > least else None
        return Bar(Head("", system.target), quantity(value, system.unit) if value else "-", share)

    groups: list[tuple[str, list[Bar]]] = [("controls", [bar(system, None) for system in systems])]
    for name in dict.fromkeys(name for each in rows for name in each):
        present = [
            bar(system, row)
            for system, each in zip(systems, rows, strict=True)
            if (row := each.get(name)) and row.levels
        ]
        if present:
            groups.append((name, present))
    first = systems[0]
    statistic = "worst wake-up" if first.exact else "p99"
    ends = " to ".join(quantity(value, first.unit) for value in (least, most))
    return [Bars(groups, f"{statistic}, logarithmic, {ends}")]
