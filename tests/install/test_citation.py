"""How to cite the project, and how to report a vulnerability: what sites look for at the root."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from rtstone import __version__

ROOT = Path(__file__).parents[2]


def plain(text: str) -> str:
    """Without what published.json writes in ASCII."""
    text = text.replace("ü", "ue").lower()
    return unicodedata.normalize("NFD", text).encode("ascii", "ignore").decode()


@pytest.fixture(scope="module")
def citation() -> dict[str, object]:
    document: dict[str, object] = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    return document


def test_the_citation_is_of_this_version(citation: dict[str, object]) -> None:
    assert citation["version"] == __version__
    releases = re.findall(r"(?m)^## (\d.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"))
    assert releases[0] == f"{__version__}, {citation['date-released']}"
    assert citation["license"] == "MIT"
    holder = re.search(r"(?m)^Copyright \(c\) \d+ (.*)$", (ROOT / "LICENSE").read_text())
    assert holder
    assert citation["authors"] == [{"name": holder[1]}]


def test_its_references_are_the_five_publications_as_they_are_recorded(
    citation: dict[str, object],
) -> None:
    recorded = json.loads(
        (ROOT / "rtstone" / "stats" / "published" / "published.json").read_text("utf-8")
    )
    references = citation["references"]
    assert isinstance(references, list)
    assert len(references) == len(recorded["sources"]) == 5
    for reference, (name, source) in zip(references, recorded["sources"].items(), strict=True):
        (author,) = reference["authors"]
        assert plain(author["family-names"]) == name
        text = plain(source["text"])
        place = reference.get("journal") or reference.get("institution", {}).get("name", "")
        details = [reference["title"].replace(",", ""), place, str(reference.get("number", ""))]
        for detail in [author["given-names"], *details, str(reference.get("year", ""))]:
            assert plain(detail) in text, (name, detail)


def test_the_policy_names_files_that_exist() -> None:
    policy = (ROOT / "SECURITY.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)", policy)
    assert {"packaging/debian/control", "docs/guides/security.md", "docs/guides/server.md"} <= set(
        links
    )
    for name in [*links, *re.findall(r"`(packaging/[^`]+)`", policy)]:
        assert (ROOT / name).is_file(), name
    assert "@" not in policy  # an address has one place
