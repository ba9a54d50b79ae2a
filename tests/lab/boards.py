"""Which tests can boot what they need on this machine."""

from __future__ import annotations

import pytest

from rtstone.lab import ready, systems


def needs(name: str) -> pytest.MarkDecorator:
    """Return the mark of a test that boots a system of the lab: it is skipped where that lacks."""
    lacking = ready.missing(systems.find(name))
    reason = f"no {lacking[0].component}: {lacking[0].command}" if lacking else ""
    return pytest.mark.skipif(bool(lacking), reason=reason)
