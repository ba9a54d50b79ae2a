"""References: of rtstone, and of what a run used; what they say is what the sources say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]
from msgspec import structs

from rtstone import __version__
from rtstone.cli import cite
from rtstone.cli.cite import entries, used_by
from rtstone.documents.run import Result
from rtstone.wire.records import Bench
from tests.cli.test_compare import store_run
from tests.conftest import Cli
from tests.formats.long import DATA, run_of
from tests.report.synthetic import run

ROOT = Path(__file__).parents[2]


def fields(entry: str) -> dict[str, str]:
    return dict(re.findall(r"(?ms)^  (\w+) = (?:\{(.*?)\}|\w+),$", entry))


def keys(text: str) -> list[str]:
    return re.findall(r"(?m)^@\w+\{(\w+),", text)


def plain(text: str) -> str:
    return text.replace(r'{\"o}', "ö").replace(r'{\"u}', "ü").replace("--", "-").translate(
        str.maketrans("", "", "{}")
    )  # fmt: skip


def test_every_entry_is_one_of_bibtex() -> None:
    text = (ROOT / "rtstone" / "references.bib").read_text("utf-8")
    assert "\n".join(entries().values()) == text
    assert len(entries()) == len(keys(text)) > 20
    for key, entry in entries().items():
        assert entry.count("{") == entry.count("}"), key
        assert entry.isascii(), key
        assert {"author", "title"} <= fields(entry).keys(), key
        assert {"year", "note"} & fields(entry).keys(), key
        year = fields(entry).get("year")
        assert year is None or key == "rtstone" or key.endswith(year)


def test_the_documentation_has_the_same() -> None:
    """`make docs` copies it."""
    copies = [ROOT / "rtstone" / "references.bib", ROOT / "docs" / "reference" / "references.bib"]
    assert len({path.read_text("utf-8") for path in copies}) == 1


def test_it_agrees_with_the_citation_file() -> None:
    """CITATION.cff is compared with published.json by tests/install/test_citation.py."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    own = fields(entries()["rtstone"])
    assert own["howpublished"] == f"Computer program, version {__version__}"
    assert own["year"] == citation["date-released"][:4]
    assert plain(own["author"]) == citation["authors"][0]["name"]
    for reference in citation["references"]:
        (author,) = reference["authors"]
        name = f"{author['family-names']}, {author['given-names']}"
        (entry,) = [e for e in map(fields, entries().values()) if plain(e["author"]) == name]
        assert plain(entry["title"]) == reference["title"]
        place = entry.get("journal") or entry.get("institution") or entry.get("howpublished", "")
        expected = reference.get("journal") or reference.get("institution", {}).get("name", "")
        assert (place, entry.get("number")) == (expected, reference.get("number"))
        assert entry.get("year") == (str(reference["year"]) if "year" in reference else None)


def test_the_methods_are_those_that_the_sources_name() -> None:
    """Each family name of a method's authors is in the documentation or a source."""
    texts = [
        path.read_text("utf-8")
        for place in ("docs", "rtstone")
        for path in (ROOT / place).rglob("*")
        if path.suffix in {".md", ".py"}
    ]
    publications = {key for keys in cite._SOURCES.values() for key in keys}
    for key in entries().keys() - publications - {"rtstone", "patton2009"}:
        first = fields(entries()[key])["author"].partition(",")[0]
        year = fields(entries()[key])["year"]
        assert any(first in text and year in text for text in texts), key


def bench(name: str, source: str) -> Bench:
    return structs.replace(Bench(name, name), source=source)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Obenland, figure 7", {"obenland2001"}),
        ("Golatowski, Rhealstone; Kar 1990", {"golatowski1995", "kar1989", "kar1990"}),
        ("Golatowski, Hartstone", {"golatowski1995", "weiderman1989", "weiderman1992"}),
        ("Sjöblom, chapter 1; Obenland", {"sjoblom2008", "obenland2001"}),
        ("", set()),
    ],
)
def test_a_run_used_the_publications_of_its_benches(source: str, expected: set[str]) -> None:
    result = Result(case=1, bench="a", params={}, load="none", status="ok", n=3)
    other = Result(case=2, bench="b", params={}, load="none", status="unsupported")
    tables = [bench("a", source), bench("b", "Dankwardt, part 1")]
    measured = structs.replace(run(), results=[result, other], benches=tables)
    assert set(used_by(measured)) == expected
    result = structs.replace(result, ci95={"mean": (1.0, 2.0), "p99": None})
    measured = structs.replace(measured, results=[result])
    assert set(used_by(measured)) == expected | {"politis2004", "patton2009"}
    result = structs.replace(result, ci95={"p50": (1.0, 2.0)})
    measured = structs.replace(measured, results=[result])
    assert "korn1998" in set(used_by(measured))


def test_all_that_a_run_may_use_has_an_entry() -> None:
    used = {key for keys in cite._SOURCES.values() for key in keys}
    assert {*used, *cite._INTERVALS, *cite._PERCENTILES} <= entries().keys()


def test_the_command(cli: Cli, tmp_path: Path) -> None:
    assert keys(cli("cite").out) == ["rtstone"]
    name = store_run(run_of((DATA / "cyclictest-2.4-h.txt").read_bytes()))
    assert keys(cli("cite", name).out)[0] == "rtstone"
    file = tmp_path / "a.bib"
    done = cli("cite", "-o", file)
    assert (done.status, done.out, file.read_text()) == (
        0, f"{file}: {len(entries()['rtstone'])} B\n", entries()["rtstone"],
    )  # fmt: skip
