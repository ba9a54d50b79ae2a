"""Which programs of the machine a test needs."""

from __future__ import annotations

import shutil

import pytest


def needs(*names: str) -> pytest.MarkDecorator:
    """Return the mark of a test that runs these programs: it is skipped where one is not there."""
    lacking = [name for name in names if not shutil.which(name)]
    return pytest.mark.skipif(bool(lacking), reason=f"needs {', '.join(lacking)}")
