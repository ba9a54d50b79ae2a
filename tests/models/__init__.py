"""Results of the models of published systems, compared with the published numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

from rtstone.stats import published
from rtstone.targets import model as simulated
from tests.conftest import Cli

Json = dict[str, Any]
ROUNDING = 0.05  # for numbers printed with one decimal


class Simulated(NamedTuple):
    """The document of a run on a model, with access to its results."""

    document: Json

    def result(self, bench: str, load: str = "none", **params: object) -> Json:
        """Return the only result of a bench under that load and with these parameters."""
        records: list[Json] = [
            r
            for r in self.document["results"]
            if (r["bench"], r["load"]) == (bench, load) and params.items() <= r["params"].items()
        ]
        assert len(records) == 1, (bench, load, params)
        return records[0]

    def us(self, stat: str, bench: str, load: str = "none", **params: object) -> float:
        """Return a statistic of that result, which must be ok, in microseconds."""
        record = self.result(bench, load, **params)
        assert (record["status"], record["unit"]) == ("ok", "ns"), record["reason"]
        return float(record[stat]) / 1000

    def constant(self) -> dict[str, bool]:
        """Return for each bench with a slope whether its interval contains 0."""
        return {slope["bench"]: slope["constant"] for slope in self.document["slopes"]}


def simulate(cli: Cli, model: str, *part: str) -> Simulated:
    """Run a command on the model."""
    done = cli("run", *part, "--target", f"sim:{model}", "--json")
    assert done.status == 0, done.err
    return Simulated(done.document)


def title(model: str) -> str:
    """Return the name of the modelled system in its publication."""
    return simulated.find(model).title


def printed(source: str, table: str, **wanted: str) -> float | None:
    """Return the only number of a table that matches."""
    (record,) = published.find(source, table=table, **wanted)
    assert not isinstance(record.value, str)
    return record.value


def differing(pairs: dict[str, tuple[float | None, float | None]]) -> dict[str, object]:
    """Return the pairs (simulated, printed) that differ by more than the rounding of the source."""
    return {
        name: (ours, theirs)
        for name, (ours, theirs) in pairs.items()
        if ours is None or theirs is None or abs(ours - theirs) > ROUNDING + 1e-9
    }
