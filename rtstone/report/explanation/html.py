"""The section "Why" of a run that was explained, and an explanation as a page of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rtstone.documents.explanation import AllSamples, Explanation, Function, Way
from rtstone.documents.run import Run
from rtstone.report.explanation import labels
from rtstone.report.explanation.boxes import Chart, flame, timeline
from rtstone.report.explanation.labels import Part, amount, change, share
from rtstone.report.explanation.tree import folded, tree
from rtstone.report.parts.frame import framed
from rtstone.report.parts.typeset import count, counted, quantity, typeset

MOST = 8  # explanations of a run on its page
_PARTS = 60  # lines of segments
_FUNCTIONS = 12  # that are not folded away
_ROWS = 400  # of the call tree as a table
_ALL = 12  # functions of all samples


@dataclass(frozen=True)
class Cost:
    """A line of the table of functions; ``bar``: of its own cost, in per cent of the whole."""

    name: str
    own: str
    own_share: str
    total: str
    total_share: str
    change: str
    bar: float


@dataclass(frozen=True)
class Call:
    """A line of the call tree as a table."""

    depth: int
    name: str
    total: str
    share: str
    own: str


@dataclass(frozen=True)
class Every:
    """All samples of the case: what functions cost, and what the worst had waited for last."""

    title: str
    functions: list[tuple[str, str, str]]
    worst: str
    endings: list[tuple[str, str, str]]


@dataclass(frozen=True)
class Why:
    """An explanation, as the templates read it; ``key``: what its ids begin with."""

    key: str
    title: str
    sentence: str
    basis: list[str]
    unit: str
    lines: list[Chart]
    parts: list[Part]
    shares: list[str]
    stacks: list[str]
    kinds: str
    sum: str
    gap: str | None
    flame: Chart
    beside: str
    functions: list[Cost]
    shown: int
    calls: list[Call]
    least: str
    every: Every | None
    notes: list[str]


def whys(explanations: Sequence[Explanation], run: Run, key: str) -> list[Why]:
    """Return the explanations of a run in the order of its results, the worst samples first."""

    def place(explanation: Explanation) -> tuple[int, float]:
        result = labels.result_of(explanation, run)
        last = len(run.results) if result is None else result
        return last, -explanation.way.sample.value

    shown = sorted(explanations, key=place)[:MOST]
    return [why(each, run, f"{key}-why-{number}") for number, each in enumerate(shown)]


def why(explanation: Explanation, run: Run, key: str) -> Why:
    """Return what the page shows of an explanation."""
    way, against, unit = explanation.way, explanation.against, explanation.unit
    every, root = labels.parts(way.segments), tree(way.stacks)
    rows, least = folded(root, _ROWS)
    calls = [
        Call(row.depth, " > ".join(row.names), typeset(amount(row.total)),
             typeset(share(row.total, root.total)), typeset(amount(row.own)))
        for row in rows
    ]  # fmt: skip
    parts = labels.shortened(every, _PARTS)
    return Why(
        key=key,
        title=labels.title(explanation, run),
        sentence=explanation.sentence,
        basis=[typeset(text) for text in labels.basis(explanation, run)],
        unit=labels.symbol(unit),
        lines=_lines(way, against, unit),
        parts=parts,
        shares=[typeset(share(part.length, way.sample.raw)) for part in parts],
        stacks=[labels.chain(part.stack) for part in parts],
        kinds=typeset(labels.by_kind(every) or ""),
        sum=typeset(amount(sum(part.length for part in parts))),
        gap=labels.unaccounted(way, explanation.resolution),
        flame=flame(f"Flame graph of sample {count(way.sample.index)}", way, against, unit),
        beside="" if against is None else _called(against),
        functions=[_cost(function, way.sample.raw, against) for function in explanation.functions],
        shown=_FUNCTIONS,
        calls=calls,
        least=f"{least:.0%}",
        every=_every(explanation.all_samples),
        notes=explanation.notes,
    )


def _called(way: Way) -> str:
    return f"sample {count(way.sample.index)}"


def _lines(way: Way, against: Way | None, unit: str) -> list[Chart]:
    """Return the time lines of both samples on one scale, with the calls of the first."""
    both = [way, against] if against else [way]
    whole = max(each.sample.raw for each in both)
    return [
        timeline(f"Time line of {_called(each)}, {quantity(each.sample.raw, unit)}", each, unit,
                 whole, calls=each is way)
        for each in both
    ]  # fmt: skip


def _cost(function: Function, whole: float, against: Way | None) -> Cost:
    return Cost(
        name=function.name,
        own=typeset(amount(function.own)),
        own_share=typeset(share(function.own, whole)),
        total=typeset(amount(function.total)),
        total_share=typeset(share(function.total, whole)),
        change="" if against is None else typeset(change(labels.difference(function))),
        bar=min(100.0, max(0.0, 100 * function.own / whole)) if whole > 0 else 0.0,
    )


def _every(samples: AllSamples | None) -> Every | None:
    """Return what all samples cost and waited for, None if that was not recorded."""
    if samples is None:
        return None
    return Every(
        title=f"All {counted(samples.n, 'sample')} of the case",
        functions=[
            (name, count(cost), typeset(share(cost, samples.cost)))
            for name, cost in samples.functions[:_ALL]
        ],
        worst=f"What the worst {counted(samples.worst, 'sample')} had waited for last",
        endings=[
            (ending.name, count(ending.samples), typeset(share(ending.samples, samples.worst)))
            for ending in samples.endings[:_ALL]
        ],
    )


# ---- a page of its own --------------------------------------------------------------------------


def compose(explanation: Explanation, run: Run) -> str:
    """Return an explanation as a page.  Raises MissingBundleError."""
    return framed(
        "explanation.html",
        {},
        explanation=explanation,
        run=run,
        view=why(explanation, run, "why"),
        value=quantity(explanation.way.sample.value, explanation.unit),
        counted=explanation.unit == "instructions",
    )
