"""Where a page is written, and the errors of `rtstone report` if that fails."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from rtstone.cli.group import COMMANDS, group
from rtstone.cli.output import OutputFile
from rtstone.report import page
from rtstone.report.parts import frame, output
from rtstone.report.parts.output import require_writable, write
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


def test_a_pipe_that_nobody_reads_is_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output, "READER_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="it is a pipe that nobody reads"):
        write("page", tmp_path / "pipe")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes a file of another user")
def test_a_pipe_of_another_user_is_not_written_into(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its reader could leave it full, and so keep the writer."""
    monkeypatch.setattr(output, "is_given", lambda _: False)  # this process is the reader, too
    os.mkfifo(tmp_path / "pipe")
    os.chown(tmp_path / "pipe", 12345, 12345)
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(PermissionError, match="a pipe of another user"):
        write("page", tmp_path / "pipe")
    os.close(reader)


@pytest.mark.parametrize("existing", [True, False])
def test_a_link_is_followed(tmp_path: Path, existing: bool) -> None:
    target, link = tmp_path / "there" / "page.html", tmp_path / "link.html"
    target.parent.mkdir()
    if existing:
        target.write_text("old")
    link.symlink_to(target)
    write("page", link)
    assert link.is_symlink()
    assert target.read_text() == "page"
    assert not target.is_symlink()


@pytest.fixture
def somebodys(tmp_path: Path) -> Path:
    """Return a directory in which another user may plant what he likes."""
    if os.geteuid() != 0:
        pytest.skip("only root can make another user's links")
    place = tmp_path / "somebodys"
    place.mkdir(mode=0o777)
    return place


def planted(link: Path, target: Path, user: int = 1234) -> Path:
    link.symlink_to(target)
    os.chown(link, user, user, follow_symlinks=False)
    return link


def test_a_link_of_another_user_is_not_followed(somebodys: Path, tmp_path: Path) -> None:
    """He would choose which of this user's files is lost; also by a link in the way, or by two."""
    precious = tmp_path / "precious"
    precious.write_text("kept")
    direct = planted(somebodys / "page.html", precious)
    way = planted(somebodys / "folder", tmp_path)
    twice = planted(somebodys / "twice.html", direct, user=0)
    for path, name in [(direct, "page"), (way / "precious", "folder"), (twice, "page")]:
        with pytest.raises(PermissionError, match=rf"{name}.* another user \(uid 1234\)"):
            write("page", path)
    with pytest.raises(PermissionError):
        write("page", planted(somebodys / "new.html", tmp_path / "new"))
    assert precious.read_text() == "kept"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["precious", "somebodys"]
    assert len(list(somebodys.iterdir())) == 4


def test_a_link_of_another_user_to_a_device_is_not_followed(somebodys: Path) -> None:
    with pytest.raises(PermissionError):
        write("page", planted(somebodys / "page.html", Path("/dev/null")))


def test_a_link_of_root_is_followed(
    somebodys: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As /dev/stdout is, or /home where it leads elsewhere."""
    link = planted(somebodys / "page.html", tmp_path / "page.html", user=0)
    monkeypatch.setattr(os, "geteuid", lambda: 1234)
    write("page", link)
    assert (tmp_path / "page.html").read_text() == "page"


def test_a_file_of_another_user_does_not_give_its_mode(somebodys: Path) -> None:
    path = somebodys / "page.html"
    path.touch()
    os.chown(path, 1234, 1234)
    path.chmod(0o4777)
    write("page", path)
    assert not path.stat().st_mode & (stat.S_ISUID | 0o111)
    assert path.stat().st_uid == 0


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
@pytest.mark.parametrize("into", ["pipe", "file"])
def test_standard_output_has_a_name(tmp_path: Path, name: str, into: str) -> None:
    code = f"""
from pathlib import Path
from rtstone.report.parts.output import write
write("page", Path({name!r}))
"""
    copy = tmp_path / "kept"
    with copy.open("wb") as file:
        to = file.fileno() if into == "file" else subprocess.PIPE
        done = subprocess.run([sys.executable, "-c", code], stdout=to, check=True, timeout=60)
    assert (done.stdout or copy.read_bytes()) == b"page"


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
    monkeypatch.setattr(page, "compose", lambda *_, **__: "page")
    monkeypatch.setattr(frame, "bundle", lambda: "")
    done = cli("report", "last", "-o", place)
    assert done.status == 2
    assert (f"cannot write {place}, in -o: " if place else "empty file name, in -o") in done.says
    assert list(room.iterdir()) == []


def test_a_pipe_gets_the_page_and_nothing_else(
    fake: Fake, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli("run", "null")
    monkeypatch.setattr(page, "compose", lambda *_, **__: "page")
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


def options() -> Iterator[tuple[str, click.Option]]:
    """Yield each option that names a file to write, with the words of its command."""
    for name in COMMANDS:
        command = group.get_command(click.Context(group), name)
        for words, part in [(name, command), *(
            (f"{name} {sub}", inner) for sub, inner in getattr(command, "commands", {}).items()
        )]:  # fmt: skip
            for option in part.params:
                if {"-o", "--junit", "--markdown", "--write-budget"} & set(option.opts):
                    assert isinstance(option, click.Option)
                    yield words, option


# What a command needs besides; none of it is there.
NEEDS = {
    "report": ["no-such-run"], "export": ["no-such-run", "--format", "csv"],
    "explain": ["no-such-run"], "guarantee": ["no-such-run"], "plot": ["no-such-run"],
    "check": ["no-such-run"], "trend": ["no.such"], "reproduce": ["no-such-source"],
    "campaign report": ["no-such.toml"], "agent": ["--arch", "none"],
}  # fmt: skip
WRITTEN = [(words, option.opts[0]) for words, option in options()]


@pytest.mark.parametrize("written", WRITTEN, ids=" ".join)
@pytest.mark.parametrize("place", ["no/page.html", "", "folder.html", "link/page.html"])
def test_a_file_that_cannot_be_written_is_refused_before_the_work(
    cli: Cli, somebodys: Path, monkeypatch: pytest.MonkeyPatch, written: tuple[str, str], place: str
) -> None:
    """Else an answer would be lost that took minutes."""
    words, option = written
    monkeypatch.chdir(somebodys)
    place = place.replace("html", "svg") if words == "plot" else place
    (somebodys / "folder.html").mkdir()
    (somebodys / "folder.svg").mkdir()
    planted(somebodys / "link", somebodys)
    done = cli(*words.split(), *NEEDS.get(words, []), option, place)
    assert done.status == 2
    assert f", in {option}" in done.says


def test_nor_one_in_a_directory_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries: list[dict[str, Any]] = []

    def access(*_: object, **options: Any) -> bool:
        queries.append(options)
        return False

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(PermissionError):
        require_writable(tmp_path / "page.html")
    assert queries == [{"effective_ids": True}]
    require_writable(Path("/dev/null"))  # whose directory nobody but root may write


def test_every_file_of_an_option_is_asked_for_in_the_same_way() -> None:
    assert len(WRITTEN) >= 13
    assert {type(option.type) for _, option in options()} == {OutputFile}
