"""Find what was measured on a machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache

from rtstone.documents.run import LOCAL, Run
from rtstone.errors import UsageError
from rtstone.store.index import entries
from rtstone.store.layout import runs
from rtstone.store.rundir import load


def measurements(*targets: str) -> Callable[[str], Iterator[Run]]:
    """Return a function that yields the runs of these targets with a bench, newest first.

    Without targets it is this machine.  A name with a dot at its end is that of a family.  Where
    there is no place for results there are none, which the checklist says.
    """
    wanted, stored = set(targets or (LOCAL,)), []
    with suppress(UsageError):
        stored = [entry for entry in reversed(entries()) if entry.target in wanted and entry.ok]
    loaded = cache(load)

    def past(bench: str) -> Iterator[Run]:
        for entry in stored:
            family = bench.endswith(".")
            names = entry.benches.split()
            if any(name.startswith(bench) if family else name == bench for name in names):
                with suppress(UsageError):  # it may be from another version, or just deleted
                    yield loaded(runs() / entry.run_id)

    return past


def before(run: Run) -> Iterator[Run]:
    """Yield the stored runs of the target of a run that are older and have a bench of it.

    The newest come first.
    """
    benches = {result.bench for result in run.results}
    for entry in reversed(entries()):
        older = entry.target == run.target.name and entry.created <= run.created
        if older and entry.ok and benches.intersection(entry.benches.split()):
            with suppress(UsageError):  # it may be from another version, or just deleted
                yield load(runs() / entry.run_id)
