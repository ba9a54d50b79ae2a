"""Limits of sections, of documents that are written here."""

from __future__ import annotations

import pytest
from msgspec import structs

from rtstone.documents.check import Gate
from rtstone.documents.sections import Bound, Section, Sections, SectionsOfRun
from rtstone.errors import UsageError
from rtstone.stats.section_gate import (
    SectionLimit,
    check_limits,
    limits_of,
    section_checks,
    with_sections,
)
from tests.stats.test_gate import FLAT, result, run

MASKED = Sections(
    kind="irqs-masked", n=3, total=600, longest=300,
    sections=[Section(begin=["f"], end=["g"], n=3, total=600, longest=300, at=7)],
)  # fmt: skip
DOCUMENT = SectionsOfRun(
    run_id="run", target="qemu:linux", case=1, bench="dk.periodic", params={}, load="none",
    sentence="", instructions=1000, max=9.0, interrupts=4, kinds=[MASKED],
)  # fmt: skip
GATE = Gate(
    run_id="run", target="qemu:linux", created="", budget="", title="", policy="inconclusive",
    verdict="passed", checks=[],
)  # fmt: skip


def test_limits_of_sections_are_told_from_others() -> None:
    texts = ["sections preempt-off<=3000", "dk.periodic p999<=1k instr", "sections critical <= 9"]
    limits, rest = limits_of(texts, "--limit ")
    assert limits == [SectionLimit("preempt-off", 3000), SectionLimit("critical", 9)]
    assert rest == ["dk.periodic p999<=1k instr"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sections", "no limit, in --limit 'sections'"),
        ("sections critical>=3", "write one such as"),
        ("sections critical<=3us", "in instructions"),
        ("sections irq-masked<=3", "did you mean 'irqs-masked'?"),
    ],
)
def test_a_bad_limit_is_refused(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        limits_of([text], "--limit ")
    assert says in str(error.value)


@pytest.mark.parametrize(("allowed", "verdict"), [(300, "passed"), (299, "failed")])
def test_the_longest_may_be_as_long_as_the_limit(allowed: int, verdict: str) -> None:
    limit = SectionLimit("irqs-masked", allowed)
    (check,) = section_checks(DOCUMENT, [limit])
    assert (check.verdict, check.observed, check.n) == (verdict, 300, 3)
    assert with_sections(GATE, DOCUMENT, [limit]).verdict == verdict


def test_a_limit_of_the_bound() -> None:
    bound = Bound(longest=900, sentence="", terms=[], seen=800, sample=3, switched=40)
    document = structs.replace(DOCUMENT, bound=bound)
    (limit,), _ = limits_of(["sections bound<=900"], "--limit ")
    (check,) = section_checks(document, [limit])
    assert (check.verdict, check.observed, check.n) == ("passed", 900, 40)
    (check,) = section_checks(document, [limit._replace(allowed=899)])
    assert check.verdict == "failed"
    (check,) = section_checks(structs.replace(DOCUMENT, no_bound="why"), [limit])
    assert (check.verdict, check.reason) == ("not measured", "there is no bound: why")
    wrong = structs.replace(document, bound=structs.replace(bound, above=1))
    (check,) = section_checks(wrong, [limit])
    assert check.reason == "1 wake-up took longer until the first switch than the bound: a defect"


def test_what_was_not_seen_does_not_pass() -> None:
    (check,) = section_checks(DOCUMENT, [SectionLimit("preempt-off", 10**9)])
    assert check.verdict == "not measured"
    assert check.reason == "qemu:linux has no such sections; it has irqs-masked"
    doubtful = structs.replace(DOCUMENT, while_masked=1)
    limit = SectionLimit("irqs-masked", 10**9)
    (check,) = section_checks(doubtful, [limit])
    assert check.verdict == "not measured"
    assert with_sections(GATE, doubtful, [limit]).exit_code == 3


def test_limits_of_sections_are_left_for_the_sections_of_the_run() -> None:
    texts = ["b p50<=1s", "sections critical<=9"]
    measured = run(result(FLAT, bench="b"))
    gate, of_sections = check_limits(measured, texts, [], "--limit ")
    assert (gate.title, gate.verdict, len(gate.checks)) == (", ".join(texts), "passed", 1)
    assert of_sections == [SectionLimit("critical", 9)]
    gate, of_sections = check_limits(measured, texts[1:], [], "--limit ")
    assert (gate.title, gate.checks, len(of_sections)) == (texts[1], [], 1)
    with pytest.raises(UsageError, match="a limit of sections is no relative one"):
        check_limits(measured, texts[1:], [measured], "--limit ")
