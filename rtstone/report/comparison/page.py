"""A comparison: its page without charts, and how a terminal shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.comparison import Comparison, Verdict
from rtstone.program import typed
from rtstone.report.comparison import axes, words
from rtstone.report.comparison.answers import advice, balances, folded_text, rules, uncompared
from rtstone.report.comparison.forest import forest
from rtstone.report.comparison.main_case import Sentences
from rtstone.report.comparison.words import Judged, Line, share_text
from rtstone.report.parts import model
from rtstone.report.parts.console import copied, packed, sentences
from rtstone.report.parts.model import (
    Answer,
    Command,
    Head,
    Notes,
    Page,
    Section,
    Special,
    System,
)
from rtstone.report.parts.model_terminal import block_lines
from rtstone.units import NS_PER_S, quantity, seconds, trimmed

COUNTED = "Counted in instructions of an emulated machine, not in time"
MEANING = "the numbers compare with each other, never with a clock"
FEW = 5  # rows that are shown unasked
STYLES: dict[Verdict, str] = {
    "better": "green", "worse": "red", "no difference": "", "inconclusive": "dim",
}  # fmt: skip
ANSWERS = {"bad": "bold red", "good": "bold green", "info": "bold"}
_GAP = "  "  # between columns; one more before a system's


def compared(comparison: Comparison) -> Page:
    """Return the page: answers, and the sections of all verdicts, if there are any, and numbers."""
    effects = words.judged(comparison, words.row_names(comparison))
    differences = {
        grade: [d for d in comparison.differences if d.grade == grade] for grade in ("care", "note")
    }
    alarms = [model.Text(remark) for remark in comparison.remarks]
    if care := differences["care"]:
        aspects = ", ".join(difference.aspect for difference in care)
        notes = [words.difference_text(difference) for difference in care]
        alarms.append(model.Text(f"Different: {aspects}", "Compare only with care.", notes))
    remarks: list[str | Command] = []
    if effects:
        text, command = advice(comparison)
        remarks += [Command(text, command) if command else text] if text else []
        careful = comparison.rules.remarks if comparison.rules else []
        remarks += [f"with care: {text}" for text in careful]
        if care:
            remarks.append(
                f"Conditions differ, first {words.difference_text(care[0])}: verdicts say that "
                "numbers differ, not why."
            )
    return Page(
        title=", ".join(column.label for column in comparison.columns),
        kicker="comparison",
        lead=_lead(comparison),
        alarms=alarms,
        answers=list(_answers(comparison, effects)) if effects else [],
        remarks=remarks,
        systems=[System(Head("", c.label), [words.runs_text(c)]) for c in comparison.columns],
        notes=[f"also different: {words.difference_text(d)}" for d in differences["note"]],
        facts=list(comparison.equal.items()),
        sections=[*([_verdicts(comparison, effects)] if effects else []), _table(comparison)],
        method={},
    )  # fmt: skip


def _lead(comparison: Comparison) -> str:
    """Return what numbers that are no times mean, and what they are in time; empty of times."""
    if words.INSTRUCTIONS not in comparison.units:
        return ""
    rates: dict[int, list[str]] = {}  # the columns with each
    for column in comparison.columns:
        if column.instructions_per_s:
            rates.setdefault(column.instructions_per_s, []).append(column.label)
    each = [
        trimmed(NS_PER_S / rate, "ns") + (f" on {', '.join(labels)}" if len(rates) > 1 else "")
        for rate, labels in rates.items()
    ]
    taken = f" An instruction stands for {', '.join(each)} of its timers." if each else ""
    return f"{COUNTED}: {MEANING}.{taken}"


def _answers(comparison: Comparison, effects: Sequence[Judged]) -> Iterator[Answer]:
    """Yield what decides between each two systems, then both axes, then all verdicts."""
    if uncompared(comparison):
        labels = [column.label for column in comparison.columns]
        which = f"both {' and '.join(labels)}" if len(labels) == 2 else "two systems"
        yield Answer(f"Nothing could be compared: no case is complete on {which}.", "info")
        return
    names = words.row_names(comparison)
    main = Sentences(comparison, names)
    if best := main.best():
        yield best
    for case in comparison.main:
        answer = main.answer(case)
        numbers = main.numbers() if case is comparison.main[-1] else []
        yield answer._replace(notes=[*answer.notes, *numbers])
    open_ = all(entry.effect.verdict == "inconclusive" for entry in effects)
    if open_ and comparison.main and len(comparison.rows) == 1:  # it has been said
        return
    yield from map(Answer, axes.sentences(comparison, names))
    decided = {(case.column, case.against) for case in comparison.main}
    for balance in balances(comparison, effects):
        largest = Special("", None, partial(_largest_lines, comparison, balance.largest))
        grade = "" if (balance.column, balance.against) in decided else "info"
        yield Answer(balance.sentence, grade, blocks=[largest])


def _verdicts(comparison: Comparison, effects: list[Judged]) -> Section:
    basis, caption = rules(comparison), words.with_missed(comparison)
    return Section(
        "compared-verdicts",
        "Verdicts",
        [Special("effects.html", forest(effects, len(comparison.columns)),
                 partial(_effect_lines, effects, len(comparison.columns) > 2, caption)),
         Notes([basis] if basis else [])],
        f"Each case beside “{comparison.columns[0].label}”, median and tail apart; the picture has "
        "their ratio on a logarithmic axis, with its interval. The largest effects come first. "
        f"{caption}".rstrip(),
        short="Verdicts",
        folded=f"{len(effects)} effects, with intervals and reasons",
    )  # fmt: skip


class Systems(NamedTuple):
    """A table of systems beside each other; ``numbers``: what it has of each."""

    comparison: Comparison
    numbers: tuple[str, ...]
    rows: list[Line]


def _table(comparison: Comparison) -> Section:
    rows, reasons = words.table(comparison, words.row_names(comparison))
    table = Systems(comparison, words.numbers(comparison), rows)
    cells = [cell for row in comparison.rows for cell in row.cells if cell]
    notes = []
    if any(cell.n and cell.p50 is None for cell in cells):
        notes.append("-: no p50 of fewer than 20 samples")
    if any(cell.batched for cell in cells):
        notes.append("-: no maximum of a single call where several are timed together")
    if any(None in row.cells for row in comparison.rows):
        notes.append(f"{words.NOT_RUN}: no run of that system had the case")
    basis = "Net of the clock's overhead; p50 is known to 1 part in 128."
    tools = words.imported(comparison)
    if len(tools) == len(comparison.columns):
        basis = "Values as the tools reported them."
    elif tools:
        basis += f"  {', '.join(tools)}: values as the tool reported them."
    basis += f"  {caption}" if (caption := words.with_missed(comparison)) else ""
    return Section(
        "compared-table",
        "Bench by system",
        [Special("systems.html", table, partial(_table_lines, table)),
         Notes(reasons, "footnotes"),
         Notes(notes, "list")],
        f"{basis}  Load: {', '.join(words.loads(comparison))}.",
        short="Systems",
        folded=f"{len(comparison.rows)} rows: {', '.join(table.numbers)}",
        paper=True,
    )  # fmt: skip


# ---- terminal -----------------------------------------------------------------------------------


def comparison_lines(
    comparison: Comparison, width: int, everything: bool
) -> Iterator[RenderableType]:
    """Yield the comparison on a terminal: the answer, and with ``everything``, or if few, all rows.

    ``width``: of the terminal, in characters.
    """
    page = compared(comparison)
    everything = everything or len(comparison.rows) <= FEW
    for answer in page.answers:
        style = ANSWERS.get(answer.grade, "")
        yield from sentences(Text(answer.text, style), width, "    ")
        for note in answer.notes:
            yield from sentences(Text(f"  {note}", "dim"), width, "      ")
        yield from block_lines(answer.blocks, width)
    if page.lead:
        yield from sentences(Text(page.lead, "bold"), width, "    ")
    for remark in page.remarks:
        text = remark.text if isinstance(remark, Command) else remark
        yield from sentences(Text(text, "bold yellow"), width, "    ")
        if isinstance(remark, Command):  # in one piece, to be copied
            command = copied(typed(remark.command), width)
            yield from (Text(piece, no_wrap=True) for piece in command)
    head = [
        Text.assemble((system.head.label, "bold cyan"), (f": {system.texts[0]}", "dim"))
        for system in page.systems
    ]
    for alarm in page.alarms:
        head += [Text(f"compare only with care: {note}", "bold yellow") for note in alarm.notes]
        head += [] if alarm.notes else [Text(alarm.text, "bold red")]
    if everything:
        head += [Text(note, "dim") for note in page.notes]
    elif page.answers:
        concluded = {e.verdict for row in comparison.rows for e in row.effects} - {"inconclusive"}
        head.append(Text(folded_text(comparison), "dim"))
        head += [Text(rules(comparison), "dim")] if concluded and rules(comparison) else []
    for line in head:
        yield from sentences(line, width)
    if not everything:
        return
    *verdicts, table = page.sections
    yield Text()
    yield from block_lines(table.blocks[:1], width)
    yield Text()
    for section in verdicts:
        yield from block_lines(section.blocks[:1], width)
    yield Text()
    foot = []
    for block in (block for section in (table, *verdicts) for block in section.blocks[1:]):
        assert isinstance(block, Notes)
        for number, note in enumerate(block.texts, 1):
            numbered = block.kind == "footnotes"
            style = "red" if numbered and not note.startswith("unsupported") else "dim"
            foot.append(Text(f"[{number}] {note}" if numbered else note, style))
    equal = ", ".join(f"{name} {value}" for name, value in page.facts)
    foot += [Text(table.text, "dim"), *([Text(f"equal: {equal}", "dim")] if equal else [])]
    for line in foot:
        yield from sentences(line, width)


def _largest_lines(comparison: Comparison, largest: Sequence[Judged], width: int) -> Iterator[Text]:
    """Yield the largest differences with both values, each in a line if there is room."""
    table = [
        (e.verdict, str(e.name), e.statistic, e.change, e.interval, _values(comparison, e))
        for e in largest
    ]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    beside = sum(widths) + 2 * sum(map(bool, widths)) <= width
    for cells, entry in zip(table, largest, strict=True):
        style = STYLES[entry.effect.verdict]
        if beside:
            pairs = zip(cells, widths, strict=True)
            text = "  ".join(f"{cell:<{w}}" for cell, w in pairs if w).rstrip()
            yield Text(f"  {text}", style)
            continue
        rows = packed([cell for cell in cells[2:] if cell], width - 6)
        for line in (f"  {cells[0]}  {cells[1]}", *(f"      {row.strip()}" for row in rows)):
            yield from sentences(Text(line, style), width, "    ")


def _values(comparison: Comparison, entry: Judged) -> str:
    """Return the two values that an effect compares: ``32.9 µs -> 40.8 µs``."""
    effect, row = entry.effect, entry.row
    if effect.part == "missed":
        return " -> ".join(share_text(share or 0.0) for share in effect.values or ())
    values: Sequence[float | None] | None = effect.values
    if values is None:
        labels = [column.label for column in comparison.columns]
        first = labels.index(effect.against) if effect.against else 0
        name = "min" if effect.statistic == "value" else effect.statistic
        cells = (row.cells[first], row.cells[labels.index(effect.column)])
        values = [getattr(cell, name) if cell else None for cell in cells]
    return "" if None in values else " -> ".join(quantity(value, row.unit) for value in values)


def _effect_lines(
    effects: Sequence[Judged], several: bool, caption: str, width: int
) -> Iterator[Text]:
    """Yield a line for each effect: beside the name of its row if that fits, else below it."""
    table = [
        (e.system if several else "", e.statistic, e.verdict, e.change, e.interval, e.reason)
        for e in effects
    ]
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    first = max(len(str(entry.name)) for entry in effects)
    texts = []
    for cells in table:  # in columns; rich tables cannot have a reason across several
        numbers = cells[:5] if cells[4] else cells[:3]  # without an interval only a reason
        padded = [f"{cell:<{w}}" for cell, w in zip(numbers, widths, strict=False) if w]
        texts.append("  ".join([*padded, cells[5]]).rstrip())
    beside = all(first + 2 + len(text) <= width for text in texts)
    yield Text.assemble(("Verdicts", "bold"), (f"  {caption}".rstrip(), "dim"))
    last = ""
    for entry, cells, text in zip(effects, table, texts, strict=True):
        style = STYLES[entry.effect.verdict]
        name = str(entry.name) if str(entry.name) != last else ""
        last = str(entry.name)
        if beside:
            yield Text(f"{name:<{first}}  {text}", style)
            continue
        if name:
            yield Text(name, "bold cyan")
        pieces = [text] if len(text) + 2 <= width else [cell for cell in cells if cell]
        yield from (Text(piece, style) for piece in packed(pieces, width))


def _table_lines(table: Systems, width: int) -> Iterator[Text]:
    """Yield the table: systems side by side if that fits, else a line each."""
    for headed, gap in ((False, 2), (False, 1), (True, 2), (True, 1)):
        systems, numbers, *rows = _side_by_side(table, headed, " " * gap)
        if len(systems) > width:
            continue
        yield Text(systems, "bold cyan")
        yield Text(numbers, "dim")
        last = ""
        for line, row in zip(table.rows, rows, strict=True):
            if headed and line.name.without_load != last:
                last = line.name.without_load
                bench = line.name.bench
                yield Text.assemble((bench, "bold cyan"), last.removeprefix(bench))
            yield Text(row)
        return
    columns = table.comparison.columns
    for line, case in zip(table.rows, table.comparison.rows, strict=True):
        yield Text(str(line.name), "bold cyan")
        for column, cell, entry in zip(columns, case.cells, line.entries, strict=True):
            pieces = [f"{column.label}:"]
            if cell and entry.values:
                pairs = zip(table.numbers, entry.marked, strict=True)
                pieces += [
                    f"n {words.samples_text(cell)}",
                    *(f"{name} {text}" for name, text in pairs),
                ]
                pieces += [] if cell.section_s is None else [f"time {seconds(cell.section_s)}"]
            else:
                pieces += entry.marked
            yield from map(Text, packed(pieces, width))


def _side_by_side(table: Systems, headed: bool, gap: str) -> list[str]:
    """Return two lines of headings, and one for each row: after its load only, or its name.

    A table of rich cannot be used, as it has no cells across columns: a system's name is above its
    numbers, a text can replace them, and a case is above its loads.
    """
    heads = [f"  {line.name.load}" if headed else str(line.name) for line in table.rows]
    columns = [["", "", *heads], ["", "n", *(line.n for line in table.rows)]]
    if any(line.time for line in table.rows):
        columns.append(["", "time", *(line.time for line in table.rows)])
    widths = [max(map(len, column)) for column in columns]
    for place, column in enumerate(table.comparison.columns):
        cells = [list(table.numbers), *(line.entries[place].marked for line in table.rows)]
        full = [cell for cell in cells if len(cell) > 1]
        own = [max(map(len, texts)) for texts in zip(*full, strict=True)]
        texts = [
            gap.join(f"{text:>{w}}" for text, w in zip(cell, own, strict=True))
            if len(cell) > 1
            else cell[0]
            for cell in cells
        ]
        columns.append([column.label, *texts])
        widths.append(max(map(len, columns[-1])) + 1)
    return [
        _GAP.join([f"{head:<{widths[0]}}", *(
            f"{text:>{w}}" for text, w in zip(texts, widths[1:], strict=True))])
        for head, *texts in zip(*columns, strict=True)
    ]  # fmt: skip
