"""The manual pages: complete, and without a warning of those who print them."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from rtstone.cli.group import COMMANDS, group
from rtstone.cli.manpages import main, pages


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return pages("2026-11-20")


def read(page: str) -> str:
    """A page as it is read, without its layout."""
    plain = re.sub(r"\\f[BR]", "", page).replace("\\-", "-").replace("\\(aq", "'")
    return " ".join(plain.split())


def test_every_command_has_a_page_with_all_its_options(texts: dict[str, str]) -> None:
    assert texts.keys() == {"rtstone.1", *(f"rtstone-{name}.1" for name in COMMANDS)}
    for name, summary in COMMANDS.items():
        page = read(texts[f"rtstone-{name}.1"])
        assert f"rtstone-{name} - {summary[:1].lower()}{summary[1:].rstrip('.')}" in page
        assert f"rtstone-{name}(1)" in read(texts["rtstone.1"])
        command = group.get_command(click.Context(group), name)
        assert command
        for part in [command, *getattr(command, "commands", {}).values()]:
            for option in part.params:
                if isinstance(option, click.Option) and part.callback and not option.hidden:
                    assert option.opts[0] in page
                    assert " ".join((option.help or "").replace("`", "").split()) in page


def test_what_roff_would_take_for_itself_is_text(texts: dict[str, str]) -> None:
    for page in texts.values():
        for line in page.splitlines():
            assert not line.startswith("'")
            if line.startswith("."):
                assert re.match(r"\.(\\\"|(TH|SH|B|BR|TP|PP|IP|br|nf|fi)\b)", line), line
    assert "./x" not in texts["rtstone.1"]


def test_printers_have_nothing_to_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lints = {
        "mandoc": ["mandoc", "-Tlint", "-W", "warning"],
        "man": ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"],
    }
    printers = [words for name, words in lints.items() if shutil.which(name)]
    if not printers:
        pytest.skip("neither mandoc nor man is installed")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    monkeypatch.setattr("sys.argv", ["manpages", str(tmp_path)])
    main()
    files = sorted(tmp_path.iterdir())
    assert len(files) == len(COMMANDS) + 1
    assert '"1970-01-01"' in files[0].read_text()
    for words in printers:
        done = subprocess.run([*words, *files], capture_output=True, text=True, check=False)
        said = done.stderr + (done.stdout if words[0] == "mandoc" else "")
        assert said == ""
