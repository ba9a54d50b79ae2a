"""Names are nouns of their type: words that say nothing become fewer, and never more."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NO_NAMES = {
    "found", "told", "one", "there", "made", "known", "asked", "wish", "given", "kept", "it",
    "some", "others", "that", "what", "of", "more",
}  # fmt: skip
NO_NAMES |= {f"_{word}" for word in NO_NAMES | {"whole"}}

# How many names in the sources of each package, and of the agent, are such words.  Lower a number
# with what you mend.
LEFT = {
    "": 0,
    "agent": 2,  # the member `others` of the evidence, a name on the wire
    "campaign": 0,
    "cli": 0,
    "documents": 8,
    "explain": 1,
    "formats": 0,
    "lab": 0,
    "measure": 0,
    "plot": 0,
    "report": 1,
    "results": 1,
    "server": 5,
    "simulate": 0,
    "stats": 10,
    "store": 0,
    "system": 0,
    "targets": 0,
    "tasks": 0,
    "wire": 0,
    "tests": 36,
}


def words(source: str) -> Counter[str]:
    """Return how often a name in a source is a word that says nothing of what it names."""
    names = (
        getattr(node, member, None)
        for node in ast.walk(ast.parse(source))
        for member in ("id", "arg", "name")  # of a variable, a parameter, a function or class
    )
    return Counter(name for name in names if name in NO_NAMES)


# Comments, literals and includes of C, which contain no names, and the names.
C_TOKENS = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'|^\s*\#\s*include[^\n]*"""
    r"|(?P<name>[A-Za-z_]\w*)",
    re.DOTALL | re.MULTILINE,
)


def words_of_c(source: str) -> Counter[str]:
    """Return the same of a source in C."""
    names = (match["name"] for match in C_TOKENS.finditer(source))
    return Counter(name for name in names if name in NO_NAMES)


def sources(package: str) -> list[Path]:
    """Return the files of a package, of the agent, of the tests, or the modules beside packages."""
    if package == "agent":
        return sorted((ROOT / "agent").rglob("*.[ch]"))
    if package == "tests":
        return sorted((ROOT / "tests").rglob("*.py"))
    return sorted((ROOT / "rtstone").glob("*.py" if not package else f"{package}/**/*.py"))


def test_it_counts_names_of_every_kind() -> None:
    source = "def told(one, *, found=1):\n    given = f(made=found)\n    def _of(): ...\n"
    assert words(source) == Counter(
        {"told": 1, "one": 1, "found": 2, "given": 1, "made": 1, "_of": 1}
    )


def test_it_counts_names_in_c() -> None:
    source = """
        #include <given/made.h>
        /* found: told */ // one
        static int found(struct kept *told) { return told->what == 'it' ? "more" : there(found); }
    """
    assert words_of_c(source) == Counter({"found": 2, "told": 2, "kept": 1, "what": 1, "there": 1})


def test_every_package_is_listed() -> None:
    packages = {path.parent.name for path in (ROOT / "rtstone").glob("*/__init__.py")}
    assert LEFT.keys() == {"", "agent", "tests", *packages}


@pytest.mark.parametrize("package", LEFT)
def test_names_that_say_nothing_become_fewer(package: str) -> None:
    count = words_of_c if package == "agent" else words
    counts = sum((count(path.read_text("utf-8")) for path in sources(package)), Counter[str]())
    total = counts.total()
    assert total <= LEFT[package], f"more than there were: {dict(counts.most_common(5))}"
    assert total >= LEFT[package], f"fewer: write {total}, so that they stay away"
