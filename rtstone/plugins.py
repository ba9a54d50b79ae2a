"""Targets, formats and suites of other packages, by entry points.

    [project.entry-points."rtstone.targets"]
    jtag = "ours.jtag:Jtag"            # a subclass of rtstone.targets.base.Target
    [project.entry-points."rtstone.formats"]
    ours = "ours.format:WRITER"        # a Writer or a Reader of rtstone.formats.registry
    [project.entry-points."rtstone.suites"]
    drive = "ours:DRIVE"               # the path of a suite's file

They are searched only for names that rtstone itself does not know.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from rtstone.errors import UsageError

_T = TypeVar("_T")


def find(group: Literal["targets", "formats", "suites"], name: str, kind: type[_T]) -> _T | None:
    """Return the object that an installed package registers under that name, None if none does.

    Raises UsageError if it cannot be loaded, or is not a ``kind``.
    """
    from importlib.metadata import entry_points  # slow to import

    for point in entry_points(group=f"rtstone.{group}", name=name):
        try:
            plugin = point.load()
        except Exception as error:
            raise UsageError(f"cannot load plug-in '{name}', {point.value}: {error}") from error
        if not isinstance(plugin, kind):
            raise UsageError(f"plug-in '{name}' is not a {kind.__name__}, {point.value}")
        return plugin
    return None
