"""`make run` is the first thing that a newcomer does: it builds what it runs, and nothing else."""

from __future__ import annotations

import re
import subprocess

from tests.docs.commands import ROOT


def recipe_of(*goals: str) -> str:
    """What make would do."""
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", *goals], cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout


def test_run_builds_only_what_it_runs() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (line,) = re.findall(r'(?m)^.*"rtstone is set up".*$', makefile)
    assert line.partition("--jobs 4 ")[2] == "$(VENV)/run.stamp agent-only charts"
    builds = [line for line in recipe_of("agent-only").splitlines() if "cmake --build" in line]
    assert [line.partition("--target ")[2] for line in builds] == [
        "rtstone-agent --target rtstone-agent-sim"
    ]
