"""What packages of rtstone hold besides it, and of which time they are (deb.py, sbom.py)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements" / "run.lock"


def needed(python: str | None = None, name: str = "rtstone") -> dict[str, metadata.Distribution]:
    """Return what a distribution needs at run time, all the way down, without itself.

    ``python``: the version of Python that it is for, None: this one.
    """
    markers = {"extra": ""}
    if python:
        markers |= {"python_version": python, "python_full_version": f"{python}.0"}
    packages: dict[str, metadata.Distribution] = {}
    waiting = [name]
    while waiting:
        for text in metadata.requires(waiting.pop()) or []:
            need = Requirement(text)
            key = canonicalize_name(need.name)
            if key not in packages and (not need.marker or need.marker.evaluate(markers)):
                packages[key] = metadata.distribution(key)
                waiting.append(key)
    return dict(sorted(packages.items()))


def pinned(names: set[str]) -> str:
    """Return the part of the lock file that pins these packages."""
    entries = re.split(r"(?m)^(?=\S)", LOCK.read_text())
    pins = [entry for entry in entries if canonicalize_name(entry.partition("==")[0]) in names]
    assert len(pins) == len(names), names
    return "".join(pins)


def moment() -> datetime:
    """Return the time of the last change, of which packages built from it are."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not epoch and shutil.which("git"):
        log = ["git", "log", "-1", "--format=%ct"]
        epoch = subprocess.run(log, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    return datetime.fromtimestamp(int(epoch), UTC) if epoch.strip() else datetime.now(UTC)
