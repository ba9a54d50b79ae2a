"""The request of a job, and the key by which its run is recognised."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

import msgspec

from rtstone.campaign.matrix import Cell
from rtstone.documents.plan import Plan
from rtstone.documents.run import Value
from rtstone.measure.request import Request

_FORMAT = 1  # of the key; another one makes every job a new one


class How(Protocol):
    """How each cell is measured, as the options of `rtstone run`: of a campaign, or of a job."""

    @property
    def time(self) -> str | None: ...  # noqa: D102
    @property
    def until(self) -> str | None: ...  # noqa: D102
    @property
    def cpus(self) -> str | None: ...  # noqa: D102
    @property
    def limit(self) -> str | None: ...  # noqa: D102


def request(cell: Cell, spec: str, how: How) -> Request:
    """Return the request of a cell, with the command that would do it by hand."""
    names = shlex.split(cell.measure)
    loads = () if cell.load is None else (cell.load,)
    options = [
        ("--target", spec), *(("--load", load) for load in loads),
        *(("-p", f"{name}={value}") for name, value in cell.params.items()),
        ("--time", how.time), ("--until", how.until), ("--cpus", how.cpus), ("--limit", how.limit),
    ]  # fmt: skip
    words = [word for name, value in options if value is not None for word in (name, value)]
    return Request(
        names=names, target=spec, loads=loads, params=cell.params, time=how.time,
        cpus=how.cpus, until=how.until, limit=how.limit, command=["rtstone", "run", *names, *words],
    )  # fmt: skip


def key_of(plan: Plan, kernel: str | None, repeat: int) -> str:
    """Return a hash of what the results depend on: cases, target, agent, kernel, seed."""
    detail: Mapping[str, Value] = plan.target.detail
    parts = (
        _FORMAT, [(c.bench, c.params, c.load) for c in plan.cases],
        [(c.bench, c.params) for c in plan.derived], plan.calls, plan.until,
        plan.target.name, detail, plan.listed_by, kernel, repeat,
        *([] if plan.requirement is None else [plan.requirement]),
    )  # fmt: skip
    return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]
