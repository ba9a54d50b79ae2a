"""The benches, suites, loads and targets that there are, as rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rtstone.wire.parameters import Catalogue

RUNS = "runs"  # the kind that has a list of its own
BENCHES = "benches"


def catalogue() -> Catalogue:
    """Return what the agent of this machine offers."""
    from rtstone.documents.run import LOCAL
    from rtstone.interrupt import Interrupt
    from rtstone.measure import catalogue
    from rtstone.targets import find

    with Interrupt() as interrupt:
        return catalogue.catalogue(find(LOCAL), interrupt)


def _bench_rows() -> list[dict[str, Any]]:
    import msgspec

    return [msgspec.to_builtins(bench) for _, bench in sorted(catalogue().benches.items())]


def _suite_rows() -> list[dict[str, Any]]:
    from rtstone.measure.suite import load, shipped

    suites = [load(path) for path in shipped().values()]
    return [{"name": s.name, "title": s.title, "description": s.description} for s in suites]


def _load_rows() -> list[dict[str, Any]]:
    import msgspec

    from rtstone.documents.plan import NONE
    from rtstone.measure.loads import NO_OTHER_WORK

    loads = [msgspec.to_builtins(load) for _, load in sorted(catalogue().loads.items())]
    return [{"id": NONE, "title": NO_OTHER_WORK, "source": "Obenland"}, *loads]


def named_rows() -> list[dict[str, Any]]:
    """Return the rows of the targets that the user has given names.  Raises UsageError."""
    from rtstone.targets import fleet

    rows = []
    for named in fleet().values():
        place = named.address if named.cpus is None else f"{named.address}, CPUs {named.cpus}"
        title = f"{place}; {named.comment}" if named.comment else place
        rows.append(
            {"name": named.name, "title": title, "label": None}
            | {name: str(v) if v else None for name, v in named._asdict().items() if name != "name"}
        )
    return rows


def kind_rows() -> list[dict[str, Any]]:
    """Return the rows of all kinds of targets, with their known arguments."""
    from rtstone.targets import TARGETS

    rows: list[dict[str, Any]] = []
    for name, kind in TARGETS.items():
        rows.append({"name": name, "title": kind.title, "label": None})
        rows += [
            {"name": f"{name}:{place.argument}", "title": place.title, "label": place.label}
            for place in kind.load().listed()
        ]
    return rows


class Kind(NamedTuple):
    """What can be listed: the noun of one, the member that is its name, and the rows of all."""

    noun: str
    name: str
    rows: Callable[[], list[dict[str, Any]]]


KINDS = {
    BENCHES: Kind("bench", "id", _bench_rows),
    "suites": Kind("suite", "name", _suite_rows),
    "loads": Kind("load", "id", _load_rows),
    "targets": Kind("target", "name", lambda: [*named_rows(), *kind_rows()]),
}
