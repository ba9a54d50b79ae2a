"""The script that lays out all publications."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from rtstone.stats.published import layout
from rtstone.targets import model as simulated

SCRIPT = Path(__file__).parent.parent.parent / "docs" / "reproduce-all.sh"


def test_it_has_every_publication_with_all_models_made_after_it() -> None:
    lines = re.findall(r"^reproduce (.+)$", SCRIPT.read_text(), re.M)
    named = {line.split()[0]: set(line.split()[1:]) for line in lines}
    assert set(named) == set(layout.names())
    models = {name: simulated.find(name).source for name in simulated.shipped()}
    for source, publication in named.items():
        author = {"sjoblom": "Sjöblom"}.get(source, source.capitalize())
        assert publication == {
            name for name, model_runs in models.items() if model_runs.startswith(author)
        }


TARGETS = ("local", "qemu:linux-6.1", "qemu:linux-6.1-rt", "qemu:freertos-a64")


def test_what_it_runs(tmp_path: Path) -> None:
    """Models with their suite's time, each run once; a page for each; the last bad exit status."""
    fake = tmp_path / "rtstone"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n[ "$2" != gutsalov ] || exit 3\n')
    fake.chmod(0o755)
    pages = tmp_path / "my pages"
    directory = pages / "runs" / "dankwardt-local"  # of an earlier time
    directory.mkdir(parents=True)
    done = subprocess.run(
        [SCRIPT, pages, "2"], env={"PATH": "/usr/bin:/bin", "RTSTONE": str(fake)}, check=False
    )
    lines = (tmp_path / "told").read_text().splitlines()
    assert done.returncode == 3
    runs = [f"{pages}/runs/sjoblom-{target}" for target in ("sim:ose-like", *TARGETS)]
    assert lines[:6] == [
        f"run sjoblom --target sim:ose-like --out {runs[0]}",
        *(
            f"run sjoblom --target {target} --out {run} --time 2"
            for target, run in zip(TARGETS, runs[1:], strict=True)
        ),
        f"reproduce sjoblom {' '.join(runs)} -o {pages}/sjoblom.html",
    ]
    assert lines[-1].startswith(f"reproduce dankwardt {directory} ")
    assert len(lines) == 5 + 12 + 5 * len(TARGETS) - 1
