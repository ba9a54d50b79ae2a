"""The sections that are stored with runs, for commands that show their bounds."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.documents.run import Run
from rtstone.documents.sections import SectionsOfRun


def stored_sections(path: Path, run: Run) -> list[SectionsOfRun]:
    """Return the sections of a run, and print which cannot be read."""
    from rtstone.store.sections import stored

    sections, damaged = stored(path, run.run_id)
    for why in damaged:
        click.echo(f"left out: {why}", err=True)
    return sections
