"""The latest results as OpenMetrics text, for Prometheus and what reads the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy.engine import Connection
from starlette.requests import Request
from starlette.responses import Response

from rtstone.server.access import require
from rtstone.server.pages import queries
from rtstone.server.pages.site import project_of

TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"
STATISTICS = {"p50": "0.5", "p99": "0.99", "p999": "0.999", "max": "1"}
_UNITS = {"ns": ("seconds", 1e-9)}  # the base unit of the format
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class _Family:
    """A family of metrics: its head, then its samples."""

    def __init__(self, name: str, text: str, unit: str = "") -> None:
        self.lines = [f"# TYPE {name} gauge"]
        self.lines += [f"# UNIT {name} {unit}"] if unit else []
        self.lines += [f"# HELP {name} {text}"]
        self._name = name

    def add(self, value: float, **labels: str) -> None:
        """Add a sample."""
        pairs = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in labels.items())
        self.lines.append(f"{self._name}{{{pairs}}} {value!r}")


def project_metrics(request: Request) -> Response:
    """Return the metrics of a project."""
    return _answer(request, [project_of(request)])


def all_metrics(request: Request) -> Response:
    """Return the metrics of all projects that may be read."""
    state = request.app.state
    return _answer(request, require(request, "read", None).readable(state.places.projects()))


def _answer(request: Request, projects: Sequence[str]) -> Response:
    with request.app.state.database.reading() as connection:
        lines = [line for family in _families(connection, projects) for line in family.lines]
    return Response("\n".join([*lines, "# EOF", ""]), media_type=TYPE)


def _families(connection: Connection, projects: Sequence[str]) -> Iterator[_Family]:
    latest: dict[str, _Family] = {}
    missed = _Family("rtstone_latest_missed_activations", "Activations the latest run missed.")
    last = _Family("rtstone_last_run_timestamp_seconds", "When the latest run began.", "seconds")
    worse = _Family("rtstone_worse_changes", f"Changes for the worse of {queries.DAYS} days.")
    runs = _Family("rtstone_runs", "Runs of a target.")
    for project in queries.with_runs(connection, projects):
        for row in queries.latest_points(connection, project):
            unit, factor = _UNITS.get(row.unit, (row.unit, 1.0))
            if unit not in latest:
                text = "A statistic of the latest run of a series; quantile 1 is the maximum."
                latest[unit] = _Family(f"rtstone_latest_{unit}", text, unit)
            labels = {
                "project": project, "target": row.target, "bench": row.bench, "case": row.label,
                "load": row.load, "series": row.key,
            }  # fmt: skip
            for name, quantile in STATISTICS.items():
                value = getattr(row, name)
                if value is not None:
                    latest[unit].add(value * factor, **labels, quantile=quantile)
            if row.missed is not None:
                missed.add(row.missed, **labels)
        for target in queries.overview(connection, project).targets:
            labels = {"project": project, "target": target.name}
            last.add(queries.seconds(target.last.created), **labels)
            worse.add(target.worse, **labels)
            runs.add(target.runs, **labels)
    yield from latest.values()
    yield from (missed, last, worse, runs)
