"""The frame that all pages share: template, script, and the script's data.

Templates define the look; the script in ``charts/`` draws charts and builds details from the data
embedded here.  Everything that comes from a run is untrusted: text is escaped by jinja2, data is
packed by ``embed``, and the page's policy only lets the bundled script run.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import jinja2
from markupsafe import Markup, escape

from rtstone import resources, units
from rtstone.errors import UsageError
from rtstone.report.parts import glossary, typeset

HERE = resources.path("report")
BUNDLE = HERE / "assets" / "charts.js"

_COMMAND = re.compile(r"`([^`]+)`|((?<=grants them: ).+$|(?<=: )(?:rtstone|sudo|for i in) .+$)")

# Names of axes, by unit.
AXES = {"ns": "time", "instructions": "instructions"}


class MissingBundleError(UsageError):
    """No page can be made, as the charts have not been built."""

    def __init__(self) -> None:
        super().__init__(
            f"the report's charts are not built, {BUNDLE} is missing; run: make charts"
        )


class Link(NamedTuple):
    """A link of the navigation of a site; ``here``: it leads to the page itself."""

    text: str
    address: str
    here: bool = False


class Site(NamedTuple):
    """What the pages of a server share: addresses of script and style, and the navigation.

    ``title``: of the project.  ``refresh_s``: after how long the page is loaded anew, None: never.
    """

    script: str
    style: str
    title: str
    home: str
    links: Sequence[Link]
    feed: str | None = None
    refresh_s: int | None = None


def bundle() -> str:
    """Return the page's script.  Raises MissingBundleError."""
    try:
        return BUNDLE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingBundleError from None


def embed(data: Any) -> str:
    """Return JSON, deflated and in base64: a tenth of its size, and never markup."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), level=9)).decode()


def tight(text: str) -> str:
    """Return markup without the templates' indentation."""
    return re.sub(r"\s*\n\s*", "\n", text)


def commands(text: str) -> Markup:
    """Return a phrase typeset, but for commands in it: in backquotes, or after a colon to its end.

    They stay as they are, so that they can be copied.
    """
    parts, end = [], 0
    for match in _COMMAND.finditer(text):
        inside, trailing = match.groups()
        form = "<code>{}</code>" if inside else '<code class="copy">{}</code>'
        parts += [escape(typeset.typeset(text[end : match.start()]))]
        # No line ends behind the hyphens of an option.
        command = Markup(" ").join(
            Markup('<span class="word">{}</span>').format(word) if word.startswith("-") else word
            for word in (inside or trailing).split(" ")
        )
        parts += [Markup(form).format(command)]
        end = match.end()
    return Markup("").join([*parts, escape(typeset.typeset(text[end:]))])


@cache  # to translate a template takes longer than to fill it in
def environment() -> jinja2.Environment:
    """Return the templates with the filters they use."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        count=typeset.count,
        quantity=typeset.quantity,
        split=typeset.split,
        words=typeset.words,
        seconds=typeset.seconds,
        typeset=typeset.typeset,
        figure=typeset.figure,
        tight=tight,
        commands=commands,
        kind=lambda block: type(block).__name__,
    )
    return env


def framed(name: str, data: dict[str, Any], site: Site | None = None, **shown: Any) -> str:
    """Return a page as text: the template of that name, with the data for its script.

    ``data``: "charts", "details", "forms" and "flags", of which any may be missing.
    ``site``: where a server's page finds script and style; None: they are part of the page.
    ``shown``: the values and functions that the template uses.  Raises MissingBundleError.
    """
    empty: dict[str, Any] = {"charts": {}, "details": {}, "forms": {}, "flags": {}}
    embedded = embed({"units": units.UNITS, "axes": AXES} | empty | data)
    script = digest = ""
    if site is None:
        script = bundle()
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    template = environment().get_template(name)
    return template.render(
        script=script, digest=digest, data=embedded, site=site, words=glossary.Words(),
        anchor=glossary.anchor, **shown,
    )  # fmt: skip
