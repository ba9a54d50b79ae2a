"""Actions of other processes on the terminal: the answer first, then the ranking.

A wake-up is delayed while an action runs; whether by it or by what it sets going is for `explain`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.provocation import Levels, Provocation, Provoked, System, supported
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model import Cell, Table
from rtstone.report.parts.model_terminal import rich_table
from rtstone.units import counted, quantity, rounded

NAMED = 5  # actions in the answer
_NUMBERS = ("none", "this one", "these two", "these three", "these four", "these five")
_VERDICTS = {
    "beyond": "beyond",
    "within": "-",
    "nothing": "did nothing",
    "failed": "failed",
    "unmeasured": "not measured",
    "unsupported": "unsupported",
}


def answer(system: System) -> str:
    """Return what one system's user wants to know, in a sentence."""
    beyond = [row for row in system.actions if row.outcome == "beyond"]
    ran = [row for row in system.actions if row.levels is not None]
    if system.actions and not supported(system):
        return (
            f"undetermined on {system.target}: it supports none of "
            f"{counted(len(system.actions), 'action')}"
        )
    if system.control is None:
        return f"undetermined on {system.target}: no measurement of the controls is valid"
    if not ran:
        return f"undetermined on {system.target}: no action ran"
    outcomes = Counter(row.outcome for row in system.actions if row.levels is None)
    silent = [f"{n} {_VERDICTS[outcome]}" for outcome, n in outcomes.items()]
    rest = f" ({', '.join(silent)})" if silent else ""
    if not beyond:
        return (
            f"none of {counted(len(ran), 'action')} was shown to delay the wake-up beyond the "
            f"controls on {system.target}{rest}"
        )
    names = ", ".join(row.action.name for row in beyond[:NAMED])
    which = _NUMBERS[min(len(beyond), NAMED)]
    verb = "delays" if len(beyond) == 1 else "delay"
    return (
        f"on {system.target} avoid {which}: {names}; {len(beyond)} of "
        f"{counted(len(ran), 'action')} {verb} the wake-up beyond the controls{rest}"
    )


def against(first: System, second: System) -> str:
    """Return which delays of a system are gone on another, are left there, or are new."""
    rows = {row.action.name: row for row in second.actions if row.levels is not None}
    pairs = [
        (row.outcome == "beyond", rows[row.action.name].outcome == "beyond", row.action.name)
        for row in first.actions
        if row.levels is not None and row.action.name in rows
    ]
    gone, left, new = (
        [name for *delays, name in pairs if delays == kind]
        for kind in ([True, False], [True, True], [False, True])
    )
    lost = "gone" if first.exact and second.exact else "not shown"
    parts = [
        f"{len(names)} {word} ({_listed(names)})"
        for names, word in ((gone, lost), (left, "left"), (new, "new"))
        if names
    ]
    head = f"{second.target} against {first.target}: of {counted(len(pairs), 'action')}"
    if not parts:
        return f"{head} none delays the wake-up beyond the controls on either"
    return f"{head} {len(gone) + len(left)} delayed it beyond the controls: {', '.join(parts)}"


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {rest} more" if rest > 0 else "")


def provocation_lines(provocation: Provocation, width: int) -> Iterator[RenderableType]:
    """Yield the document for a terminal of a width."""
    for system in provocation.systems:
        yield from sentences(Text(answer(system), style="bold"), width)
    if len(provocation.systems) == 2:
        yield from sentences(Text(against(*provocation.systems), style="bold"), width)
    if len(provocation.systems) > 1:
        yield ""
        yield rich_table(beside(provocation.systems))
    for system in provocation.systems:
        yield ""
        if len(provocation.systems) > 1:
            yield Text(system.target, style="bold cyan")
        yield from _system_lines(system, width)


def _system_lines(system: System, width: int) -> Iterator[RenderableType]:
    for row in [row for row in system.actions if row.outcome == "beyond"][:NAMED]:
        yield from sentences(Text(sentence(row, system)), width, "  ")
    yield ""
    yield rich_table(ranking(system))
    for text in unmeasured(system):
        yield from sentences(Text(text, style="dim"), width, "  ")
    for note in notes(system):
        yield from sentences(Text(note, style="dim"), width, "  ")


def unmeasured(system: System) -> Iterator[str]:
    """Yield why actions were not measured."""
    for row in system.actions:
        if row.reason:
            yield f"{row.action.name}: {_VERDICTS[row.outcome]}: {row.reason}"


def sentence(row: Provoked, system: System) -> str:
    """Return how late a wake-up is while an action runs, and why, if that is known."""
    levels = row.levels
    assert levels is not None
    text = f"{row.action.name}: while {row.action.meanwhile}, "
    if system.exact:
        text += f"a wake-up took {quantity(levels.max, system.unit)}"
        if row.ratio is not None:
            text += f", {rounded(row.ratio)} times that of the controls"
    else:
        text += "; ".join(
            f"the {shift.quantile} of wake-ups is "
            f"{quantity(getattr(levels, shift.quantile), system.unit)}, "
            f"{rounded(shift.ratio)} times that of the controls"
            for shift in row.shifts
            if shift.beyond
        )
    return f"{text}. {row.cause}" if row.cause else text


def ranking(system: System) -> Table:
    """Return the actions of a system, those that delay most first."""
    unit = system.unit
    rows: list[Sequence[str | Cell]] = [
        [row.action.name, *_cells(row.levels, unit), _rate(row), _verdict(row)]
        for row in system.actions
    ]
    rows.append(["controls", *_cells(system.control, unit), "", ""])
    return Table(["action", "p50", "p99", "worst", "missed", "rate", "verdict"], rows, texts=(6,))


def _cells(levels: Levels | None, unit: str) -> list[str]:
    if levels is None:
        return [""] * 4
    return [
        *(_short(value, unit) for value in (levels.p50, levels.p99, levels.max)),
        str(levels.missed),
    ]


def _short(value: float | None, unit: str) -> str:
    """Return a latency; instructions have no unit, as all of a system's are of them."""
    return "" if value is None else quantity(value, unit).removesuffix(" instr")


def _rate(row: Provoked) -> str:
    if row.rate is None:
        return ""
    if row.rate_unit == "bytes":
        return f"{rounded(row.rate / 1e6)} MB/s"
    return f"{rounded(row.rate)}/s"


def _verdict(row: Provoked) -> str:
    if row.silent and row.levels:
        return "says nothing"
    shown = [shift.quantile for shift in row.shifts if shift.beyond]
    return " ".join([_VERDICTS[row.outcome], *(["in", " and ".join(shown)] if shown else [])])


def beside(systems: Sequence[System]) -> Table:
    """Return the actions beside each other, in the order of the first system."""
    by_name = [{row.action.name: row for row in system.actions} for system in systems]
    names = dict.fromkeys(name for rows in by_name for name in rows)
    rows: list[Sequence[str | Cell]] = [
        [name, *(_level(each.get(name), system)
                 for each, system in zip(by_name, systems, strict=True))]
        for name in names
    ]  # fmt: skip
    controls = [Provoked(action=row.action, outcome="within", levels=system.control)
                for system in systems for row in system.actions[:1]]  # fmt: skip
    rows.append(["controls", *map(_level, controls, systems)])
    columns = ["action", *(system.target for system in systems)]
    if len(systems) == 2 and len({(system.unit, system.exact) for system in systems}) == 1:
        values = [{name: decisive(row.levels, system) for name, row in rows.items()}
                  | {"controls": decisive(system.control, system)}
                  for rows, system in zip(by_name, systems, strict=True)]  # fmt: skip
        rows = [[*row, _times(*(each.get(str(row[0])) for each in values))] for row in rows]
        columns.append("times")
    return Table(columns, rows)


def _times(first: float | None, second: float | None) -> str:
    """Return how many times as late a wake-up is on the first of two systems."""
    return rounded(first / second) if first and second else ""


def decisive(levels: Levels | None, system: System) -> float | None:
    """Return the statistic by which a system is ranked."""
    if levels is None:
        return None
    return levels.max if system.exact else levels.p99


def _level(row: Provoked | None, system: System) -> str:
    if row is None:
        return ""
    if row.levels is None:
        return _VERDICTS[row.outcome]
    value = decisive(row.levels, system)
    mark = " !" if row.outcome == "beyond" else ""
    return f"{_short(value, system.unit)}{mark}"


def notes(system: System) -> Iterator[str]:
    """Yield what a ranking is by, and what was not measured."""
    if system.exact:
        yield (
            f"Ranked by the worst of {_samples(system)} wake-ups, each action in a boot of its "
            "own. Beyond the controls: more than twice the worst beside a load that only computes, "
            f"in {counted(system.controls, 'boot')}. Numbers are instructions."
        )
    else:
        yield (
            "Beyond the controls: p50 or p99 is certainly above those beside a load that only "
            f"computes, in the same of {counted(system.blocks, 'block')}; that any action without "
            "an effect is called so has a chance of at most 5%. Ranked by p99 over that of the "
            "controls. A worst value of a few seconds proves nothing here."
        )
    yield (
        "A delay is one while an action runs: it may be due to what the action sets going, a "
        "thread of the kernel for example."
    )
    if system.withheld:
        texts = {
            "shared": "that slow others (--consent shared)",
            "system": "that change settings, which are restored (--consent system)",
            "lab": "for guests of the lab only",
        }
        said = [f"{n} {texts[consent]}" for consent, n in system.withheld.items()]
        yield f"Not measured: {'; '.join(said)}."


def _samples(system: System) -> int:
    return max((row.levels.n for row in system.actions if row.levels), default=0)
