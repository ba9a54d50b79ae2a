"""Sections in the directories of their runs."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from rtstone.documents.sections import Bound, Term
from rtstone.errors import StoreError
from rtstone.store import sections as store
from rtstone.store.layout import runs
from rtstone.store.removal import remove
from rtstone.store.sections import keep, stored
from tests.cli.test_compare import store_run
from tests.report.explained import explained_run
from tests.stats.test_section_gate import DOCUMENT

RUN = explained_run()
BOUND = Bound(
    longest=9, sentence="", terms=[Term(part="blocked", longest=9, n=1, added=True, at=-4)]
)
SECTIONS = structs.replace(DOCUMENT, run_id=RUN.run_id, case=1, bound=BOUND)
NAME = "sections-1.json"


@pytest.fixture
def place() -> Path:
    return runs() / store_run(RUN)


def test_they_are_read_as_kept_by_case_and_series(place: Path) -> None:
    assert stored(place, RUN.run_id) == ([], [])
    keep(place, structs.replace(SECTIONS, sentence="before"))
    further = [structs.replace(SECTIONS, series="../x"), structs.replace(SECTIONS, case=2)]
    for each in (SECTIONS, *further):
        keep(place, each)
    assert (place / NAME).exists()
    sections, damaged = stored(place, RUN.run_id)
    assert damaged == []
    assert len(sections) == 3
    assert all(each in sections for each in (SECTIONS, *further))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"run_id": "another"}, "of another run, another"),
        ({"schema": "rtstone.sections/2"}, "not of schema rtstone.sections/1"),
        ({"bound": structs.replace(BOUND, longest=8)}, "not the sum of its parts"),
    ],
)
def test_a_damaged_one_spoils_only_itself(
    place: Path, changes: dict[str, object], why: str
) -> None:
    keep(place, structs.replace(SECTIONS, case=2))
    (place / NAME).write_bytes(msgspec.json.encode(structs.replace(SECTIONS, **changes)))
    (sections, (reason,)) = stored(place, RUN.run_id)
    assert [each.case for each in sections] == [2]
    assert f"not a readable {NAME}, {place}: {why}" in reason


def test_links_and_pipes_are_not_followed(place: Path) -> None:
    keep(place, SECTIONS)
    (place / NAME).rename(place.parent / "elsewhere")
    (place / NAME).symlink_to(place.parent / "elsewhere")
    os.mkfifo(place / "sections-2.json")
    sections, damaged = stored(place, RUN.run_id)
    assert (sections, len(damaged)) == ([], 2)


def test_what_is_too_large_is_not_kept(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LARGEST", 100)
    with pytest.raises(StoreError, match="the sections cannot be stored"):
        keep(place, SECTIONS)
    assert not (place / NAME).exists()


def test_they_are_removed_with_the_run(place: Path) -> None:
    keep(place, SECTIONS)
    remove(place)
    assert not place.exists()
