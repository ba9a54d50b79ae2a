"""The licence of each file is machine-readable; `make lint-host` runs `reuse lint`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.install.programs import needs

ROOT = Path(__file__).parents[2]
REUSE = Path(sys.executable).with_name("reuse")
HOLDER = "The rtstone developers"


@pytest.fixture(scope="module")
def report() -> dict[str, list[dict[str, list[dict[str, str]]]]]:
    done = subprocess.run(
        [REUSE, "lint", "--json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[:2000]
    document: dict[str, list[dict[str, list[dict[str, str]]]]] = json.loads(done.stdout)
    return document


@needs("git")  # says which files are the project's
def test_each_file_has_one_licence_and_the_holder_of_the_project(
    report: dict[str, list[dict[str, list[dict[str, str]]]]],
) -> None:
    assert len(report["files"]) > 1000
    rights = {
        (tuple(expression["value"] for expression in file["spdx_expressions"]),
         tuple(notice["value"] for notice in file["copyrights"]))
        for file in report["files"]
    }  # fmt: skip
    assert rights == {(("MIT",), (f"SPDX-FileCopyrightText: 2026 {HOLDER}",))}


def test_the_licence_is_the_one_of_the_project() -> None:
    licence = (ROOT / "LICENSE").read_text()
    assert (ROOT / "LICENSES" / "MIT.txt").read_text() == licence
    assert f"2026 {HOLDER}" in licence
    assert 'license = "MIT"' in (ROOT / "pyproject.toml").read_text()


def test_lint_checks_it() -> None:
    plan = subprocess.run(
        ["make", "--dry-run", "lint-host"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert "reuse lint" in plan
    assert "lint-host" in (ROOT / ".ci" / "run").read_text()
