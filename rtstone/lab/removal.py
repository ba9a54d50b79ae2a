"""Remove what the lab keeps: kernels, and what was unpacked or compiled to build them."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import ExitStack, suppress
from pathlib import Path

from rtstone.errors import TargetError, unknown
from rtstone.lab import build, kernels, sources

# What is not a kernel: all of it can be made again.
MATERIAL = {
    "source": (sources.UNPACKED, sources.HASHES),
    "objects": (build.OBJECTS,),
}


def names() -> list[str]:
    """Return what there is to remove: kernels as the lab's systems are called, and material."""
    stored = [kernels.PREFIX[note.arch] + note.name for note in kernels.stored()]
    return [*stored, *(name for name in MATERIAL if any(map(os.path.lexists, _material(name))))]


def remove(name: str) -> int:
    """Remove a kernel, with the objects that it was built of, or material; return its bytes.

    Raises UsageError for what is not there, TargetError while it is being built, or if it cannot be
    removed.
    """
    if name not in names():
        raise unknown("kernel of the lab's", name, names(), "as none is in its cache")
    try:
        with ExitStack() as stack:
            if name in MATERIAL:
                places = _material(name)
            else:  # a kernel, and its objects unless another one has the same
                by_name = {kernels.PREFIX[note.arch] + note.name: note for note in kernels.stored()}
                note = by_name.pop(name)
                places = [kernels.place(note.name, note.arch)]
                origins = {other.built.origin for other in by_name.values() if other.built}
                if note.built and note.built.origin not in origins:
                    places.append(build.objects(note.built.origin))
            for place in places:
                # A build may have the objects that it is or holds.
                folders = [place] if place.parent.name == build.OBJECTS else []
                if place.name == build.OBJECTS and place.is_dir():
                    folders = list(place.iterdir())
                for folder in folders:
                    if folder.is_dir():
                        stack.enter_context(build.locked(folder))
            return sum(map(_remove, places))
    except OSError as error:
        raise TargetError(f"cannot remove {error.filename}: {error.strerror}") from error


def _material(name: str) -> list[Path]:
    return [kernels.cache() / folder for folder in MATERIAL[name]]


def _remove(place: Path) -> int:
    """Remove a folder in two steps, so that no half of it is ever found; return its bytes."""
    with suppress(FileNotFoundError):
        aside = Path(tempfile.mkdtemp(dir=place.parent, prefix=".old-"))
        try:
            place.rename(aside / place.name)
            return sum(
                (Path(folder) / name).lstat().st_size
                for folder, _, files in os.walk(aside) for name in files
            )  # fmt: skip
        finally:
            shutil.rmtree(aside)
    return 0
