"""What stands out in a run: one rule for each kind of finding."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rtstone.model.documents import Result
from rtstone.report.page import Finding, Growth, Page, Row
from rtstone.report.typeset import count, counted, quantity, rounded, typeset

# Units of parameters that are an amount of work: that time grows with them is no finding.
WORK = {"B", "KiB", "MiB", "byte"}
GRANULES = 10  # steps of the clock below which a ratio tells the clock, not the system
LEAST_RATIO = 3  # of p99.9 to the median that is worth a finding


def largest(rows: Iterable[Row], value: Callable[[Result], float | None]) -> Row | None:
    """The row with the largest value, of those that have one."""
    known = [(v, -i, row) for i, row in enumerate(rows) if (v := value(row.result)) is not None]
    return max(known, key=lambda k: k[:2])[2] if known else None


def worst_wakeup(page: Page) -> Iterable[Finding]:
    """The largest maximum among the periodic cases, which are the ones woken by a timer."""
    periodic = [row for row in page.rows if row.result.missed is not None]
    if row := largest(periodic, lambda r: r.max):
        worst = quantity(row.result.max, row.result.unit)
        yield Finding("note", f"Worst wake-up {worst}", row.circumstances, row.key)


def longest_delay(page: Page) -> Iterable[Finding]:
    """Among the rest, the sample that lies furthest above the median of its kind."""

    def delay(r: Result) -> float | None:
        known = r.missed is None and r.max is not None and r.p50 is not None
        return r.max - r.p50 if known else None  # type: ignore[operator]

    for unit in dict.fromkeys(row.result.unit for row in page.rows):
        row = largest((row for row in page.rows if row.result.unit == unit), delay)
        if row and (excess := delay(row.result)):
            head = f"Longest delay of one sample {quantity(excess, unit)}"
            text = f"so far above the median of {quantity(row.result.p50, unit)}; "
            yield Finding("note", head, text + row.circumstances, row.key)


def least_predictable(page: Page) -> Iterable[Finding]:
    """Where p99.9 stands furthest above the median, of those medians that the clock resolves."""
    clock = page.run.clock
    granule = clock.resolution_ns if clock else 0.0

    def spread(r: Result) -> float | None:
        resolved = r.p50 is not None and r.p50 > 0 and r.p50 * r.batch >= GRANULES * granule
        return r.p999 / r.p50 if resolved and r.p999 is not None else None  # type: ignore[operator]

    row = largest(page.rows, spread)
    ratio = spread(row.result) if row else None
    if row and ratio is not None and ratio >= LEAST_RATIO:
        r = row.result
        yield Finding(
            "note",
            f"Least predictable: p99.9 is {rounded(ratio)} times the median",
            f"{quantity(r.p999, r.unit)} against {quantity(r.p50, r.unit)}; {row.circumstances}",
            row.key,
        )


def missed_activations(page: Page) -> Iterable[Finding]:
    """Activations that never happened."""
    periodic = [row for row in page.rows if row.result.missed is not None]
    total = sum(row.result.missed or 0 for row in periodic)
    row = largest(periodic, lambda r: r.missed)
    if row and total:
        missed = row.result.missed or 0
        share = "all" if missed == total else count(missed)
        text = f"{share} of them in {row.circumstances}"
        yield Finding("bad", counted(total, "missed activation"), text, row.key)
    elif periodic:
        n = sum(row.result.n for row in periodic)
        text = f"{counted(len(periodic), 'periodic result')}, n = {count(n)} activations in all"
        yield Finding("good", "No activation missed", text)


def growth_with_tasks(page: Page) -> Iterable[Finding]:
    """Times that grow with a number of tasks, not with work: of those, the steepest."""

    def relative(g: Growth) -> float:
        least = min(y for _, y in g.slope.points)
        reach = max(x for x, _ in g.slope.points) - min(x for x, _ in g.slope.points)
        return g.slope.slope * reach / max(abs(least), 1e-9)

    fitted = [g for g in page.growths if g.words.per not in WORK]
    growing = [g for g in fitted if not g.slope.constant and g.slope.slope > 0]
    if growing:
        g = max(growing, key=relative)
        head = f"{g.words.name} {g.words.verdict} by {typeset(g.words.rate.removeprefix('+'))}"
        text = f"{typeset(g.words.interval)}, load {g.slope.load}"
        if len(growing) > 1:
            text += f"; {len(growing)} of {len(fitted)} such slopes rise"
        yield Finding("note", head, text, f"{page.key}-growth")
    elif fitted:
        over = ", ".join(dict.fromkeys(g.slope.over for g in fitted))
        text = f"{counted(len(fitted), 'slope')} over {over}, no 95% interval above 0"
        yield Finding("good", "No growth found", text, f"{page.key}-growth")


def not_ok(page: Page) -> Iterable[Finding]:
    """Results that are missing, by status."""
    for status, grade in (("failed", "bad"), ("incomplete", "bad"), ("unsupported", "info")):
        rows = [row for row in page.rows if row.result.status == status]
        if rows:
            names = list(dict.fromkeys(row.result.bench for row in rows))
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            head = f"{counted(len(rows), 'result')} {status}"
            yield Finding(grade, head, ", ".join(names[:4]) + more, rows[0].key)


RULES: list[Callable[[Page], Iterable[Finding]]] = [
    worst_wakeup,
    missed_activations,
    longest_delay,
    least_predictable,
    growth_with_tasks,
    not_ok,
]


def findings(page: Page) -> list[Finding]:
    """All that the rules find, in their order."""
    return [finding for rule in RULES for finding in rule(page)]
