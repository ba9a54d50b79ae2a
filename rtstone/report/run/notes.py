"""What the terminal says of a run beside its table: experiments, figures, reasons, flags."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.breakdown import FIRST_MISS, breakdown
from rtstone.documents.imported import tool
from rtstone.documents.run import BREAKDOWN, UNREACHED, Figure, Result, Run
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
    found = [s for s in subjects_of(run) if s.result.figures.keys() & {BREAKDOWN, UNREACHED}]
    if not found:
        return
    table = plain_table()
    table.add_column("experiment", no_wrap=True, style="bold cyan")
    for name in ("breakdown", "first miss", "missed in last", "tests"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("flags", overflow="fold", style="yellow")
    for subject in found:
        r = subject.result
        table.add_row(subject.case, *_tests(r), " ".join(r.flags))
    yield table
    all_reached = [at for s in found if (at := breakdown(s.result))]
    if not all(at.broke for at in all_reached):
        yield Text("> : it never broke down; that is where the time limit ended it", style="dim")
    if any(at.again is not None for at in all_reached):
        yield Text(
            "a range: tests above the first miss held again (not_monotone); gates and verdicts "
            "rest on its lower end", style="dim",
        )  # fmt: skip


def _tests(result: Result) -> list[str]:
    """Return breakdown, first miss, misses in the last test, and the number of tests."""
    told = result.figures
    missed, tests = (told.get(name) for name in ("missed and skipped in it", "tests"))
    return [
        breakdown_text(breakdown(result)), _percent(told.get(FIRST_MISS)),
        "-" if missed is None or missed.value is None else plain(missed.value),
        "-" if tests is None or tests.value is None else plain(tests.value),
    ]  # fmt: skip


def _percent(told: Figure | None) -> str:
    return "-" if told is None or told.value is None else f"{told.value:.1f} %"


# ---- results ------------------------------------------------------------------------------------


def details(run: Run, answer: Answer, width: int, encoding: str | None) -> Iterator[RenderableType]:
    """Yield what results say beside their statistics; of many results only the essence.

    Counts of what went wrong are shown only if they are not zero.
    """
    subjects = subjects_of(run)
    sampled = [s for s in subjects if s.result.n]
    for subject in sampled if len(sampled) <= _PICTURES else ():
        if subject != answer.foremost and (lines := list(picture(subject, width, encoding))):
            yield Text(subject.told, style="bold cyan")
            yield from lines
    yield from _figures(subjects)
    long = []
    for subject in subjects:
        r = subject.result
        if (known := reached(r)) and r.status == "ok":
            yield Text(f"{subject.told}: {known}")
        for told in r.tables:
            if len(subjects) <= FEW and len(told.rows) <= _LONG:
                yield Text(f"{subject.case}: {told.title}", "bold cyan")
                yield _listed(told.columns, told.rows)
            else:
                long.append(f"{subject.title} ({counted(len(told.rows), 'row')})")
    long = list(dict.fromkeys(long))
    if long:
        more = f" and {len(long) - _NAMED} more" if len(long) > _NAMED else ""
        names = ", ".join(long[:_NAMED])
        yield Text(f"tables in the report and --json: {names}{more}", style="dim")


def _figures(subjects: Sequence[Subject]) -> Iterator[RenderableType]:
    """Yield single numbers that are not zero: of many results, those without samples alone."""
    facts = [
        (subject, {name: fact for name, fact in subject.result.figures.items() if fact.value != 0})
        for subject in subjects
        if not subject.result.figures.keys() & {BREAKDOWN, UNREACHED}
    ]
    if len(subjects) <= FEW:
        for subject, found in facts:
            items = ", ".join(f"{name} {figure(f.value, f.unit)}" for name, f in found.items())
            if items:
                yield Text(f"{subject.case}: {items}")
        return
    alike: dict[tuple[str, ...], list[Subject]] = {}
    for subject, found in facts:
        if found and not subject.result.n:
            name, fact = next(iter(found.items()))
            told = (name, figure(fact.value, fact.unit), " ".join(subject.result.flags))
            alike.setdefault((subject.result.bench, *told), []).append(subject)
    rows = [[name, *told] for (bench, *told), same in alike.items() for name in _cases(bench, same)]
    if rows:
        yield _listed(["without samples", "figure", "value", "flags"], rows)
        yield ""


def _cases(bench: str, subjects: Sequence[Subject]) -> list[str]:
    """Return the names of cases of a bench that say the same, in one if they are many."""
    if len(subjects) < ALIKE:
        return [subject.case for subject in subjects]
    names = varied(subject.case for subject in subjects)
    return [f"{bench}: {len(subjects)} alike, by {names}"]


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
    what = " and ".join([*counted_units(run)] or ["times"]).capitalize()
    measured_by = tool(run)
    net = f"as reported by {measured_by}" if measured_by else "net of the clock's overhead"
    yield Text(f"{what} are {net}.  Load: {', '.join(loads)}.", style="dim")
    if measured(run):  # else they are in the answer
        yield from reasons(run)
    yield from _bounds(answer)
    yield from map(Text, load_lines(run))
    yield from map(Text, load_effects(evaluated))
    yield from _growths(run)
    occurring = {name for result in run.results for name in result.flags}
    for flag in BY_NAME.values():
        if flag.name in occurring:
            yield Text.assemble((flag.name, "yellow"), f": {flag.cause}; {flag.advice}")
    for note in run.notes:
        yield Text(f"note: {note}")


def _bounds(answer: Answer) -> Iterator[Text]:
    """Yield the bounds of worst cases, or how long to measure for one."""
    known = [one for one in answer.estimates if one.case.bound is not None]
    for one in known:
        yield Text(f"worst case of {one.subject.told}: {one.outcome}")
    missing = [one for one in answer.estimates if one.case.bound is None and one.case.more_s]
    if not known and missing:
        least = min(missing, key=lambda one: (one.case.more_s or 0, one.subject.place))
        section = (least.case.section_s or 0.0) + (least.case.more_s or 0.0)
        how = typed(f" (rtstone run {least.subject.result.bench} --time {round(section)})")
        if "imported" in least.subject.result.flags:
            how = " of the same measurement"
        yield Text(
            f"no bound of a worst case: it takes at least {seconds(round(section))}{how}",
            style="dim",
        )


def _growths(run: Run) -> Iterator[Text]:
    """Yield the slopes; of many only those that are not flat."""
    found = growths(run)
    flat = [growth for growth in found if growth.verdict == "no growth seen"]
    many = len(found) > FEW
    for growth in found:
        if not many or growth not in flat:
            yield Text(f"{growth.name}: {growth.rate} ({growth.interval}), {growth.verdict}")
    if many and flat:
        yield Text(f"no growth seen in {count(len(flat))} of {counted(len(found), 'slope')}")
