"""The script that measures all publications and makes their pages."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

from rtstone.campaign import matrix
from rtstone.stats.published import layout
from rtstone.targets import model as simulated

DOCS = Path(__file__).parent.parent.parent / "docs"
SCRIPT = DOCS / "reproduce-all.sh"
SUITES = {name: " ".join(layout.layout(name).suites) for name in layout.names()}
SYSTEMS = ["local", "qemu:linux-6.1", "qemu:linux-6.1-rt", "qemu:freertos-a64"]
XEN = "qemu:xen/freertos-a64+linux-6.1"
SLICED = "qemu:freertos-a64-rr"


def cells(campaign: str) -> set[tuple[str, str]]:
    """Return the targets of a campaign with the suites of each run there."""
    return {(c.target, c.measure) for c in matrix.read(DOCS / "publications" / campaign).cells()}


def test_each_model_is_measured_for_the_publication_that_it_was_made_after() -> None:
    authors = {name: {"sjoblom": "Sjöblom"}.get(name, name.capitalize()) for name in SUITES}
    models = {name: simulated.find(name).source for name in simulated.shipped()}
    wanted = {
        (f"sim:{model}", SUITES[name])
        for name, author in authors.items()
        for model, source in models.items()
        if source.startswith(author)
    }
    # A run of golatowski has both suites of that author, whichever of them his layout shows.
    both = {(target, suites.split()[0]) for target, suites in cells("models.toml")}
    assert both == {(target, suites.split()[0]) for target, suites in wanted}


def test_each_publication_is_measured_on_every_system() -> None:
    measured = cells("systems.toml")
    for target in (*SYSTEMS, XEN):
        shown = [suites for system, suites in measured if system == target]
        for suites in SUITES.values():
            assert any(set(suites.split()) <= set(words.split()) for words in shown)
    assert {suites for system, suites in measured if system == SLICED} == {"sjoblom", "gutsalov"}
    assert {suites for system, suites in measured if "screen" in system} == {"dankwardt"}


def test_it_measures_once_and_makes_the_pages(tmp_path: Path) -> None:
    """With one model in each campaign; a second time it finds everything measured."""
    pages = tmp_path / "my pages"
    pages.mkdir()
    (pages / "models.toml").write_text(
        'targets = ["sim:rtai-24.1.8"]\nmeasure = ["gutsalov"]\ntime = "0.05s"\n'
    )
    (pages / "systems.toml").write_text(
        'targets = ["sim"]\nmeasure = ["gutsalov"]\ntime = "0.05s"\n'
    )
    rtstone = tmp_path / "rtstone"
    rtstone.write_text(
        f'#!/bin/sh\necho "$*" >>{shlex.quote(str(tmp_path))}/commands\n'
        f'exec {Path(sys.executable).parent}/rtstone "$@"\n'
    )
    rtstone.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "RTSTONE": str(rtstone)}
    done = subprocess.run([SCRIPT, pages], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    index = (pages / "README.md").read_text()
    rows = [line for line in index.splitlines() if line.startswith("| ")]
    heads = [row for row in rows if row.startswith("| system")]
    assert len(heads) == 1
    assert index.count("Nothing of it has been measured.") == 4
    assert "[tables](gutsalov.md)" in index
    document = json.loads((pages / "gutsalov.json").read_text())
    assert [column["target"] for column in document["columns"]] == ["sim:rtai-24.1.8", "sim"]
    for column, row in enumerate(rows[-2:]):
        places = [
            cell["here"] for table in document["tables"] for item in table["items"]
            for system, cell in zip(table["systems"], item["cells"], strict=True)
            if system["column"] == column and cell["here"]
        ]  # fmt: skip
        number = sum(here["status"] == "ok" and bool(here["values"]) for here in places)
        counts = [int(words) for words in row.split("|")[2:6]]
        assert (counts[0], sum(counts)) == (number, len(places))
        assert number
    assert (pages / "gutsalov.md").read_text().startswith("# ")
    assert (pages / "gutsalov.html").exists()
    stored = sorted(path.name for path in (pages / "home" / "runs").iterdir())
    assert (
        subprocess.run([SCRIPT, pages], env=env, capture_output=True, check=False).returncode == 0
    )
    assert sorted(path.name for path in (pages / "home" / "runs").iterdir()) == stored
    commands = (tmp_path / "commands").read_text().splitlines()
    assert commands[: len(commands) // 2] == commands[len(commands) // 2 :]


def test_the_limit_of_every_case_is_that_of_the_command(tmp_path: Path) -> None:
    rtstone = tmp_path / "rtstone"
    rtstone.write_text('#!/bin/sh\n[ "$2" != status ] || echo \'{"cells": []}\'\nexit 0\n')
    rtstone.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin", "RTSTONE": str(rtstone)}
    subprocess.run([SCRIPT, tmp_path / "pages", "0.5"], env=env, check=True)
    assert matrix.read(tmp_path / "pages" / "systems.toml").time == "0.5s"
    assert matrix.read(tmp_path / "pages" / "models.toml").time is None
