"""An explanation as blocks of a page: its own, and the section "Why" of a run's."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Run
from rtstone.report.explanation import labels
from rtstone.report.explanation.boxes import flame, timeline
from rtstone.report.explanation.labels import amount, share
from rtstone.report.explanation.tree import folded, tree
from rtstone.report.parts import model_html, words
from rtstone.report.parts.model import (
    Block,
    Cell,
    Folded,
    Notes,
    Page,
    Section,
    Table,
    Text,
)
from rtstone.units import counted, quantity

MOST = 8  # explanations of a run on its page
_FUNCTIONS = 12  # that are not folded away
_PARTS = 60  # lines of segments
_ROWS = 400  # of the call tree as a table
_ALL = 12  # functions of all samples
_SOURCES = {
    "replay": ("Replay", "The run was repeated on its emulated board, where it runs the same "
               "instructions again, and those of this sample were recorded. Its results must be "
               "those of the run, else nothing is explained."),
    "trace": ("Trace", "The kernel's tracer recorded events while the run was measured; it was "
              "stopped when a sample exceeded the limit. What tracing itself costs is in the "
              "numbers."),
}  # fmt: skip


def compose(explanation: Explanation, run: Run) -> str:
    """Return an explanation as a page.  Raises MissingBundleError."""
    alarms = []
    if explanation.unit == "instructions":
        alarms.append(Text(words.COUNTED, "Counted in instructions, not in time."))
    value = quantity(explanation.way.sample.value, explanation.unit)
    source, meaning = _SOURCES[explanation.source]
    page = Page(
        title=f"Why {labels.title(explanation, run)} took {value}",
        kicker=f"{explanation.target} · {explanation.run_id}",
        verdict=explanation.sentence,
        alarms=alarms,
        sections=[Section("way", "The sample", blocks(explanation, run))],
        method={
            "The way of a sample": "All that ran from the moment the sample was due (or from its "
            "first time stamp) to its last time stamp, in parts that follow each other without "
            "gaps.",
            source: meaning,
            "Own and total": "Own is what was spent in a function itself, total includes all that "
            "it called. Own costs add up to the sample.",
            "Instructions": "An emulated board counts instructions. They do not say how long a "
            "real one would take, where caches and memory count, but which code ran, and how much "
            "of it.",
        },
    )
    return model_html.write(page)


def ordered(explanations: Sequence[Explanation], run: Run) -> list[Explanation]:
    """Return the explanations of a run in the order of its results, the worst samples first."""

    def place(explanation: Explanation) -> tuple[int, float]:
        result = labels.result_of(explanation, run)
        last = len(run.results) if result is None else result
        return last, -explanation.way.sample.value

    return sorted(explanations, key=place)


def section(explanations: Sequence[Explanation], run: Run, key: str) -> Section:
    """Return the section of a run's page; all explanations but the first are folded away."""
    first, *following = explanations[:MOST]
    sentence = Text("", first.sentence)
    title = labels.title(first, run)
    shown: list[Block] = [Section(f"{key}-0", title, [sentence, *blocks(first, run)])]
    shown += [
        Folded(f"{labels.title(each, run)}: {each.sentence}", blocks(each, run))
        for each in following
    ]
    if rest := len(explanations[MOST:]):
        shown.append(Notes([f"{rest} more explanations are in the run's directory."]))
    text = (
        "Where the time of single samples went, from the moment that each was due to its time "
        "stamp."
    )
    return Section(key, "Why", shown, text)


def blocks(explanation: Explanation, run: Run) -> list[Block]:
    """Return what the page shows of an explanation below its sentence."""
    way, against = explanation.way, explanation.against
    both = [way, against] if against else [way]
    whole = max(each.sample.raw for each in both)
    unit = labels.symbol(explanation.unit)
    lines = [  # on one scale
        timeline(f"Time line of {sample}, {size}", each, explanation.unit, whole,
                 calls=each is way)
        for each in both
        for sample, size in [(labels.numbered(each), quantity(each.sample.raw, explanation.unit))]
    ]  # fmt: skip
    drawn = flame(f"Flame graph of {labels.numbered(way)}", way, against, explanation.unit)
    shown: list[Block] = [Text(" ".join(labels.basis(explanation, run)))]
    shown += [line for line in lines if line.boxes]
    shown += _parts(explanation, lines[0].title.replace("Time line of ", ""))
    if drawn.boxes:
        rows, least = folded(tree(way.stacks), _ROWS)
        total = sum(stack.cost for stack in way.stacks)
        cells = [
            (Cell(" > ".join(row.names), code=True, depth=row.depth + 1), amount(row.total),
             share(row.total, total), amount(row.own))
            for row in rows
        ]  # fmt: skip
        title = f"Calls, with all that they call; those below {least:.0%} are left out"
        calls = Table(("function", f"total, {unit}", "share", f"own, {unit}"), cells, title)
        shown += [drawn, Folded("The flame graph as a table", [calls])]
    title = f"Functions, the costliest first, in {unit}"
    title += f"; the difference is to {labels.numbered(against)}" if against else ""
    functions = explanation.functions
    if functions:
        shown.append(labels.costs(explanation, functions[:_FUNCTIONS])._replace(title=title))
    if rest := functions[_FUNCTIONS:]:
        table = labels.costs(explanation, rest)._replace(title="The other functions")
        shown.append(Folded(f"{len(rest)} more functions", [table]))
    if (samples := explanation.all_samples) is not None:
        shown.append(Text("", f"All {counted(samples.n, 'sample')} of the case"))
        title = f"Cost by function over the whole case, in {unit}"
        if samples.functions:
            shown.append(labels.all_costs(samples, _ALL)._replace(title=title))
        title = f"What the worst {counted(samples.worst, 'sample')} had waited for last"
        if samples.endings:
            shown.append(labels.endings(samples, _ALL)._replace(title=title))
    return [*shown, Notes(explanation.notes)]


def _parts(explanation: Explanation, sample: str) -> list[Block]:
    """Return the table of segments, and what they add up to."""
    way, unit = explanation.way, labels.symbol(explanation.unit)
    every = labels.parts(way.segments)
    if not every:
        return []
    parts = labels.shortened(every, _PARTS)
    rows: list[Sequence[str | Cell]] = [
        (Cell(part.name, swatch=f"k-{part.kind}"), amount(part.start), amount(part.length),
         share(part.length, way.sample.raw),
         Cell(part.by, below=labels.chain(part.stack)) if part.by or part.stack else "")
        for part in parts
    ]  # fmt: skip
    rows.append(("sum", "", amount(sum(part.length for part in parts)), "", ""))
    meaning = "who ran, and in which functions all the while"
    columns = ("part", f"from, {unit}", unit, "share", meaning)
    shown: list[Block] = [Table(columns, rows, f"The parts of {sample}", texts=(4,))]
    if totals := labels.by_kind(every):
        shown.append(Notes([totals], "small"))
    if gap := labels.unaccounted(way, explanation.resolution):
        shown.append(Text("", gap))
    return shown
