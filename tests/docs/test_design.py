"""docs/studies/design.md names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "studies" / "design.md").read_text("utf-8")


def test_each_path_exists() -> None:
    paths = re.findall(r"`((?:agent|rtstone|tests|docs)/[\w./-]*)`", TEXT)
    assert len(paths) > 30
    assert [path for path in paths if not (ROOT / path).exists()] == []
