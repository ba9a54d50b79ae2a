"""`rtstone schema`."""

from __future__ import annotations

import click

from rtstone.cli.parameters import DOCUMENT


@click.command("schema")
@click.argument("name", type=DOCUMENT)
def command(name: str) -> int:
    """Print the JSON schema of one of rtstone's documents.

    NAME is run, plan, session, comparison, trend, check, guarantee, worstcase, reproduction,
    explanation, sections, sections-compared, campaign, simulation or simulated-hartstone, as in
    the document's member "schema"; bundle, the contents of one; doctor, its checks; of a results
    server:

    \b
      server-projects server-overview server-latencies server-series-list
      server-series server-search server-campaigns server-observations
    """
    from rtstone.cli.output import print_document
    from rtstone.documents.schemas import schema

    print_document(schema(name))
    return 0
