"""The statements of a publication's prose: then, here, and whether they are the same."""

from __future__ import annotations

from collections import Counter

from rtstone.documents.reproduction import Judgement, Reproduction, Statement, Then
from rtstone.report.parts.model import Block, Cell, Grid, Head, Notes, Section
from rtstone.report.parts.words import range_text
from rtstone.report.reproduction import text as words
from rtstone.units import CLOCK, SYMBOLS, counted, quantity

TITLE = "What the author states: then, here, the same?"
MEANING = (
    "Each statement holds if all its numbers lie within the limit in its footnote; the limits are "
    "rtstone's, where the author gives none. yes and no: the 95% interval decides, which stands "
    "behind or below the number. undetermined: it does not, or there is no interval; why, says a "
    "footnote."
)
IN_WORDS = "in words"
SENTENCES = 2  # systems that have a sentence each in the verdict of a page


def summary(reproduction: Reproduction) -> str:
    """Return how many of the statements hold on today's systems.

    One or two systems have a sentence each, more stand in one, those first where most hold.  Where
    none can be judged, the answer is how much of the tables there is.
    """
    if not reproduction.statements:
        return ""
    verdicts = [_verdicts(reproduction, place) for place in range(len(reproduction.columns))]
    judged = [place for place, verdict in enumerate(verdicts) if verdict]
    if not judged and reproduction.columns:
        sentences = [_extent(reproduction)]
    elif len(judged) <= SENTENCES:
        sentences = [counts(reproduction, place) for place in judged]
    else:
        judged.sort(key=lambda place: -verdicts[place]["yes"])
        systems = (
            f"{verdicts[place]['yes']} of {verdicts[place].total()} on "
            f"{reproduction.columns[place].label}"
            + (f" ({verdicts[place]['no']} not)" if verdicts[place]["no"] else "")
            for place in judged
        )
        listed = ", ".join(systems)
        sentences = [f"Statements of the author that hold: {listed}; the others are undetermined."]
    if closed := sum(bool(statement.lacks) for statement in reproduction.statements):
        sentences.append(
            f"{counted(closed, 'statement')} {_are(closed)} decided by no number anywhere."
        )
    return " ".join(sentences)


def counts(reproduction: Reproduction, place: int) -> str:
    """Return in a sentence how many statements hold on a system; nothing if none was judged."""
    verdicts = _verdicts(reproduction, place)
    if not verdicts:
        return ""
    return (
        f"{reproduction.columns[place].label}: of {counted(verdicts.total(), 'statement')} of the "
        f"author {verdicts['yes']} {'holds' if verdicts['yes'] == 1 else 'hold'} here, "
        f"{verdicts['no']} {'does' if verdicts['no'] == 1 else 'do'} not hold, "
        f"{verdicts['undetermined']} {_are(verdicts['undetermined'])} undetermined."
    )


def _extent(reproduction: Reproduction) -> str:
    """Return in a sentence how many cells have numbers, those systems first that have most."""
    cells = [words.outcomes(reproduction, place) for place in range(len(reproduction.columns))]
    order = sorted(range(len(cells)), key=lambda place: -cells[place][words.WITH_NUMBERS])
    systems = (
        f"{cells[place][words.WITH_NUMBERS]} of {cells[place].total()} on "
        f"{reproduction.columns[place].label}"
        for place in order
    )
    return f"Cells with numbers: {', '.join(systems)}."


def _verdicts(reproduction: Reproduction, place: int) -> Counter[str]:
    """Count the verdicts on the statements for a system."""
    return Counter(
        judgement.same
        for statement in reproduction.statements
        for judgement in statement.here
        if judgement.column == place and judgement.same
    )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def section(reproduction: Reproduction) -> Section:
    """Return the section with a line for each statement."""
    footnotes: list[str] = []

    def mark(*texts: str) -> list[int]:
        for text in filter(None, texts):
            if text not in footnotes:
                footnotes.append(text)
        return [footnotes.index(text) + 1 for text in texts if text]

    heads = [Head(f"printed {reproduction.printed}", "then")]
    heads += [Head(words.kind_of(column), column.label) for column in reproduction.columns]
    rows = []
    for statement in reproduction.statements:
        label = Cell(f"{statement.table}, {statement.words}", marks=mark(_rule(statement))).marked
        then = "; ".join(_then(past, statement) for past in statement.then) or IN_WORDS
        cells = [Cell(words.EMPTY if statement.lacks else then, marks=mark(statement.lacks))]
        for place in range(len(reproduction.columns)):
            here = next((j for j in statement.here if j.column == place), None)
            if here is None:
                cells.append(Cell(words.EMPTY, marks=mark(statement.lacks)))
            else:
                cells.append(_here(here, statement, mark(_reason(here, reproduction))))
        rows.append((Head("", label), cells))
    blocks: list[Block] = [
        Grid("statement", heads, rows), Notes([MEANING], "list"), Notes(footnotes, "footnotes")
    ]  # fmt: skip
    return Section("statements", TITLE, blocks, short="Statements")


def _rule(statement: Statement) -> str:
    """Return what the numbers of a statement are, and the limits that they have to keep."""
    if not statement.meaning:
        return ""
    symbol = SYMBOLS.get(statement.unit or "", statement.unit or "")
    least, most = (
        None if limit is None else f"{limit:g} {symbol}".rstrip()
        for limit in (statement.least, statement.most)
    )
    if least and most:
        limits = f"between {least} and {most}"
    else:
        limits = f"at least {least}" if least else f"at most {most}"
    subject = "any is " if statement.scope == "any" else ""
    return f"{statement.meaning}: holds if {subject}{limits}"


def _reason(here: Judgement, reproduction: Reproduction) -> str:
    return f"{reproduction.columns[here.column].label}: {here.reason}" if here.reason else ""


def _then(past: Then, statement: Statement) -> str:
    if isinstance(past.value, str):
        return f"{past.system}: {past.value}"
    verdict = {True: "yes", False: "no", None: ""}[past.same]
    value = _range(past.value, past.most, statement.unit)
    return ", ".join(filter(None, (f"{past.system}: {value}", verdict)))


def _here(here: Judgement, statement: Statement, marks: list[int]) -> Cell:
    if here.same is None:
        return Cell(words.EMPTY, marks=marks)
    if here.value is None:
        return Cell(here.same, marks=marks)
    value = _range(here.value, here.most, statement.unit)
    interval = _interval(here, statement.unit)
    return Cell(f"{here.same}, {value}", f"95%: {interval}" if interval else "", marks=marks)


def _range(low: float, most: float | None, unit: str | None) -> str:
    texts = [_number(value, unit) for value in (low, most) if value is not None]
    if unit in CLOCK:
        return range_text(texts[0], texts[-1])
    return f"{range_text(texts[0], texts[-1])} {SYMBOLS.get(unit or '', unit or '')}".rstrip()


def _number(value: float, unit: str | None) -> str:
    """Return a number without its unit, or a time with the unit that suits it."""
    if unit in CLOCK:
        return quantity(value * CLOCK[unit], "ns")
    return words.digits(value, unit)


def _interval(here: Judgement, unit: str | None) -> str:
    """Return the interval in words, empty if it is none or no more than the numbers themselves."""
    low, high = (None if end is None else _number(end, unit) for end in (here.low, here.high))
    ends = [_number(value, unit) for value in (here.value, here.most) if value is not None]
    if (low, high) == (ends[0], ends[-1]):
        return ""
    if low is not None and high is not None:
        return range_text(low, high)
    return f"{low} or more" if low is not None else f"{high} or less" if high is not None else ""
