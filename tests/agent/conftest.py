"""Agents that live on for several tests of a module and end with it; a copy for other users."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent import rights, speak
from tests.agent.processes import gone
from tests.agent.test_loads import LoadAgent


@pytest.fixture(autouse=True, scope="module")
def _end_with_the_module() -> Iterator[None]:
    yield
    speak.end_living()


@pytest.fixture(autouse=True)
def _end_before_who_looks_for_others(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("sole") is not None:
        speak.end_living()


@pytest.fixture
def reachable() -> Iterator[Path]:
    """Yield a directory that any user can reach; pytest's own is for one user alone."""
    with tempfile.TemporaryDirectory(prefix="rtstone-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture
def copy(reachable: Path) -> Path:
    """Return a copy of the agent that any user may run."""
    return rights.copied(speak.AGENT, reachable)


@pytest.fixture
def agent() -> Iterator[LoadAgent]:
    """Return an agent for loads that may do what the machine allows; nothing of it is left."""
    load_agent = LoadAgent()
    yield load_agent
    if load_agent.poll() is None:
        assert gone(load_agent.bye())
