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
    if result.records:
        longest = [each for each in (result.records[-1], result.least) if each is not None]
        record = max(longest, key=lambda candidate: candidate.longest or 0.0)
        text = (
            f"Longest of {result.bench} on {result.target} beside {counted(measured, 'program')} "
            f"of actions: {_longest(record, result)}"
        )
    else:
        text = f"undetermined: no program of actions was measured on {result.target}"
    text += f"; beside one that only computes {_longest(result.control, result)}"
    if result.loads:
        text += f", beside rtstone's own loads {_longest_load(result)}"
    return f"{text} (of what ran)" if result.unit else text


def _longest_load(result: SearchResult) -> str:
    """Return the longest beside rtstone's own loads, and why some have none."""
    valid = [each for each in result.loads if each.longest is not None]
    if not valid:
        return _longest(result.loads[0], result)
    worst = max(valid, key=lambda candidate: candidate.longest or 0.0)
    label = worst.load
    if lacking := [each for each in result.loads if each.longest is None]:
        label += f"; {len(lacking)} of {counted(len(result.loads), 'load')} {lacking[0].reason}"
    return f"{_longest(worst, result)} ({label})"


def gap(result: SearchResult) -> str:
    """Return how much of the bound was reached, or why there is none."""
    if not result.bound or result.switched is None:
        return f"No bound: {result.no_sections or 'nothing that was measured has one'}."
    return (
        f"Until the first switch to the task {count(result.switched)} instructions of a bound of "
        f"{count(result.bound)}, {result.switched / result.bound:.0%} (of what ran)."
    )


def search_lines(result: SearchResult, width: int) -> Iterator[RenderableType]:
    """Yield the document for a terminal of a width."""
    yield from sentences(Text(answer(result), style="bold"), width)
    yield from sentences(Text(gap(result), style="bold" if result.bound else "dim"), width)
    if result.early:
        yield from sentences(Text(f"Ended early, {result.early}; the same command goes on."), width)
    for defect in result.defects:
        yield from sentences(
            Text(f"{defect}: a defect, please report it.", style="bold red"), width
        )
    for line in _without_result(result):
        yield from sentences(Text(line), width, "  ")
    least = result.least
    if least is not None:
        label = "What it takes" if result.reduced else "Its program, not yet reduced"
        yield from sentences(
            Text(f"{label}: {step_words(least)}, {_longest(least, result)}"), width, "  "
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
    if least is not None:
        yield ""
        yield from sentences(
            Text(
                f"again: rtstone run {result.bench} -p samples={result.samples} --target "
                f"{result.target} --load '{least.load}'"
            ),
            width,
        )


def _without_result(result: SearchResult) -> Iterator[str]:
    """Yield which actions the target lacks, and how many programs have no result."""
    if result.lacks:
        names = ", ".join(f"{lack.action} ({lack.reason})" for lack in result.lacks)
        be = "is" if len(result.lacks) == 1 else "are"
        yield f"{counted(len(result.lacks), 'action')} {be} unsupported here: {names}."
    if result.failed:
        text = f"{counted(result.failed, 'program')} had no result"
        if first := result.failure:
            text += f"; {first.number}, {step_words(first)}: {first.reason}"
        elif result.lacks:
            text += ", all for these" if result.failed > 1 else ", for these"
        yield f"{text}."


def step_words(candidate: Candidate) -> str:
    """Return the steps of a program in words."""
    return candidate.load.partition("=")[2].replace(",", ", ")


def _longest(candidate: Candidate, result: SearchResult) -> str:
    if candidate.longest is None:
        return f"no value ({candidate.reason})"
    return quantity(candidate.longest, result.unit)
