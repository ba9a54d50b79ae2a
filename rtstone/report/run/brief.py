"""The answer of a run on the terminal: verdict, basis, the foremost result, findings."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import NO_REASON, Run
from rtstone.program import typed
from rtstone.report.parts.bars import WIDTH, bars
from rtstone.report.parts.console import figure, packed, sentences
from rtstone.report.parts.model import Findings
from rtstone.report.parts.model_terminal import block_lines
from rtstone.report.parts.shapes import correction
from rtstone.report.parts.words import lacking_rights, measured, observed, reached
from rtstone.report.run.answer import Answer, answer, grants
from rtstone.report.run.attribution import findings, matrix
from rtstone.report.run.findings import Subject, subjects_of
from rtstone.results.invalid import first_reason, invalid
from rtstone.results.load_rates import rate_remedy
from rtstone.stats.evaluate import RunEvaluation
from rtstone.summary import COLUMNS, least_n
from rtstone.units import count, counted, trimmed

GRADES = {"bad": "bold red", "note": "bold", "good": "bold green", "info": "bold"}
_HEIGHT = 2  # lines of bars
_NAMED = 6  # cases or benches named with a reason


def verdict(run: Run, answer: Answer) -> Iterator[Text]:
    """Yield the verdict; first of all what the run lacked, and that it is incomplete."""
    without = lacking_rights(run)
    remedy = grants(run) if without else ""  # ends in a command, so nothing may follow it
    line = Text(answer.verdict.removesuffix(remedy).rstrip(), style=GRADES[answer.grade])
    if without:
        line.append(f" WITHOUT {' and '.join(without)}.", style="bold red")
        line.append(f" {typed(remedy)}" if remedy else "")
    yield line
    if run.interrupted:
        yield Text(str(run.reason).capitalize(), style="bold yellow")
    elif run.status != "complete":
        line = Text(f"INCOMPLETE: {run.reason}", style="bold red")
        lost = invalid(run.results)
        if lost and (lost[0].reason or "").rstrip(".") not in answer.verdict:
            line.append(f", {first_reason(lost)}", style="not bold")
        if advice := rate_remedy(run.results):
            line.append(f"; {advice}", style="not bold")
        yield line


def verdict_alone(evaluated: RunEvaluation, width: int) -> Iterator[RenderableType]:
    """Yield the verdict; of a load that was taken apart, a sentence of each case on its parts.

    Deadlines are not the question then: what the run lacked and that it is incomplete remain.
    """
    run = evaluated.run
    if run.attribution is not None:
        yield from block_lines([Findings(findings(run))], width)
        if run.status == "complete" and not lacking_rights(run):
            return
    yield from verdict(run, answer(evaluated))


def brief(
    evaluated: RunEvaluation, width: int, encoding: str | None = None, most: int | None = None
) -> Iterator[RenderableType]:
    """Yield the answer of a run: at most ten lines where lines are not folded.

    If a load was taken apart, that is the question, and the rest only says what it rests on.
    ``most``: lines that there is room for, so that the verdict stays in sight; findings for which
    there is none are counted.
    """
    run_answer = answer(evaluated)
    if evaluated.run.attribution is not None:
        yield from block_lines([Findings(findings(evaluated.run))], width)
        yield from block_lines(matrix(evaluated.run), width)
        yield from sentences(Text(run_answer.rests, style="dim"), width)
        if lacking_rights(evaluated.run) or evaluated.run.status != "complete":
            for text in verdict(evaluated.run, run_answer):
                yield from sentences(text, width)
        return
    lines: list[Text] = []
    for text in (*verdict(evaluated.run, run_answer), Text(run_answer.rests, style="dim")):
        lines += sentences(text, width)
    if not measured(evaluated.run):
        for text in reasons(evaluated.run):
            lines += sentences(text, width)
    if run_answer.foremost:
        first, *rest = packed(_pieces(run_answer.foremost), width)
        lines += map(Text, [first.strip(), *rest])
        lines += picture(run_answer.foremost, width, encoding)
    for place, finding in enumerate(run_answer.worst, 1):
        head = (f"{place}. {finding.head}: ", GRADES[finding.grade])
        own = sentences(Text.assemble(head, (typed(finding.text), "dim")), width)
        left = len(run_answer.worst) - place
        if most is not None and len(lines) + len(own) + bool(left) > most:
            lines.append(Text(f"{counted(left + 1, 'more finding')} in all results", "dim"))
            break
        lines += own
    yield from lines


def picture(subject: Subject, width: int, encoding: str | None) -> Iterator[Text]:
    """Yield the distribution of a result, if there is room."""
    margin = len(count(subject.result.n)) + 4
    if width >= 40:
        lines = bars(subject.result, _HEIGHT, encoding, min(WIDTH, width - margin))
        yield from (Text(f"  {line}", style="cyan") for line in lines)


def _pieces(subject: Subject) -> list[str]:
    """Return a result in pieces of a line, none of which is split."""
    r, over = subject.result, observed(subject.result)
    pieces = [f"{subject.name.with_load}:", f"n {count(r.n)}{f' in {over}' if over else ''}"]
    named = [(name, member) for member, name in COLUMNS.items() if name != "min"]
    bucket = bucket_ns([r])
    for name, member in named:
        value, least = getattr(r, member), least_n(member)
        few = f" (needs n {count(least)})" if value is None and r.batch == 1 and r.n < least else ""
        pieces.append(f"{name} {figure(value, r.unit, bucket)}{few}")
    pieces += [] if r.missed is None else [f"missed {count(r.missed)}"]
    if r.required and r.required.limit:
        latency = trimmed(r.required.limit, r.unit)
        pieces += [f"later than {latency} {count(r.required.late)}"]
    pieces += [precision] if (precision := reached(r)) else []
    if corrected := correction(r):
        late = [
            f"{name} {figure(getattr(corrected, member), r.unit, bucket)}"
            for name, member in named
            if getattr(corrected, member) != getattr(r, member)
        ]
        pieces += [f"with the missed ones {', '.join(late)}"] if late else []
    return pieces


def reasons(run: Run) -> Iterator[Text]:
    """Yield each reason why results are missing once, with their names."""
    groups: dict[tuple[str, str], list[Subject]] = {}
    for subject in subjects_of(run):
        r = subject.result
        if r.status != "ok":
            reason = (r.reason or NO_REASON).removesuffix(f" {r.bench}")
            status: str = "not begun" if r.not_begun else r.status
            groups.setdefault((status, reason), []).append(subject)
    for (status, reason), subjects in groups.items():
        style = "" if status in {"unsupported", "not begun"} else "red"
        if len(subjects) > 1:
            head = f"{len(subjects)} results {status}: "
            names, separator = [str(s.name) for s in subjects], "; "
            if len(names) > _NAMED:  # then they say too much
                names = list(dict.fromkeys(s.result.bench for s in subjects))
                separator = ", "
            rest = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            text = f"{reason}: {separator.join(names[:_NAMED])}{rest}"
            yield Text.assemble((head, style), text)
        else:
            (subject,) = subjects
            why = subject.result.reason or NO_REASON
            yield Text.assemble((f"{status} ", style), f"{subject.name}: {why}")
