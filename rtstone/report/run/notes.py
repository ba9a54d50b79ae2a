"""What the terminal says of a run beside its table: experiments, figures, reasons, flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.breakdown import FIRST_MISS, breakdown
from rtstone.documents.imported import tool
from rtstone.documents.run import BREAKDOWN, UNREACHED, Run
from rtstone.program import typed
from rtstone.report.parts.console import figure, plain_table
from rtstone.report.parts.words import (
    breakdown_text,
    counted_units,
    growths,
    load_lines,
    measured,
    reached,
)
from rtstone.report.run.answer import Answer
from rtstone.report.run.brief import picture, reasons
from rtstone.report.run.findings import Subject, subjects_of
from rtstone.report.run.loads import load_effects
from rtstone.report.run.results_table import ALIKE, varied
from rtstone.results.flags import BY_NAME
from rtstone.stats.evaluate import RunEvaluation
from rtstone.units import count, counted, plain, seconds

FEW = 10  # results of which a terminal shows all details
_PICTURES = 4  # results whose distributions it shows
_LONG = 100  # rows of a table shown on a terminal
_NAMED = 6  # tables named


# ---- Hartstone ----------------------------------------------------------------------------------


def experiments(run: Run) -> Iterator[RenderableType]:
    """Yield the table of Hartstone experiments, if there are any."""
    subjects = [s for s in subjects_of(run) if s.result.figures.keys() & {BREAKDOWN, UNREACHED}]
    if not subjects:
        return
    table = plain_table()
    table.add_column("experiment", no_wrap=True, style="bold cyan")
    for name in ("breakdown", "first miss", "missed in last", "tests"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("flags", overflow="fold", style="yellow")
    for subject in subjects:
        figures = subject.result.figures
        first_miss, missed, tests = (
            figures[name].value if name in figures else None
            for name in (FIRST_MISS, "missed and skipped in it", "tests")
        )
        table.add_row(
            str(subject.name),
            breakdown_text(breakdown(subject.result)),
            "-" if first_miss is None else f"{first_miss:.1f} %",
            "-" if missed is None else plain(missed),
            "-" if tests is None else plain(tests),
            " ".join(subject.result.flags),
        )
    yield table
    all_reached = [at for s in subjects if (at := breakdown(s.result))]
    if not all(at.broke for at in all_reached):
        yield Text("> : it never broke down; that is where the time limit ended it", style="dim")
    if any(at.again is not None for at in all_reached):
        yield Text(
            "a range: tests above the first miss held again (not_monotone); gates and verdicts "
            "rest on its lower end", style="dim",
        )  # fmt: skip


# ---- results ------------------------------------------------------------------------------------


def details(run: Run, answer: Answer, width: int, encoding: str | None) -> Iterator[RenderableType]:
    """Yield what results say beside their statistics; of many results only the essence.

    Counts of what went wrong are shown only if they are not zero.
    """
    subjects = subjects_of(run)
    sampled = [s for s in subjects if s.result.n]
    for subject in sampled if len(sampled) <= _PICTURES else ():
        if subject != answer.foremost and (lines := list(picture(subject, width, encoding))):
            yield Text(subject.name.with_load, style="bold cyan")
            yield from lines
    yield from _figures(subjects)
    long = []
    for subject in subjects:
        r = subject.result
        if (precision := reached(r)) and r.status == "ok":
            yield Text(f"{subject.name.with_load}: {precision}")
        for listing in r.tables:
            if len(subjects) <= FEW and len(listing.rows) <= _LONG:
                yield Text(f"{subject.name}: {listing.title}", "bold cyan")
                yield _listed(listing.columns, listing.rows)
            else:
                long.append(f"{subject.name.without_load} ({counted(len(listing.rows), 'row')})")
    long = list(dict.fromkeys(long))
    if long:
        rest = f" and {len(long) - _NAMED} more" if len(long) > _NAMED else ""
        names = ", ".join(long[:_NAMED])
        yield Text(f"tables in the report and --json: {names}{rest}", style="dim")


def _figures(subjects: Sequence[Subject]) -> Iterator[RenderableType]:
    """Yield single numbers that are not zero: of many results, those without samples alone."""
    facts = [
        (subject, {name: fact for name, fact in subject.result.figures.items() if fact.value != 0})
        for subject in subjects
        if not subject.result.figures.keys() & {BREAKDOWN, UNREACHED}
    ]
    if len(subjects) <= FEW:
        for subject, figures in facts:
            items = ", ".join(f"{name} {figure(f.value, f.unit)}" for name, f in figures.items())
            if items:
                yield Text(f"{subject.name}: {items}")
        return
    alike: dict[tuple[str, ...], list[Subject]] = {}
    for subject, figures in facts:
        if figures and not subject.result.n:
            name, fact = next(iter(figures.items()))
            texts = (name, figure(fact.value, fact.unit), " ".join(subject.result.flags))
            alike.setdefault((subject.result.bench, *texts), []).append(subject)
    rows = []
    for (bench, *cells), same in alike.items():
        names = [str(subject.name) for subject in same]
        if len(same) >= ALIKE:
            by = varied(subject.name for subject in same)
            names = [f"{bench}: {len(same)} alike, by {by}"]
        rows += [[name, *cells] for name in names]
    if rows:
        yield _listed(["without samples", "figure", "value", "flags"], rows)
        yield ""


def _listed(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> RenderableType:
    table = plain_table()
    for name in columns:
        table.add_column(Text(name), overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


# ---- the end ------------------------------------------------------------------------------------


def footnotes(evaluated: RunEvaluation, answer: Answer) -> Iterator[Text]:
    """Yield what holds for all results: units, loads, bounds, growth, reasons, flags."""
    run = evaluated.run
    loads = sorted({r.load for r in measured(run)} or {r.load for r in run.results})
    units = " and ".join([*counted_units(run)] or ["times"]).capitalize()
    measured_by = tool(run)
    net = f"as reported by {measured_by}" if measured_by else "net of the clock's overhead"
    yield Text(f"{units} are {net}.  Load: {', '.join(loads)}.", style="dim")
    if measured(run):  # else they are in the answer
        yield from reasons(run)
    # The bounds of worst cases, or how long to measure for one.
    bounded = [estimate for estimate in answer.estimates if estimate.case.bound is not None]
    for estimate in bounded:
        yield Text(f"worst case of {estimate.subject.name.with_load}: {estimate.outcome}")
    short = [e for e in answer.estimates if e.case.bound is None and e.case.more_s]
    if not bounded and short:
        least = min(short, key=lambda e: (e.case.more_s or 0, e.subject.place))
        section = round((least.case.section_s or 0.0) + (least.case.more_s or 0.0))
        how = typed(f" (rtstone run {least.subject.result.bench} --time {section})")
        if "imported" in least.subject.result.flags:
            how = " of the same measurement"
        text = f"no bound of a worst case: it takes at least {seconds(section)}{how}"
        yield Text(text, style="dim")
    yield from map(Text, load_lines(run))
    yield from map(Text, load_effects(evaluated))
    slopes = growths(run)
    flat = [
        growth for growth, slope in zip(slopes, run.slopes, strict=True)
        if slope.constant and slope.doubling is None
    ]  # fmt: skip
    many = len(slopes) > FEW
    for growth in slopes:
        if not many or growth not in flat:
            yield Text(f"{growth.name}: {growth.rate} ({growth.interval}), {growth.verdict}")
    if many and flat:
        yield Text(f"no growth seen in {count(len(flat))} of {counted(len(slopes), 'slope')}")
    occurring = {name for result in run.results for name in result.flags}
    for flag in BY_NAME.values():
        if flag.name in occurring:
            yield Text.assemble((flag.name, "yellow"), f": {flag.cause}; {flag.advice}")
    for note in run.notes:
        yield Text(f"note: {note}")
