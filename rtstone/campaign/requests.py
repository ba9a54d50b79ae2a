"""The request of a job, and the key by which its run is recognised."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from hashlib import sha256

import msgspec

from rtstone.campaign.matrix import Cell
from rtstone.documents.plan import Plan
from rtstone.documents.run import Value
from rtstone.measure.request import Request

_FORMAT = 1  # of the key; another one makes every job a new one


def request(
    cell: Cell, spec: str, time: str | None, until: str | None, cpus: str | None
) -> Request:
    """Return the request of a cell, with the command that would do it by hand."""
    names = shlex.split(cell.measure)
    loads = () if cell.load is None else (cell.load,)
    options = [
        ("--target", spec), *(("--load", load) for load in loads),
        *(("-p", f"{name}={value}") for name, value in cell.params.items()),
        ("--time", time), ("--until", until), ("--cpus", cpus),
    ]  # fmt: skip
    words = [word for name, value in options if value is not None for word in (name, value)]
    return Request(
        names=names, target=spec, loads=loads, params=cell.params, time=time, cpus=cpus,
        until=until, command=["rtstone", "run", *names, *words],
    )  # fmt: skip


def key_of(plan: Plan, kernel: str | None, repeat: int) -> str:
    """Return a hash of what the results depend on: cases, target, agent, kernel, seed."""
    detail: Mapping[str, Value] = plan.target.detail
    parts = (
        _FORMAT, [(c.bench, c.params, c.load) for c in plan.cases],
        [(c.bench, c.params) for c in plan.derived], plan.calls, plan.until,
        plan.target.name, detail, plan.listed_by, kernel, repeat,
    )  # fmt: skip
    return sha256(msgspec.json.encode(parts, order="deterministic")).hexdigest()[:16]
