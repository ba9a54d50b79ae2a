"""Reading the files of task sets that commands name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from rtstone.documents.tasks import TaskSet

RT_APP = ".json"  # the end of a file's name in the form of rt-app; any other is TOML

SET = click.Path(path_type=Path)


def read(file: Path) -> TaskSet:
    """Return the task set of a file, and note what a file of rt-app says beyond it."""
    tasks, left = converted(file)
    for item in left:
        click.echo(f"not in the task set: {item}", err=True)
    return tasks


def converted(file: Path) -> tuple[TaskSet, list[str]]:
    """Return the task set of a file, and what it says that a task set does not."""
    if file.suffix.lower() == RT_APP:
        from rtstone.tasks import rtapp

        return rtapp.load(file)
    from rtstone.tasks.file import load

    return load(file), []
