"""An explanation in words and as a page: its parts add up, and nothing is left out silently."""

from __future__ import annotations

import io
import itertools
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from msgspec import inspect, structs
from rich.console import Console

from rtstone.documents.consistency import check_explanation
from rtstone.documents.explanation import Explanation, Sample, Segment, Span, Stack, Way
from rtstone.documents.run import Run
from rtstone.formats.folded import folded as folded_stacks
from rtstone.formats.trace_event import trace_events
from rtstone.printable import every
from rtstone.report import page
from rtstone.report.explanation import labels
from rtstone.report.explanation import page as why_page
from rtstone.report.explanation.boxes import DEEPEST as ROWS
from rtstone.report.explanation.boxes import MOST, flame, ticks, timeline
from rtstone.report.explanation.text import explanation_lines
from rtstone.report.explanation.tree import DEEPEST, folded, tree
from rtstone.report.parts import frame
from rtstone.report.parts.model import Box, Boxes
from rtstone.stats.evaluate import evaluate_runs
from tests.documents.absurd import values
from tests.report.explained import SENTENCE, drawn, explained_run, hostile, small
from tests.report.test_html import Reader

RUN = explained_run()
LONG = drawn(RUN)
needs_charts = pytest.mark.skipif(
    not frame.BUNDLE.exists(), reason="no charts.js; run: make charts"
)


def shown(explanation: Any, width: int = 100, encoding: str = "utf-8", run: Run = RUN) -> list[str]:
    stream = io.StringIO()
    lines = explanation_lines(explanation, run, width, encoding)
    Console(file=stream, width=width, highlight=False).print(*lines, sep="\n")
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def numbers(line: str) -> list[int]:
    """Return the whole numbers of a line, whose digits are in groups of three."""
    pieces = re.findall(r"(?<![\w.])\d{1,3}(?: \d{3})*(?![\w.%])", line)
    return [int(text.replace(" ", "")) for text in pieces]


# ---- on the terminal ----------------------------------------------------------------------------


def test_the_answer_comes_first_and_parts_add_up() -> None:
    lines = shown(small(RUN))
    assert lines[0] == SENTENCE
    assert lines[1].startswith("dk.periodic, load syscalls; sample 1 733, 8.50 s after the start")
    table = lines[lines.index(next(line for line in lines if line.startswith("part "))) :]
    assert table[1] == "interrupt delivered late     0    100  10.0%  ███"
    assert table[5] == "blocking thread            200    700  70.0%        ███████████████████████"
    output = "    stress-ng in recvfrom; el0_svc > sys_recvfrom > tcp_recvmsg > copy [tcp]"
    assert table[6] == output
    parts = [line for line in table[1:11] if not line.startswith(" ")]
    assert [numbers(line)[-1] for line in parts] == [100, 50, 30, 20, 700, 40, 40, 20]
    assert table[11].split() == ["sum", "1", "000"]


def test_functions_have_their_costs_and_differences() -> None:
    lines = [line for line in shown(small(RUN)) if line.startswith(("copy", "sys_nano", "el0"))]
    assert lines[:3] == [
        "copy [tcp]     800  80.0%    940   94.0%             +800",
        "sys_nanosleep   60   6.0%     60    6.0%              -60",
        "el0_svc          0   0.0%  1 000  100.0%                0",
    ]
    alone = shown(structs.replace(small(RUN), against=None))
    assert not any("difference" in line or "Compared with" in line for line in alone)


def test_calls_that_only_lead_on_are_one_line() -> None:
    lines = shown(small(RUN))
    begin = lines.index("calls, with all that they call")
    assert lines[begin + 1 : begin + 7] == [
        "1 000  100.0%  el0_svc",
        "  940   94.0%    sys_recvfrom > tcp_recvmsg > copy [tcp] (own 80.0%)",
        "  140   14.0%      el1_interrupt (own 6.0%)",
        "   80    8.0%        wake_up",
        "   60    6.0%    sys_nanosleep",
        "calls below 1% are left out",
    ]


def test_a_tree_of_many_functions_is_folded_to_what_is_asked_for() -> None:
    root = tree(LONG.way.stacks)
    assert root.total == LONG.way.sample.raw
    for most in (400, 30, 10):
        rows, least = folded(root, most)
        assert 0 < len(rows) <= most
        assert all(row.total >= least * root.total for row in rows)
    every = sum(len(row.names) for row in folded(root, 10**6)[0])
    wide = [node for node in nodes(root) if node.total >= 0.01 * root.total]
    assert every == len(wide)


def nodes(parent: Any) -> list[Any]:
    return [node for call in parent.calls.values() for node in (call, *nodes(call))]


def test_whole_costs_of_parts_are_rounded_so_that_they_add_up() -> None:
    """Times with a fraction of a ns, as a trace's clock gives them."""
    ends = [0.0, 0.6, 1.2, 1.8, 2.4, 3.0]
    segments = [
        Segment(kind="irq", start=a, length=b - a) for a, b in itertools.pairwise(ends)
    ]  # fmt: skip
    parts = labels.parts(segments)
    assert sum(part.length for part in parts) == 3
    assert all(a.start + a.length == b.start for a, b in itertools.pairwise(parts))


def many(number: int) -> Way:
    """Return a way of a blocking thread that a timer interrupts again and again."""
    kinds = [("blocking", 900), ("irq", 90), ("softirq", 10)] * number
    starts = itertools.accumulate((length for _, length in kinds), initial=0)
    segments = [
        Segment(kind=kind, start=start, length=length)  # type: ignore[arg-type]
        for (kind, length), start in zip(kinds, starts, strict=False)
    ]
    sample = Sample(index=0, at_s=None, value=1, raw=1000 * number)
    return Way(sample=sample, segments=segments, stacks=[])


def test_kinds_that_occur_again_and_again_are_summed_up() -> None:
    lines = shown(structs.replace(small(RUN), way=many(5)), 120)
    output = (
        "In all: blocking thread 4 500 (90.0%), other interrupts 450 (9.0%), softirq 50 (1.0%)."
    )
    assert output in lines
    assert not any(line.startswith("In all") for line in shown(small(RUN)))


@pytest.mark.parametrize("number", [8, 9, 20, 30, 500])
def test_many_parts_become_few_that_still_add_up(number: int) -> None:
    every = labels.parts(many(number).segments)
    pieces = labels.shortened(every, 24)
    assert len(pieces) <= 24
    assert (pieces == every) == (len(every) <= 24)
    assert sum(part.length for part in pieces) == 1000 * number
    assert all(a.start + a.length == b.start for a, b in itertools.pairwise(pieces))
    if number == 9:  # an interrupt and its softirq together
        assert [part.name for part in pieces[:3]] == ["blocking thread", "2 short parts",
                                                     "blocking thread"]  # fmt: skip
        assert pieces[1].by == "other interrupts, softirq"


def test_parts_that_do_not_add_up_are_told() -> None:
    explanation = small(RUN)
    way = structs.replace(explanation.way, segments=explanation.way.segments[:-1])
    output = "The parts do not add up: +20 are not accounted for."
    assert output in shown(structs.replace(explanation, way=way))
    assert output not in shown(structs.replace(explanation, way=way, resolution=20.0, unit="ns"))
    assert output not in shown(explanation)
    if frame.BUNDLE.exists():
        text = " ".join(Reader(why_page.compose(structs.replace(explanation, way=way), RUN)).words)
        assert output in text


def test_what_a_trace_cannot_know_is_told() -> None:
    traced = small(RUN, source="trace", unit="ns", resolution=1000.0, lost=3, all_samples=None)
    output = " ".join(shown(traced, 1000))
    assert "From a trace of the live system. Parts are exact within 1.00 µs. " in output
    assert "The tracer lost 3 events." in output
    assert "No event was lost." in " ".join(shown(structs.replace(traced, lost=0), 1000))


@pytest.mark.parametrize("width", [30, 40, 60, 79, 80, 100, 200])
def test_no_line_is_wider_than_the_terminal_and_no_number_cut(width: int) -> None:
    for explanation in (small(RUN), LONG):
        lines = shown(explanation, width)
        assert all(len(line) <= width for line in lines)
        text = "\n".join(lines)
        if width >= 60:
            assert labels.amount(explanation.way.sample.raw) in text
            for function in explanation.functions[:12]:
                assert labels.amount(function.own) in text


def test_a_terminal_without_blocks_gets_other_bars() -> None:
    text = "\n".join(shown(small(RUN), encoding="ascii"))
    assert "#######" in text
    text.replace("µ", "u").encode("ascii")


def test_the_innermost_functions_of_a_deep_stack_are_named() -> None:
    stack = [f"f{n}" for n in range(30)]
    assert labels.chain(stack) == "22 more > f22 > f23 > f24 > f25 > f26 > f27 > f28 > f29"
    assert labels.chain(stack[:9]) == " > ".join(stack[:9])


def test_markup_of_the_terminal_is_text() -> None:
    text = "\n".join(shown(hostile(RUN), 400))
    assert "copy [tcp]" in "\n".join(shown(small(RUN)))
    assert "{{7*7}}" in text


def test_a_sample_of_a_result_that_the_run_does_not_have() -> None:
    other = structs.replace(small(RUN), case=99, bench="x.y", series="cpu 3")
    assert labels.title(other, RUN) == "x.y cpu 3, load syscalls"


# ---- boxes --------------------------------------------------------------------------------------


def rows(chart: Boxes) -> dict[int, list[Box]]:
    pieces: dict[int, list[Box]] = defaultdict(list)
    for box in chart.boxes:
        pieces[box.row].append(box)
    return {row: sorted(boxes, key=lambda box: box.left) for row, boxes in pieces.items()}


def apart(boxes: list[Box]) -> bool:
    return all(a.left + a.width <= b.left + 0.002 for a, b in itertools.pairwise(boxes))


ROUNDING = 0.002  # per cent, of two numbers


def test_a_flame_graph_has_all_that_is_wide_within_its_callers() -> None:
    chart = flame("x", LONG.way, LONG.against, "instructions")
    pieces = rows(chart)
    assert all(map(apart, pieces.values()))
    for row, boxes in pieces.items():
        for box in boxes if row else []:
            above = [b for b in pieces[row - 1] if b.left - ROUNDING <= box.left]
            assert box.left + box.width <= above[-1].left + above[-1].width + ROUNDING
    assert sum(box.width for box in pieces[0]) == pytest.approx(100, abs=0.01)
    wide = [node for node in nodes(tree(LONG.way.stacks))
            if node.total >= 0.001 * LONG.way.sample.raw]  # fmt: skip
    named = [box for box in chart.boxes if box.look != "merged"]
    assert sorted(box.name for box in named) == sorted(node.name for node in wide)
    narrow = len(nodes(tree(LONG.way.stacks))) - len(wide)
    assert f"Narrower than 0.1%: {narrow} calls" in chart.note


def test_a_colour_is_the_difference_to_the_same_call_in_the_other_sample() -> None:
    explanation = small(RUN)
    chart = flame("x", explanation.way, explanation.against, "instructions")
    boxes = {(box.row, box.name): box for box in chart.boxes}
    assert (boxes[0, "el0_svc"].look, boxes[0, "el0_svc"].strength) == ("more", 1)
    assert "+880 against the other sample" in boxes[0, "el0_svc"].title
    nap = boxes[1, "sys_nanosleep"]
    assert nap.look == "less"
    assert nap.strength == pytest.approx(60 / 800, abs=0.01)
    alone = flame("x", explanation.way, None, "instructions")
    assert {box.look for box in alone.boxes} == {""}


def test_a_time_line_has_parts_and_calls_at_their_places() -> None:
    explanation = small(RUN)
    chart = timeline("x", explanation.way, "instructions", 1000)
    pieces = rows(chart)
    assert all(map(apart, pieces.values()))
    parts = [(box.left, box.width) for box in pieces[0]]
    assert parts == [(s.start / 10, s.length / 10) for s in explanation.way.segments]
    assert [box.name for box in pieces[1]] == ["el0_svc", "el0_svc"]
    assert [box.left for box in pieces[3]] == [10.0]
    half = timeline("x", explanation.way, "instructions", 2000, calls=False)
    assert [box.width for box in half.boxes] == [width / 2 for _, width in parts]


def test_narrow_parts_side_by_side_are_one_box_and_counted() -> None:
    segments = [Segment(kind="irq", start=n, length=1) for n in range(9000)]
    segments.append(Segment(kind="task", start=9000, length=1000))
    way = Way(sample=Sample(index=0, at_s=None, value=1, raw=10_000), segments=segments, stacks=[])
    chart = timeline("x", way, "instructions", 10_000)
    assert [(box.left, box.width, box.look) for box in chart.boxes] == [
        (0, 90, "merged"), (90, 10, "k-task"),
    ]  # fmt: skip
    assert "Narrower than 0.1%: 9 000" in chart.note


def test_what_is_not_drawn_is_told() -> None:
    """Endless recursion, and calls by the hundred thousand."""
    deep = [f"f{n}" for n in range(5000)]
    calls = [Span(n, 1, n % 400, "f") for n in range(100_000)]
    sample = Sample(index=0, at_s=None, value=1, raw=100_000)
    way = Way(sample=sample, segments=[], stacks=[Stack(frames=deep, cost=100_000)], spans=calls)
    chart = flame("x", way, None, "ns")
    assert chart.rows == ROWS
    assert f"Not drawn: {DEEPEST - ROWS} deeper calls." in chart.note
    line = timeline("x", way, "ns", 100_000)
    assert len(line.boxes) <= MOST
    assert "Not drawn: 80 000 deeper calls." in line.note


@pytest.mark.parametrize("whole", [0.0, 1.0, 7.0, 950.0, 1_285_130.0, 1e60])
def test_an_axis_has_a_few_round_places(whole: float) -> None:
    pieces = ticks(whole, "instructions")
    assert [at for at, _ in pieces] == sorted({at for at, _ in pieces})
    assert all(0 <= at <= 100 for at, _ in pieces)
    assert 3 <= len(pieces) <= 7 if whole else not pieces


# ---- documents that are well typed but nonsense -------------------------------------------------


def positive(value: Any) -> Any:
    """Return a JSON value in which no number is negative: most of those are refused on reading."""
    match value:
        case dict():
            return {name: positive(item) for name, item in value.items()}
        case list():
            return [positive(item) for item in value]
        case bool() | str() | None:
            return value
    return abs(value)


@given(explanation=values(inspect.type_info(Explanation)))
@settings(
    max_examples=150, derandomize=True, deadline=None, database=None,
    suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate],
)  # fmt: skip
def test_no_document_ends_in_a_traceback(explanation: Any) -> None:
    try:
        odd = msgspec.convert(positive(every(explanation)), Explanation)  # as it is read
        check_explanation(odd)
    except msgspec.ValidationError:
        return
    shown(odd, 80)
    why_page.blocks(odd, RUN)
    folded_stacks(odd)
    trace_events(odd)


# ---- the page -----------------------------------------------------------------------------------


@needs_charts
def test_a_page_has_all_of_it(tmp_path: Path) -> None:
    text = why_page.compose(LONG, RUN)
    reader = Reader(text)
    output = " ".join(" ".join(reader.words).split()).replace("\u202f", " ").replace("\xa0", " ")
    assert LONG.sentence in output
    assert "Counted in instructions, not in time." in output
    assert "1 285 130" in output
    assert all(function.name in output for function in LONG.functions)
    assert len(LONG.functions) >= 500
    assert LONG.all_samples is not None
    assert LONG.all_samples.endings[0].name in output
    assert all(note in output for note in LONG.notes)
    assert len(text.encode()) - len(frame.bundle().encode()) < 450_000


@needs_charts
def test_hostile_names_are_text() -> None:
    reader = Reader(why_page.compose(hostile(RUN), RUN))
    assert [tag for tag, _ in reader.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in reader.tags) == 2
    assert not any(name.startswith("on") for _, attrs in reader.tags for name in attrs)
    assert "{{7*7}}" in " ".join(reader.words)


@needs_charts
def test_a_run_that_was_explained_has_the_section_on_its_page() -> None:
    evaluation = evaluate_runs([RUN])
    plain = Reader(page.compose(evaluation))
    assert "r0-why" not in plain.attributes("id")
    assert "#r0-why" not in plain.attributes("href")
    also = structs.replace(small(RUN), sentence="another one")
    reader = Reader(page.compose(evaluation, {RUN.run_id: [also, LONG], "other": [also]}))
    ids = reader.attributes("id")
    assert len(ids) == len(set(ids))
    assert ids.count("r0-why") == 1
    assert reader.attributes("href").count("#r0-why") == 2
    output = " ".join(reader.words).replace("\u202f", " ")
    assert output.index(LONG.sentence[:20]) < output.index("another one")  # the worst sample first


@needs_charts
def test_of_many_explanations_the_page_tells_that_there_are_more() -> None:
    many = [structs.replace(small(RUN), sentence=f"no. {n}") for n in range(why_page.MOST + 3)]
    text = page.compose(evaluate_runs([RUN]), {RUN.run_id: many})
    assert "3 more explanations are in the run" in text
    assert text.count("no. ") >= why_page.MOST
