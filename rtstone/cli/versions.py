"""`rtstone --version`: what is installed, in a line or with all that a report of a defect needs."""

from __future__ import annotations

import platform
import re
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from rtstone import __version__, resources
from rtstone.printable import shown

_WIDTH = 80
_LABEL = 10


def brief() -> str:
    """Return name and version."""
    return f"rtstone {__version__}"


def full() -> str:
    """Return name and version, and what else this installation consists of."""
    from rtstone.simulate.engine import LIBRARY

    agents = {
        "local": resources.local_agent(), "sim": resources.BUILT / "rtstone-agent-sim",
        **{architecture.name: architecture.agent for architecture in resources.architectures()},
    }  # fmt: skip
    images = {image.stem: image for image in sorted(resources.BUILT.glob("*.elf"))}
    rows = {
        "commit": _commit(),
        "package": shown(str(resources.path())),
        "Python": f"{platform.python_version()}, {platform.python_implementation()}",
        "platform": platform.platform(),
        "agents": _states(agents),
        "images": _states(images),
        "engine": "present" if LIBRARY.is_file() else "missing",
        "optional": ", ".join(_optional()) or "none",
        "licence": "MIT; the file NOTICE names the works of others in it",
    }
    lines = [
        textwrap.fill(
            text, _WIDTH, initial_indent=f"{label:{_LABEL}} ", subsequent_indent=" " * (_LABEL + 1),
            break_on_hyphens=False,
        )
        for label, text in rows.items()
        if text
    ]  # fmt: skip
    return "\n".join([brief(), *lines])


def _commit() -> str:
    """Return the commit of a checkout, nothing for an installation."""
    checkout = resources.path().parent
    if not (checkout / ".git").exists():
        return ""
    try:
        done = subprocess.run(
            ["git", "-C", checkout, "rev-parse", "--short=12", "HEAD"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=5,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()


def _states(programs: Mapping[str, Path]) -> str:
    """Return the names of programs by version, read from the files: other machines' cannot run."""
    states: dict[str, list[str]] = {}
    for name, path in programs.items():
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        except OSError:
            state = "unreadable"
        else:
            state = __version__ if f"\0{__version__}\0".encode() in data else "another version"
        states.setdefault(state, []).append(name)
    return "; ".join(f"{state}: {', '.join(names)}" for state, names in states.items()) or "none"


def _optional() -> Iterator[str]:
    """Yield the packages that an extra asks for and that are installed, with their versions."""
    try:
        needs = metadata.requires("rtstone") or []
    except metadata.PackageNotFoundError:
        return
    extra = re.compile(r"([\w.-]+).*extra == [\"'](?!dev\b)")
    for name in sorted({match[1] for text in needs if (match := extra.match(text))}):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue
