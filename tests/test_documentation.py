"""A message names a page of the documentation where the person has it, or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rtstone import documentation, resources
from rtstone.cli import manpages
from tests.conftest import Cli
from tests.docs.commands import ROOT

MENTION = re.compile(r"docs/[\w/-]+\.md")
TEXTS = {
    "times of its model (docs/guides/sim.md)": "times of its model ({}/guides/sim.md)",
    "one CPU (docs/guides/lab.md, One CPU); no": "one CPU ({}/guides/lab.md, One CPU); no",
    "not read; see docs/guides/formats.md": "not read; see {}/guides/formats.md",
    "docs/reference/glossary.md#missed": "{}/reference/glossary.md#missed",
    "a (docs/guides/sim.md), b (docs/guides/ci.md)": "a ({}/guides/sim.md), b ({}/guides/ci.md)",
    "no page": "no page",
}


@pytest.fixture
def wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make it an installation without documentation, and return where a package has it."""
    monkeypatch.setattr(resources, "path", lambda *names: tmp_path.joinpath("lib/rtstone", *names))
    packaged = tmp_path / "doc"
    monkeypatch.setattr(documentation, "PACKAGED", packaged)
    return packaged


def test_a_checkout_has_its_pages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    for text in TEXTS:
        assert documentation.located(text) == text
    monkeypatch.chdir(tmp_path)
    for text, elsewhere in TEXTS.items():
        assert documentation.located(text) == elsewhere.replace("{}", str(ROOT / "docs"))


def test_a_package_has_them_where_it_puts_them(wheel: Path) -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        copy = wheel / page.relative_to(ROOT / "docs")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.touch()
    for text, elsewhere in TEXTS.items():
        assert documentation.located(text) == elsewhere.replace("{}", str(wheel))


@pytest.mark.usefixtures("wheel")
def test_a_wheel_names_none() -> None:
    texts = [documentation.located(text) for text in TEXTS]
    assert texts == ["times of its model", "one CPU; no", "not read", "", "a, b", "no page"]


@pytest.mark.usefixtures("wheel")
def test_commands_of_a_wheel_name_none(cli: Cli) -> None:
    assert cli("list", "missed").out.count("\n") == 1
    assert "describes the campaign, and its name" in re.sub(r"\s+", " ", cli("campaign").says)
    assert "server.toml in the store." in re.sub(r"\s+", " ", cli("serve", "--help").out)


def test_manual_pages_name_those_of_the_package() -> None:
    pages = "".join(manpages.pages("2026-01-01").values()).replace("\\-", "-")
    named = set(re.findall(r"/usr/share/doc/rtstone/([\w/-]+\.md)", pages))
    assert {"guides/campaigns.md", "guides/server.md"} <= named
    assert all((ROOT / "docs" / page).is_file() for page in named)
    assert not MENTION.search(pages.replace("/usr/share/doc/rtstone/", ""))


def test_every_page_that_a_message_names_exists() -> None:
    for path in (ROOT / "rtstone").rglob("*.py"):
        for page in MENTION.findall(path.read_text("utf-8")):
            assert (ROOT / page).is_file(), (path, page)
