"""What tests of packages share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

PACKAGING = Path(__file__).parents[2] / "packaging"


@pytest.fixture(scope="session")
def script() -> Iterator[None]:
    """Let scripts of packaging be imported, which are no part of a package."""
    sys.path.insert(0, str(PACKAGING))
    yield
    sys.path.remove(str(PACKAGING))


@pytest.fixture(scope="session")
def deb(script: None) -> ModuleType:
    return import_module("deb")


@pytest.fixture(scope="session")
def sbom(script: None) -> ModuleType:
    return import_module("sbom")
