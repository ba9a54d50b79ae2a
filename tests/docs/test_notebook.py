"""The code of the notebook's page, run from top to bottom as a reader would."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rtstone
from tests.docs.commands import ROOT

PAGE = ROOT / "docs" / "guides" / "notebook.md"
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = _BLOCK.findall(PAGE.read_text(encoding="utf-8"))
    assert len(blocks) >= 6
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)  # a page of this repository
    late, samples = names["late"], names["samples"]
    assert isinstance(late, rtstone.Measured) and late.n == len(samples) == 20_000
    assert names["counts"].tolist() == np.histogram(samples, names["edges"])[0].tolist()
    assert names["milliseconds"] == float(late.p999) / 1e6
    assert len(names["frame"]) == 1
    svg = Path("figure.svg").read_text(encoding="utf-8")
    (width,) = re.findall(r'<svg [^>]*?width="([0-9.]+)pt"', svg)
    assert float(width) == pytest.approx(84 / 25.4 * 72)
