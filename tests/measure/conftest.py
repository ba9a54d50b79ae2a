"""Shared by the tests of runs."""

from __future__ import annotations

from typing import Any

import pytest

from rtstone import plugins
from tests.conftest import Fake
from tests.measure.box import Box


@pytest.fixture
def boxes(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """Return how boxes are to be, by name; they are targets ``box:NAME``."""
    documents: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(Box, "MADE", documents)
    monkeypatch.setattr(Box, "affinities", {})
    monkeypatch.setattr(plugins, "find", lambda group, name, kind: Box if name == "box" else None)
    return documents
