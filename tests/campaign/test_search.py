"""A search, whose programs a planted landscape measures, and what it prints."""

from __future__ import annotations

import time
from collections.abc import Sequence
from io import StringIO
from math import inf

import pytest
from msgspec import structs
from rich.console import Console

from rtstone.campaign.search import ENOUGH, GENERATION, LOADS, Search
from rtstone.documents.search import Candidate, SearchResult
from rtstone.documents.sections import Bound, Section, SectionsOfRun
from rtstone.errors import Interrupted, RtstoneError, TargetError
from rtstone.interrupt import Interrupt
from rtstone.measure.actions import CONTROL
from rtstone.report.search.text import answer, gap, search_lines
from tests.conftest import Cli
from tests.stats.test_section_gate import DOCUMENT

BOARD = "qemu:linux-6.1"


LACKS = {"gpu": "a GPU (/dev/dri/card0): No such file or directory", "netns": "not permitted"}
MANY = ("pipes*16@", "pipes*64@", "pipes*256@", "pipes*1024@")  # are too many


def refusal(load: str) -> str:
    """Return why a load is refused, as the agent says it, "" if it is not."""
    for step in load.partition("=")[2].split(","):
        action = step.partition("@")[0].partition("*")[0]
        if action in LACKS or step.startswith(MANY):
            return f"load actions: component actions: {step}: {LACKS.get(action, 'no memory')}"
    return ""


def longest(load: str) -> float | None:
    """Return what a load does: locks and epolls count most, and with oom there is no result."""
    if "oom" in load or refusal(load):
        return None
    return 1000.0 + 500 * ("locks" in load) + 3000 * ("epolls" in load) + 10 * load.count("@")


class Planted(Search):
    """Measures nothing, and notes what it would."""

    generations: list[list[str]]
    ends: tuple[int, int, RtstoneError] | None = None  # in a generation, after some loads, with it

    def _measured(
        self, loads: Sequence[tuple[str, bool]], *, numbered: bool, end: float = inf
    ) -> tuple[list[Candidate | None], RtstoneError | None]:
        if time.monotonic() >= end:
            return [None] * len(loads), None
        self.generations = [*getattr(self, "generations", []), [load for load, _ in loads]]
        most, error = len(loads), None
        if self.ends and len(self.generations) == self.ends[0]:
            _, most, error = self.ends
        self._unit = "instructions"
        candidates = [
            Candidate(
                number=len(self._candidates) + place if numbered else 0, load=load, bred=bred,
                longest=longest(load), run=f"run-{load}",
                reason="" if longest(load) else refusal(load) or "ended",
            )
            for place, (load, bred) in enumerate(loads, 1)
        ]  # fmt: skip
        return [*candidates[:most], *[None] * (len(loads) - most)], error

    def _sections(self, candidate: Candidate) -> SectionsOfRun | None:
        """Each action has a section of its own, as long as its steps are many."""
        steps = candidate.load.partition("=")[2].split(",")
        actions = [step.partition("@")[0].partition("*")[0] for step in steps]
        rows = [
            Section(begin=[name], end=["out"], n=1, total=n, longest=n, at=0)
            for name, n in ((name, 100 * actions.count(name)) for name in sorted(set(actions)))
        ]
        kind = structs.replace(DOCUMENT.kinds[0], sections=rows)
        seen = Bound(longest=9000, sentence="", terms=[], seen=10 * len(actions), sample=1)
        return structs.replace(DOCUMENT, kinds=[kind], bound=seen, while_masked=0)


def searched(
    programs: int, seed: int = 1, ends: tuple[int, int, RtstoneError] | None = None
) -> tuple[SearchResult, Planted, list[Candidate]]:
    candidates: list[Candidate] = []
    search = Planted(
        "dk.periodic",
        BOARD,
        seed,
        Interrupt(),
        lambda each, _longest, _unit: candidates.append(each),
    )
    search.ends = ends
    return search.run(programs, None), search, candidates


def test_the_longest_is_kept_and_reduced_to_what_it_takes() -> None:
    result, search, candidates = searched(400)
    assert result.control.load == search.generations[0][0] == CONTROL.load
    assert [each.number for each in candidates] == list(range(1, 401))
    values = [record.longest or 0 for record in result.records]
    assert values == sorted(set(values))
    assert values[-1] == max(each.longest or 0 for each in candidates)
    assert result.failed == sum(each.longest is None for each in candidates) > 0
    valid = [each for each in candidates if each.longest is not None]
    assert result.n_drawn == sum(not each.bred for each in valid) < 400
    assert result.drawn is not None
    assert result.drawn.longest == max(each.longest or 0 for each in candidates if not each.bred)
    assert result.least is not None
    enough = ENOUGH * values[-1]
    assert (result.least.longest or 0) >= enough
    steps = result.least.load.partition("=")[2].split(",")
    assert len(steps) < result.records[-1].load.count("@")
    for place in range(len(steps)):
        rest = steps[:place] + steps[place + 1 :]
        assert not rest or (longest(f"actions:steps={','.join(rest)}") or 0) < enough


def test_what_the_sections_add_is_said_and_bred_from() -> None:
    result, search, candidates = searched(100)
    assert [each.load for each in result.loads] == list(LOADS) == search.generations[0][1:]
    assert candidates[0].new > 0
    assert any(each.longer for each in candidates)
    assert all(len(each.signature) == 12 for each in candidates if each.longest)
    same = {each.signature for each in candidates if each.load.split("=")[-1].count("@") == 1}
    assert len(same) > 1
    assert result.bound == 9000
    assert result.switched == 60
    assert gap(result).startswith("Until the first switch to the task 60 instructions of a bound")
    assert " of 9 000, 1% " in gap(result)
    assert "beside rtstone's own loads 1.00 k instr" in answer(result)
    assert search_without_sections(100) != [each.load for each in candidates]


def search_without_sections(programs: int) -> list[str]:
    """Return the programs of a search that sees no sections."""

    class Blind(Planted):
        def _sections(self, candidate: Candidate) -> SectionsOfRun | None:
            return None

    loads: list[str] = []
    search = Blind("dk.periodic", BOARD, 1, Interrupt(), lambda each, *_: loads.append(each.load))
    assert search.run(programs, None).bound is None
    return loads


def test_more_programs_go_on_where_fewer_ended() -> None:
    few, many = searched(3 * GENERATION), searched(5 * GENERATION)
    assert many[2][: 3 * GENERATION] == few[2]
    assert many[1].generations[:4] == few[1].generations[:4]
    assert searched(3 * GENERATION, seed=2)[2] != few[2]


def test_a_number_of_programs_is_exact_and_no_time_measures_none() -> None:
    assert searched(GENERATION + 3)[0].programs == GENERATION + 3
    search = Planted("dk.periodic", BOARD, 1, Interrupt(), lambda *_: None)
    result = search.run(None, 0.0)
    assert (result.programs, result.records, result.least) == (0, [], None)
    assert answer(result).startswith("undetermined: no program")


def test_an_action_that_was_refused_alone_is_never_tried_again() -> None:
    result, _, candidates = searched(400)
    lacks = {lack.action: lack.reason for lack in result.lacks}
    assert LACKS.items() <= lacks.items() <= (LACKS | {"oom": "ended"}).items()
    for action in LACKS:
        alone = [each for each in candidates if each.load == f"actions:steps={action}@0us"]
        tries = [each for each in candidates if each.refused == action]
        assert len(alone) == 1
        assert max(tries, key=lambda each: each.number).number < alone[0].number + GENERATION
        assert len(tries) <= 2 * GENERATION
    text = "\n".join(str(line) for line in search_lines(result, 1000))
    assert f"{len(lacks)} actions are unsupported here: " in text
    assert f"gpu ({LACKS['gpu']})" in text


def test_what_is_refused_for_its_size_is_tried_with_less() -> None:
    result, _, candidates = searched(400)
    first = next(each for each in candidates if "pipes" in each.load)
    assert first.refused == "pipes"
    (alone,) = [each for each in candidates if each.load == "actions:steps=pipes@0us"]
    assert alone.longest is not None
    assert alone.number <= 2 * GENERATION + first.number
    later = [each for each in candidates[alone.number :] if "pipes" in each.load]
    assert any(each.longest is not None for each in later)
    assert result.failure is not None
    assert "pipes*" in result.failure.load or "oom" in result.failure.load


@pytest.mark.parametrize("error", [Interrupted("interrupted"), TargetError("it is gone")])
def test_a_search_that_ends_early_says_what_it_found_and_goes_on(error: RtstoneError) -> None:
    undisturbed = searched(40)
    for generation, after in ((1, 1), (1, 6), (2, 0), (2, 3), (5, 8), (7, 1)):
        result, _, candidates = searched(40, ends=(generation, after, error))
        assert result.early == str(error)
        assert not result.reduced
        assert candidates == undisturbed[2][: len(candidates)]
        lines = [str(line) for line in search_lines(result, 1000)]
        assert lines[2] == f"Ended early, {error}; the same command goes on."
        loads = [result.control, *result.loads]
        valid = [each for each in loads if each.longest is not None]
        assert len(valid) == (after if generation == 1 else len(loads))
        assert all(each.reason == f"not measured: {error}" for each in loads[len(valid) :])
        assert answer(result).startswith("Longest" if candidates else "undetermined: no program")
    assert searched(40)[0] == undisturbed[0]
    assert undisturbed[0].reduced


def test_a_search_of_which_nothing_was_measured_is_an_error() -> None:
    with pytest.raises(Interrupted):
        searched(40, ends=(1, 0, Interrupted("interrupted")))


def test_a_program_that_takes_longer_without_a_step_is_the_answer() -> None:
    result, _, _ = searched(100)
    assert result.least is not None
    longer = structs.replace(result, least=structs.replace(result.least, longest=98_765.0))
    assert "98.8 k instr" in answer(longer)


def test_the_answer_comes_first_and_fits_a_terminal() -> None:
    result, _, _ = searched(100)
    out = StringIO()
    console = Console(file=out, width=80)
    console.print(*search_lines(result, 80), sep="\n")
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("Longest of dk.periodic on qemu:linux-6.1 beside ")
    assert "(of what ran)" in " ".join(lines[:3])
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("again: rtstone run dk.periodic -p samples=1000") for line in lines)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["dk.periodic", "--target", "local"], "it needs an emulated board"),
        (["dk.periodic", "--target", "sim:ose-like"], "it needs an emulated board"),
        (["dk.periodic"], "Missing option '--target'"),
        (["dk.periodic", "--target", BOARD, "--programs", "0"], "not in the range"),
        (["dk.periodic", "--target", BOARD, "--hours", "0"], "not in the range"),
    ],
)
def test_what_cannot_be_searched_is_one_line(cli: Cli, words: list[str], says: str) -> None:
    done = cli("search", *words)
    assert (done.status, done.out) == (2, "")
    assert says in done.says
