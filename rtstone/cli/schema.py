"""`rtstone schema`."""

from __future__ import annotations

import textwrap

import click

from rtstone.cli.parameters import DOCUMENT
from rtstone.documents.schemas import DOCUMENTS

NAMES = textwrap.fill(" ".join(DOCUMENTS), 74, break_on_hyphens=False)
HELP = f"""Print the JSON schema of one of rtstone's documents.

NAME is as in the member "schema" of the document:

\b
{textwrap.indent(NAMES, "  ")}
"""


@click.command("schema", help=HELP)
@click.argument("name", type=DOCUMENT)
def command(name: str) -> int:
    """Print the JSON schema of a document."""
    from rtstone.cli.output import print_document
    from rtstone.documents.schemas import schema

    print_document(schema(name))
    return 0
