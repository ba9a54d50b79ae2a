"""What changed between the sections of two runs, of documents that are written here."""

from __future__ import annotations

from msgspec import structs

from rtstone.documents.sections import Section, Sections, SectionsOfRun
from rtstone.stats.section_changes import section_changes
from tests.stats.test_section_gate import DOCUMENT


def document(*lengths: tuple[str, int]) -> SectionsOfRun:
    """Return a document with a section of interrupts masked for each name."""
    sections = [
        Section(begin=[name], end=["unlock"], n=1, total=length, longest=length, at=0)
        for name, length in lengths
    ]
    masked = Sections(
        kind="irqs-masked", n=len(sections), total=sum(n for _, n in lengths),
        longest=max(n for _, n in lengths), sections=sections,
    )  # fmt: skip
    return structs.replace(DOCUMENT, kinds=[masked])


def test_what_changed_most_is_first() -> None:
    before = document(("same", 50), ("longer", 100), ("gone", 40), ("shorter", 3000))
    now = document(("same", 50), ("longer", 900), ("new", 60), ("shorter", 1))
    compared = section_changes(now, before)
    assert [(c.begin, c.longer, c.n, c.against_n) for c in compared.changes] == [
        (["shorter"], -2999, 1, 1),
        (["longer"], 800, 1, 1),
        (["new"], 60, 1, 0),
        (["gone"], -40, 0, 1),
    ]
    assert compared.sentence == (
        "Longer by most, with interrupts masked: 900 instructions, from 100, longer (of what ran)"
    )


def test_suffixes_of_the_compiler_make_no_difference() -> None:
    before = document(("walk.constprop.0", 10), ("walk.isra.0", 30))
    assert section_changes(document(("walk", 30)), before).changes == []


def test_nothing_became_longer() -> None:
    compared = section_changes(document(("f", 9)), document(("f", 10)))
    assert compared.sentence == "No section became longer (of what ran)"
    (change,) = compared.changes
    assert change.longer == -1


def test_what_is_new_was_not_seen_before() -> None:
    compared = section_changes(document(("f", 9), ("g", 8)), document(("f", 9)))
    assert ": 8 instructions, none was seen before, g" in compared.sentence
