"""The check of a task set as a page: the answer, responses beside deadlines, and the rest."""

from __future__ import annotations

from rtstone.documents.tasks import Schedulability
from rtstone.report.parts.model import Bar, Bars, Head, Page, Section
from rtstone.report.parts.model_html import write
from rtstone.report.tasks.check import answer, sections
from rtstone.units import counted, trimmed

_METHOD = {
    "Response": "From the arrival of a job to its end, of a woken task from its release: no job "
    "takes longer. Where an equals sign stands before it, some job may take just as long.",
    "Margin": "The largest factor of all work with which every need still holds, to a "
    "ten-thousandth. What is first to miss fails just beyond it. Costs are not scaled.",
    "Blocked": "By less urgent tasks that hold resources; it is part of the response.",
    "Latency, reaction, age": "Of a chain: from an arrival of its first task to the first output "
    "based on it; from a change at the input, which that task may just have missed; from the "
    "reading of the input to the last output based on it.",
    "Not known": "No method of rtstone decides. Resources that tasks of several CPUs share, and "
    "arrivals without a least distance, have none.",
}


def compose(document: Schedulability) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    tasks = counted(len(document.tasks), "task")
    page = Page(
        title=f"{document.set.title}: {tasks}",
        kicker="Schedulability by analysis, nothing was run",
        verdict=f"{answer(document)}.",
        sections=[*_responses(document), *sections(document)],
        method=_METHOD,
    )
    return write(page)


def _responses(document: Schedulability) -> list[Section]:
    """Return the responses as shares of their deadlines, the fullest first."""
    bars = []
    for check in document.tasks:
        response, deadline = check.response_ns, check.deadline_ns
        if response is None or deadline is None:
            continue
        text = f"{trimmed(response, 'ns')} of {trimmed(deadline, 'ns')}"
        share = min(100.0, 100 * response / deadline)
        late = " (late)" if response > deadline else ""
        bars.append((response / deadline, Bar(Head("", check.task), text + late, share)))
    if not bars:
        return []
    ordered = [bar for _, bar in sorted(bars, key=lambda pair: -pair[0])]
    block = Bars([("", ordered)], "longest response as a share of the deadline, to 100%")
    return [Section("responses", "Responses", [block])]
