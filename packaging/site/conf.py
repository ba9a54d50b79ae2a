"""The pages of docs as a site that needs no server: `make site`.

Sphinx reads docs/README.md as its first page; the shelves there are the navigation.
"""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "rtstone"
copyright = "rtstone contributors, MIT"  # noqa: A001
root_doc = "README"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["publications/*.py", "publications/*.toml"]
myst_heading_anchors = 4
html_theme = "furo"
html_title = "rtstone"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

SHELF = re.compile(r"(?m)^## (.+)$")
LINK = re.compile(r"\[([^\]]+)\]\(([^)#:]+)((?:#[^)]*)?)\)")


def pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Prepare the text of a page.

    Of a link to what is not of the documentation, as sources and examples, only the words stay. The
    first page gets a list of contents for each of its shelves; a folder's README has its folder.
    """
    docs = Path(app.srcdir)
    folder = (docs / name).parent

    def inside(link: re.Match[str]) -> str:
        path = (folder / link[2]).resolve()
        return link[0] if path.is_relative_to(docs) and path.is_file() else link[1]

    source[0] = LINK.sub(inside, source[0])
    if name == root_doc:
        _, *shelves = SHELF.split(source[0])
        for title, text in zip(shelves[::2], shelves[1::2], strict=True):
            entries = [
                f"{words[0].upper()}{words[1:]} <{path}>" for words, path, _ in LINK.findall(text)
            ]
            source[0] += "\n".join(
                ["\n```{toctree}", ":hidden:", f":caption: {title}", "", *entries, "```\n"]
            )
    elif folder.joinpath("README.md") == docs / f"{name}.md":
        source[0] += "\n```{toctree}\n:hidden:\n:glob:\n\n*\n```\n"


def setup(app: Sphinx) -> None:
    """Have the text of each page prepared."""
    app.connect("source-read", pages)
