"""Sections on a terminal of 80 columns."""

from __future__ import annotations

import io

from msgspec import structs
from rich.console import Console, RenderableType

from rtstone.documents.sections import Bound, Section, Sections, Term, Unseen
from rtstone.report import page
from rtstone.report.sections.text import change_lines, sections_lines
from rtstone.stats.evaluate import evaluate_runs
from rtstone.stats.section_changes import section_changes
from tests.report.explained import explained_run
from tests.report.test_html import Reader
from tests.stats.test_section_gate import DOCUMENT

WIDTH = 80


def printed(lines: list[RenderableType]) -> list[str]:
    """Return the lines as a terminal shows them."""
    stream = io.StringIO()
    Console(file=stream, width=WIDTH, highlight=False).print(*lines, sep="\n")
    return stream.getvalue().splitlines()


RUN = explained_run()
SECTION = Section(
    begin=["folio_lruvec_lock_irqsave", "_raw_spin_lock_irqsave"], end=["release_pages"],
    n=4, total=1000, longest=700, at=123, stack=["el0_svc", "do_exit", "free_pcppages_bulk"],
)  # fmt: skip
ALL = structs.replace(
    DOCUMENT, case=RUN.results[0].case, series=RUN.results[0].series, instructions=10_000,
    sentence="Longest with interrupts masked: 700 instructions, free_pcppages_bulk (of what ran)",
    kinds=[
        Sections(
            kind="irqs-masked", n=15, total=1100, longest=700,
            sections=[SECTION, *[structs.replace(SECTION, n=1, stack=[])] * 11],
        ),
        Sections(kind="preempt-off", n=0, total=0, longest=0, sections=[]),
    ],
)  # fmt: skip


def test_the_answer_is_first_and_all_fits() -> None:
    lines = printed(list(sections_lines(ALL, RUN, WIDTH)))
    assert " ".join(lines[:2]).startswith(ALL.sentence)
    assert max(map(len, lines)) <= WIDTH
    text = " ".join(" ".join(lines).split())
    assert "with interrupts masked: 15 sections, 11.00% of the instructions" in text
    assert "700 4 250 123 folio_lruvec_lock_irqsave > _raw_spin_lock_irqsave ..." in text
    assert "in el0_svc > do_exit > free_pcppages_bulk" in text
    assert "and between 2 other pairs of places" in text
    assert "with preemption off: none" in text
    assert "defect" not in text


BOUND = Bound(
    longest=716, seen=377, sample=133, switched=200, after=61,
    sentence="Bound until the first switch to the task: 716 instructions; longest seen 377",
    terms=[
        Term(part="timer", longest=2, n=200, added=True),
        Term(part="blocked", longest=166, n=19979, begin=["f"], end=["g"], at=7, stack=["a", "f"]),
        Term(part="head", longest=307, n=423, added=True, begin=["h"], end=["i"], at=-7),
        Term(part="interrupts", longest=407, n=399, added=True),
    ],
)  # fmt: skip


def test_the_bound_is_second_with_its_parts() -> None:
    lines = printed(list(sections_lines(structs.replace(ALL, bound=BOUND), RUN, WIDTH)))
    assert max(map(len, lines)) <= WIDTH
    assert lines[2].startswith("Bound until the first switch to the task: 716")
    text = " ".join(" ".join(lines).split())
    assert "+ 2 200 until the timer requests its interrupt" in text
    assert " 166 19 979 while no task can be switched to: f ... g in a > f + 307" in text
    assert "the longest is 377, sample 133; from the switch to the end of a sample it was" in text
    assert "defect" not in text


def test_what_was_never_seen_is_counted() -> None:
    names = [f"function_{n}" for n in range(7)]
    unseen = Unseen(functions=9, unseen=7, names=names)
    text = " ".join(printed(list(sections_lines(structs.replace(ALL, unseen=unseen), RUN, WIDTH))))
    line = "Of 9 functions of the kernel that mask interrupts 7 began no section here: function_0"
    assert line in text
    assert "function_4, ..." in text and "function_5" not in text


def test_a_wake_up_above_the_bound_is_a_defect() -> None:
    doubtful = structs.replace(ALL, bound=structs.replace(BOUND, above=1))
    text = " ".join(printed(list(sections_lines(doubtful, RUN, WIDTH))))
    assert "1 wake-up took longer until the first switch than the bound: a defect" in text


def test_a_wrong_model_is_a_defect() -> None:
    doubtful = structs.replace(ALL, while_masked=2)
    text = " ".join(printed(list(sections_lines(doubtful, RUN, WIDTH))))
    assert "2 interrupts came while interrupts were held to be masked: a defect" in text


def test_what_changed_fits_too() -> None:
    shorter = structs.replace(SECTION, longest=100)
    before = structs.replace(ALL, kinds=[structs.replace(ALL.kinds[0], sections=[shorter])])
    lines = printed(list(change_lines(section_changes(ALL, before), WIDTH)))
    assert max(map(len, lines)) <= WIDTH
    text = " ".join(" ".join(lines).split())
    assert "700 100 +600 folio_lruvec_lock_irqsave" in text


def test_the_page_has_the_sections_and_the_bound_beside_what_was_seen() -> None:
    bounded = structs.replace(ALL, bound=BOUND, max=438.0)
    evaluation = evaluate_runs([RUN])
    plain = " ".join(Reader(page.compose(evaluation)).words)
    assert "What nothing could preempt" not in plain
    words = " ".join(Reader(page.compose(evaluation, sections={RUN.run_id: [bounded]})).words)
    for text in (
        "What nothing could preempt", ALL.sentence, "longest seen 377", "bound of what ran 716",
        "with what follows the switch 438", "in interrupt handlers 407 399 yes",
        "while no task can be switched to 166 19 979 f ... g no",
        "folio_lruvec_lock_irqsave > _raw_spin_lock_irqsave ... release_pages",
        "el0_svc > do_exit > free_pcppages_bulk 700 4 250 123",
        "with interrupts masked: 15 sections, 11.00% of the instructions",
    ):  # fmt: skip
        assert text in words.replace("\N{NARROW NO-BREAK SPACE}", " "), text
    # What most of the bound is comes first.
    assert words.index("in interrupt handlers") < words.index("up to the switch")


def test_names_of_a_page_are_no_markup() -> None:
    section = structs.replace(SECTION, begin=["<b>f</b>"], stack=["<i>g</i>"])
    kind = structs.replace(ALL.kinds[0], sections=[section])
    document = structs.replace(ALL, kinds=[kind])
    text = page.compose(evaluate_runs([RUN]), sections={RUN.run_id: [document]})
    assert "<b>f" not in text
    assert "<i>g" not in text
    assert "&lt;b&gt;f" in text
