"""`rtstone --version`: what is installed, in a line or with all that a report of a defect needs."""

from __future__ import annotations

import platform
import re
import subprocess
import textwrap
from collections.abc import Iterable, Iterator
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
    rows = {
        "commit": _commit(),
        "package": shown(str(resources.path())),
        "Python": f"{platform.python_version()}, {platform.python_implementation()}",
        "platform": platform.platform(),
        "agents": _states(_agents()),
        "images": _states((one.stem, one) for one in sorted(resources.BUILT.glob("*.elf"))),
        "engine": _engine(),
        "optional": ", ".join(_optional()) or "none",
        "licence": "MIT; the file NOTICE names the works of others in it",
    }
    return "\n".join([brief(), *(_row(label, text) for label, text in rows.items() if text)])


def _row(label: str, text: str) -> str:
    indent = " " * (_LABEL + 1)
    return textwrap.fill(
        text, _WIDTH, initial_indent=f"{label:{_LABEL}} ", subsequent_indent=indent,
        break_on_hyphens=False,
    )  # fmt: skip


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


def _agents() -> Iterator[tuple[str, Path]]:
    yield "local", resources.local_agent()
    yield "sim", resources.BUILT / "rtstone-agent-sim"
    for one in resources.architectures():
        yield one.name, one.agent


def _states(programs: Iterable[tuple[str, Path]]) -> str:
    """Return which programs there are, by version: those of other machines cannot be asked."""
    states: dict[str, list[str]] = {}
    for name, path in programs:
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


def _engine() -> str:
    from rtstone.simulate.engine import LIBRARY

    return "present" if LIBRARY.is_file() else "missing"


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
