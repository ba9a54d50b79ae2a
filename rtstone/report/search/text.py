"""What a search brought on the terminal: the answer first, then how it came to it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.search import Candidate, SearchResult
from rtstone.report.parts.console import sentences
from rtstone.units import count, counted, quantity


def answer(result: SearchResult) -> str:
    """Return the outcome of a search in a sentence."""
    measured = result.programs - result.failed
    if not result.records:
        return f"undetermined: no program of actions could be measured on {result.target}"
    longest = [each for each in (result.records[-1], result.least) if each is not None]
    record = max(longest, key=lambda candidate: candidate.longest or 0.0)
    text = (
        f"Longest of {result.bench} on {result.target} beside {counted(measured, 'program')} of "
        f"actions: {_longest(record, result)}"
    )
    if result.control.longest:
        text += f"; beside one that only computes {_longest(result.control, result)}"
    if loads := [each for each in result.loads if each.longest is not None]:
        worst = max(loads, key=lambda candidate: candidate.longest or 0.0)
        text += f", beside rtstone's own loads {_longest(worst, result)} ({worst.load})"
    return f"{text} (of what ran)"


def gap(result: SearchResult) -> str:
    """Return how much of the bound was reached, "" if there is none."""
    if not result.bound or result.switched is None:
        return f"No bound: {result.no_sections}." if result.no_sections else ""
    return (
        f"Until the first switch to the task {count(result.switched)} instructions of a bound of "
        f"{count(result.bound)}, {result.switched / result.bound:.0%} (of what ran)."
    )


def search_lines(result: SearchResult, width: int) -> Iterator[RenderableType]:
    """Yield the document for a terminal of a width."""
    yield from sentences(Text(answer(result), style="bold"), width)
    if line := gap(result):
        yield from sentences(Text(line, style="bold" if result.bound else "dim"), width)
    for defect in result.defects:
        yield from sentences(
            Text(f"{defect}: a defect, please report it.", style="bold red"), width
        )
    least = result.least
    if least is not None:
        yield from sentences(
            Text(f"What it takes: {step_words(least)}, {_longest(least, result)}"), width, "  "
        )
    if result.cause:
        yield from sentences(Text(f"Its cause: {result.cause}"), width, "  ")
    if result.drawn is not None:
        yield from sentences(
            Text(
                f"Of {counted(result.n_drawn, 'program')} drawn at random the longest: "
                f"{_longest(result.drawn, result)}."
            ),
            width, "  ",
        )  # fmt: skip
    if result.records:
        yield ""
        yield Text("Longer than all before", style="bold")
    for record in result.records:
        how = "bred" if record.bred else "drawn"
        text = f"{record.number} ({how}): {_longest(record, result)}, {step_words(record)}"
        yield from sentences(Text(text), width, "  ")
    if result.failed:
        yield from sentences(
            Text(f"{counted(result.failed, 'program')} had no result.", style="dim"), width, "  "
        )
    if least is not None:
        yield ""
        yield from sentences(
            Text(
                f"again: rtstone run {result.bench} -p samples={result.samples} --target "
                f"{result.target} --load '{least.load}'"
            ),
            width,
        )


def step_words(candidate: Candidate) -> str:
    """Return the steps of a program in words."""
    return candidate.load.partition("=")[2].replace(",", ", ")


def _longest(candidate: Candidate, result: SearchResult) -> str:
    return "-" if candidate.longest is None else quantity(candidate.longest, result.unit)
