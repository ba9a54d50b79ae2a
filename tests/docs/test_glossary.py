"""The glossary explains every word that a report prints beside numbers; its links lead there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from rtstone.cli.run_filter import STATUSES
from rtstone.documents import check
from rtstone.documents import comparison as comparing
from rtstone.documents.run import Status
from rtstone.report.parts import glossary
from rtstone.report.parts.words import LOAD_COLUMNS, OBSERVED
from rtstone.report.run.html import template_values
from rtstone.results.flags import FLAGS
from rtstone.summary import LABELS
from tests.conftest import Cli
from tests.docs.commands import ROOT

DOCS = ROOT / "docs"
OTHER = {"bench", "parameters", "n", "load", "missed", "flags", "corrected", "single calls"}


def anchors(page: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    text = (DOCS / page).read_text("utf-8")
    return {glossary.anchor(head) for head in re.findall(r"(?m)^#+ (.+)$", text)}


def test_every_flag_status_verdict_and_head_has_an_entry() -> None:
    words = {flag.name for flag in FLAGS} | {*get_args(Status)} | {*STATUSES}
    words |= {*check.SIGNS, *get_args(comparing.Verdict)} | {*LABELS.values(), *LOAD_COLUMNS}
    words |= {OBSERVED, *OTHER, *template_values()["columns"]}
    assert words - glossary.TERMS.keys() == set()


def test_the_page_is_that_of_the_table() -> None:
    assert (ROOT / glossary.PAGE).read_text("utf-8") == glossary.page(), "stale; run: make docs"


def test_every_word_has_one_heading() -> None:
    heads = re.findall(r"(?m)^### (.+)$", glossary.page())
    assert len(set(map(glossary.anchor, heads))) == len(heads)
    assert set(heads) == glossary.TERMS.keys()
    missed = glossary.TERMS["missed"].text
    assert "never took place" in missed
    assert "As a flag: Activations never happened" in missed


def test_every_link_has_an_anchor() -> None:
    for word, term in glossary.TERMS.items():
        page, _, place = term.page.partition("#")
        if page:
            assert (DOCS / page).exists(), word
            assert not place or place in anchors(page), (word, term.page)
    own = anchors("reference/glossary.md")
    for path in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for place in re.findall(r"glossary\.md#([\w-]+)\)", path.read_text("utf-8")):
            assert place in own, (path.name, place)


@pytest.mark.parametrize("word", ["no_rt", "corrected", "p99.9", "beyond doubt"])
def test_a_word_is_explained_on_the_terminal(word: str, cli: Cli) -> None:
    first, place = cli("list", word).out.splitlines()
    assert first == f"{word}: {glossary.TERMS[word].text}"
    assert place.endswith(f"docs/reference/glossary.md#{glossary.anchor(word)}")
    assert Path(place.partition("#")[0]).is_file()
    assert "is text" in cli("list", word, "--json").says


def test_a_plural_is_its_word(cli: Cli) -> None:
    assert cli("list", "stalls").out == cli("list", "stall").out
    assert glossary.term("flags") == ("flags", glossary.TERMS["flags"])
    assert glossary.term("dropout") and not glossary.term("xs")


def words_of(text: str) -> set[str]:
    """Return the words that a page uses, each of which it has to explain, once."""
    links = set(re.findall(r'href="#word-([\w-]+)"', text))
    entries = re.findall(r'id="word-([\w-]+)"', text)
    assert sorted(entries) == sorted(links)
    return links


def test_flags_statuses_and_heads_of_a_report_lead_to_its_words(cli: Cli, tmp_path: Path) -> None:
    words = ("run", "wakeup", "hw.latency", "posix.cond.signal.higher", "--target", "sim")
    assert cli(*words, "--time", "20ms").status == 0
    assert cli("report", "last", "-o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    links = words_of(page)
    for word in ("n", "time", "p99.9", "missed", "unsupported", "fit"):
        assert glossary.anchor(word) in links
    assert glossary.TERMS["time"].text in page


def test_verdicts_and_heads_of_a_comparison_lead_to_its_words(cli: Cli, tmp_path: Path) -> None:
    for model in ("default", "ideal"):
        words = ("run", "wakeup", "sem.post.higher", "--target", f"sim:{model}", "--time", "20ms")
        assert cli(*words, "--name", model).status == 0
    assert cli("report", "default", "ideal", "-o", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    comparison = page[: page.index('id="runs"')]
    links = set(re.findall(r'href="#word-([\w-]+)"', comparison))
    assert {"n", "p50", "max", "interval"} <= links <= words_of(page)
    assert links & {glossary.anchor(verdict) for verdict in get_args(comparing.Verdict)}


def test_a_flag_of_another_version_has_a_word_that_says_so() -> None:
    words = glossary.Words()
    assert words.meaning("new_flag").startswith("No explanation is known")
    assert list(words.used) == ["new_flag"]


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Fit for a period of 1 ms", "Fit"),
        ("Not fit as it was run", "Not fit"),
        ("No verdict: nothing was measured.", "No verdict:"),
        ("No verdict on 100 us: flagged", "No verdict"),
        ("Fitting", ""),
        ("100 us met", ""),
    ],
)
def test_a_sentence_may_begin_with_a_verdict(sentence: str, verdict: str) -> None:
    assert glossary.Words().verdict(sentence) == (verdict, sentence[len(verdict) :])
