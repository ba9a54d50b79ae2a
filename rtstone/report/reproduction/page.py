"""A reproduction on a terminal, as Markdown, and as a page with its figures.

Published numbers are under a heading "printed" with the year, measured ones under "here", simulated
ones under "model", in every form of output.
"""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType

from rtstone.documents.reproduction import Reproduction, Table
from rtstone.report.parts import model_html, model_latex, model_markdown
from rtstone.report.parts.model import (
    Block,
    Finding,
    Findings,
    Head,
    Notes,
    Page,
    Section,
    System,
    Text,
)
from rtstone.report.parts.model_terminal import page_lines
from rtstone.report.reproduction import contrasts, statements
from rtstone.report.reproduction import text as words
from rtstone.report.reproduction.figures import figures
from rtstone.report.reproduction.strips import strips
from rtstone.stats.reproduce import Reproduced

MEANING = (
    "printed: as the publication has it. here: measured by rtstone. "
    "model: simulated, no system was measured. [1]: see below the table."
)
GAPS = "Without a number today, and why"
_METHOD = {
    "Printed numbers": "As in the publication, digit by digit; how certain the reading is, is "
    "noted below each table.",
    "Today's numbers": "Net of the clock's overhead, in the unit of the table, to three digits. A "
    "maximum is the largest of n samples seen in the time and under the load given below the "
    "table; it is no bound.",
    "Several runs of a case": "One set of samples; of a figure without samples the least and the "
    "most.",
}


def reproduction_lines(reproduction: Reproduction, width: int) -> Iterator[RenderableType]:
    """Yield the reproduction on a terminal."""
    yield from page_lines(_page(reproduction), width)


def markdown(reproduction: Reproduction) -> str:
    """Return the tables as Markdown."""
    return model_markdown.write(_page(reproduction))


def latex(reproduction: Reproduction) -> str:
    """Return the tables for a paper, in LaTeX."""
    return model_latex.write(_page(reproduction), reproduction.source)


def compose(reproduced: Reproduced) -> str:
    """Return the page with its figures as text.  Raises MissingBundleError."""
    page = _page(reproduced.document)
    drawn: dict[str, list[Block]] = {
        contrasts.KEY: list(contrasts.drawn(reproduced.document)),
    }
    for number in range(len(reproduced.document.tables)):
        strip = strips(reproduced, number)
        drawn[f"t{number}"] = [*figures(reproduced, number), *([strip] if strip else [])]
    sections = [
        section._replace(blocks=[*section.blocks, *drawn.get(section.key, [])])
        for section in page.sections
    ]
    return model_html.write(page._replace(sections=sections))


def _page(reproduction: Reproduction) -> Page:
    """Return the page without figures: the statements, and a section for each table."""
    sections = [statements.section(reproduction)] if reproduction.statements else []
    ids = [table.id for table in reproduction.tables]
    for number, table in enumerate(reproduction.tables):
        short = table.title if table.id.endswith("prose") or table.id in ids[:number] else table.id
        sections.append(_section(reproduction, table, f"t{number}", short))
    verdict = statements.summary(reproduction)
    systems = []
    for place, column in enumerate(reproduction.columns):
        texts = [*words.about(column), words.tally(reproduction, place)]
        counts = statements.counts(reproduction, place)
        if counts not in verdict:
            texts.append(counts)
        systems.append(System(Head(words.kind_of(column), column.label), texts))
    if beside := contrasts.section(reproduction):
        sections.append(beside)
    if gaps := words.gaps(reproduction):
        findings = [Finding(f"{gap.why}: {gap.tables}", gap.label) for gap in gaps]
        sections.append(Section("gaps", GAPS, [Findings(findings)], short="Without a number"))
    return Page(
        title=reproduction.title,
        kicker="A publication reproduced",
        verdict=verdict,
        lead=words.origin(reproduction),
        systems=systems,
        alarms=list(_alarms(reproduction)),
        notes=[MEANING, *reproduction.notes],
        sections=sections,
        method=_METHOD,
        flags=words.flags(reproduction),
    )


def _alarms(reproduction: Reproduction) -> Iterator[Text]:
    """Yield which systems are none that time was measured on."""
    models = [column.label for column in reproduction.columns if column.kind == "model"]
    if models:
        are = "is a simulation" if len(models) == 1 else "are simulations"
        yield Text("nothing was measured there.", f"{', '.join(models)} {are}:")
    counted = [column.label for column in reproduction.columns if column.unit != "ns"]
    if counted:
        are = "is" if len(counted) == 1 else "are"
        verdict = f"{', '.join(counted)} {are} counted in instructions, not in time."
        yield Text(
            "These numbers come from an emulated machine and compare with no clock.", verdict
        )


def _section(reproduction: Reproduction, table: Table, key: str, short: str) -> Section:
    blocks: list[Block] = [
        Notes([words.said(reproduction, record) for record in table.said], "quote")
    ]
    if table.items:
        blocks.append(words.grid(reproduction, table))
    blocks += words.listings(reproduction, table)
    blocks += [
        Notes([*words.observed(reproduction, table), *table.notes], "list"),
        Notes(table.footnotes, "footnotes"),
    ]
    return Section(key, words.heading(table), blocks, words.measure(table), short)
