"""The growth of costs in words: the answer, what any user can do, and the class of a pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rtstone.documents.growth import GrowthClass, GrowthPair, GrowthRow, GrowthTable
from rtstone.stats.growth import LEAST, UNDECIDED
from rtstone.units import counted, quantity, split

NAMED = 3  # pairs in the answer
USER = "grow.wakeup.user"
WAKEUPS = "grow.wakeup"
PER: dict[GrowthClass, str] = {
    "logarithmic": "each doubling", "linear": "each", UNDECIDED: "each",
    "n log n": "each of n log2 n", "quadratic": "each of n squared",
}  # fmt: skip


def things(pair: GrowthPair | GrowthRow) -> str:
    """Return what there are n of, in words."""
    return pair.over.replace("-", " ").replace("time sharing", "time-sharing")


def ranked(pairs: Sequence[GrowthPair]) -> list[GrowthPair]:
    """Return the pairs that grow: wake-ups first, then by how many times the cost rises."""
    growing = [pair for pair in pairs if pair.growth not in {None, "constant"}]
    return sorted(growing, key=lambda pair: (not pair.bench.startswith(WAKEUPS), -pair.increase))


def sentence(pair: GrowthPair) -> str:
    """Return what grows, and by how much: ``fork beside n maps, 5.11 k instr each``."""
    rate = (
        f"to {pair.increase:.3g} times, by no class"
        if pair.slope is None or pair.growth is None
        else f"{quantity(pair.slope, pair.unit)} {PER[pair.growth]}"
    )
    return f"{pair.service} beside n {things(pair)}, {rate}"


def answer(table: GrowthTable) -> str:
    """Return the first line: what is not constant, and how many pairs are of each class."""
    judged = [pair for pair in table.pairs if pair.growth is not None]
    growing = ranked(judged)
    if why := unclassified(table):
        return f"{why[0].upper()}{why[1:]}."
    count: Counter[str | None] = Counter(pair.growth for pair in judged)
    flat = count.pop("constant", 0)
    share = f"{flat} of {counted(len(judged), 'pair')} {_flat(table)}"
    classes = ", ".join(f"{count[name]} {name}" for name in (*PER, "irregular") if name in count)
    if not growing:
        return f"{'Constant' if table.exact else 'No growth seen'}: {share}."
    named = "; ".join(map(sentence, growing[:NAMED]))
    rest = "; …" if len(growing) > NAMED else ""
    return f"Not constant: {named}{rest}; {share}, {classes}."


def unclassified(table: GrowthTable) -> str | None:
    """Return why no pair has a class; None if one has."""
    if any(pair.growth is not None for pair in table.pairs):
        return None
    measured = [pair for pair in table.pairs if pair.points]
    pair = max(measured or table.pairs, key=lambda pair: len(pair.points))
    name = f"{pair.service} beside n {things(pair)}" if pair.over else pair.service
    if not measured:
        reason = (pair.end or "no valid sample").removeprefix("n = 1: ")
        return f"no pair was measured; {name}: {reason}"
    if nothing := [point for point in pair.points if point.cost <= 0]:
        return f"no pair has costs above 0, which a class takes; {name}: 0 at n = {nothing[0].n}"
    end = f" and ended at {pair.end}" if pair.end else ""
    few = counted(len(pair.points), "point")
    return f"no pair has the {LEAST} points that a class takes; {name} has {few}{end}"


def _flat(table: GrowthTable) -> str:
    return "constant" if table.exact else "without growth seen"


def unprivileged(table: GrowthTable) -> str | None:
    """Return whether an unprivileged process can slow a task; None if that was not measured."""
    judged = [pair for pair in table.pairs if pair.bench == USER and pair.growth is not None]
    if not judged:
        return None
    growing = ranked(judged)
    if growing:
        steepest = max(growing, key=lambda pair: pair.increase)
        return (
            f"An unprivileged process can slow the most urgent task: {sentence(steepest)} "
            f"({len(growing)} of {len(judged)} ways tried)."
        )
    return (
        f"No way was seen for an unprivileged process to slow the most urgent task "
        f"({len(judged)} tried)."
    )


def class_name(growth: GrowthClass, *, exact: bool) -> str:
    """Return a class in words; where there is noise, no growth is none that was seen."""
    return "none seen" if growth == "constant" and not exact else str(growth)


def growth(pair: GrowthPair, *, exact: bool) -> str:
    """Return the class with its slope: ``linear, 224 instr each (222 to 224)``."""
    if pair.growth is None:
        return "fewer than 4 points"
    text = class_name(pair.growth, exact=exact)
    if pair.slope is not None and pair.low is not None and pair.high is not None:
        slope, low, high = (split(value, pair.unit) for value in (pair.slope, pair.low, pair.high))
        ends = [end if step == slope[1] else f"{end} {step}" for end, step in (low, high)]
        text += f", {' '.join(slope)} {PER[pair.growth]} ({' to '.join(ends)})"
    if pair.outlier is not None:
        cost = next(point.cost for point in pair.points if point.n == pair.outlier)
        text += f", but {quantity(cost, pair.unit)} at {pair.outlier}"
    return text


def title(pair: GrowthPair | GrowthRow) -> str:
    """Return service and thing: ``fork: maps``, with the load if there is one."""
    load = "" if pair.load == "none" else f", load {pair.load}"
    return f"{pair.service}: {things(pair)}{load}"


def worst(pair: GrowthPair) -> str:
    """Return how the largest sample grows, beside the least: ``linear, 224 instr each``."""
    if pair.worst is None:
        return ""
    text = class_name(pair.worst.growth, exact=False)
    if pair.worst.slope is not None:
        text += f", {quantity(pair.worst.slope, pair.unit)} {PER[pair.worst.growth]}"
    return text


def ends(table: GrowthTable) -> Iterator[str]:
    """Yield which pairs were not measured, or not to the end, and why."""
    ended = [pair for pair in table.pairs if pair.end is not None]
    for reason in dict.fromkeys(pair.end for pair in ended if not pair.points):
        names = dict.fromkeys(
            f"{pair.service} beside {things(pair)}" if pair.over else pair.service
            for pair in ended
            if pair.end == reason and not pair.points
        )
        yield f"Not measured, {reason}: {', '.join(names)}."
    for pair in ended:
        if pair.points:
            yield f"{pair.service} beside {things(pair)} ended at {pair.end}."


def basis(table: GrowthTable) -> str:
    """Return what costs are, and what is in brackets."""
    if table.exact:
        seeds = f" of {counted(len(table.seeds), 'seed')}" if len(table.seeds) > 1 else ""
        return (
            f"Costs are the least samples{seeds}. Slopes: in brackets when any one n is left out."
        )
    rounds = max((len(point.minima) for pair in table.pairs for point in pair.points), default=0)
    return (
        f"Costs are medians of the least samples of {counted(rounds, 'round')}; slopes with "
        "their 95% interval; growth is tested for all pairs together, at 5%."
    )


def about_worst(table: GrowthTable) -> Iterator[str]:
    """Yield what the growth of the worst is, if any pair has it."""
    if any(pair.worst for pair in table.pairs):
        yield (
            f"The worst is the largest sample of {counted(len(table.seeds), 'seed')}, which "
            "depends on the phase of ticks and timers: its growth is tested as if it had noise."
        )
