"""An explanation on the terminal: the answer first, then its evidence."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Run
from rtstone.report.explanation import labels
from rtstone.report.explanation.labels import amount, share
from rtstone.report.explanation.tree import folded, tree
from rtstone.report.parts.bars import letters
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model_terminal import rich_table
from rtstone.units import counted

_BAR, _LEAST_BAR = 32, 8  # columns
_PARTS = 24  # lines of segments
_FUNCTIONS = 12
_ROWS = 30  # of the call tree
_ALL = 8  # functions of all samples


def explanation_lines(
    explanation: Explanation, run: Run, width: int, encoding: str | None = None
) -> Iterator[RenderableType]:
    """Yield an explanation; ``encoding``: what the terminal can show."""
    yield from sentences(Text(explanation.sentence, style="bold"), width)
    for sentence in labels.basis(explanation, run):
        yield from sentences(Text(sentence, style="dim"), width)
    functions, samples = explanation.functions, explanation.all_samples
    costs: list[RenderableType] = []
    if functions:
        costs.append(rich_table(labels.costs(explanation, functions[:_FUNCTIONS])))
    if rest := labels.rest(functions, _FUNCTIONS, explanation.way.sample.raw):
        costs.append(Text(rest, style="dim"))
    every: list[RenderableType] = []
    if samples is not None:
        every.append(Text(f"all {counted(samples.n, 'sample')} of the case", style="bold"))
        if samples.functions:
            every.append(rich_table(labels.all_costs(samples, _ALL)))
        if samples.endings:
            worst = counted(samples.worst, "sample")
            every.append(Text(f"what the worst {worst} had waited for last:"))
            every.append(rich_table(labels.endings(samples, _ALL)))
    notes = [line for note in explanation.notes for line in sentences(Text(f"note: {note}"), width)]
    for part in (_segments(explanation, width, encoding), costs, _calls(explanation, width), every,
                 notes):  # fmt: skip
        lines = list(part)
        if lines:
            yield ""
            yield from lines


# ---- segments -----------------------------------------------------------------------------------


def _segments(explanation: Explanation, width: int, encoding: str | None) -> Iterator[Text]:
    """Yield a line per segment with its place in time, and below it who ran and where."""
    every, unit = labels.parts(explanation.way.segments), labels.symbol(explanation.unit)
    if not every:
        return
    parts = labels.shortened(every, _PARTS)
    end = parts[-1].start + parts[-1].length
    cells = [
        (p.name, amount(p.start), amount(p.length), share(p.length, end - parts[0].start))
        for p in parts
    ]
    cells += [("sum", "", amount(sum(p.length for p in parts)), "")]
    head = ("part", "from", unit, "share")
    first, *widths = (max(map(len, column)) for column in zip(head, *cells, strict=True))
    wide = min(_BAR, width - first - sum(widths) - 2 * len(head))

    def row(name: str, *numbers: str) -> str:
        aligned = (f"{text:>{room}}" for text, room in zip(numbers, widths, strict=True))
        return "  ".join((f"{name:<{first}}", *aligned))

    yield Text(row(*head), style="bold")
    for part, texts in zip(parts, cells, strict=False):
        bar = ""
        if wide >= _LEAST_BAR:  # at the place of the segment in the sample; the shortest is visible
            drawn, begin = letters(encoding), parts[0].start
            length = max(end - begin, 1)
            left = min(max((part.start - begin) * wide // length, 0), wide - 1)
            right = min(round((part.start + part.length - begin) * wide / length), wide)
            bar = " " * left + (drawn[-1] * (right - left) if right > left else drawn[1])
        yield Text(f"{row(*texts)}  {bar}".rstrip())
        if below := "; ".join(filter(None, (part.by, labels.chain(part.stack)))):
            yield from _hung(" " * 4, Text(below, style="dim"), width)
    yield Text(row(*cells[-1]).rstrip())
    if totals := labels.by_kind(every):
        yield from sentences(Text(totals), width)
    if gap := labels.unaccounted(explanation.way, explanation.resolution):
        yield from sentences(Text(gap, style="bold red"), width)


# ---- calls --------------------------------------------------------------------------------------


def _calls(explanation: Explanation, width: int) -> Iterator[Text]:
    """Yield the call tree, without what costs little."""
    root = tree(explanation.way.stacks)
    rows, least = folded(root, _ROWS)
    if not rows:
        return
    room = max(len(amount(row.total)) for row in rows)
    yield Text("calls, with all that they call", style="bold")
    for row in rows:
        own = f" (own {share(row.own, root.total)})" if 0 < row.own < row.total else ""
        head = f"{amount(row.total):>{room}}  {share(row.total, root.total):>6}  "
        indent = "  " * min(row.depth, max(0, width - len(head)) // 4)
        yield from _hung(head + indent, Text(f"{' > '.join(row.names)}{own}"), width)
    yield Text(f"calls below {least:.0%} are left out", style="dim")


def _hung(head: str, text: Text, width: int) -> Iterator[Text]:
    """Yield the lines of a text behind a head; what does not fit in the first stands below it."""
    for number, line in enumerate(sentences(text, max(width - len(head), 1))):
        yield Text(" " * len(head) if number else head).append_text(line)
