"""Where a page is written, and the errors of `rtstone report` if that fails."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from rtstone.report import page
from rtstone.report.parts import frame
from rtstone.report.parts.output import write
from tests.conftest import Cli, Fake


def test_a_file_appears_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    assert write("äb", path) == 3

    def fail(_: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write("c", path)
    assert path.read_text(encoding="utf-8") == "äb"
    assert list(tmp_path.iterdir()) == [path]


def test_a_pipe_is_written_into_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    write("page", path)
    reader.join(5)
    assert read == [b"page"]
    assert stat.S_ISFIFO(path.lstat().st_mode)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_followed(tmp_path: Path, there: bool) -> None:
    target, link = tmp_path / "there" / "page.html", tmp_path / "link.html"
    target.parent.mkdir()
    if there:
        target.write_text("old")
    link.symlink_to(target)
    write("page", link)
    assert link.is_symlink()
    assert target.read_text() == "page"
    assert not target.is_symlink()


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    link = tmp_path / "link.html"
    link.symlink_to(link)
    with pytest.raises(OSError, match="symbolic links"):
        write("page", link)
    assert link.is_symlink()


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        write("page", tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o022, 0o644), (0o002, 0o664)])
def test_the_umask_is_obeyed(tmp_path: Path, umask: int, mode: int) -> None:
    path = tmp_path / "page.html"
    before = os.umask(umask)
    try:
        write("page", path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == mode
    path.chmod(0o640)
    write("again", path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_long_name(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".html")
    write("page", path)
    assert path.read_text() == "page"


@pytest.mark.parametrize("place", ["", ".", "no/page.html", "x" * 300])
def test_the_output_is_named_in_errors(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    cli("run", "null")
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.chdir(room)
    monkeypatch.setattr(page, "compose", lambda *_: "page")
    monkeypatch.setattr(frame, "bundle", lambda: "")
    done = cli("report", "last", "-o", place)
    assert done.status == 2
    assert (f"cannot write the report, {place}: " if place else "in -o") in done.says
    assert list(room.iterdir()) == []


def test_a_pipe_gets_the_page_and_nothing_else(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("run", "null")
    monkeypatch.setattr(page, "compose", lambda *_: "page")
    monkeypatch.setattr(frame, "bundle", lambda: "")
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = threading.Thread(target=path.read_bytes, daemon=True)
    reader.start()
    done = cli("report", "last", "-o", path)
    reader.join(5)
    assert done.status == 0
    assert done.out == ""


def test_charts_that_are_not_built_are_told_before_any_run_is_read(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frame, "BUNDLE", tmp_path / "charts.js")
    done = cli("report", "no-such-run", "-o", tmp_path / "page.html")
    assert done.status == 2
    assert "run: make charts" in done.says
