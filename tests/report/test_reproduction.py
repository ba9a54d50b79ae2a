"""Every published number is in its row and column, in all three forms of a reproduction."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from html.parser import HTMLParser
from typing import NamedTuple

import pytest
from msgspec import structs
from rich.console import Console

from rtstone.documents.reproduction import (
    Judgement,
    Printed,
    Reproduction,
    Statement,
    Table,
    Then,
)
from rtstone.documents.run import Agent, Clock, Result, Run, Target, Trace
from rtstone.report.comparison import axes
from rtstone.report.parts.model import Bars, Chart, Section, Special
from rtstone.report.reproduction import text as words
from rtstone.report.reproduction.figures import MOMENTS, _lines, figures
from rtstone.report.reproduction.page import GAPS, compose, markdown, reproduction_lines
from rtstone.report.reproduction.statements import summary
from rtstone.report.reproduction.strips import Strip, strips
from rtstone.stats import published
from rtstone.stats.published import layout
from rtstone.stats.reproduce import Reproduced, reproduce
from rtstone.wire.records import Bench, Param, TextTable

SOURCES = layout.names()
WIDE = 100_000


def on_terminal(reproduced: Reproduced, width: int) -> list[str]:
    """Return the lines on a terminal of that width, without trailing blanks."""
    out = io.StringIO()
    lines = reproduction_lines(reproduced.document, width)
    Console(file=out, width=width, highlight=False).print(*lines, sep="\n")
    return [line.rstrip() for line in out.getvalue().splitlines()]


class Seen(NamedTuple):
    """A table that was read back: the text above it, its heads, its rows with their labels."""

    before: str
    heads: list[str]
    rows: dict[str, list[str]]


def _run(**members: object) -> Run:
    """Return a measured system with one result, so that there are columns to confuse."""
    result = Result(
        case=1, bench="sem.create", params={"type": "unnamed"}, load="none", status="ok", n=1234,
        min=1000.0, mean=2500.0, p50=2400.0, max=9000.0, histogram=[(2500.0, 1234)],
        evidence={"section_ns": 2_500_000_000}, flags=["cut_short"],
    )  # fmt: skip
    bench = Bench("sem.create", "Create", params=[Param("type", "choice", None, "unnamed",
                                                        choices=["unnamed", "named"])])  # fmt: skip
    agent = Agent(version="1", source="a", port="posix", os="Linux 6.1", arch="x86_64",
                  compiler="gcc", flags="-O2", caps=["posix"])  # fmt: skip
    run = Run(
        run_id="20261121-0001", created="2026-11-21T00:00:00+00:00", status="complete",
        target=Target(name="local"), agent=agent, results=[result], benches=[bench],
    )  # fmt: skip
    return structs.replace(run, **members)


@cache  # not on import, which every worker does
def made_of(source: str) -> Reproduced:
    return reproduce(source, [_run()])


# ---- parsing the three forms --------------------------------------------------------------------


def _split(line: str) -> list[str]:
    return re.split(r" {2,}", line.strip())


def _terminal(reproduced: Reproduced) -> list[Seen]:
    """Parse the tables of a wide terminal: heading, statements, one or two lines of heads, rows."""
    document = reproduced.document
    blocks = "\n".join(on_terminal(reproduced, WIDE)).split("\n\n")
    views = []
    for table, block in zip(document.tables, blocks[2:], strict=False):  # after the statements
        across = table.across
        columns = len(table.systems if across else table.items)
        if not table.items:
            views.append(Seen(block, [], {}))
            continue
        heading, *rest = block.splitlines()
        said, rest = rest[: len(table.said)], rest[len(table.said) :]
        kinds = _split(rest[0])[-columns:] if across else [""] * columns
        labels = _split(rest[across])[-columns:]
        rows = {}
        for line in rest[1 + across :][: len(table.items if across else table.systems)]:
            parts = _split(line)
            rows[" ".join(parts[:-columns])] = parts[-columns:]
        heads = [f"{label} {kind}".strip() for label, kind in zip(labels, kinds, strict=True)]
        views.append(Seen("\n".join([heading, *said]), heads, rows))
    return views


def _markdown(reproduced: Reproduced) -> list[Seen]:
    text = re.sub(r"\\(?=[\\`*_<>|\[\]])", "", markdown(reproduced.document).replace(r"\|", "\0"))
    views = []
    for section in re.split(f"\n## (?:{GAPS}|{axes.TITLE})", text)[0].split("\n## ")[2:]:
        before, _, rest = section.partition("\n| ")
        rows = [
            [cell.strip() for cell in line.strip("| ").split(" | ")]
            for line in f"| {rest}".splitlines() if line.startswith("|")
        ]  # fmt: skip
        heads = rows[0][-len(rows[2]) + 1 :] if len(rows) > 2 else []  # only texts
        views.append(Seen(before, heads, {row[0]: row[1:] for row in rows[2:]}))
    return views


class _Reader(HTMLParser):
    """Collect the tables of sections as rows of texts, and the statements above them."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: list[tuple[list[str], list[list[str]]]] = []
        self._open: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section" and re.fullmatch(r"t\d+", dict(attrs).get("id") or ""):
            self.sections.append(([], []))
        elif not self.sections:
            return
        elif tag == "tr":
            self.sections[-1][1].append([])
        elif tag in {"th", "td"}:
            self.sections[-1][1][-1].append("")
            self._open = self.sections[-1][1][-1]
        elif tag in {"blockquote", "h2"}:
            self.sections[-1][0].append("")
            self._open = self.sections[-1][0]

    def handle_endtag(self, tag: str) -> None:
        if tag in {"th", "td", "blockquote", "h2"}:
            self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self._open[-1] += data


def _plain(text: str) -> str:
    """Undo the typography of a text: narrow spaces, minus signs."""
    return " ".join(text.replace("\u202f", " ").replace("\N{MINUS SIGN}", "-").split())


def _html(reproduced: Reproduced) -> list[Seen]:
    reader = _Reader()
    reader.feed(compose(reproduced))
    views = []
    for before, rows in reader.sections:
        if not rows:
            views.append(Seen(" ".join(map(_plain, before)), [], {}))
            continue
        texts = [[_plain(cell) for cell in row] for row in rows]
        views.append(
            Seen(
                " ".join(map(_plain, before)), texts[0][1:], {row[0]: row[1:] for row in texts[1:]}
            )
        )
    return views


FORMS: dict[str, Callable[[Reproduced], list[Seen]]] = {
    "terminal": _terminal, "markdown": _markdown, "html": _html,
}  # fmt: skip


# ---- every number in its place ------------------------------------------------------------------


def _expected(document: Reproduction, table: Table) -> Iterator[tuple[Printed, str, str]]:
    """Return each published number of a table with the heads of its row and column."""
    for item in table.items:
        for system, cell in zip(table.systems, item.cells, strict=True):
            for record in cell.printed:
                assert system.kind == "printed"
                whose = f"{system.label} printed {document.printed}"
                yield record, *((item.label, whose) if table.across else (whose, item.label))


def _is(head: str, wanted: str) -> bool:
    """Return whether a head is the expected one, with or without its source in brackets."""
    return re.sub(r" \[\d+\]|\((?=printed)|(?<=\d)\)$", "", head) == wanted


def _text(record: Printed) -> str:
    if record.value is not None:
        return str(record.value)
    notes = record.note.split("; ")
    return next(
        (n.removeprefix("printed as ") for n in notes if n.startswith(("printed as", "plot only"))),
        record.quality,
    )


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("form", FORMS)
def test_every_record_stands_in_its_table_row_and_column(form: str, source: str) -> None:
    reproduced = made_of(source)
    seen = FORMS[form](reproduced)
    assert len(seen) == len(reproduced.document.tables)
    number = 0
    for table, shown in zip(reproduced.document.tables, seen, strict=True):
        for record, row, column in _expected(reproduced.document, table):
            places = [number for head, number in shown.rows.items() if _is(head, row)]
            assert len(places) == 1, (table.title, row, list(shown.rows))
            column_at = [n for n, head in enumerate(shown.heads) if _is(head, column)]
            assert len(column_at) == 1, (table.title, column, shown.heads)
            words = places[0][column_at[0]]
            pattern = rf"(?<![\w.]){re.escape(_text(record))}(?![\w.]*\d)"
            assert re.search(pattern, words), (table.title, row, column, words)
            number += 1
        for record in table.said:
            assert (str(record.value) if record.value else record.quality) in shown.before
            assert f"printed {reproduced.document.printed}: {record.system}" in shown.before
            number += 1
    stated = {id(record) for line in reproduced.document.statements for record in line.said}
    placed = {
        id(record) for table in reproduced.document.tables
        for record in [*table.said, *(r for r, _, _ in _expected(reproduced.document, table))]
    }  # fmt: skip
    assert number == len(published.find(source=source)) - len(stated - placed)


@pytest.mark.parametrize("form", FORMS)
def test_todays_number_stands_under_its_own_head_with_n(form: str) -> None:
    seen = next(s for s in FORMS[form](made_of("gutsalov")) if s.before.startswith("Table 3"))
    column = [n for n, head in enumerate(seen.heads) if "local" in head]
    assert len(column) == 1
    assert "here" in seen.heads[column[0]]
    assert "printed" not in seen.heads[column[0]]
    cell = seen.rows["create"][column[0]]
    assert re.search(r"\b2\.50\b.*n 1 234", cell), cell
    assert not any(re.search(r"\b2\.50\b", c) for row in seen.rows.values()
                   for n, c in enumerate(row) if n != column[0])  # fmt: skip


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_time_load_flags_and_remarks_are_told(form: str) -> None:
    reproduced = made_of("gutsalov")
    text = {
        "terminal": lambda: "\n".join(on_terminal(reproduced, WIDE)),
        "markdown": lambda: markdown(reproduced.document).replace("\\", ""),
        "html": lambda: _plain(re.sub(r"<[^>]+>", " ", compose(reproduced))),
    }[form]()
    assert "local: n 1 234; each measured for 2.50 s; load none; of 1 result cut_short in 1" in text
    assert "all printed numbers: unit not printed in the extracted table" in text
    assert "cut_short" in text
    assert "the time limit ended it before" in text


def test_a_simulation_and_instructions_are_never_called_here() -> None:
    target = Target(name="sim:x", detail={"title": "X", "label": "modelled"})
    simulated = _run(run_id="b", target=target)
    clock = Clock(source="icount", hz=1, resolution_ns=1, overhead_ns=0, unit="instructions")
    (result,) = _run().results
    counted = _run(
        run_id="c", target=Target(name="qemu:y"), clock=clock,
        results=[structs.replace(result, unit="instructions")],
    )  # fmt: skip
    reproduced = reproduce("gutsalov", [simulated, counted])
    seen = next(s for s in _markdown(reproduced) if s.before.startswith("Table 3"))
    assert seen.heads[-2:] == ["sim:x (model)", "qemu:y (here, instructions)"]
    assert seen.rows["create"][-1] == "2 500 instr (n 1 234)"
    text = markdown(reproduced.document)
    assert "A simulation: X, modelled; no system was measured." in text
    assert "compare with no clock" in text
    assert "is counted in instructions, not in time" in compose(reproduced)


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_what_has_no_number_is_listed_once_with_its_reason(form: str) -> None:
    results = [
        Result(case=n, bench="sem.wait.busy", params={"waiters": waiters}, load="none",
               status="unsupported", reason="no memory for its tasks")
        for n, waiters in enumerate((65, 129), 1)
    ]  # fmt: skip
    bench = Bench("sem.wait.busy", "Wait", params=[Param("waiters", "int", None, 0)])
    reproduced = reproduce("gutsalov", [_run(results=results, benches=[bench])])
    text = {
        "terminal": lambda: "\n".join(on_terminal(reproduced, WIDE)),
        "markdown": lambda: markdown(reproduced.document).replace("\\", ""),
        "html": lambda: _plain(re.sub(r"<[^>]+>", "", compose(reproduced))),
    }[form]()
    listed = text.rpartition("Without a number today, and why")[2]
    assert listed.count("local: unsupported, no memory for its tasks: Table 3 (3)") == 1
    assert "73 cells: 70 not run, 3 unsupported" in text
    assert (
        "local: not run, no run of it has these: Figure 1 (15), Figures 2 to 4, Table 1 (6), "
        "Table 2 (12), Table 3 (28)" in listed
    )


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_a_table_of_texts_stands_whole_below_its_system(form: str) -> None:
    rows = [["semaphores", "sem.create sem.delete"], ["shared memory", "-"]]
    groups = TextTable("POSIX.1 metric groups", ["group", "measured by"], rows)
    result = Result(case=1, bench="posix.metrics", load="none", status="ok", params={},
                    tables=[groups])  # fmt: skip
    bench = Bench("posix.metrics", "Metrics")
    other = _run(run_id="c", target=Target(name="other"), results=[], benches=[bench])
    reproduced = reproduce("gutsalov", [_run(results=[result], benches=[bench]), other])
    text = {
        "terminal": lambda: "\n".join(on_terminal(reproduced, WIDE)),
        "markdown": lambda: markdown(reproduced.document).replace("\\", ""),
        "html": lambda: _plain(re.sub(r"<[^>]+>", " ", compose(reproduced))),
    }[form]()
    section = text.partition("Groups of POSIX metrics")[2]
    _, _, below = section.partition("local: POSIX.1 metric groups")
    assert re.search(r"group[ |]+measured by", below)
    assert re.search(r"semaphores[ |]+sem.create sem.delete", below)
    assert "other: not run: no run of this system (c) has posix.metrics" in below
    listed = text.rpartition("Without a number today, and why")[2]
    assert re.search(r"other ?: not run, no run of it has these: .*Groups \(2\)", listed)


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_what_is_computed_from_printed_numbers_has_their_digits(form: str) -> None:
    seen = FORMS[form](made_of("golatowski"))[0]
    column = [re.sub(r" \[\d+\]", "", head) for head in seen.heads].index("sum")
    for system, text in (("RMOS3 for Windows", r"161\.5"), ("SORIX", "incomplete")):
        row = next(row for head, row in seen.rows.items() if head.startswith(system))
        assert re.fullmatch(rf"{text} \[\d+\]", row[column]), row[column]


def _stated() -> Reproduced:
    """Return a publication with a statement of each verdict, on made-up systems."""
    base = reproduce("sjoblom", [_run(), _run(run_id="b", target=Target(name="other"))])
    yes = Judgement(column=0, same="yes", value=1.204, low=1.182, high=1.231, numbers=1)
    no = Judgement(column=0, same="no", value=2.0, most=3.0, low=2.0, numbers=2, reason="too far")
    unsure = Judgement(column=0, same="undetermined", reason="no p99 of 9 samples")
    other = Judgement(column=1, same=None, reason="is about Linux")
    lines = [
        Statement(words="first", table="t", meaning="a ratio", most=1.5, here=[yes, other],
                  then=[Then(system="OSE", value=1.3, same=True), Then(system="X", value="<2 us")]),
        Statement(words="second", table="t", meaning="a ratio", scope="any", least=4.0,
                  here=[no, other]),
        Statement(words="third", table="t", meaning="a time", unit="us", least=1.0, most=2.0,
                  here=[unsure, other]),
        Statement(words="fourth", table="t", lacks="not readable"),
    ]  # fmt: skip
    return base._replace(document=structs.replace(base.document, statements=lines))


SUMMARY = (
    "local: of 3 statements of the author 1 holds here, 1 does not hold, 1 is undetermined. "
    "1 statement is decided by no number anywhere."
)


@pytest.mark.parametrize("form", ["terminal", "markdown", "html"])
def test_each_statement_is_a_line_and_the_first_line_counts_them(form: str) -> None:
    reproduced = _stated()
    text = {
        "terminal": lambda: "\n".join(on_terminal(reproduced, WIDE)),
        "markdown": lambda: markdown(reproduced.document).replace("\\", ""),
        "html": lambda: unescape(_plain(re.sub(r"<[^>]+>", " ", compose(reproduced)))),
    }[form]()
    before, _, section = text.partition("What the author states: then, here, the same?")
    assert SUMMARY in (before if form != "html" else text)
    if form == "terminal":
        assert text.splitlines()[0] == SUMMARY
    section = section.partition("section 3: Method")[0]
    words = re.sub(r"[ |*]+", " ", section)
    assert re.search(
        r"t, first \[1\] OSE: 1.3, yes; X: <2 us yes, 1.2 \(?95%: 1.18 to 1.23\)? - \[2\]", words
    )
    interval = r"95%: 2 or more"
    assert re.search(
        rf"t, second \[3\] in words no, 2 to 3 (\({interval}\) \[4\]|\[4\] {interval})", words
    )
    assert re.search(r"t, third \[5\] in words undetermined \[6\] - \[2\]", words)
    assert re.search(r"t, fourth - \[7\] - \[7\] - \[7\]", words)
    for footnote in (
        "a ratio: holds if at most 1.5", "other: is about Linux",
        "a ratio: holds if any is at least 4", "local: too far",
        "a time: holds if between 1 µs and 2 µs", "local: no p99 of 9 samples", "not readable",
    ):  # fmt: skip
        assert footnote in section.replace("\u202f", " ")


def test_more_than_two_systems_share_a_sentence_the_best_first() -> None:
    document = _stated().document
    first = document.statements[0]
    here = [
        Judgement(column=0, same="undetermined"), Judgement(column=1, same="yes"),
        Judgement(column=2, same="no"),
    ]  # fmt: skip
    columns = [structs.replace(document.columns[0], label=label) for label in "abc"]
    second = structs.replace(first, here=[Judgement(column=1, same="yes")])
    statements = [structs.replace(first, here=here), second]
    stated = structs.replace(document, columns=columns, statements=statements)
    assert summary(stated) == (
        "Statements of the author that hold: 2 of 2 on b, 0 of 1 on a, 0 of 1 on c (1 not); the "
        "others are undetermined."
    )
    each = "b: of 2 statements of the author 2 hold here, 0 do not hold, 0 are undetermined."
    assert each in markdown(stated).replace("\\", "")
    two = [structs.replace(line, here=line.here[:2]) for line in statements]
    assert summary(structs.replace(stated, statements=two)).startswith("a: of 1 statement ")


def test_where_no_statement_is_judged_the_answer_is_what_the_tables_have() -> None:
    document = made_of("golatowski").document
    outcomes = words.outcomes(document, 0)
    label = document.columns[0].label
    assert summary(document).startswith(
        f"Cells with numbers: {outcomes['with numbers']} of {outcomes.total()} on {label}. "
    )


def test_no_statement_is_counted_without_a_system() -> None:
    document = reproduce("sjoblom", []).document
    assert summary(document) == "3 statements are decided by no number anywhere."
    assert summary(structs.replace(document, statements=[])) == ""
    assert "What the author states" not in markdown(structs.replace(document, statements=[]))


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("width", [80, 100])
def test_a_terminal_is_not_overrun(source: str, width: int) -> None:
    texts = on_terminal(made_of(source), width)
    assert [line for line in texts if len(line) > width] == []


@pytest.mark.parametrize("source", SOURCES)
def test_a_narrow_terminal_shows_the_same_numbers(source: str) -> None:
    """Side by side or one below the other, but all of them, each as often."""
    numbers = {str(r.value) for r in published.find(source=source) if isinstance(r.value, float)}
    wide, narrow = (
        re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", "\n".join(on_terminal(made_of(source), width)))
        for width in (WIDE, 80)
    )
    for number in numbers:
        assert narrow.count(number) == wide.count(number) > 0


@pytest.mark.parametrize("source", SOURCES)
def test_a_page_needs_nothing_but_itself(source: str) -> None:
    text = compose(made_of(source))
    assert len(text.encode()) < 1_500_000
    body = text.partition("<script")[0]
    assert not re.search(r'(?:src|href)="(?!#|data:)', body)
    for mark in re.findall(r'href="#(t\d+-n\d+)"', body):
        assert f'id="{mark}"' in body


@pytest.mark.parametrize("source", SOURCES)
def test_each_link_of_the_navigation_has_words_of_its_own(source: str) -> None:
    (links,) = re.findall(
        r'<nav aria-label="Sections of this page">(.*?)</nav>', compose(made_of(source)), re.DOTALL
    )
    words = re.findall(r"<a [^>]*>([^<]*)</a>", links)
    assert len(words) > 3
    assert len(words) == len(set(words))


def test_bars_are_as_long_as_their_numbers() -> None:
    text = compose(made_of("gutsalov"))
    figure = text.partition("Figure 6")[2].partition("Table 2")[0]
    bars = re.findall(r"width: ([\d.]+)%.*?bar-text\">([\d.]+)<", figure)
    assert len(bars) == 9
    ordered = sorted(bars, key=lambda bar: float(bar[1]))
    assert ordered == sorted(bars, key=lambda bar: float(bar[0]))
    assert bars[-1] != bars[0]
    assert max(float(width) for width, _ in bars) == 100


def _yielder(name: str, value: float, unit: str) -> Run:
    """Return a system on which sync.test1 took so long at worst, and half of that in the mean."""
    result = Result(
        case=1, bench="sync.test1", load="none", status="ok", n=9, unit=unit, min=1.0,
        mean=value / 2, p50=1.0, max=value, histogram=[(value, 9)],
        params={"type": "unnamed", "config": "1cpu"},
    )  # fmt: skip
    return _run(run_id=name, target=Target(name=name), results=[result],
                benches=[Bench("sync.test1", "Post and wait")])  # fmt: skip


def test_systems_that_count_instructions_have_bars_of_their_own() -> None:
    """None is left out in silence, and none shares an axis with time."""
    reproduced = reproduce(
        "obenland",
        [_yielder("a", 3000.0, "ns"), _yielder("b", 99.0, "instructions"),
         _yielder("c", 33.0, "instructions")],
    )  # fmt: skip
    tables = reproduced.document.tables
    number = next(
        n for n, t in enumerate(tables) if t.title.endswith("post and wait in one thread")
    )
    drawn = {
        section.title: [(bar.head.label.partition(",")[0], bar.share) for bar in bars]
        for section in figures(reproduced, number) if isinstance(section, Section)
        for block in section.blocks if isinstance(block, Bars)
        for item, bars in block.groups if item == "unnamed, no load"
    }  # fmt: skip
    assert drawn == {
        "Figure 7a: worst case": [("a", 100.0)],
        "Figure 7a: worst case, in instructions": [("b", 100.0), ("c", 33.3)],
        "Figure 7b: average": [("a", 100.0)],
        "Figure 7b: average, in instructions": [("b", 100.0), ("c", 33.3)],
    }


def test_what_is_true_of_several_systems_is_one_alarm() -> None:
    runs = [_yielder(name, 9.0, "instructions") for name in "abc"]
    clock = Clock(source="icount", hz=1, resolution_ns=1, overhead_ns=0, unit="instructions")
    text = compose(reproduce("obenland", [structs.replace(run, clock=clock) for run in runs]))
    assert re.findall(r'<p class="alarm[^"]*"[^>]*><strong>(.*?)</strong>', text) == [
        "a, b, c are counted in instructions, not in time."
    ]


# ---- figures over time --------------------------------------------------------------------------


def _sleeper(name: str, most: dict[str, float], unit: str = "ns") -> Run:
    """Return a system that slept under these loads for three seconds, the last one being worst."""
    results = [
        Result(
            case=n, bench="dk.nanosleep", load=load, status="ok", n=60, unit=unit, params={},
            min=1.0, mean=2.0, max=value, histogram=[(2.0, 60)],
            trace=Trace(width_s=1, rows=[(s, 20, 1.0, 2.0, value / (3 - s)) for s in range(3)]),
        )
        for n, (load, value) in enumerate(most.items(), 1)
    ]  # fmt: skip
    return _run(run_id=name, target=Target(name=name), results=results,
                benches=[Bench("dk.nanosleep", "Sleep")])  # fmt: skip


def _figures(*runs: Run) -> list[tuple[str, list[tuple[str, list[str], list[float | None]]]]]:
    """Return by title the text above each graph, its lines, and where they end."""
    reproduced = reproduce("dankwardt", list(runs))
    place = next(
        n for n, t in enumerate(reproduced.document.tables) if t.id.startswith("part 3 Fig")
    )
    sections = [block for block in figures(reproduced, place) if isinstance(block, Section)]
    return [(section.title, list(map(_graph, section.drawn))) for section in sections]


def _graph(chart: Chart) -> tuple[str, list[str], list[float | None]]:
    series = chart.data["series"]
    return (
        chart.caption, [line["name"] for line in series],
        [line["points"][-1][1] for line in series],
    )  # fmt: skip


def test_all_systems_stand_in_one_graph_and_again_without_the_slowest() -> None:
    """As Dankwardt drew them: a graph for each load with common axes."""
    slow = _sleeper("slow", {"copy": 9e6, "x11": 5e4})
    fast = _sleeper("fast", {"copy": 1e5, "x11": 8e4})
    other = _sleeper("other", {"copy": 2e5})
    (all_of_them, graphs), (rest, fewer) = _figures(slow, fast, other)
    assert all_of_them == "Figures 2 to 6: deviation over time, all systems"
    assert graphs == [
        ("Figures 2 and 7: disk copy", ["slow", "fast", "other"], [9e6, 1e5, 2e5]),
        ("Figures 6 and 11: x11perf", ["slow", "fast", "other"], [5e4, 8e4, None]),
    ]
    assert rest == "Figures 7 to 11: without the slowest (slow)"
    assert fewer == [
        ("Figures 2 and 7: disk copy", ["fast", "other"], [1e5, 2e5]),
        ("Figures 6 and 11: x11perf", ["fast", "other"], [8e4, None]),
    ]


def test_instructions_share_no_axis_with_time() -> None:
    timed, counted = _sleeper("t", {"copy": 9.0}), _sleeper("c", {"copy": 7.0}, "instructions")
    figures = dict(_figures(timed, counted))
    assert list(figures) == [
        "Figures 2 to 6: deviation over time, all systems",
        "Figures 2 to 6: deviation over time, all systems, in instructions",
        "Figures 7 to 11: without the slowest",
        "Figures 7 to 11: without the slowest, in instructions",
    ]
    assert [[line for _, lines, _ in graphs for line in lines] for graphs in figures.values()] == [
        ["t"], ["c"], [], [],
    ]  # fmt: skip


def test_lines_have_points_at_the_same_moments_and_keep_their_largest() -> None:
    """Whatever the length of each measurement and the width of its windows."""
    rows = [(float(s), 20, 1.0, 2.0, float(s % 977)) for s in range(1000)]
    long, brief = Trace(width_s=1, rows=rows), Trace(width_s=2, rows=[(2.0, 1, 5.0, 5.0, 5.0)])
    drawn = _lines(["long", "brief"], [long, brief], "ns")
    first, second = (line["points"] for line in drawn["series"])
    assert [x for x, _ in first] == [x for x, _ in second]
    assert len(first) <= MOMENTS + 1
    assert max(y for _, y in first) == 976
    assert [y for _, y in second if y is not None] == [5]


# ---- speed against determinism ------------------------------------------------------------------


def _creator(name: str, usual: float) -> Run:
    """Return a system whose calls take this long, some of them twice as long."""
    result = Result(
        case=1, bench="proc.create", params={"kind": "thread"}, load="none", status="ok", n=1000,
        min=usual, mean=1.02 * usual, p50=usual, p99=2 * usual, max=2 * usual, sd=1.0,
        histogram=[(usual, 980), (2 * usual, 20)],
    )  # fmt: skip
    return _run(run_id=name, target=Target(name=name), results=[result],
                benches=[Bench("proc.create", "Create")])  # fmt: skip


def _text_on_terminal(reproduced: Reproduced) -> str:
    return "\n".join(on_terminal(reproduced, WIDE))


def _text_in_markdown(reproduced: Reproduced) -> str:
    return re.sub(r"\\(.)", r"\1", markdown(reproduced.document))


@pytest.mark.parametrize("form", [_text_on_terminal, _text_in_markdown, compose])
def test_speed_and_determinism_stand_in_a_sentence_for_each_two_systems(
    form: Callable[[Reproduced], str],
) -> None:
    reproduced = reproduce("sjoblom", [_creator("here", 1000.0), _creator("there", 90_000.0)])
    text = form(reproduced)
    for pair in (
        "there is slower than here in 1 of 1 case (ratio of medians 90); it is not certainly",
        "here is faster than OSE 5.3 (printed) in 1 of 1 case (ratio of means 0.0909); it is not",
        "there is slower than OSE 5.3 (printed) in 1 of 1 case (ratio of means 8.18); it is not",
    ):
        assert text.count(pair) == 1, pair


def test_the_charts_of_both_axes_stand_behind_the_sentences_and_gaps_follow() -> None:
    page = compose(reproduce("sjoblom", [_creator("here", 1000.0), _creator("there", 90_000.0)]))
    places = [page.index(f'id="{key}"') for key in ("axes", "gaps", "method")]
    assert places == sorted(places)
    section = page[places[0] : places[1]]
    assert re.findall(r'data-chart="(axes-\d+)"', section) == ["axes-0", "axes-1", "axes-2"]
    assert GAPS in page[places[1] : places[2]]


# ---- strips of histograms -----------------------------------------------------------------------


def _strips(*runs: Run) -> list[Strip]:
    """Return the strip of the table of Sjöblom's create, of which OSE's numbers are printed."""
    reproduced = reproduce("sjoblom", list(runs))
    place = next(n for n, t in enumerate(reproduced.document.tables) if "create" in t.title)
    section = strips(reproduced, place)
    if section is None:
        return []
    (special,) = section.blocks
    assert isinstance(special, Special)
    return list(special.data["strips"])


def test_systems_of_today_have_histograms_on_one_axis_and_printed_ones_marks() -> None:
    (strip,) = _strips(_creator("here", 1000.0), _creator("there", 90_000.0))
    assert strip.label == "typical / max / thread"  # the same samples, once
    ose, here, far = strip.pictures
    assert [str(p.head) for p in strip.pictures] == [
        "OSE 5.3 (printed)", "here (here)", "there (here)",
    ]  # fmt: skip
    assert (ose.path, ose.text) == ("", "typical 11 µs, max 47 µs")
    assert (ose.middle, ose.top) == (strip.axis.x(11_000), strip.axis.x(47_000))
    assert here.path
    assert far.path
    assert (here.middle, here.top) == (strip.axis.x(1000), strip.axis.x(2000))
    ordered = [here.middle, here.top, ose.middle, ose.top, far.middle, far.top]
    ends = [x for x in ordered if x is not None]
    assert ends == sorted(ends)
    assert len(ends) == 6
    assert here.text == "p50 1.00 µs, max 2.00 µs, n 1 000"


def test_a_table_without_samples_of_today_has_no_strip() -> None:
    assert _strips(_run()) == []


def test_instructions_have_an_axis_of_their_own_and_no_printed_marks() -> None:
    counted = _creator("there", 500.0)
    results = [structs.replace(result, unit="instructions") for result in counted.results]
    timed, other = _strips(_creator("here", 1000.0), structs.replace(counted, results=results))
    assert [p.head.label for p in timed.pictures] == ["OSE 5.3", "here"]
    assert [p.head.label for p in other.pictures] == ["there"]
    assert other.label.endswith(", in instructions")


def test_a_strip_is_drawn_without_a_script_and_says_its_numbers() -> None:
    page = compose(reproduce("sjoblom", [_creator("here", 1000.0)]))
    body = page.partition("<script")[0]
    strip = body.partition('<div class="strip">')[2].partition("</section>")[0]
    assert strip.count("<svg") == 2
    assert strip.count('class="shape"') == 1
    assert strip.count('aria-hidden="true"') == 4  # pictures and ticks
    assert "typical 11" in strip
