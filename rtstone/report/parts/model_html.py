"""A page as one self-contained HTML file, or as a page of a server."""

from __future__ import annotations

from rtstone.report.parts.frame import Site, framed
from rtstone.report.parts.model import Page


def write(page: Page, site: Site | None = None) -> str:
    """Return the page as text; ``site``: of a server's page.  Raises MissingBundleError."""
    return framed("model.html", {"charts": page.charts}, site, page=page, charted=bool(page.charts))
