"""Comments, docstrings and documents name files that exist."""

from __future__ import annotations

import io
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tests.install.programs import needs

ROOT = Path(__file__).parents[2]
PATH = re.compile(
    r"(?<![\w./%{<-])((?:[\w-]+/)+[\w-]+\.(?:py|c|h|md|toml|html|js|mk|cmake))\b(?![\w/.])"
)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# Files of the kernel's sources and headers, and of a user.
ELSEWHERE = re.compile(r"(linux|kernel|scripts|include)/|STORE/|boards/BOARD")


def remarks(path: str, text: str) -> Iterator[str]:
    """Yield what a file says in words."""
    if path.endswith(".py"):
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT or token.string.startswith(('"""', 'r"""')):
                yield token.string
    elif path.endswith((".c", ".h", ".js")):
        yield from COMMENT.findall(text)
    elif path.endswith(".md"):
        yield text
    elif path.endswith((".mk", ".cmake")):
        yield from re.findall(r"#.*", text)


@needs("git")  # says which files are the project's
def test_each_path_that_is_named_exists() -> None:
    listing = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = listing.stdout.split()
    ends = {path[start:] for path in files for start in starts(path)}
    names = [
        (path, match[1])
        for path in files
        if not path.startswith("tests/")
        for remark in remarks(path, (ROOT / path).read_text("utf-8", "replace"))
        for match in PATH.finditer(remark)
        if not ELSEWHERE.match(match[1])
    ]
    assert len(names) > 300
    assert [(path, name) for path, name in names if name not in ends] == []


def starts(path: str) -> Iterator[int]:
    """Yield where a path and each of its ends begin."""
    yield 0
    yield from (match.end() for match in re.finditer("/", path))
